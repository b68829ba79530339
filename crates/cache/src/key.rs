//! The primary key of an object: the URL of the request in normal form.

use htx::target::{split_port, without_userinfo};
use htx::{Head, Method, Target};
use stdx::siphash::{SipKey, siphash};

/// Longest URL that has a key: longer ones are neither looked up nor stored.
pub const MAX_KEY: usize = 16 << 10;

/// A key, whose memory is reused from request to request.
///
/// The text is `scheme://host[:port]/path?query`. HAProxy's keys differ by the case of the host, by a
/// default port and by the form of the target; these do not, which can only raise hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheKey {
    text: Vec<u8>,
    hash: u64,
}

impl CacheKey {
    /// The key of a request whose scheme is `scheme` unless its head names one. `false` if the
    /// request has no key: its target has no host or no path, or is too long.
    pub fn set(&mut self, request: &Head, scheme: &[u8], key: SipKey) -> bool {
        let scheme = request.scheme().unwrap_or(scheme);
        let path = match request.target() {
            Target::Origin(path) => Some(path),
            Target::Absolute { path_and_query, .. } => Some(path_and_query),
            _ => None,
        };
        self.set_parts(scheme, request.authority(), path, key)
    }

    /// The key of an absolute URL; false if the text is not one, or too long.
    pub fn set_url(&mut self, url: &[u8], key: SipKey) -> bool {
        match Target::parse(Method::Get, url) {
            Target::Absolute { scheme, authority, path_and_query } => {
                let authority = Some(without_userinfo(authority));
                self.set_parts(scheme, authority, Some(path_and_query), key)
            }
            _ => self.set_parts(b"", None, None, key),
        }
    }

    fn set_parts(
        &mut self,
        scheme: &[u8],
        authority: Option<&[u8]>,
        path: Option<&[u8]>,
        key: SipKey,
    ) -> bool {
        self.text.clear();
        self.hash = 0;
        let (Some(authority), Some(path)) = (authority, path) else { return false };
        let (host, port) = split_port(authority);
        if host.is_empty() || scheme.len() + authority.len() + path.len() > MAX_KEY {
            return false;
        }
        self.text.extend_from_slice(scheme);
        self.text.extend_from_slice(b"://");
        self.text.extend_from_slice(host);
        self.text.make_ascii_lowercase();
        if let Some(port) = port.filter(|port| !is_default(&self.text, port)) {
            self.text.push(b':');
            self.text.extend_from_slice(port);
        }
        if !path.starts_with(b"/") {
            self.text.push(b'/');
        }
        self.text.extend_from_slice(path);
        self.hash = siphash(key, &self.text);
        true
    }

    /// A key of any text and hash.
    #[cfg(test)]
    pub(crate) fn of(text: &[u8], hash: u64) -> Self {
        Self { text: text.to_vec(), hash }
    }

    /// The normal form of the URL; empty without a key.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// A keyed hash of the text.
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// Whether this port is the default of a URL that begins so.
fn is_default(url: &[u8], port: &[u8]) -> bool {
    match port {
        b"" => true,
        b"80" => url.starts_with(b"http:"),
        b"443" => url.starts_with(b"https:"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Version;

    fn text(uri: &str, host: &str) -> Option<String> {
        let mut head = Head::default();
        head.set_request(b"GET", uri.as_bytes(), Version::Http11);
        if !host.is_empty() {
            head.push(b"host", host.as_bytes());
        }
        let mut key = CacheKey::default();
        key.set(&head, b"http", [1, 2]).then(|| String::from_utf8_lossy(key.text()).into_owned())
    }

    #[test]
    fn keys_are_urls_in_normal_form() {
        for (uri, host, expected) in [
            ("/k", "h", Some("http://h/k")),
            ("/k", "H", Some("http://h/k")),
            ("/k", "h:80", Some("http://h/k")),
            ("/k", "h:", Some("http://h/k")),
            ("/k", "h:443", Some("http://h:443/k")),
            ("/k", "h:8080", Some("http://h:8080/k")),
            ("http://H/k", "other", Some("http://h/k")),
            ("HTTP://h:80/k", "h", Some("http://h/k")),
            ("https://h:443/k", "h", Some("https://h/k")),
            ("http://u:p@h/k", "h", Some("http://h/k")),
            ("http://h", "h", Some("http://h/")),
            ("http://h?q", "h", Some("http://h/?q")),
            ("/k", "[::1]:80", Some("http://[::1]/k")),
            // Paths and queries are compared as they are.
            ("/K", "h", Some("http://h/K")),
            ("/k?", "h", Some("http://h/k?")),
            ("/k?x", "h", Some("http://h/k?x")),
            ("/%6b", "h", Some("http://h/%6b")),
            ("/k", "", None),
            ("/k", ":80", None),
            ("*", "h", None),
            ("k", "h", None),
        ] {
            assert_eq!(text(uri, host).as_deref(), expected, "{uri} {host}");
        }
        assert_eq!(text(&format!("/{}", "x".repeat(MAX_KEY)), "h"), None);
    }

    #[test]
    fn urls_have_the_keys_of_their_requests() {
        let mut head = Head::default();
        head.set_request(b"GET", b"/k?q", Version::Http11);
        head.push(b"host", b"H:80");
        let (mut key, mut of_url) = (CacheKey::default(), CacheKey::default());
        assert!(key.set(&head, b"http", [1, 2]));
        assert!(of_url.set_url(b"HTTP://u@h:80/k?q", [1, 2]));
        assert_eq!(key, of_url);
        for text in ["/k", "h/k", "*", "", "http://", "http://:80/", "http:/h/k"] {
            assert!(!of_url.set_url(text.as_bytes(), [1, 2]), "{text}");
            assert_eq!((of_url.text(), of_url.hash()), (&b""[..], 0));
        }
    }

    #[test]
    fn schemes_have_keys_of_their_own() {
        let mut head = Head::default();
        head.set_request_target(b"GET", b"https", b"h", b"/k", Version::Http2);
        let mut key = CacheKey::default();
        assert!(key.set(&head, b"http", [1, 2]));
        assert_eq!(key.text(), b"https://h/k");
        let (hash, mut other) = (key.hash(), CacheKey::default());
        assert!(other.set(&head, b"http", [1, 3]) && other.hash() != hash, "hashes are keyed");
    }
}
