//! Syntax of authorities in `Host`, `:authority` and request targets (RFC 3986 section 3.2).

use std::net::Ipv6Addr;
use stdx::byte_set::alphanumeric_and;

/// Bytes of a registered name and of user information, apart from percent-encoded ones:
/// `unreserved` and `sub-delims`, without the comma, which would turn one host into two where
/// `Host` fields are joined.
const NAME: [bool; 256] = alphanumeric_and(b"-._~!$&'()*+;=");

/// Whether a text has the form of `Host` (RFC 9110 section 7.2): a host, possibly empty, with an
/// optional port, possibly empty.
#[inline]
pub fn is_host(text: &[u8]) -> bool {
    port(text).is_some_and(|port| port.iter().all(u8::is_ascii_digit))
}

/// As [`is_host`], with a port of any bytes that are valid in a host: HTTP/1 servers do receive
/// `Host: :8443example.org`, and rules decide about it.
#[inline]
pub fn is_host_with_any_port(text: &[u8]) -> bool {
    port(text).is_some_and(|port| port.split(|byte| *byte == b':').all(is_name))
}

/// The port after a valid host, which may not be a number; empty without a colon.
#[inline]
fn port(text: &[u8]) -> Option<&[u8]> {
    let rest = match text.first() {
        Some(b'[') => after_literal(text)?,
        _ => after_name(text),
    };
    match rest {
        [] => Some(rest),
        [b':', port @ ..] => Some(port),
        _ => None,
    }
}

fn is_name(text: &[u8]) -> bool {
    after_name(text).is_empty()
}

/// Whether a text is the authority of an absolute target or of CONNECT: a host that is not empty,
/// with optional user information and port.
pub fn is_authority(text: &[u8]) -> bool {
    let host = match text.iter().position(|&byte| byte == b'@') {
        Some(at) if is_userinfo(&text[..at]) => &text[at + 1..],
        Some(_) => return false,
        None => text,
    };
    !matches!(host, [] | [b':', ..]) && is_host(host)
}

fn is_userinfo(text: &[u8]) -> bool {
    text.split(|&byte| byte == b':').all(is_name)
}

/// The rest of a text after the registered name at its front.
#[inline]
fn after_name(mut text: &[u8]) -> &[u8] {
    loop {
        let end = text.iter().position(|&byte| !NAME[usize::from(byte)]);
        text = &text[end.unwrap_or(text.len())..];
        match text {
            [b'%', high, low, rest @ ..] if is_hex(*high) && is_hex(*low) => text = rest,
            _ => return text,
        }
    }
}

/// The rest of a text after the address in brackets at its front, if there is one; the address may
/// have a zone (RFC 6874).
fn after_literal(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|&byte| byte == b']')?;
    let inside = std::str::from_utf8(&text[1..end]).ok()?;
    let (address, zone) = match inside.split_once("%25") {
        Some((address, zone)) => (address, Some(zone)),
        None => (inside, None),
    };
    let is_zone = |zone: &str| !zone.is_empty() && is_name(zone.as_bytes());
    let right = address.parse::<Ipv6Addr>().is_ok() && zone.is_none_or(is_zone);
    right.then_some(&text[end + 1..])
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_the_form_of_the_rfc() {
        for right in [
            "",
            "a",
            "a.example",
            "A-b_c~d",
            "1.2.3.4",
            "a:80",
            "a:",
            ":80",
            ":",
            "a%2Fb",
            "!$&'()*+;=",
            "[::1]",
            "[::1]:80",
            "[::ffff:1.2.3.4]",
            "[fe80::1%25eth0]:1",
            "a:99999",
        ] {
            assert!(is_host(right.as_bytes()), "{right:?}");
        }
        for wrong in [
            "a/b",
            "a?b",
            "a#b",
            "u@a",
            "a\\b",
            "a,b",
            "[",
            "]",
            "a[",
            "[a",
            "[a]",
            "[]",
            "[::1",
            "[::1]a",
            "[::1]:x",
            "a b",
            "a\tb",
            "a\x7f",
            "a\0",
            "\u{e9}",
            "a:x",
            "a:80:80",
            "a:-1",
            "a: 80",
            "a%",
            "a%2",
            "a%zz",
            "\"a\"",
            "<a>",
            "{a}",
            "a|b",
            "a^b",
            "a`b",
            "[::1%eth0]",
            "[::1%25]",
        ] {
            assert!(!is_host(wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn lenient_hosts_accept_any_port() {
        for odd in ["a:x", ":8443example.org", "a:80:80", "[::1]:x", "a:-1"] {
            assert!(is_host_with_any_port(odd.as_bytes()) && !is_host(odd.as_bytes()), "{odd:?}");
        }
        for wrong in ["a:b/c", "a:b@c", "a:\u{e9}", "a:b c", "a:b,c", "[::1]x:1", "a:[::1]"] {
            assert!(!is_host_with_any_port(wrong.as_bytes()), "{wrong:?}");
        }
    }

    #[test]
    fn authorities_may_have_user_information() {
        for right in ["a", "u@a", "u:p@a:80", ":@a", "u:p:q@[::1]", "u%40@a"] {
            assert!(is_authority(right.as_bytes()), "{right:?}");
        }
        for wrong in
            ["", ":80", "@", "u@", "u@:80", "u@v@a", "u/@a", "u,v@a", "u\\@a", "[@a", "a@b c"]
        {
            assert!(!is_authority(wrong.as_bytes()), "{wrong:?}");
        }
    }
}
