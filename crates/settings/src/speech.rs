//! Which version of HTTP is spoken with a server, and for what. Data only.

use htx::Head;
use std::sync::Arc;
use wire::h2::request;

/// A version of HTTP, as it is known before a connection is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.
    #[default]
    H1,
    /// HTTP/2.
    H2,
    /// What the server chooses of what its handshake is offered (RFC 7301).
    Chosen,
}

/// What connections speak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speech {
    /// The version.
    pub version: Version,
    /// What is offered instead of the line's own protocols, in wire format.
    pub alpn: Option<Arc<[u8]>>,
}

/// What is spoken with a server (`proto`, `alpn`, `ws`, `check-proto`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speeches {
    /// With most requests.
    pub usual: Speech,
    /// With those that ask for a websocket.
    pub websocket: Speech,
    /// By HTTP health checks, whose [`super::Encryption`] says what is offered.
    pub checks: Version,
}

impl Speeches {
    /// The same version for everything.
    pub fn only(version: Version) -> Self {
        let usual = Speech { version, alpn: None };
        Self { websocket: usual.clone(), usual, checks: version }
    }

    /// What is spoken for a request.
    pub fn of(&self, request: &Head) -> &Speech {
        let websocket = |it: &[u8]| it.eq_ignore_ascii_case(b"websocket");
        let differs = self.usual != self.websocket;
        match differs && request::protocol(request).is_some_and(websocket) {
            true => &self.websocket,
            false => &self.usual,
        }
    }

    /// Whether requests of all kinds go over HTTP/1.
    pub fn are_old(&self) -> bool {
        (self.usual.version, self.websocket.version) == (Version::H1, Version::H1)
    }
}
