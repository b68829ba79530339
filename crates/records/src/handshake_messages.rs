//! Handshake messages that a client may send after the handshake: key updates of TLS 1.3, and the
//! wish to renegotiate of TLS 1.2, which is refused.

use crate::error::RecordError;

/// Bytes before the body: type and length.
const PREFIX: usize = 4;
/// Bytes of a `KeyUpdate` message.
pub(crate) const KEY_UPDATE: usize = PREFIX + 1;

const CLIENT_HELLO: u8 = 1;
const KEY_UPDATE_TYPE: u8 = 24;

/// The meaning of a handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The peer's next records have new keys; `true`: it asks for new keys from us.
    KeyUpdate(bool),
    /// The client wants to renegotiate.
    Renegotiate,
}

/// Messages that may arrive in pieces.
#[derive(Debug, Default)]
pub(crate) struct HandshakeMessages {
    begun: [u8; KEY_UPDATE],
    /// Bytes of `begun`.
    length: u8,
    /// Bytes of a body that follow and do not matter.
    skipped: u32,
}

impl HandshakeMessages {
    /// Whether a message is incomplete: nothing else may come in between (RFC 8446 section 5.1).
    #[inline]
    pub(crate) fn is_incomplete(&self) -> bool {
        self.length > 0 || self.skipped > 0
    }

    /// Reads the content of a record of TLS 1.3. A key update ends its record, because messages do
    /// not span new keys (RFC 8446 section 5.1).
    ///
    /// # Errors
    /// The message is not one that a client may send (RFC 8446 section 4.6).
    pub(crate) fn read_tls13(&mut self, content: &[u8]) -> Result<Option<Message>, RecordError> {
        let rest = self.take(content, KEY_UPDATE);
        let known = &self.begun[..usize::from(self.length)];
        if known.first().is_some_and(|kind| *kind != KEY_UPDATE_TYPE) {
            return Err(RecordError::Unexpected);
        }
        if known.get(1..PREFIX).is_some_and(|length| *length != [0, 0, 1]) {
            return Err(RecordError::Decode);
        }
        let Some(request) = known.get(PREFIX).copied() else { return Ok(None) };
        self.length = 0;
        match request {
            _ if !rest.is_empty() => Err(RecordError::Unexpected),
            0 | 1 => Ok(Some(Message::KeyUpdate(request == 1))),
            _ => Err(RecordError::IllegalParameter),
        }
    }

    /// Reads the content of a record of TLS 1.2: a ClientHello, whose body is skipped.
    ///
    /// # Errors
    /// The message is not one that a client may send.
    pub(crate) fn read_tls12(&mut self, content: &[u8]) -> Result<Option<Message>, RecordError> {
        let (mut rest, mut found) = (content, None);
        while !rest.is_empty() {
            let skipped = rest.len().min(self.skipped as usize);
            self.skipped -= skipped as u32;
            rest = self.take(&rest[skipped..], PREFIX);
            let known = &self.begun[..usize::from(self.length)];
            if known.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
                return Err(RecordError::Unexpected);
            }
            if let [_, high, middle, low] = *known {
                (self.skipped, self.length) = (u32::from_be_bytes([0, high, middle, low]), 0);
                found = Some(Message::Renegotiate);
            }
        }
        Ok(found)
    }

    /// Adds bytes until there are so many. Returns the rest.
    fn take<'a>(&mut self, content: &'a [u8], wanted: usize) -> &'a [u8] {
        let have = usize::from(self.length);
        let (taken, rest) = content.split_at(content.len().min(wanted.saturating_sub(have)));
        self.begun[have..have + taken.len()].copy_from_slice(taken);
        self.length += taken.len() as u8;
        rest
    }
}

/// A key update.
pub(crate) fn key_update(request: bool) -> [u8; KEY_UPDATE] {
    [KEY_UPDATE_TYPE, 0, 0, 1, u8::from(request)]
}
