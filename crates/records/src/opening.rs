//! The read side: records become data, ends and answers that are owed.

use crate::contexts::{self, with_opener};
use crate::direction::EXPLICIT;
use crate::error::RecordError;
use crate::handshake_messages::Message;
use crate::header::{ContentType, HEADER, Header, MOST_PLAIN, additional_data};
use crate::layer::{Owed, RecordLayer};
use ffi::{NONCE, TAG};

/// The most warnings in a row, as the TLS library has it.
const MOST_WARNINGS: u8 = 5;

const WARNING: u8 = 1;
const FATAL: u8 = 2;
const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;
const NO_RENEGOTIATION: u8 = 100;

/// The content of an opened record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// So many bytes of application data; they may be none.
    Data(usize),
    /// A message about the session: an answer may be owed.
    Aside,
    /// The peer sends nothing more (RFC 8446 section 6.1).
    Closed,
}

/// The parts of a record that protection needs.
struct Protected<'a> {
    nonce: [u8; NONCE],
    header: &'a [u8],
}

impl RecordLayer {
    /// Bytes of the first record of the input, header included. `None`: more of it has to arrive to
    /// tell.
    ///
    /// # Errors
    /// No record of the session begins so.
    #[inline]
    pub fn first_length(&self, input: &[u8]) -> Result<Option<usize>, RecordError> {
        let Some(header) = input.first_chunk::<HEADER>() else { return Ok(None) };
        let header = Header::read(header, self.reader.is_tls13())?;
        Ok(Some(HEADER + header.length))
    }

    /// Whether a record of so many bytes can be opened into a buffer with so much room, rather than
    /// in its place.
    #[inline]
    pub fn fits(&self, record: usize, room: usize) -> bool {
        record.saturating_sub(HEADER + TAG) <= room
    }

    /// Opens a whole record into `out`, which it must [fit](Self::fits): what is behind the data
    /// there is overwritten.
    ///
    /// # Errors
    /// The session ends; [`RecordLayer::fail`] tells the peer.
    pub fn open(&mut self, record: &[u8], out: &mut [u8]) -> Result<Opened, RecordError> {
        let (header, number) = self.begin(record)?;
        let (nonce, aad, body, length) = self.terms(header, number, record)?;
        let protected = Protected { nonce, header: &aad[..length] };
        let opened = with_opener(&mut self.lease, &self.reader, |context| {
            context.open(&protected.nonce, protected.header, &record[body..], out)
        });
        let count = opened.ok_or(RecordError::Library)?.ok_or(RecordError::BadMac)?;
        self.understand(header.content, &out[..count])
    }

    /// Opens a whole record in its place. Data begins at the offset that is returned with it.
    ///
    /// # Errors
    /// As [`RecordLayer::open`].
    pub fn open_in_place(&mut self, record: &mut [u8]) -> Result<(Opened, usize), RecordError> {
        let (header, number) = self.begin(record)?;
        let (nonce, aad, body, length) = self.terms(header, number, record)?;
        let protected = Protected { nonce, header: &aad[..length] };
        let opened = with_opener(&mut self.lease, &self.reader, |context| {
            context.open_in_place(&protected.nonce, protected.header, &mut record[body..])
        });
        let count = opened.ok_or(RecordError::Library)?.ok_or(RecordError::BadMac)?;
        let opened = self.understand(header.content, &record[body..body + count])?;
        Ok((opened, body))
    }

    /// The header of a record, and its number.
    fn begin(&mut self, record: &[u8]) -> Result<(Header, u64), RecordError> {
        let header = record.first_chunk::<HEADER>().ok_or(RecordError::Decode)?;
        let header = Header::read(header, self.reader.is_tls13())?;
        if record.len() != HEADER + header.length {
            return Err(RecordError::Decode);
        }
        Ok((header, self.reader.take_number()?))
    }

    /// The nonce of a record, its additional data with its length, and where the ciphertext begins.
    fn terms(
        &self,
        header: Header,
        number: u64,
        record: &[u8],
    ) -> Result<([u8; NONCE], [u8; 13], usize, usize), RecordError> {
        let mut aad = [0; 13];
        if self.reader.is_tls13() {
            aad[..HEADER].copy_from_slice(&record[..HEADER]);
            return Ok((self.reader.nonce(number, None), aad, HEADER, HEADER));
        }
        let explicit = match self.reader.is_explicit() {
            true => Some(*record[HEADER..].first_chunk::<EXPLICIT>().ok_or(RecordError::BadMac)?),
            false => None,
        };
        let beside = explicit.map_or(0, |_| EXPLICIT);
        let length = header.length.checked_sub(beside + TAG).ok_or(RecordError::BadMac)?;
        if length > MOST_PLAIN {
            return Err(RecordError::Overflow);
        }
        let aad = additional_data(number, header.content, length);
        Ok((self.reader.nonce(number, explicit), aad, HEADER + beside, aad.len()))
    }

    /// Acts on the plain bytes of a record.
    fn understand(&mut self, outer: ContentType, plain: &[u8]) -> Result<Opened, RecordError> {
        let (content, count) = match self.reader.is_tls13() {
            true => inner(plain)?,
            false => (outer, plain.len()),
        };
        if content == ContentType::ApplicationData {
            if self.messages.is_incomplete() {
                return Err(RecordError::Unexpected);
            }
            self.warnings = 0;
            return Ok(Opened::Data(count));
        }
        self.note_message(content, &plain[..count])
    }

    #[cold]
    fn note_message(&mut self, content: ContentType, plain: &[u8]) -> Result<Opened, RecordError> {
        // Messages have at least one byte (RFC 8446 section 5.1, RFC 5246 section 6.2.1).
        if plain.is_empty() {
            return Err(RecordError::Unexpected);
        }
        if content == ContentType::Alert {
            return self.note_alert(plain);
        }
        let message = match self.reader.is_tls13() {
            true => self.messages.read_tls13(plain)?,
            false => self.messages.read_tls12(plain)?,
        };
        match message {
            Some(Message::KeyUpdate(wanted)) => {
                self.reader.update();
                contexts::forget(&mut self.lease);
                self.requested = false;
                if wanted {
                    // Several requests may be answered by one update (RFC 8446 section 4.6.3).
                    self.owed = Owed::KeyUpdate;
                }
            }
            Some(Message::Renegotiate) => self.owed = Owed::Refusal,
            None => {}
        }
        Ok(Opened::Aside)
    }

    /// An alert: two bytes, in a record of its own (RFC 8446 section 5.1).
    fn note_alert(&mut self, plain: &[u8]) -> Result<Opened, RecordError> {
        let [level, number] = *plain else { return Err(RecordError::Decode) };
        if self.messages.is_incomplete() {
            return Err(RecordError::Unexpected);
        }
        let tls13 = self.reader.is_tls13();
        // The level of TLS 1.3 is ignored (RFC 8446 section 6).
        let harmless = match (level, number) {
            (_, CLOSE_NOTIFY) => return Ok(Opened::Closed),
            (_, USER_CANCELED) if tls13 => true,
            (WARNING, NO_RENEGOTIATION) => false,
            (WARNING, _) => !tls13,
            (FATAL, _) => false,
            _ if tls13 => false,
            _ => return Err(RecordError::IllegalParameter),
        };
        if !harmless {
            return Err(RecordError::Alert(number));
        }
        self.warnings += 1;
        match self.warnings > MOST_WARNINGS {
            true => Err(RecordError::TooManyWarnings),
            false => Ok(Opened::Aside),
        }
    }
}

/// The type of an inner plaintext, and the length of its content (RFC 8446 section 5.4).
fn inner(plain: &[u8]) -> Result<(ContentType, usize), RecordError> {
    // The limit is on all of it, padding too (section 5.2).
    if plain.len() > MOST_PLAIN + 1 {
        return Err(RecordError::Overflow);
    }
    let end = plain.iter().rposition(|byte| *byte != 0).ok_or(RecordError::Unexpected)?;
    Ok((ContentType::of(plain[end])?, end))
}
