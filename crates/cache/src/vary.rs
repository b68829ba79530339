//! `Vary` (RFC 9111 section 4.1): which request fields select a response, in normal form.
//!
//! As HAProxy does, two fields are known: `Accept-Encoding`, as the set of encodings that a client
//! accepts, and `Referer`, as a hash. A response is selected if the client accepts its encodings,
//! so one without any serves all clients that do not refuse `identity`.

use htx::list::{items, trim};
use htx::{Head, HeaderId};
use stdx::siphash::{SipKey, siphash};

/// Most members of `Accept-Encoding` that are looked at: requests with more do not use entries that
/// depend on it.
pub const MAX_ENCODINGS: usize = 16;

/// A set of content codings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encodings(u16);

/// Names of codings and their bits. `identity` has its own.
const CODINGS: [(&[u8], u16); 7] = [
    (b"gzip", 1),
    (b"x-gzip", 1),
    (b"deflate", 1 << 1),
    (b"compress", 1 << 2),
    (b"x-compress", 1 << 2),
    (b"br", 1 << 3),
    (b"zstd", 1 << 7),
];
const IDENTITY: u16 = 1 << 8;
const ALL: u16 = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7 | IDENTITY;

/// The bit of a coding; `None` if it is unknown.
fn bit(name: &[u8]) -> Option<u16> {
    if name.eq_ignore_ascii_case(b"identity") {
        return Some(IDENTITY);
    }
    CODINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, bit)| *bit)
}

impl Encodings {
    /// Only `identity`.
    pub const IDENTITY: Self = Self(IDENTITY);

    /// The encodings that a request accepts (RFC 9110 section 12.5.3); `None` if its list is too
    /// long.
    pub fn accepted(request: &Head) -> Option<Self> {
        if !request.has(HeaderId::AcceptEncoding) {
            return Some(Self(ALL));
        }
        let (mut accepted, mut named, mut others, mut count) = (0, 0, None, 0);
        for item in request.by_id(HeaderId::AcceptEncoding).flat_map(|field| items(field.value)) {
            count += 1;
            if count > MAX_ENCODINGS {
                return None;
            }
            let (name, wanted) = weighed(item);
            match bit(name) {
                Some(bit) => {
                    named |= bit;
                    accepted |= if wanted { bit } else { 0 };
                }
                None if name == b"*" => others = Some(wanted),
                None => {}
            }
        }
        let unnamed = match others {
            None => IDENTITY,
            Some(true) => ALL,
            Some(false) => 0,
        };
        Some(Self(accepted | (unnamed & !named)))
    }

    /// The encodings of a response; `None` if a coding is unknown.
    pub fn of_response(response: &Head) -> Option<Self> {
        let fields = response.by_id(HeaderId::ContentEncoding);
        let bits = fields
            .flat_map(|field| items(field.value))
            .try_fold(0, |bits, name| bit(name).map(|bit| bits | bit))?;
        // `identity` has no meaning beside other codings.
        Some(Self(if bits & !IDENTITY == 0 { IDENTITY } else { bits & !IDENTITY }))
    }

    /// Whether all of these are in `accepted`.
    pub fn are_in(self, accepted: Self) -> bool {
        self.0 & !accepted.0 == 0
    }

    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn from_bits(bits: u16) -> Self {
        Self(bits)
    }
}

/// The name of a member of `Accept-Encoding`, and whether its weight is above 0.
fn weighed(item: &[u8]) -> (&[u8], bool) {
    let mut parts = item.split(|&byte| byte == b';');
    let name = trim(parts.next().unwrap_or_default());
    let refused = parts.any(|part| {
        let weight = trim(part).strip_prefix(b"q=").or_else(|| trim(part).strip_prefix(b"Q="));
        weight.is_some_and(|weight| weight.iter().all(|byte| matches!(byte, b'0' | b'.')))
    });
    (name, !refused)
}

/// The fields of a request that may select a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selecting {
    /// The encodings that the client accepts; `None` if its list is too long to be looked at.
    pub encodings: Option<Encodings>,
    /// A keyed hash of `Referer`, of no bytes without one.
    pub referer: u64,
}

impl Selecting {
    /// The selecting fields of a request.
    pub fn of(request: &Head, key: SipKey) -> Self {
        let mut referers = request.by_id(HeaderId::Referer);
        let referer = match (referers.next(), referers.next()) {
            (None, _) => 0,
            (Some(only), None) => siphash(key, only.value),
            (Some(_), Some(_)) => {
                let all: Vec<_> = request.by_id(HeaderId::Referer).map(|f| f.value).collect();
                siphash(key, &all.join(&b", "[..]))
            }
        };
        Self { encodings: Encodings::accepted(request), referer }
    }
}

/// The secondary key of a stored response: which requests select it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// The encodings of the response, if `Vary` names `Accept-Encoding`.
    pub encodings: Option<Encodings>,
    /// The hash of the request's `Referer`, if `Vary` names it.
    pub referer: Option<u64>,
}

impl Variant {
    /// Whether a request selects the response.
    pub fn is_selected_by(&self, request: &Selecting) -> bool {
        let encodings = self
            .encodings
            .is_none_or(|stored| request.encodings.is_some_and(|accepted| stored.are_in(accepted)));
        encodings && self.referer.is_none_or(|stored| stored == request.referer)
    }

    /// Whether both depend on the same fields of a request.
    pub fn has_fields_of(&self, other: &Self) -> bool {
        self.encodings.is_some() == other.encodings.is_some()
            && self.referer.is_some() == other.referer.is_some()
    }

    /// Whether the response has no secondary key.
    pub fn is_sole(&self) -> bool {
        *self == Self::default()
    }

    /// The number that `show cache` lists: encodings in the low half, `Referer` in the high one,
    /// each byte in the order of HAProxy's listing.
    pub fn listed(&self) -> u64 {
        let encodings = u32::from(self.encodings.map_or(0, Encodings::bits));
        let referer = self.referer.unwrap_or(0) as u32;
        (u64::from(encodings.swap_bytes()) << 32) | u64::from(referer)
    }
}

/// Why a response with `Vary` is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaryFault {
    /// `*`, a field that is not known, or nothing at all; or `process-vary` is off.
    Fields,
    /// Its encoding is not known.
    Encoding,
    /// The client does not accept its encoding, or has a list that is too long.
    NotAccepted,
}

/// The secondary key of a response to a request with these selecting fields.
pub fn variant(
    response: &Head,
    request: &Selecting,
    process_vary: bool,
) -> Result<Variant, VaryFault> {
    let mut variant = Variant::default();
    if !response.has(HeaderId::Vary) {
        return Ok(variant);
    }
    let names = || response.by_id(HeaderId::Vary).flat_map(|field| items(field.value));
    if !process_vary || names().next().is_none() {
        return Err(VaryFault::Fields);
    }
    for name in names() {
        if name.eq_ignore_ascii_case(b"accept-encoding") {
            let encodings = Encodings::of_response(response).ok_or(VaryFault::Encoding)?;
            let accepts = |accepted| encodings.are_in(accepted);
            if !request.encodings.is_some_and(accepts) {
                return Err(VaryFault::NotAccepted);
            }
            variant.encodings = Some(encodings);
        } else if name.eq_ignore_ascii_case(b"referer") {
            variant.referer = Some(request.referer);
        } else {
            return Err(VaryFault::Fields);
        }
    }
    Ok(variant)
}

#[cfg(test)]
mod tests;
