//! Sessions whose records this process protects: the library's object is freed after the handshake.
//!
//! Records are opened from where they were received into the caller's buffer, and sealed from the
//! caller's bytes into the output. A record that does not fit the caller's buffer is decrypted in
//! its place, and its rest stays there.

use super::reading::MOST_ASIDES;
use super::writing::BURST;
use super::{Conn, End, Session};
use crate::error::{HandshakeError, Reason};
use crate::handover::Handover;
use crate::scratch::Scratch;
use crate::session_facts::SessionFacts;
use ffi::Wire;
use records::{HEADER, Opened, RecordError, RecordLayer};
use std::io::{self, IoSlice};

/// The most parts of a record.
const PARTS: usize = 8;

/// Most bytes of a record beside data and padding.
const BESIDE: usize = 64;

/// A session without an object of the library.
#[derive(Debug)]
pub(crate) struct OwnSession {
    layer: RecordLayer,
    pub(crate) facts: SessionFacts,
    /// Bytes of data, decrypted, at the beginning of what was read ahead.
    plain: u32,
    /// Bytes behind these that belong to the same record.
    tail: u32,
}

impl OwnSession {
    /// Whether data is left that is decrypted.
    pub(super) fn has_plain(&self) -> bool {
        self.plain > 0
    }
}

impl Conn {
    /// Goes on without the library's object, if that is wanted and everything is known for it.
    pub(super) fn take_over(&mut self) {
        let Session::Library(channel) = &mut self.session else { return };
        if !self.may_take_over || self.early.is_some() || !channel.is_over() {
            return;
        }
        self.may_take_over = false;
        let layer = Handover::record_layer(channel.ssl());
        let own = layer.and_then(|layer| Some((layer, self.gather_facts()?)));
        let Session::Library(channel) = &mut self.session else { return };
        match own {
            Some((layer, facts)) => {
                channel.absolve();
                let own = OwnSession { layer, facts, plain: 0, tail: 0 };
                self.session = Session::Own(Box::new(own));
            }
            // As usual, the library reads as much as its buffer holds.
            None => channel.set_read_ahead(),
        }
    }

    /// Reads what is there into the buffer, as [`Conn::recv`] does.
    pub(super) fn fill_own(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let mut filled = 0;
        let error = loop {
            match self.open_first(&mut buffer[filled..]) {
                Ok(Some(count)) => filled += count,
                Ok(None) => match self.receive(wire, scratch, buffer.len() - filled) {
                    Ok(()) => {}
                    Err(error) => break Some(error),
                },
                Err(error) => break Some(self.fail(scratch, error)),
            }
            if filled == buffer.len() || !matches!(self.end, End::Open) {
                break None;
            }
        };
        self.ahead.rest(scratch);
        self.answer(scratch);
        match error {
            None if matches!(self.end, End::Over) => self.buffered = filled > 0,
            None => self.buffered = self.has_more(),
            Some(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.buffered = false;
                if filled == 0 {
                    return Err(error);
                }
            }
            Some(error) => {
                self.end = End::Broken(error.kind());
                self.buffered = filled > 0;
                if filled == 0 {
                    return Err(error);
                }
            }
        }
        Ok(filled)
    }

    /// Reads data that is decrypted, or opens the first record if it is there as a whole. Returns
    /// the count of bytes; `None`: more has to arrive.
    fn open_first(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, RecordError> {
        let Session::Own(own) = &mut self.session else { return Err(RecordError::Library) };
        if own.plain > 0 {
            let count = buffer.len().min(own.plain as usize);
            buffer[..count].copy_from_slice(&self.ahead.unread()[..count]);
            self.ahead.consume(count);
            own.plain -= count as u32;
            if own.plain == 0 {
                self.ahead.consume(std::mem::take(&mut own.tail) as usize);
            }
            return Ok(Some(count));
        }
        let unread = self.ahead.unread();
        let Some(length) = own.layer.first_length(unread)? else { return Ok(None) };
        let Some(record) = unread.get_mut(..length) else { return Ok(None) };
        let (opened, count) = if own.layer.fits(length, buffer.len()) {
            let opened = own.layer.open(record, buffer)?;
            self.ahead.consume(length);
            (opened, if let Opened::Data(count) = opened { count } else { 0 })
        } else {
            let (opened, offset) = own.layer.open_in_place(record)?;
            match opened {
                Opened::Data(count @ 1..) => {
                    self.ahead.consume(offset);
                    (own.plain, own.tail) = (count as u32, (length - offset - count) as u32);
                }
                _ => self.ahead.consume(length),
            }
            (opened, 0)
        };
        self.weigh_record(opened)?;
        Ok(Some(count))
    }

    /// Counts records without data, which a peer does not need many of.
    fn weigh_record(&mut self, opened: Opened) -> Result<(), RecordError> {
        match opened {
            Opened::Data(1..) => self.asides = 0,
            Opened::Data(0) | Opened::Aside => self.asides += 1,
            Opened::Closed => self.end = End::Over,
        }
        match self.asides > MOST_ASIDES {
            true => Err(RecordError::Unexpected),
            false => Ok(()),
        }
    }

    /// Receives what completes a record, or as much as the caller has room for.
    fn receive(&mut self, wire: &mut dyn Wire, scratch: &Scratch, room: usize) -> io::Result<()> {
        let unread = self.ahead.unread();
        let needed = match &self.session {
            Session::Own(own) => own.layer.first_length(unread).ok().flatten(),
            Session::Library(_) => None,
        };
        let needed = needed.unwrap_or(HEADER).saturating_sub(unread.len());
        let most = needed.max(room.saturating_add(BESIDE)).max(1 << 12);
        loop {
            match self.ahead.receive(wire, scratch, most) {
                Ok(0) => self.end = End::Over,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    /// Ends the session after an error of the record layer, and tells the peer.
    fn fail(&mut self, scratch: &Scratch, error: RecordError) -> io::Error {
        if let Session::Own(own) = &mut self.session {
            let out = super::output(&mut self.out, scratch);
            // Without it the peer sees the connection close.
            let _ = own.layer.fail(error, out);
        }
        if self.failure.is_none() {
            let (code, text, part) = ffi::session_error(error.reason());
            let reason = Reason::Handshake;
            let failure = HandshakeError { reason, code, text: text.to_owned(), part };
            self.failure = Some(Box::new(failure));
        }
        self.end = End::Broken(io::ErrorKind::InvalidData);
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    /// Makes records of the answer that is owed to the peer, unless earlier ones wait: several
    /// requests get one answer then, which data brings along.
    fn answer(&mut self, scratch: &Scratch) {
        let waits = self.has_unsent() || !matches!(self.end, End::Open);
        let Session::Own(own) = &mut self.session else { return };
        if waits || !own.layer.owes() {
            return;
        }
        if own.layer.answer(super::output(&mut self.out, scratch)).is_err() {
            self.end = End::Broken(io::ErrorKind::InvalidData);
        }
    }

    /// Whether neither data nor an end has arrived.
    pub(super) fn is_quiet_own(&mut self, wire: &mut dyn Wire, scratch: &Scratch) -> bool {
        let quiet = loop {
            match self.open_first(&mut []) {
                Ok(Some(_)) => {}
                Ok(None) => match self.receive(wire, scratch, 0) {
                    Ok(()) => {}
                    Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
                },
                Err(error) => {
                    self.fail(scratch, error);
                }
            }
            let plain = matches!(&self.session, Session::Own(own) if own.has_plain());
            self.buffered |= plain || !matches!(self.end, End::Open);
            if self.buffered {
                break false;
            }
        };
        self.ahead.rest(scratch);
        self.answer(scratch);
        quiet
    }

    /// Makes records of as much as one burst takes. Returns how many bytes are in them.
    pub(super) fn seal(&mut self, scratch: &Scratch, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let (mut pieces, mut count): ([&[u8]; PARTS], usize) = ([&[]; PARTS], 0);
        let (mut done, mut length, mut limit) = (0, 0, self.record_limit());
        for part in parts {
            let mut rest: &[u8] = part;
            while !rest.is_empty() && done < BURST {
                let (now, later) = rest.split_at(rest.len().min(limit - length));
                pieces[count] = now;
                (rest, count, length, done) =
                    (later, count + 1, length + now.len(), done + now.len());
                if length == limit || count == PARTS {
                    self.seal_record(scratch, &pieces[..count], length)?;
                    (count, length, limit) = (0, 0, self.record_limit());
                }
            }
        }
        if count > 0 {
            self.seal_record(scratch, &pieces[..count], length)?;
        }
        Ok(done)
    }

    fn seal_record(
        &mut self,
        scratch: &Scratch,
        pieces: &[&[u8]],
        length: usize,
    ) -> io::Result<()> {
        if let Some(size) = &mut self.record_size {
            size.note_record(length);
        }
        let Session::Own(own) = &mut self.session else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let sealed = own.layer.seal(pieces, super::output(&mut self.out, scratch));
        sealed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Makes a record that tells the peer that nothing more is sent; `false` if the library has the
    /// session.
    pub(super) fn close_own(&mut self, scratch: &Scratch) -> bool {
        let Session::Own(own) = &mut self.session else { return false };
        // Without it the peer sees the connection close.
        let _ = own.layer.close(super::output(&mut self.out, scratch));
        true
    }
}
