//! Well-known header names as one byte each. Never interns names at run time: what is not in the
//! table is `Other`.

/// A well-known header, computed once when a field is pushed. Fits a 64-bit presence mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs, reason = "each variant is the header of the same name; see TABLE")]
pub enum HeaderId {
    /// Any header that has no entry of its own: compare names.
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

/// A name of up to 32 bytes, padded with zeros, as four little-endian words: compared without a
/// loop.
type Words = [u64; 4];

/// Names longer than this need no look-up.
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

/// Name hash to index in `TABLE`, built at compile time by open addressing; 0 ends a probe.
const INDEX: [u8; SLOTS] = {
    let mut index = [0u8; SLOTS];
    let mut i = 1;
    while i < TABLE.len() {
        let mut at = slot(&WORDS[i]);
        while index[at] != 0 {
            at = (at + 1) % SLOTS;
        }
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

const fn slot(words: &Words) -> usize {
    let mixed = words[0] ^ words[1].rotate_left(23) ^ words[2].rotate_left(41) ^ words[3];
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// Equality word by word: a comparison of the whole would wait for the words to reach memory.
#[inline(always)]
fn same(a: &Words, b: &Words) -> bool {
    (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) == 0
}

/// ASCII upper case to lower case in each of eight bytes.
const fn lowercase_word(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = word & (0x7f * EACH);
    let from_a = low + (0x80 - b'A' as u64) * EACH;
    let above_z = low + (0x80 - b'Z' as u64 - 1) * EACH;
    let upper = (from_a ^ above_z) & !word & (0x80 * EACH);
    word | upper >> 2
}

/// The `i`-th eight bytes of `source` in lower case, as far as a name of `len` bytes goes. Puts
/// them into `copy`.
#[inline(always)]
fn lowercase_chunk(source: &[u8], copy: &mut [u8], i: usize, len: usize) -> u64 {
    let (Some(from), Some(to)) =
        (source[8 * i..].first_chunk::<8>(), copy[8 * i..].first_chunk_mut::<8>())
    else {
        return 0;
    };
    let left = len - 8 * i;
    let name = if left < 8 { (1 << (8 * left)) - 1 } else { u64::MAX };
    let raw = u64::from_le_bytes(*from);
    let lower = lowercase_word(raw & name);
    *to = (lower | raw & !name).to_le_bytes();
    lower
}

impl HeaderId {
    /// Identifies the name in the first `len` bytes of `source` and puts it into lower case in
    /// `copy`, which begins with a copy of `source`. Reading the source spares a wait for the copy
    /// to reach memory.
    #[inline]
    pub(crate) fn lowercase(source: &[u8], len: usize, copy: &mut [u8]) -> Self {
        let whole = len.next_multiple_of(8);
        if len > LONGEST || source.len() < whole || copy.len() < whole {
            copy[..len].make_ascii_lowercase();
            return Self::of(&source[..len]);
        }
        // Written out, so that the words stay in registers.
        let mut words = [lowercase_chunk(source, copy, 0, len), 0, 0, 0];
        if len > 8 {
            words[1] = lowercase_chunk(source, copy, 1, len);
        }
        if len > 16 {
            words[2] = lowercase_chunk(source, copy, 2, len);
        }
        if len > 24 {
            words[3] = lowercase_chunk(source, copy, 3, len);
        }
        Self::find(&words)
    }

    /// The identifier of a name that is already in lower case; `Other` when it has none.
    pub fn from_lower(name: &[u8]) -> Self {
        if name.len() > LONGEST { Self::Other } else { Self::find(&words(name)) }
    }

    /// The identifier of a name in any case; `Other` when it has none.
    pub fn of(name: &[u8]) -> Self {
        if name.len() > LONGEST {
            return Self::Other;
        }
        Self::find(&words(name).map(lowercase_word))
    }

    #[inline(always)]
    fn find(name: &Words) -> Self {
        let mut at = slot(name);
        loop {
            let index = usize::from(INDEX[at]);
            if index == 0 || same(&WORDS[index], name) {
                return TABLE[index].0;
            }
            at = (at + 1) % SLOTS;
        }
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
            for tail in ["", ": X\r\n", ": a longer VALUE, longer than a word\r\n"] {
                let source = (name.to_ascii_uppercase() + tail).into_bytes();
                let mut line = source.clone();
                assert_eq!(HeaderId::lowercase(&source, name.len(), &mut line), *id);
                assert_eq!(line, (name.to_string() + tail).as_bytes());
            }
        }
        assert!(TABLE.len() <= 64, "the presence mask has 64 bits");
    }

    #[test]
    fn every_byte_is_put_into_lower_case() {
        for byte in 0..=255u8 {
            let mut line = [byte; 24];
            HeaderId::lowercase(&[byte; 24], 13, &mut line);
            assert_eq!(line[..13], [byte.to_ascii_lowercase(); 13]);
            assert_eq!(line[13..], [byte; 11]);
        }
    }

    #[test]
    fn unknown_names_are_other() {
        for name in ["", "x", "hosts", "x-forwarded-fox", &"a".repeat(300)] {
            assert_eq!(HeaderId::of(name.as_bytes()), HeaderId::Other);
        }
    }
}
