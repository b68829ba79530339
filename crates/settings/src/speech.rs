//! Protocols of connections to a server, by purpose. Data only.

use htx::Head;
use std::sync::Arc;
use wire::h2::request;

/// Protocol of a connection that carries requests, as far as it is known before its first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.
    #[default]
    H1,
    /// HTTP/2.
    H2,
    /// HTTP/3 over QUIC, of clients.
    H3,
    /// FastCGI, towards servers.
    Fcgi,
    /// The one that the handshake selects by ALPN (RFC 7301).
    Chosen,
}

/// Protocol and ALPN of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireProtocol {
    /// The protocol.
    pub protocol: Protocol,
    /// ALPN protocols in wire format, in place of those of the server line.
    pub alpn: Option<Arc<[u8]>>,
}

/// Protocols of a server's connections (`proto`, `alpn`, `ws`, `check-proto`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerProtocols {
    /// Protocol for most requests.
    pub usual: WireProtocol,
    /// Protocol for websocket requests.
    pub websocket: WireProtocol,
    /// Protocol for HTTP health checks; [`super::Encryption`] has the ALPN protocols.
    pub checks: Protocol,
}

impl ServerProtocols {
    /// The same protocol for all purposes.
    pub fn only(protocol: Protocol) -> Self {
        let usual = WireProtocol { protocol, alpn: None };
        Self { websocket: usual.clone(), usual, checks: protocol }
    }

    /// The protocol for a request.
    pub fn of(&self, request: &Head) -> &WireProtocol {
        let websocket = |it: &[u8]| it.eq_ignore_ascii_case(b"websocket");
        let differs = self.usual != self.websocket;
        match differs && request::protocol(request).is_some_and(websocket) {
            true => &self.websocket,
            false => &self.usual,
        }
    }

    /// Whether all requests use HTTP/1.
    pub fn are_old(&self) -> bool {
        (self.usual.protocol, self.websocket.protocol) == (Protocol::H1, Protocol::H1)
    }
}
