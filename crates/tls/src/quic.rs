//! The handshake of a client that speaks QUIC (RFC 9001): the certificates and options are those of
//! its bind line, as for a session over TCP.

use crate::conn::Conn;
use crate::error::{HandshakeError, Reason};
use crate::settings::Defaults;
use ffi::{HandshakeOutput, QuicHandshake};
use openssl::ssl::{Ssl, SslRef};

/// The alert for failures that have none of their own (`internal_error`).
const INTERNAL_ERROR: u8 = 80;

/// `no_application_protocol`
const NO_PROTOCOL: u8 = 120;

/// The cipher suites of QUIC (RFC 9001 section 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicSuite {
    /// `TLS_AES_128_GCM_SHA256`
    Aes128,
    /// `TLS_AES_256_GCM_SHA384`
    Aes256,
    /// `TLS_CHACHA20_POLY1305_SHA256`
    ChaCha20,
}

/// A handshake of a server.
#[derive(Debug)]
pub struct QuicAccept {
    handshake: QuicHandshake,
    defaults: Defaults,
    is_over: bool,
}

impl QuicAccept {
    pub(crate) fn new(
        ssl: Ssl,
        parameters: Vec<u8>,
        early: bool,
        defaults: &Defaults,
    ) -> Result<Self, HandshakeError> {
        let handshake = QuicHandshake::new(ssl, parameters, early)
            .map_err(|_| HandshakeError::new(Reason::Broken))?;
        Ok(Self { handshake, defaults: *defaults, is_over: false })
    }

    fn library(&self) -> &SslRef {
        self.handshake.ssl()
    }

    /// Handles bytes of the client's messages, in order, and adds to the output what follows from
    /// them.
    ///
    /// # Errors
    /// The alert that ends the connection.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<HandshakeOutput, u8> {
        self.handshake.feed(bytes);
        let advanced = match self.is_over {
            true => self.handshake.handle_late().map(|()| true),
            false => self.handshake.advance(),
        };
        let output = self.handshake.take_output();
        match (advanced, output.alert) {
            (Ok(over), None) => {
                self.is_over = over;
                // The protocol is chosen with the ClientHello, from which secrets follow. Without a
                // common one there is no connection (RFC 9001 section 8.1).
                if (over || !output.secrets.is_empty()) && self.protocol().is_none() {
                    return Err(NO_PROTOCOL);
                }
                Ok(output)
            }
            (_, alert) => Err(alert.unwrap_or(INTERNAL_ERROR)),
        }
    }

    /// Whether the handshake is over.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The protocol that was chosen (RFC 7301).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.library().selected_alpn_protocol()
    }

    /// The cipher suite, once it is chosen.
    pub fn suite(&self) -> Option<QuicSuite> {
        match self.library().current_cipher()?.standard_name()? {
            "TLS_AES_128_GCM_SHA256" => Some(QuicSuite::Aes128),
            "TLS_AES_256_GCM_SHA384" => Some(QuicSuite::Aes256),
            "TLS_CHACHA20_POLY1305_SHA256" => Some(QuicSuite::ChaCha20),
            _ => None,
        }
    }

    /// Fills `out` with keying material (RFC 8446 section 7.5); `false`: the handshake is not over.
    pub fn export(&self, out: &mut [u8], label: &str, context: &[u8]) -> bool {
        self.library().export_keying_material(out, label, Some(context)).is_ok()
    }

    /// The session for queries, when no more messages are handled.
    ///
    /// # Errors
    /// The library is out of memory.
    pub fn into_conn(self) -> Result<Conn, HandshakeError> {
        let channel = self.handshake.into_channel();
        let channel = channel.map_err(|_| HandshakeError::new(Reason::Broken))?;
        Ok(Conn::of_quic(channel, &self.defaults))
    }
}
