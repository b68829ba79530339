//! The cryptography of a listener: sessions of its acceptor, and the keys of Initial packets.

use crate::aead;
use crate::session::HandshakeSession;
use quinn_proto::ConnectionId;
use quinn_proto::crypto::{Keys, ServerConfig, Session, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;
use std::sync::Arc;
use tls::Acceptor;

/// QUIC version 1 (RFC 9000).
pub(crate) const VERSION_1: u32 = 1;

/// The TLS side of a bind line, for the transport.
pub(crate) struct ServerCrypto {
    pub(crate) acceptor: Arc<Acceptor>,
}

impl ServerConfig for ServerCrypto {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        match version {
            VERSION_1 => aead::initial_keys(id).map_err(|_| UnsupportedVersion),
            _ => Err(UnsupportedVersion),
        }
    }

    fn retry_tag(&self, _: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        aead::retry_tag(id, packet)
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        let mut parameters = Vec::new();
        params.write(&mut parameters);
        // Without a session the first message fails with an internal error.
        Box::new(HandshakeSession::new(self.acceptor.accept_quic(parameters).ok()))
    }
}
