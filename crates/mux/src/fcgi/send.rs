//! Records to the application: begin, parameters, body, abort.

use htx::Method;
use stdx::Key;
use wire::fcgi::{MAX_CONTENT, RecordHeader, RecordType, record};

use super::conn::FcgiConn;
use super::params::ParamsError;
use super::stream::RequestPhase;
use crate::MessageError;

/// Bytes of unsent output beyond which bodies wait.
pub const OUTPUT: usize = 64 * 1024;

impl FcgiConn {
    /// Sends the parameters of an opened request, as one record. `method` is that of the request.
    ///
    /// # Errors
    /// They exceed the limit; nothing is sent, and the request should be released.
    pub fn send_params(
        &mut self,
        key: Key,
        method: Method,
        params: &[u8],
    ) -> Result<(), ParamsError> {
        if params.len() > self.settings.max_params.into() {
            return Err(ParamsError::TooLarge);
        }
        let keep_conn = self.settings.keep_conn;
        let at = self.written + self.output().len() as u64;
        let Some(stream) = self.streams.get_mut(key) else { return Ok(()) };
        if stream.send != RequestPhase::Params || self.broken.is_some() {
            return Ok(());
        }
        stream.note_request(method);
        stream.send = RequestPhase::Stdin;
        stream.begins_at = at;
        let id = stream.id;
        self.out.extend_from_slice(&record::begin_request(id, keep_conn));
        if !params.is_empty() {
            self.put(RecordType::Params, id, params);
        }
        self.put(RecordType::Params, id, &[]);
        Ok(())
    }

    /// Sends bytes of the body and returns their number. 0: the output is full, and the request is
    /// woken when there is room. The bytes are dropped when the request has ended.
    ///
    /// # Errors
    /// The request has failed.
    pub fn send(&mut self, key: Key, data: &[u8]) -> Result<usize, MessageError> {
        let room = OUTPUT.saturating_sub(self.output().len());
        let Some(stream) = self.streams.get(key) else { return Ok(data.len()) };
        if let Some(error) = stream.failure() {
            return Err(error);
        }
        if stream.send != RequestPhase::Stdin || stream.end.is_some() || stream.is_cut {
            return Ok(data.len());
        }
        let (id, data) = (stream.id, &data[..data.len().min(room)]);
        for piece in data.chunks(MAX_CONTENT) {
            self.put(RecordType::Stdin, id, piece);
        }
        if data.is_empty() && !self.awaiting_room.contains(&key) {
            self.awaiting_room.push(key);
        }
        Ok(data.len())
    }

    /// Ends the body.
    pub fn send_end(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.send != RequestPhase::Stdin {
            return;
        }
        stream.send = RequestPhase::Done;
        let (id, is_over) = (stream.id, stream.end.is_some() || stream.is_cut);
        if !is_over && self.broken.is_none() {
            self.put(RecordType::Stdin, id, &[]);
        }
    }

    /// Releases a request. A request that has not ended is aborted, unless only its end is missing;
    /// its id becomes free when the application confirms the end.
    pub fn release(&mut self, key: Key) {
        let Some(stream) = self.streams.get_mut(key) else { return };
        if stream.end.is_some() || stream.is_cut || stream.send == RequestPhase::Params {
            self.remove(key);
            return;
        }
        let is_complete = stream.send == RequestPhase::Done && stream.is_read();
        stream.released = true;
        if !is_complete {
            let id = stream.id;
            self.is_draining = true;
            self.put(RecordType::AbortRequest, id, &[]);
        }
    }

    fn put(&mut self, kind: RecordType, id: u16, content: &[u8]) {
        let header = RecordHeader::new(kind, id, content.len() as u16);
        self.out.extend_from_slice(&header.bytes());
        self.out.extend_from_slice(content);
    }

    /// Bytes to write.
    pub fn output(&self) -> &[u8] {
        &self.out[self.sent..]
    }

    /// Drops bytes that were written, and wakes the requests that wait for room.
    pub fn advance_output(&mut self, written: usize) {
        let written = written.min(self.output().len());
        self.sent += written;
        self.written += written as u64;
        if self.sent == self.out.len() {
            self.out.clear();
            self.sent = 0;
        } else if self.sent > OUTPUT {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
        if self.output().len() <= OUTPUT / 2 {
            while let Some(key) = self.awaiting_room.pop() {
                self.wake(key);
            }
        }
    }
}
