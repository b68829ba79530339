//! The static table (RFC 7541 appendix A).

use htx::HeaderId;

/// Number of entries; the dynamic table begins after them.
pub(super) const LEN: usize = TABLE.len();

/// Names and values, from entry 1 on.
pub(super) const TABLE: [(&[u8], &[u8]); 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// The first entry with the name of a well-known header; 0 if there is none.
pub(super) fn index_of(id: HeaderId) -> usize {
    usize::from(BY_ID[usize::from(id as u8)])
}

const BY_ID: [u8; 64] = by_id(&TABLE);

/// The place of the first entry with the name of each well-known header, counted from 1; 0 for
/// names without an entry.
pub(crate) const fn by_id(table: &[(&[u8], &[u8])]) -> [u8; 64] {
    let mut found = [0; 64];
    let mut id = 1;
    while id < HeaderId::ALL.len() {
        let mut entry = table.len();
        while entry > 0 {
            entry -= 1;
            if same(table[entry].0, HeaderId::ALL[id].1.as_bytes()) {
                found[HeaderId::ALL[id].0 as usize] = entry as u8 + 1;
            }
        }
        id += 1;
    }
    found
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    if a.len() != b.len() {
        return false;
    }
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}
