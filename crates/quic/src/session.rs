//! The handshake of one connection, between the transport and the TLS library.
//!
//! The library yields messages with their levels; the transport asks for them level by level, and
//! takes the keys of the next level with the last messages of the one before. The library yields
//! the client's 1-RTT secret after its Finished, so the server sends no data before.

use crate::aead::{self, MaskKey, PayloadKey, Suite};
use quinn_proto::crypto::{self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::{Mutex, PoisonError};
use tls::{Conn, Level, QuicAccept, TrafficSecret};

/// `unexpected_message`
const UNEXPECTED_MESSAGE: u8 = 10;

/// `internal_error`
const INTERNAL_ERROR: u8 = 80;

/// The secrets of the two directions of a level.
#[derive(Debug, Default)]
struct Secrets {
    write: Option<Vec<u8>>,
    read: Option<Vec<u8>>,
}

/// A handshake; `accept` is `None` once the session was taken for queries, and before the first
/// message if it could not be made.
pub(crate) struct HandshakeSession {
    accept: Mutex<Option<QuicAccept>>,
    messages: VecDeque<(Level, Vec<u8>)>,
    parameters: Option<Vec<u8>>,
    early: Option<Vec<u8>>,
    handshake: Secrets,
    application: Secrets,
    suite: Option<Suite>,
    /// The level of the transport's packets.
    level: Level,
    is_over: bool,
    has_data: bool,
}

impl HandshakeSession {
    pub(crate) fn new(accept: Option<QuicAccept>) -> Self {
        Self {
            accept: Mutex::new(accept),
            messages: VecDeque::new(),
            parameters: None,
            early: None,
            handshake: Secrets::default(),
            application: Secrets::default(),
            suite: None,
            level: Level::Initial,
            is_over: false,
            has_data: false,
        }
    }

    fn accept(&mut self) -> Option<&mut QuicAccept> {
        self.accept.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut()
    }

    fn note(&mut self, secret: TrafficSecret) {
        let place = match (secret.level, secret.writes) {
            (Level::Early, false) => &mut self.early,
            (Level::Handshake, true) => &mut self.handshake.write,
            (Level::Handshake, false) => &mut self.handshake.read,
            (Level::Application, true) => &mut self.application.write,
            (Level::Application, false) => &mut self.application.read,
            _ => return,
        };
        *place = Some(secret.bytes);
    }

    /// The keys of the level above, once both of its secrets are there.
    fn next_keys(&mut self) -> Option<Keys> {
        let suite = self.suite?;
        let (next, secrets) = match self.level {
            Level::Initial => (Level::Handshake, &self.handshake),
            Level::Handshake => (Level::Application, &self.application),
            _ => return None,
        };
        let keys = aead::keys(suite, secrets.write.as_ref()?, secrets.read.as_ref()?).ok()?;
        self.level = next;
        Some(keys)
    }
}

fn alert(code: u8) -> TransportError {
    TransportError {
        code: TransportErrorCode::crypto(code),
        frame: None,
        reason: "TLS alert".to_owned(),
    }
}

impl crypto::Session for HandshakeSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        debug_assert!(side.is_server(), "a server's session");
        aead::initial_keys(dst_cid).expect("the library has the cipher of Initial packets")
    }

    /// The session for queries, as a `Conn`: it is taken away with the first call after the end of
    /// the handshake.
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        if !self.is_over {
            return None;
        }
        let accept = self.accept.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let conn: Conn = accept.into_conn().ok()?;
        Some(Box::new(conn))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let (suite, secret) = (self.suite?, self.early.as_ref()?);
        let header = MaskKey::of_secret(suite, secret).ok()?;
        let packet = PayloadKey::of_secret(suite, secret).ok()?;
        Some((Box::new(header), Box::new(packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.is_over
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        // After the handshake a client has nothing to say: QUIC has no KeyUpdate messages and no
        // late authentication (RFC 9001 sections 4.4 and 6).
        let over = self.is_over;
        let Some(accept) = self.accept() else {
            return Err(alert(if over { UNEXPECTED_MESSAGE } else { INTERNAL_ERROR }));
        };
        let output = accept.receive(buf).map_err(alert)?;
        let (over, suite) = (accept.is_over(), accept.suite());
        let knows_protocol = accept.protocol().is_some();
        self.is_over = over;
        self.suite = self.suite.or(suite.map(Suite));
        self.messages.extend(output.messages);
        self.parameters = output.parameters.or(self.parameters.take());
        output.secrets.into_iter().for_each(|secret| self.note(secret));
        let news = knows_protocol && !self.has_data;
        self.has_data |= news;
        Ok(news)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(bytes) = &self.parameters else { return Ok(None) };
        Ok(Some(TransportParameters::read(Side::Server, &mut Cursor::new(bytes))?))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        while let Some((_, message)) = self.messages.pop_front_if(|(level, _)| *level == self.level)
        {
            buf.extend_from_slice(&message);
        }
        self.next_keys()
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let suite = self.suite?;
        let hash = suite.hash();
        let next = |secret: &mut Option<Vec<u8>>| {
            let updated = hash.expand_label(secret.as_ref()?, "quic ku", hash.len());
            let key = PayloadKey::of_secret(suite, &updated).ok()?;
            *secret = Some(updated);
            Some(Box::new(key) as Box<dyn PacketKey>)
        };
        let local = next(&mut self.application.write)?;
        let remote = next(&mut self.application.read)?;
        Some(KeyPair { local, remote })
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        // Clients get Retry packets.
        false
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let accept = self.accept.lock().unwrap_or_else(PoisonError::into_inner);
        let label = std::str::from_utf8(label).map_err(|_| ExportKeyingMaterialError)?;
        match accept.as_ref().is_some_and(|accept| accept.export(output, label, context)) {
            true => Ok(()),
            false => Err(ExportKeyingMaterialError),
        }
    }
}
