//! HTTP versions of connections to a server, by purpose. Data only.

use htx::Head;
use std::sync::Arc;
use wire::h2::request;

/// HTTP version of a connection, as far as it is known before connecting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.
    #[default]
    H1,
    /// HTTP/2.
    H2,
    /// The version that the server selects by ALPN (RFC 7301).
    Chosen,
}

/// HTTP version and ALPN of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speech {
    /// The version.
    pub version: Version,
    /// ALPN protocols in wire format, in place of those of the server line.
    pub alpn: Option<Arc<[u8]>>,
}

/// HTTP versions of a server's connections (`proto`, `alpn`, `ws`, `check-proto`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speeches {
    /// Version for most requests.
    pub usual: Speech,
    /// Version for websocket requests.
    pub websocket: Speech,
    /// Version for HTTP health checks; [`super::Encryption`] has the ALPN protocols.
    pub checks: Version,
}

impl Speeches {
    /// The same version for all purposes.
    pub fn only(version: Version) -> Self {
        let usual = Speech { version, alpn: None };
        Self { websocket: usual.clone(), usual, checks: version }
    }

    /// The version for a request.
    pub fn of(&self, request: &Head) -> &Speech {
        let websocket = |it: &[u8]| it.eq_ignore_ascii_case(b"websocket");
        let differs = self.usual != self.websocket;
        match differs && request::protocol(request).is_some_and(websocket) {
            true => &self.websocket,
            false => &self.usual,
        }
    }

    /// Whether all requests use HTTP/1.
    pub fn are_old(&self) -> bool {
        (self.usual.version, self.websocket.version) == (Version::H1, Version::H1)
    }
}
