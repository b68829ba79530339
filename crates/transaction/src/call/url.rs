//! URLs of requests of the process itself, and addresses to send them to.

use htx::target::{split_port, without_userinfo};
use htx::{Method, Target};
use reactor::Address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// The longest host name (RFC 1035 section 2.3.4).
const MAX_NAME: usize = 253;
/// Bytes that the system takes for the path of a socket.
const MAX_PATH: usize = 107;

/// A URL of `http` or `https`. User information and the fragment are left out: neither is sent or
/// logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Url {
    pub(super) is_tls: bool,
    /// Host and port, as written.
    pub(super) authority: Vec<u8>,
    pub(super) host: UrlHost,
    pub(super) port: u16,
    /// Path and query.
    pub(super) path: Vec<u8>,
}

/// The host of a URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum UrlHost {
    Ip(IpAddr),
    Name(String),
}

impl Url {
    /// `None`: the text is no URL, or has another scheme.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        if !text.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let Target::Absolute { scheme, authority, path_and_query } =
            Target::parse(Method::Get, text)
        else {
            return None;
        };
        let is_tls = match scheme.to_ascii_lowercase().as_slice() {
            b"http" => false,
            b"https" => true,
            _ => return None,
        };
        let authority = without_userinfo(authority);
        let (host, port) = split_port(authority);
        let port = match port {
            None | Some(b"") => {
                if is_tls {
                    443
                } else {
                    80
                }
            }
            Some(digits) => decimal(digits)?,
        };
        let authority = authority.to_vec();
        Some(Self {
            is_tls,
            authority,
            host: UrlHost::parse(host)?,
            port,
            path: path(path_and_query),
        })
    }
}

impl UrlHost {
    /// Parses a host as it is written in a URL.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        if let Some(inner) = text.strip_prefix('[') {
            let ip: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Ip(ip.into()));
        }
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Some(Self::Ip(ip.into()));
        }
        let of_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let sound = !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(of_name);
        sound.then(|| Self::Name(text.to_ascii_lowercase()))
    }

    /// The text by which a server over TLS is asked for.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Ip(ip) => ip.to_string(),
            Self::Name(name) => name.trim_end_matches('.').to_owned(),
        }
    }
}

/// The path with its query, without a fragment; a path is never empty.
fn path(text: &[u8]) -> Vec<u8> {
    let end = text.iter().position(|b| *b == b'#').unwrap_or(text.len());
    let text = &text[..end];
    match text.first() {
        Some(b'/') => text.to_vec(),
        _ => [b"/", text].concat(),
    }
}

/// A port of up to five digits, not 0.
fn decimal(digits: &[u8]) -> Option<u16> {
    let plain = digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(digits).ok().filter(|_| plain)?;
    text.parse().ok().filter(|port| *port > 0)
}

/// An address in place of that of the URL: `127.0.0.1`, `ipv4@127.0.0.1:80`, `[::1]:80`,
/// `unix@/path`, `/path`, `abns@name`. `port` holds where the text names none.
pub(super) fn address(text: &str, port: u16) -> Option<Address> {
    if text.starts_with('/') {
        return path_address(text.to_owned());
    }
    let (family, rest) = text.split_once('@').unwrap_or(("ip", text));
    let inet = inet(rest, port).map(Address::Inet);
    match family {
        "ip" | "tcp" => inet,
        "ipv4" | "tcp4" => inet.filter(|it| it.inet().is_some_and(|it| it.is_ipv4())),
        "ipv6" | "tcp6" => inet.filter(|it| it.inet().is_some_and(|it| it.is_ipv6())),
        "unix" | "uxst" => path_address(rest.to_owned()),
        "abns" => path_address(format!("\0{rest}")),
        _ => None,
    }
}

fn path_address(path: String) -> Option<Address> {
    let sound = path.len() > 1 && path.len() <= MAX_PATH && !path[1..].contains('\0');
    sound.then(|| Address::Unix(PathBuf::from(path)))
}

fn inet(text: &str, port: u16) -> Option<SocketAddr> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(SocketAddr::new(ip, port));
    }
    let address = text.parse::<SocketAddr>().ok().filter(|it| it.port() > 0);
    let bare =
        || Some(SocketAddr::new(text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?, port));
    address.or_else(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(bool, String, String, u16, String)> {
        let url = Url::parse(text.as_bytes())?;
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Some((url.is_tls, text(url.authority), url.host.name(), url.port, text(url.path)))
    }

    #[test]
    fn urls_are_taken_apart() {
        let rows = [
            ("http://a.test", (false, "a.test", "a.test", 80, "/")),
            ("HTTPS://A.Test:8443/x?y#z", (true, "A.Test:8443", "a.test", 8443, "/x?y")),
            ("http://u:p@a.test?q", (false, "a.test", "a.test", 80, "/?q")),
            ("http://[::1]:81/", (false, "[::1]:81", "::1", 81, "/")),
            ("http://1.2.3.4:/", (false, "1.2.3.4:", "1.2.3.4", 80, "/")),
        ];
        for (text, (tls, authority, host, port, path)) in rows {
            let expected = (tls, authority.into(), host.into(), port, path.into());
            assert_eq!(parsed(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn malformed_urls_are_refused() {
        for text in [
            "",
            "foo",
            "/x",
            "ftp://a/",
            "http://",
            "http://:80/",
            "http://a b/",
            "http://a/x y",
            "http://a:0/",
            "http://a:99999/",
            "http://a:x/",
            "http://[::1/",
            "http://a/\r\nx",
            "http://a%41/",
            "http://\u{e4}/",
            "http://u@/",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
        assert_eq!(parsed(&format!("http://{}/", "a".repeat(254))), None);
    }

    #[test]
    fn addresses_have_families_and_ports() {
        let shown = |text| address(text, 80).map(|it| it.to_string());
        for (text, expected) in [
            ("127.0.0.1", "127.0.0.1:80"),
            ("ipv4@127.0.0.1:81", "127.0.0.1:81"),
            ("[::1]:81", "[::1]:81"),
            ("ipv6@::1", "[::1]:80"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(address("unix@/a/b", 80), Some(Address::Unix("/a/b".into())));
        assert_eq!(address("/a/b", 80), address("unix@/a/b", 80));
        assert_eq!(address("abns@x", 80), Some(Address::Unix("\0x".into())));
        let long = format!("unix@/{}", "x".repeat(200));
        for text in ["", "!!", "ipv4@::1", "ipv6@1.2.3.4", "fd@3", "a.test", "unix@", &long] {
            assert_eq!(address(text, 80), None, "{text}");
        }
    }
}
