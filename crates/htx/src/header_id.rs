//! Well-known header names as one byte each. Never interns names at run time: what is not in the table is `Other`.

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

/// Length of the longest name in the table: a longer one needs no look-up.
const LONGEST: usize = 25;

const SLOTS: usize = 256;

/// Name hash to index in `TABLE`, built at compile time by open addressing; 0 ends a probe.
const INDEX: [u8; SLOTS] = build_index();

/// Three bytes and the length tell nearly all well-known names apart.
const fn slot(name: &[u8]) -> usize {
    let (len, first, last) = (name.len(), name[0] as usize, name[name.len() - 1] as usize);
    let middle = name[len / 2] as usize;
    (len.wrapping_mul(7) ^ first.wrapping_mul(31) ^ last.wrapping_mul(113) ^ middle.wrapping_mul(5))
        % SLOTS
}

const fn build_index() -> [u8; SLOTS] {
    let mut index = [0u8; SLOTS];
    let mut i = 1;
    while i < TABLE.len() {
        let mut at = slot(TABLE[i].1.as_bytes());
        while index[at] != 0 {
            at = (at + 1) % SLOTS;
        }
        index[at] = i as u8;
        i += 1;
    }
    index
}

impl HeaderId {
    /// The identifier of a name that is already in lower case; `Other` when it has none.
    #[inline]
    pub fn from_lower(name: &[u8]) -> Self {
        if name.is_empty() || name.len() > LONGEST {
            return Self::Other;
        }
        let mut at = slot(name);
        loop {
            let (id, known) = TABLE[usize::from(INDEX[at])];
            if id == Self::Other || known.as_bytes() == name {
                return id;
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// The identifier of a name in any case; `Other` when it has none.
    pub fn of(name: &[u8]) -> Self {
        if name.len() > LONGEST {
            return Self::Other;
        }
        let mut lower = [0u8; LONGEST];
        let lower = &mut lower[..name.len()];
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        Self::from_lower(lower)
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
        }
        assert!(TABLE.len() <= 64, "the presence mask has 64 bits");
    }

    #[test]
    fn unknown_names_are_other() {
        for name in ["", "x", "hosts", "x-forwarded-fox", &"a".repeat(300)] {
            assert_eq!(HeaderId::of(name.as_bytes()), HeaderId::Other);
        }
    }
}
