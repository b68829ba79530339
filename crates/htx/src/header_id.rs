//! Well-known header names as one byte each, looked up in a perfect hash table built at compile
//! time.

/// A well-known header, computed once when a field is pushed. Fits a 64-bit presence mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "each variant is the header of the same name; see TABLE")]
pub enum HeaderId {
    /// Any header without an entry: compare names.
    Other,
    Accept,
    AcceptCharset,
    AcceptEncoding,
    AcceptLanguage,
    AcceptRanges,
    Age,
    Allow,
    Authorization,
    CacheControl,
    Connection,
    ContentDisposition,
    ContentEncoding,
    ContentLanguage,
    ContentLength,
    ContentLocation,
    ContentRange,
    ContentSecurityPolicy,
    ContentType,
    Cookie,
    Date,
    ETag,
    Expect,
    Expires,
    Forwarded,
    From,
    Host,
    Http2Settings,
    IfMatch,
    IfModifiedSince,
    IfNoneMatch,
    IfRange,
    IfUnmodifiedSince,
    KeepAlive,
    LastModified,
    Location,
    MaxForwards,
    Origin,
    Pragma,
    ProxyAuthenticate,
    ProxyAuthorization,
    ProxyConnection,
    Range,
    Referer,
    RetryAfter,
    SecWebSocketAccept,
    SecWebSocketKey,
    SecWebSocketVersion,
    Server,
    SetCookie,
    StrictTransportSecurity,
    Te,
    Trailer,
    TransferEncoding,
    Upgrade,
    UserAgent,
    Vary,
    Via,
    WwwAuthenticate,
    XForwardedFor,
    XForwardedHost,
    XForwardedProto,
    XRequestId,
}

/// Every identifier with its lower-case name, in the order of the enum.
const TABLE: [(HeaderId, &str); 63] = [
    (HeaderId::Other, ""),
    (HeaderId::Accept, "accept"),
    (HeaderId::AcceptCharset, "accept-charset"),
    (HeaderId::AcceptEncoding, "accept-encoding"),
    (HeaderId::AcceptLanguage, "accept-language"),
    (HeaderId::AcceptRanges, "accept-ranges"),
    (HeaderId::Age, "age"),
    (HeaderId::Allow, "allow"),
    (HeaderId::Authorization, "authorization"),
    (HeaderId::CacheControl, "cache-control"),
    (HeaderId::Connection, "connection"),
    (HeaderId::ContentDisposition, "content-disposition"),
    (HeaderId::ContentEncoding, "content-encoding"),
    (HeaderId::ContentLanguage, "content-language"),
    (HeaderId::ContentLength, "content-length"),
    (HeaderId::ContentLocation, "content-location"),
    (HeaderId::ContentRange, "content-range"),
    (HeaderId::ContentSecurityPolicy, "content-security-policy"),
    (HeaderId::ContentType, "content-type"),
    (HeaderId::Cookie, "cookie"),
    (HeaderId::Date, "date"),
    (HeaderId::ETag, "etag"),
    (HeaderId::Expect, "expect"),
    (HeaderId::Expires, "expires"),
    (HeaderId::Forwarded, "forwarded"),
    (HeaderId::From, "from"),
    (HeaderId::Host, "host"),
    (HeaderId::Http2Settings, "http2-settings"),
    (HeaderId::IfMatch, "if-match"),
    (HeaderId::IfModifiedSince, "if-modified-since"),
    (HeaderId::IfNoneMatch, "if-none-match"),
    (HeaderId::IfRange, "if-range"),
    (HeaderId::IfUnmodifiedSince, "if-unmodified-since"),
    (HeaderId::KeepAlive, "keep-alive"),
    (HeaderId::LastModified, "last-modified"),
    (HeaderId::Location, "location"),
    (HeaderId::MaxForwards, "max-forwards"),
    (HeaderId::Origin, "origin"),
    (HeaderId::Pragma, "pragma"),
    (HeaderId::ProxyAuthenticate, "proxy-authenticate"),
    (HeaderId::ProxyAuthorization, "proxy-authorization"),
    (HeaderId::ProxyConnection, "proxy-connection"),
    (HeaderId::Range, "range"),
    (HeaderId::Referer, "referer"),
    (HeaderId::RetryAfter, "retry-after"),
    (HeaderId::SecWebSocketAccept, "sec-websocket-accept"),
    (HeaderId::SecWebSocketKey, "sec-websocket-key"),
    (HeaderId::SecWebSocketVersion, "sec-websocket-version"),
    (HeaderId::Server, "server"),
    (HeaderId::SetCookie, "set-cookie"),
    (HeaderId::StrictTransportSecurity, "strict-transport-security"),
    (HeaderId::Te, "te"),
    (HeaderId::Trailer, "trailer"),
    (HeaderId::TransferEncoding, "transfer-encoding"),
    (HeaderId::Upgrade, "upgrade"),
    (HeaderId::UserAgent, "user-agent"),
    (HeaderId::Vary, "vary"),
    (HeaderId::Via, "via"),
    (HeaderId::WwwAuthenticate, "www-authenticate"),
    (HeaderId::XForwardedFor, "x-forwarded-for"),
    (HeaderId::XForwardedHost, "x-forwarded-host"),
    (HeaderId::XForwardedProto, "x-forwarded-proto"),
    (HeaderId::XRequestId, "x-request-id"),
];

/// A name of up to 32 bytes, padded with zeros, as four little-endian words, for comparison without
/// a loop.
type Words = [u64; 4];

/// Longest name in the table.
const LONGEST: usize = size_of::<Words>();

const SLOTS: usize = 256;

/// The names of `TABLE` as words.
const WORDS: [Words; TABLE.len()] = {
    let mut all = [[0; 4]; TABLE.len()];
    let mut i = 0;
    while i < TABLE.len() {
        all[i] = words(TABLE[i].1.as_bytes());
        i += 1;
    }
    all
};

/// Name hash to index in `TABLE`, built at compile time; 0 in free slots. No two names share a
/// slot.
const INDEX: [u8; SLOTS] = {
    let mut index = [0u8; SLOTS];
    let mut i = 1;
    while i < TABLE.len() {
        let at = slot(&WORDS[i]);
        assert!(index[at] == 0, "two names share a slot: choose another odd MULTIPLIER");
        index[at] = i as u8;
        i += 1;
    }
    index
};

const fn words(name: &[u8]) -> Words {
    let mut words = [0; 4];
    let mut i = 0;
    while i < name.len() {
        words[i / 8] |= (name[i] as u64) << (8 * (i % 8));
        i += 1;
    }
    words
}

/// As [`words`], faster at run time.
fn load(name: &[u8]) -> Words {
    let (whole, rest) = name.as_chunks::<8>();
    let mut words = [0; 4];
    for (word, &bytes) in words.iter_mut().zip(whole) {
        *word = u64::from_le_bytes(bytes);
    }
    if let Some(word) = words.get_mut(whole.len()) {
        *word = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    words
}

/// Found by trying, so that every name of the table has its own slot.
const MULTIPLIER: u64 = 0x4484_31bc_e18c_b9a5;

const fn slot(words: &Words) -> usize {
    let mixed = words[0] ^ words[1].rotate_left(23) ^ words[2].rotate_left(41) ^ words[3];
    (mixed.wrapping_mul(MULTIPLIER) >> 56) as usize
}

/// Word-by-word comparison; comparing the arrays would go through memory.
#[inline(always)]
fn same(a: &Words, b: &Words) -> bool {
    (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) == 0
}

/// The short names of `TABLE` as two words; zeros for the others.
const SHORT: [[u64; 2]; TABLE.len()] = {
    let mut all = [[0; 2]; TABLE.len()];
    let mut i = 0;
    while i < TABLE.len() {
        if TABLE[i].1.len() <= ShortName::LONGEST {
            all[i] = [WORDS[i][0], WORDS[i][1]];
        }
        i += 1;
    }
    all
};

/// Masks of the bytes in these two words that do not belong to the name.
const KEPT: [[u64; 2]; TABLE.len()] = {
    let mut all = [[u64::MAX; 2]; TABLE.len()];
    let mut i = 0;
    while i < 2 * TABLE.len() {
        let used = 64 - SHORT[i / 2][i % 2].leading_zeros() / 8 * 8;
        all[i / 2][i % 2] = if used == 64 { 0 } else { u64::MAX << used };
        i += 1;
    }
    all
};

const EACH: u64 = 0x0101_0101_0101_0101;

/// Converts ASCII upper case to lower case in each of eight bytes.
const fn lowercase_word(word: u64) -> u64 {
    let low = word & (0x7f * EACH);
    let from_a = low + (0x80 - b'A' as u64) * EACH;
    let above_z = low + (0x80 - b'Z' as u64 - 1) * EACH;
    let upper = (from_a ^ above_z) & !word & (0x80 * EACH);
    word | upper >> 2
}

/// The first `len` of eight bytes, 1 to 8, with the lower-case bit set; and the bits that this
/// changed.
#[inline(always)]
fn fold(bytes: [u8; 8], len: usize) -> (u64, u64) {
    let name = u64::MAX >> (64 - 8 * len as u32);
    let raw = u64::from_le_bytes(bytes);
    let folded = (raw | (0x20 * EACH)) & name;
    (folded, (raw ^ folded) & name)
}

/// Whether only letters were changed, in a name of the table: its other characters, hyphens and
/// digits, are below 0x40.
#[inline(always)]
fn letters_only(folded: u64, changed: u64) -> bool {
    changed << 1 & !folded == 0
}

/// A well-known name of up to 16 bytes, looked up in a line before the line is copied. As it is
/// known, it is a valid token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortName {
    /// The name in lower case, padded with zeros.
    words: [u64; 2],
    len: usize,
    id: HeaderId,
}

impl ShortName {
    const LONGEST: usize = size_of::<[u64; 2]>();

    /// Looks up the first `len` bytes of `line`, in any case. `None` for unknown names, longer
    /// ones, and lines shorter than the next multiple of eight bytes.
    #[inline]
    pub fn of_line(line: &[u8], len: usize) -> Option<Self> {
        let (words, changed) = match len {
            1..=8 => {
                let (word, changed) = fold(*line.first_chunk()?, len);
                ([word, 0], [changed, 0])
            }
            9..=Self::LONGEST => {
                let [a, b] = *line.first_chunk::<{ Self::LONGEST }>()?.as_chunks::<8>().0 else {
                    return None;
                };
                let (a, b) = (fold(a, 8), fold(b, len - 8));
                ([a.0, b.0], [a.1, b.1])
            }
            _ => return None,
        };
        let id = Self::find(words)?;
        let known = letters_only(words[0], changed[0]) && letters_only(words[1], changed[1]);
        known.then_some(Self { words, len, id })
    }

    #[inline(always)]
    fn find(words: [u64; 2]) -> Option<HeaderId> {
        let index = usize::from(INDEX[slot(&[words[0], words[1], 0, 0])]);
        let found = (SHORT[index][0] ^ words[0]) | (SHORT[index][1] ^ words[1]) == 0;
        found.then_some(TABLE[index].0)
    }

    /// Length of the name.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// The header with this name.
    #[inline]
    pub(crate) fn id(self) -> HeaderId {
        self.id
    }

    /// The name in lower case, padded with zeros.
    #[inline]
    pub(crate) fn padded(self) -> [u8; Self::LONGEST] {
        let mut bytes = [0; Self::LONGEST];
        bytes[..8].copy_from_slice(&self.words[0].to_le_bytes());
        bytes[8..].copy_from_slice(&self.words[1].to_le_bytes());
        bytes
    }
}

impl HeaderId {
    /// Every identifier with its lower-case name, in the order of the enum.
    pub const ALL: [(Self, &'static str); TABLE.len()] = TABLE;

    /// The identifier of a name in lower case; `Other` if it has none.
    pub fn from_lower(name: &[u8]) -> Self {
        if name.len() > LONGEST { Self::Other } else { Self::find(&load(name)) }
    }

    /// The identifier of a name in any case; `Other` if it has none.
    pub fn of(name: &[u8]) -> Self {
        if name.len() > LONGEST {
            return Self::Other;
        }
        Self::find(&load(name).map(lowercase_word))
    }

    #[inline(always)]
    fn find(name: &Words) -> Self {
        let index = usize::from(INDEX[slot(name)]);
        if same(&WORDS[index], name) { TABLE[index].0 } else { Self::Other }
    }

    /// Overwrites the name at the front of `text` with its lower-case form. `false`, and `text`
    /// unchanged, for `Other`, names of more than 16 bytes, and texts that are too short.
    #[inline]
    pub(crate) fn write_short(self, text: &mut [u8]) -> bool {
        let index = usize::from(self as u8);
        let [a, b] = SHORT[index];
        let (Some(text), true) = (text.first_chunk_mut::<{ ShortName::LONGEST }>(), a != 0) else {
            return false;
        };
        let (first, last) = text.split_at_mut(8);
        for (bytes, (word, kept)) in
            [first, last].into_iter().zip([a, b].into_iter().zip(KEPT[index]))
        {
            let Ok(bytes) = <&mut [u8; 8]>::try_from(bytes) else { return false };
            *bytes = (u64::from_le_bytes(*bytes) & kept | word).to_le_bytes();
        }
        true
    }

    /// The lower-case name; empty for `Other`.
    pub fn name(self) -> &'static str {
        TABLE[usize::from(self as u8)].1
    }

    /// This header's bit in a presence mask.
    #[inline]
    pub(crate) fn bit(self) -> u64 {
        1 << (self as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_follows_the_enum_and_every_name_is_found() {
        for (i, (id, name)) in TABLE.iter().enumerate() {
            assert_eq!(usize::from(*id as u8), i);
            assert_eq!(HeaderId::from_lower(name.as_bytes()), *id);
            assert_eq!(HeaderId::of(name.to_ascii_uppercase().as_bytes()), *id);
            assert!(name.len() <= LONGEST);
            assert_eq!(load(name.as_bytes()), words(name.as_bytes()));
            for tail in ["", ": X\r\n", ": a longer VALUE, longer than a word\r\n"] {
                let line = (name.to_ascii_uppercase() + tail).into_bytes();
                let short = ShortName::of_line(&line, name.len());
                let fits =
                    (1..=16).contains(&name.len()) && line.len() >= name.len().next_multiple_of(8);
                assert_eq!(short.map(|s| s.id()), fits.then_some(*id), "{name}{tail}");
                assert!(short.is_none_or(|s| s.padded()[..s.len()] == *name.as_bytes()));
            }
        }
        assert!(TABLE.len() <= 64, "the presence mask has 64 bits");
    }

    #[test]
    fn bytes_outside_of_known_names_are_not_recognized() {
        for (id, name) in &TABLE[1..] {
            for (i, right) in name.bytes().enumerate().filter(|_| name.len() <= 16) {
                for byte in 0..=255u8 {
                    let mut line = [b'x'; 24];
                    line[..name.len()].copy_from_slice(name.as_bytes());
                    line[i] = byte;
                    let got = ShortName::of_line(&line, name.len()).map(|s| s.id());
                    let want = HeaderId::of(&line[..name.len()]);
                    assert_eq!(got, (want != HeaderId::Other).then_some(want));
                    assert!(!right.eq_ignore_ascii_case(&byte) || want == *id);
                }
            }
        }
    }

    #[test]
    fn unknown_names_are_other() {
        for name in ["", "x", "hosts", "x-forwarded-fox", &"a".repeat(300)] {
            assert_eq!(HeaderId::of(name.as_bytes()), HeaderId::Other);
        }
    }
}
