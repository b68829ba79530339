//! TLS handshakes of QUIC connections (RFC 9001): no records, but messages with a level each, and
//! secrets for the transport.

use crate::channel::Channel;
use crate::errors::forget_errors;
use crate::flavour;
use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslRef};
use std::collections::VecDeque;

/// The level of a message or of a secret (RFC 9001 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Messages of Initial packets; it has no secret.
    Initial,
    /// 0-RTT packets.
    Early,
    /// Handshake packets.
    Handshake,
    /// 1-RTT packets.
    Application,
}

/// A secret for the packets of one direction.
#[derive(Clone, PartialEq, Eq)]
pub struct TrafficSecret {
    /// The level of the packets.
    pub level: Level,
    /// Whether it protects packets that are sent.
    pub writes: bool,
    /// The secret.
    pub bytes: Vec<u8>,
}

impl std::fmt::Debug for TrafficSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrafficSecret").field("level", &self.level).finish_non_exhaustive()
    }
}

/// Results of a handshake that the caller has not taken yet.
#[derive(Debug, Default)]
pub struct HandshakeOutput {
    /// Messages to send, in order.
    pub messages: Vec<(Level, Vec<u8>)>,
    /// Secrets, in order.
    pub secrets: Vec<TrafficSecret>,
    /// The transport parameters of the peer.
    pub parameters: Option<Vec<u8>>,
    /// The alert that ends the connection.
    pub alert: Option<u8>,
}

/// The state that the library's callbacks see.
#[derive(Default)]
pub(crate) struct Exchange {
    pub(crate) output: HandshakeOutput,
    /// Received bytes. A chunk keeps its address until the library releases it.
    pub(crate) input: VecDeque<Box<[u8]>>,
    /// The level of messages to send.
    pub(crate) level: Option<Level>,
}

/// A handshake without records.
pub struct QuicHandshake {
    session: flavour::QuicSession,
}

impl std::fmt::Debug for QuicHandshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.ssl().state_string_long();
        f.debug_tuple("QuicHandshake").field(&state).finish()
    }
}

impl QuicHandshake {
    /// A handshake that has not begun, with our transport parameters; `ssl` must know already
    /// whether it accepts or connects. `early`: early data is taken.
    ///
    /// # Errors
    /// The library has no such handshakes, or no memory.
    pub fn new(ssl: Ssl, parameters: Vec<u8>, early: bool) -> Result<Self, ErrorStack> {
        forget_errors();
        flavour::QuicSession::new(ssl, parameters, early).map(|session| Self { session })
    }

    /// Takes bytes of the peer's messages, of the level that the library waits for.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.session.exchange().input.push_back(bytes.into());
        }
    }

    /// Goes on with the handshake as far as the bytes suffice. `Ok(true)`: the handshake is
    /// complete.
    ///
    /// # Errors
    /// The handshake has failed; the output has an alert.
    pub fn advance(&mut self) -> Result<bool, ErrorStack> {
        forget_errors();
        self.session.advance()
    }

    /// Handles messages after the handshake.
    ///
    /// # Errors
    /// A message is invalid; the output has an alert.
    pub fn handle_late(&mut self) -> Result<(), ErrorStack> {
        forget_errors();
        self.session.handle_late()
    }

    /// Takes the output.
    pub fn take_output(&mut self) -> HandshakeOutput {
        std::mem::take(&mut self.session.exchange().output)
    }

    /// The session for queries, when no more messages are handled.
    ///
    /// # Errors
    /// No memory.
    pub fn into_channel(self) -> Result<Channel, ErrorStack> {
        Channel::of_quic(self.session)
    }

    /// The library's session object.
    pub fn ssl(&self) -> &SslRef {
        self.session.ssl()
    }
}
