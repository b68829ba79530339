//! The write side of a session: records from plain bytes, and their sizes.

use super::{Conn, Session};
use crate::error::io_error;
use crate::record_size::RECORD;
use crate::scratch::Scratch;
use ffi::{Channel, Wire};
use std::io::{self, IoSlice};

/// The most bytes that are encrypted by one call.
pub(super) const BURST: usize = 1 << 16;

impl Conn {
    /// Writes: as many bytes as have left, records and all.
    ///
    /// # Errors
    /// `WouldBlock` until the wire has taken the records: then the same bytes have to be offered
    /// again. Otherwise as the wire says.
    pub fn send(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        parts: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        if self.has_unsent() && !self.flush(wire, scratch)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if self.promised == 0 {
            self.promised = match &self.session {
                Session::Library(_) => self.encrypt(wire, scratch, parts)?,
                Session::Own(_) => self.seal(scratch, parts)?,
            };
            if !self.flush(wire, scratch)? {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        let offered: usize = parts.iter().map(|part| part.len()).sum();
        let sent = std::mem::take(&mut self.promised).min(offered);
        if sent > 0 {
            // A peer that receives much may update its keys from time to time without sending data.
            self.asides = 0;
        }
        Ok(sent)
    }

    /// Makes records of as much as one burst takes. Small parts share a record.
    fn encrypt(
        &mut self,
        wire: &mut dyn Wire,
        scratch: &Scratch,
        parts: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        let mut limit = self.record_limit();
        let mut parts = parts.iter().filter(|part| !part.is_empty()).peekable();
        let (mut done, mut gathered) = (0, scratch.take());
        let mut result = Ok(());
        while let Some(part) = parts.next().filter(|_| done < BURST) {
            let mut rest: &[u8] = part;
            while !rest.is_empty() && done < BURST && result.is_ok() {
                let alone = gathered.is_empty() && (rest.len() >= limit || parts.peek().is_none());
                let take = rest.len().min(limit - gathered.len());
                let (now, later) = rest.split_at(take);
                rest = later;
                if alone {
                    result = self.record(wire, scratch, now);
                } else {
                    gathered.extend_from_slice(now);
                    if gathered.len() == limit {
                        result = self.record(wire, scratch, &gathered);
                        gathered.clear();
                    }
                }
                done += take;
                // The size grows only while there is data to send.
                limit = self.record_limit();
            }
        }
        if result.is_ok() && !gathered.is_empty() {
            result = self.record(wire, scratch, &gathered);
        }
        scratch.give(gathered);
        result.map(|()| done)
    }

    fn record(&mut self, wire: &mut dyn Wire, scratch: &Scratch, bytes: &[u8]) -> io::Result<()> {
        let write = if self.is_early() { Channel::write_early } else { Channel::write };
        if let Some(size) = &mut self.record_size {
            size.note_record(bytes.len());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let count = self
                .run(wire, scratch, |channel, wire| write(channel, wire, rest))
                .map_err(io_error)?;
            rest = &rest[count..];
        }
        Ok(())
    }

    /// The next bytes begin a transfer, so that records are short again.
    #[inline]
    pub fn begin_transfer(&mut self) {
        if let Some(size) = &mut self.record_size {
            size.begin();
        }
    }

    /// Whether pauses in the output shorten later records.
    #[inline]
    pub fn minds_pauses(&self) -> bool {
        self.record_size.as_ref().is_some_and(|size| size.pause > 0)
    }

    /// Notes the time of a write, in milliseconds of any clock that does not stop.
    pub fn note_time(&mut self, now_ms: u64) {
        if let Some(size) = &mut self.record_size {
            size.note_time(now_ms);
        }
    }

    /// The most bytes of the next record.
    pub(super) fn record_limit(&self) -> usize {
        let short = self.record_size.as_ref().and_then(|size| size.limit());
        short.unwrap_or(RECORD).min(self.longest as usize)
    }
}
