//! The write side: data, alerts and key updates become records.

use crate::contexts::{self, with_sealer};
use crate::error::RecordError;
use crate::handshake_messages::key_update;
use crate::header::{ContentType, HEADER, Header, MOST_PLAIN, additional_data};
use crate::layer::{Owed, RecordLayer};
use ffi::TAG;

/// Content up to this length is copied together with what follows it, so that the library is called
/// once.
const SHORT: usize = 512;

/// The most parts of one record.
const MOST_PARTS: usize = 8;

/// Levels of alerts (RFC 8446 section 6).
const WARNING: u8 = 1;
const FATAL: u8 = 2;

const CLOSE_NOTIFY: u8 = 0;
const NO_RENEGOTIATION: u8 = 100;

impl RecordLayer {
    /// Appends a record with application data to `out`: the parts together, at most 2^14 bytes in
    /// at most 8 parts. Answers that are owed, and new keys that are due, go before it.
    ///
    /// # Errors
    /// Nothing can be sent any more.
    #[inline]
    pub fn seal(&mut self, parts: &[&[u8]], out: &mut Vec<u8>) -> Result<(), RecordError> {
        if self.owed != Owed::Nothing || self.writer.is_worn() || self.reader.is_worn() {
            self.answer(out)?;
        }
        self.write(ContentType::ApplicationData, parts, out)
    }

    /// Appends the answers that are owed to the peer, if any, and new keys that are due.
    ///
    /// # Errors
    /// As [`RecordLayer::seal`].
    #[cold]
    pub fn answer(&mut self, out: &mut Vec<u8>) -> Result<(), RecordError> {
        // The peer's keys wear out as well: it is asked for new ones, once.
        let requests = self.reader.is_worn() && !self.requested;
        let owed = std::mem::take(&mut self.owed);
        if owed == Owed::KeyUpdate || requests || self.writer.is_worn() {
            self.requested |= requests;
            self.write(ContentType::Handshake, &[&key_update(requests)], out)?;
            self.writer.update();
            contexts::forget(&mut self.lease);
        }
        match owed {
            Owed::Refusal => self.write(ContentType::Alert, &[&[WARNING, NO_RENEGOTIATION]], out),
            Owed::KeyUpdate | Owed::Nothing => Ok(()),
        }
    }

    /// Whether [`RecordLayer::answer`] has something to send.
    #[inline]
    pub fn owes(&self) -> bool {
        self.owed != Owed::Nothing
    }

    /// Appends new keys, and the wish for new keys of the peer if `request` (RFC 8446 section
    /// 4.6.3). With TLS 1.2 there are none.
    ///
    /// # Errors
    /// As [`RecordLayer::seal`].
    pub fn update_keys(&mut self, request: bool, out: &mut Vec<u8>) -> Result<(), RecordError> {
        if !self.writer.is_tls13() {
            return Ok(());
        }
        self.requested |= request;
        self.write(ContentType::Handshake, &[&key_update(request)], out)?;
        self.writer.update();
        contexts::forget(&mut self.lease);
        Ok(())
    }

    /// Appends `close_notify` (RFC 8446 section 6.1).
    ///
    /// # Errors
    /// As [`RecordLayer::seal`].
    pub fn close(&mut self, out: &mut Vec<u8>) -> Result<(), RecordError> {
        self.write(ContentType::Alert, &[&[WARNING, CLOSE_NOTIFY]], out)
    }

    /// Appends the alert of an error, if it has one (RFC 8446 section 6.2).
    ///
    /// # Errors
    /// As [`RecordLayer::seal`].
    pub fn fail(&mut self, error: RecordError, out: &mut Vec<u8>) -> Result<(), RecordError> {
        match error.alert() {
            Some(number) => self.write(ContentType::Alert, &[&[FATAL, number]], out),
            None => Ok(()),
        }
    }

    fn write(
        &mut self,
        content: ContentType,
        parts: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<(), RecordError> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length > MOST_PLAIN || parts.len() > MOST_PARTS {
            return Err(RecordError::Library);
        }
        let number = self.writer.take_number()?;
        let before = out.len();
        let sealed = match self.writer.is_tls13() {
            true => self.write_tls13(number, content, (parts, length), out),
            false => self.write_tls12(number, content, (parts, length), out),
        };
        if !sealed {
            out.truncate(before);
            return Err(RecordError::Library);
        }
        Ok(())
    }

    /// RFC 8446 section 5.2. Records are not padded.
    fn write_tls13(
        &mut self,
        number: u64,
        content: ContentType,
        (parts, length): (&[&[u8]], usize),
        out: &mut Vec<u8>,
    ) -> bool {
        let header = Header::write(ContentType::ApplicationData, length + 1 + TAG);
        let nonce = self.writer.nonce(number, None);
        out.reserve(HEADER + length + 1 + TAG);
        out.extend_from_slice(&header);
        let kind = [content as u8];
        let sealed = if length <= SHORT {
            let mut inner = [0; SHORT + 1];
            let mut end = 0;
            for part in parts {
                inner[end..end + part.len()].copy_from_slice(part);
                end += part.len();
            }
            inner[end] = kind[0];
            let inner = &inner[..=end];
            with_sealer(&mut self.lease, &self.writer, |context| {
                context.seal(&nonce, &header, &[inner], out)
            })
        } else {
            let mut all: [&[u8]; MOST_PARTS + 1] = [&[]; MOST_PARTS + 1];
            all[..parts.len()].copy_from_slice(parts);
            all[parts.len()] = &kind;
            let all = &all[..=parts.len()];
            with_sealer(&mut self.lease, &self.writer, |context| {
                context.seal(&nonce, &header, all, out)
            })
        };
        sealed == Some(true)
    }

    /// RFC 5246 section 6.2.3.3, with the nonces of RFC 5288 section 3 or RFC 7905 section 2.
    fn write_tls12(
        &mut self,
        number: u64,
        content: ContentType,
        (parts, length): (&[&[u8]], usize),
        out: &mut Vec<u8>,
    ) -> bool {
        let explicit = self.writer.is_explicit().then(|| self.writer.explicit(number));
        let beside = explicit.map_or(0, |explicit| explicit.len());
        out.reserve(HEADER + beside + length + TAG);
        out.extend_from_slice(&Header::write(content, beside + length + TAG));
        out.extend_from_slice(explicit.as_ref().map_or(&[], |explicit| explicit));
        let nonce = self.writer.nonce(number, explicit);
        let data = additional_data(number, content, length);
        with_sealer(&mut self.lease, &self.writer, |context| {
            context.seal(&nonce, &data, parts, out)
        }) == Some(true)
    }
}
