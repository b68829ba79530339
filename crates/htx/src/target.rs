//! Request targets (RFC 9112 section 3.2), split into slices without decoding.

use crate::start::Method;

/// A request target in one of its four forms, or in a form that rules can produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// `/path?query`.
    Origin(&'a [u8]),
    /// `scheme://authority/path?query`; the path with its query may be empty.
    Absolute {
        /// The scheme, without `://`.
        scheme: &'a [u8],
        /// User information, host and port.
        authority: &'a [u8],
        /// The part from the first slash on, or from the question mark if there is no path.
        path_and_query: &'a [u8],
    },
    /// `host:port`, for CONNECT alone.
    Authority(&'a [u8]),
    /// `*`.
    Asterisk,
    /// `path?query` without a leading slash, possibly without a path: not a form of the RFC, but
    /// rules can produce it.
    Relative(&'a [u8]),
    /// An empty target.
    Empty,
}

impl<'a> Target<'a> {
    /// Splits the URI of a request with this method.
    pub fn parse(method: Method, uri: &'a [u8]) -> Self {
        match uri {
            [b'/', ..] => Self::Origin(uri),
            b"*" => Self::Asterisk,
            [] => Self::Empty,
            _ => absolute(uri).unwrap_or(match method {
                Method::Connect => Self::Authority(uri),
                _ => Self::Relative(uri),
            }),
        }
    }

    /// The path, without the query; `None` if the form has none.
    pub fn path(self) -> Option<&'a [u8]> {
        let all = self.path_and_query()?;
        Some(&all[..question_mark(all).unwrap_or(all.len())])
    }

    /// The path with its query; `None` if the form has none.
    pub fn path_and_query(self) -> Option<&'a [u8]> {
        match self {
            Self::Origin(all) | Self::Relative(all) => Some(all),
            Self::Absolute { path_and_query, .. } => Some(path_and_query),
            _ => None,
        }
    }

    /// The part after the first question mark; `None` without one.
    pub fn query(self) -> Option<&'a [u8]> {
        let all = self.path_and_query()?;
        question_mark(all).map(|at| &all[at + 1..])
    }

    /// User information, host and port; `None` if the form has none.
    pub fn authority(self) -> Option<&'a [u8]> {
        match self {
            Self::Absolute { authority, .. } | Self::Authority(authority) => Some(authority),
            _ => None,
        }
    }
}

fn absolute(uri: &[u8]) -> Option<Target<'_>> {
    let colon = uri.iter().position(|&b| b == b':')?;
    let scheme = &uri[..colon];
    if !is_scheme(scheme) {
        return None;
    }
    let rest = uri[colon..].strip_prefix(b"://")?;
    let end = rest.iter().position(|b| matches!(b, b'/' | b'?' | b'#')).unwrap_or(rest.len());
    Some(Target::Absolute { scheme, authority: &rest[..end], path_and_query: &rest[end..] })
}

fn is_scheme(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

fn question_mark(text: &[u8]) -> Option<usize> {
    text.iter().position(|&b| b == b'?')
}

/// An authority without its user information (`user:pass@`).
pub fn without_userinfo(authority: &[u8]) -> &[u8] {
    match authority.iter().rposition(|&b| b == b'@') {
        Some(at) => &authority[at + 1..],
        None => authority,
    }
}

/// Splits `host:port`; the port is `None` without a colon after the host, and may be empty.
/// Brackets of an IPv6 literal stay with the host.
pub fn split_port(authority: &[u8]) -> (&[u8], Option<&[u8]>) {
    let host_end = authority.iter().rposition(|&b| b == b']').map_or(0, |at| at + 1);
    match authority[host_end..].iter().rposition(|&b| b == b':') {
        Some(at) => (&authority[..host_end + at], Some(&authority[host_end + at + 1..])),
        None => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static str, Option<&'static str>, Option<&'static str>, Option<&'static str>);

    #[test]
    fn forms() {
        let rows: [Row; 13] = [
            ("/", Some("/"), None, None),
            ("/a?b?c", Some("/a"), Some("b?c"), None),
            ("/a?", Some("/a"), Some(""), None),
            ("//x/y", Some("//x/y"), None, None),
            ("http://h:80/p?q", Some("/p"), Some("q"), Some("h:80")),
            ("http://h", Some(""), None, Some("h")),
            ("http://h?q", Some(""), Some("q"), Some("h")),
            ("*", None, None, None),
            ("*?x", Some("*"), Some("x"), None),
            ("foo", Some("foo"), None, None),
            ("foo/bar?x=1", Some("foo/bar"), Some("x=1"), None),
            ("?x", Some(""), Some("x"), None),
            ("", None, None, None),
        ];
        for (uri, path, query, authority) in rows {
            let target = Target::parse(Method::Get, uri.as_bytes());
            assert_eq!(target.path(), path.map(str::as_bytes), "{uri}");
            assert_eq!(target.query(), query.map(str::as_bytes), "{uri}");
            assert_eq!(target.authority(), authority.map(str::as_bytes), "{uri}");
        }
        assert_eq!(Target::parse(Method::Connect, b"h:443"), Target::Authority(b"h:443"));
    }

    #[test]
    fn ports_and_users() {
        assert_eq!(split_port(b"h:80"), (&b"h"[..], Some(&b"80"[..])));
        assert_eq!(split_port(b"[::1]:80"), (&b"[::1]"[..], Some(&b"80"[..])));
        assert_eq!(split_port(b"[::1]"), (&b"[::1]"[..], None));
        assert_eq!(split_port(b"h:"), (&b"h"[..], Some(&b""[..])));
        assert_eq!(without_userinfo(b"u:p@h:1"), b"h:1");
    }
}
