//! Names of protocols in `Upgrade` and `:protocol` (RFC 9110 section 7.8, RFC 8441 section 4).

use htx::list;

/// Names, without version and draft, of protocols that carry HTTP requests.
const WITH_REQUESTS: [&[u8]; 10] =
    [b"http", b"https", b"h2", b"h2c", b"h3", b"hq", b"h1", b"spdy", b"tls", b"ssl"];

/// Whether a text has the form of a protocol: a token, with an optional version.
pub fn is_protocol(text: &[u8]) -> bool {
    let is_token = |part: &[u8]| !part.is_empty() && part.iter().all(|&byte| is_token_byte(byte));
    text.splitn(2, |&byte| byte == b'/').all(is_token)
}

/// Whether HTTP requests follow inside this protocol: HTTP of any version, its drafts and its
/// predecessor, and TLS, which carries HTTP (RFC 2817). A connection that switches to one of them
/// would bring requests to the server without passing the rules.
pub fn carries_requests(protocol: &[u8]) -> bool {
    let end = protocol.iter().position(|byte| matches!(byte, b'/' | b'-'));
    let name = &protocol[..end.unwrap_or(protocol.len())];
    WITH_REQUESTS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a client may ask for this protocol, and a server may switch to it.
pub fn is_allowed(protocol: &[u8]) -> bool {
    is_protocol(protocol) && !carries_requests(protocol)
}

/// The items of an `Upgrade` value, malformed ones included. Every comma separates items: protocols
/// are not quoted, and a quotation mark must not hide an item from this check that a server would
/// find.
pub fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(list::trim).filter(|item| !item.is_empty())
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_with_requests_are_not_allowed_in_any_spelling() {
        for name in [
            "h2c",
            "H2C",
            "h2",
            "h2c-16",
            "h2-14",
            "h3",
            "h3-29",
            "hq-interop",
            "HTTP/2.0",
            "http/1.1",
            "http",
            "HTTPS",
            "TLS/1.0",
            "tls/1.2",
            "spdy/3.1",
            "SPDY",
        ] {
            assert!(!is_allowed(name.as_bytes()), "{name}");
        }
        for odd in ["", "\"h2c\"", "h2c;q=1", "foo bar", "\x0bh2c", "a/b/c", "a/", "/a", "\u{e9}"] {
            assert!(!is_allowed(odd.as_bytes()), "{odd:?}");
        }
        for name in ["websocket", "WebSocket/13", "foo/1", "h2cx", "connect-udp", "IRC/6.9", "tcp"]
        {
            assert!(is_allowed(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn quotation_marks_hide_no_item() {
        let all: Vec<_> = items(b" \"a, h2c\t,,\"b\" ").collect();
        assert_eq!(all, [&b"\"a"[..], b"h2c", b"\"b\""]);
    }
}
