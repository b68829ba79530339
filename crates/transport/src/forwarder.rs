//! One direction of a transaction: payload from one connection to the other.
//!
//! Payload is not copied: it is sent from the buffer that received it, in one vectored write with
//! the framing around it.

use crate::channel::Link;
use crate::codec::Machine;
use crate::filters::FilterChain;
use crate::splice;
use crate::splice::{Lane, PipePool, Splicing};
use crate::thread::buffers::Buffers;
use buf::Buf;
use htx::Fields;
use mux::h1::Eof;
use reactor::Urgency;
use std::io::{self, IoSlice};
use std::rc::Rc;
use stdx::Tick;

/// Reads per step; then other tasks run.
const READS: u32 = 16;

/// Pieces of payload, such as chunks, that one step frames before other tasks run.
pub const PIECES: u32 = 1_024;

/// The longest payload that is copied rather than written from the input buffer.
const COPIED: usize = 2_048;

/// Small pieces that have been received together are gathered up to this, and written together.
const GATHERED: usize = 4_096;

/// Memory of a thread that forwarding uses.
#[derive(Clone, Copy)]
pub struct Pools<'a> {
    /// Buffers of the thread.
    pub buffers: &'a Buffers,
    /// Pipes of the thread.
    pub pipes: &'a Rc<PipePool>,
}

/// Bytes to be written, in memory that is reused.
#[derive(Debug, Default)]
pub struct Outbox {
    /// Framing and heads that wait to be sent.
    pub bytes: Vec<u8>,
    sent: usize,
}

impl Outbox {
    /// The bytes that wait to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }

    /// Takes note of up to `count` bytes sent; returns how many of `count` are not its own.
    fn advance(&mut self, count: usize) -> usize {
        let own = count.min(self.bytes.len() - self.sent);
        self.sent += own;
        if self.is_empty() {
            self.clear();
        }
        count - own
    }
}

/// The event that a direction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The source has nothing more now.
    AwaitsSource,
    /// The destination accepts no more bytes now.
    AwaitsDestination,
    /// There is no buffer to read into.
    AwaitsBuffer,
    /// A filter holds payload back until [`Flow::resumes`].
    AwaitsTime,
    /// The forwarder needs another turn: it has used up its share of this one.
    More,
    /// The whole message has been passed on.
    Done,
}

/// Why a direction cannot continue.
#[derive(Debug)]
pub enum Fault {
    /// The source's stream ended too early.
    Truncated,
    /// Reading failed.
    Read(io::Error),
    /// Writing failed.
    Write(io::Error),
    /// The source broke the protocol, or has payload that the destination's message has no place
    /// for.
    Protocol(mux::MessageError),
    /// A filter has failed.
    Filter,
}

/// The ends of a direction, for one step.
pub struct Ends<'a> {
    /// The source.
    pub from: (&'a Link, &'a mut Machine),
    /// The destination.
    pub to: (&'a Link, &'a mut Machine),
    /// Urgency of the request for a buffer.
    pub need: Urgency,
    /// Use of a pipe for payload.
    pub splicing: Splicing,
}

/// The state of one direction.
#[derive(Debug, Default)]
pub struct Flow {
    /// Framing and heads that go before the payload owed.
    pub outbox: Outbox,
    /// Payload at the front of the source's buffer that is framed but not sent.
    owed: usize,
    /// Framing that follows the payload.
    tail: Outbox,
    /// Of this direction alone.
    pub trailers: Fields,
    /// The source's message is complete.
    received: bool,
    /// Whether the buffered bytes are too few to continue, such as a part of a trailer.
    starved: bool,
    /// Whether the end of the message has been encoded.
    ended: bool,
    /// The destination does not want payload (a reply to HEAD): it is dropped.
    pub discards: bool,
    /// A copy of the payload, for a retry of the request.
    pub keep: Option<Vec<u8>>,
    /// Whether the last read filled an ordinary buffer, so that a bigger one pays.
    filled: bool,
    /// The filters that payload passes.
    pub filters: Option<Box<FilterChain>>,
    /// Payload at the front of the source's buffer, behind what is owed, that the source's decoder
    /// has passed and the filters have not.
    held: usize,
    /// The time at which the filters allow more payload.
    resumes: Option<Tick>,
    /// The pipe that payload goes through instead of the buffer, while there is any in it or
    /// coming.
    lane: Option<Lane>,
    /// Bytes written to the destination.
    pub sent: u64,
    /// Bytes that filters have taken away on balance, or added where negative.
    saved: i64,
    /// Bytes read from the source.
    pub read: u64,
    /// Written bytes that came through a pipe and are not counted yet.
    pub spliced: u64,
}

impl Flow {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.outbox.clear();
        self.tail.clear();
        self.trailers.clear();
        (self.owed, self.held, self.sent, self.read, self.spliced) = (0, 0, 0, 0, 0);
        if self.filters.take().is_some() {
            // The output of filters can be long.
            self.outbox = Outbox::default();
        }
        (self.resumes, self.saved) = (None, 0);
        (self.received, self.ended, self.starved) = (false, false, false);
        (self.discards, self.filled) = (false, false);
        self.keep = None;
        self.lane = None;
    }

    /// Whether nothing waits to be written.
    pub fn is_flushed(&self) -> bool {
        self.outbox.is_empty()
            && self.owed == 0
            && self.held == 0
            && self.tail.is_empty()
            && self.lane.as_ref().is_none_or(|lane| !lane.holds_data())
    }

    /// The message is complete and encoded: what is in the outbox is all.
    pub fn finish(&mut self) {
        (self.received, self.ended) = (true, true);
    }

    /// The bytes of the outbox were sent in another way.
    pub fn note_sent(&mut self) {
        self.sent += self.outbox.unsent().len() as u64;
        self.outbox.clear();
    }

    /// Bytes written to the destination, as many as they would be without filters that replace
    /// payload: what logs and counters say.
    pub fn counted(&self) -> u64 {
        self.sent.saturating_add_signed(self.saved)
    }

    /// Counts bytes written by others: first those of the outbox, then payload. The result is the
    /// number of payload bytes.
    pub fn note_written(&mut self, count: usize) -> usize {
        self.sent += count as u64;
        self.outbox.advance(count)
    }

    /// When a step that waits for a moment is to be repeated.
    pub fn resumes(&self) -> Option<Tick> {
        self.resumes
    }

    /// Whether the source's message is complete.
    pub fn is_received(&self) -> bool {
        self.received
    }

    /// Adds what is framed and not sent. `false`: some of it is in a pipe.
    pub fn unsent(&self, input: &Buf, out: &mut Vec<u8>) -> bool {
        for part in [self.outbox.unsent(), &input.data()[..self.owed], self.tail.unsent()] {
            out.extend_from_slice(part);
        }
        self.lane.as_ref().is_none_or(|lane| !lane.holds_data())
    }

    /// Drops what is framed and not sent.
    pub fn disown(&mut self, input: &mut Buf) {
        input.consume(std::mem::take(&mut self.owed));
        input.consume(std::mem::take(&mut self.held));
        self.outbox.clear();
        self.tail.clear();
    }

    /// Reads, frames and writes until one of the ends has to be waited for.
    pub fn step(
        &mut self,
        pools: Pools<'_>,
        input: &mut Buf,
        ends: &mut Ends<'_>,
    ) -> Result<Step, Fault> {
        let (mut reads, mut pieces) = (0, 0);
        loop {
            self.frame_all(input, ends, &mut pieces)?;
            if !self.flush(input, ends.to.0)? {
                return Ok(Step::AwaitsDestination);
            }
            if self.ended {
                return Ok(Step::Done);
            }
            if self.resumes.is_some() {
                return Ok(Step::AwaitsTime);
            }
            let more = self.frames_more(input);
            if pieces >= PIECES || (reads == READS && !more) {
                return Ok(Step::More);
            }
            if more {
                continue;
            }
            reads += 1;
            let awaited = match self.splices(pools, input, ends) {
                true => self.refill_lane(pools, input, ends)?,
                false => self.refill(pools, input, ends)?,
            };
            if let Some(awaited) = awaited {
                self.lane = None;
                return Ok(awaited);
            }
        }
    }

    /// As [`Flow::step`], with bytes received already: for the first bytes to a new server.
    /// Payload stays in the buffer, so that another server can receive the same bytes.
    pub fn greet(&mut self, to: &Link) -> Result<bool, Fault> {
        self.flush(&mut Buf::empty(), to)
    }

    /// Whether the buffer may hold payload that has not been looked at.
    fn frames_more(&self, input: &Buf) -> bool {
        self.received || self.held > 0 || !(self.starved || input.is_empty())
    }

    /// Frames the payload of the next write: one large piece, or the small pieces that have
    /// arrived.
    fn frame_all(
        &mut self,
        input: &mut Buf,
        ends: &mut Ends<'_>,
        pieces: &mut u32,
    ) -> Result<(), Fault> {
        *pieces += 1;
        self.frame(input, ends)?;
        while self.is_followed(input) && *pieces < PIECES && self.gather(input) {
            *pieces += 1;
            if let Err(fault) = self.frame(input, ends) {
                // The peer gets the pieces before it nevertheless.
                self.flush(input, ends.to.0)?;
                return Err(fault);
            }
        }
        Ok(())
    }

    /// Whether another piece can be framed behind the last one.
    fn is_followed(&self, input: &Buf) -> bool {
        let more = self.received || input.data().len() > self.owed;
        self.owed > 0 && !self.ended && more && self.outbox.unsent().len() < GATHERED
    }

    /// Takes payload from the front of the buffer and puts framing around it.
    fn frame(&mut self, input: &mut Buf, ends: &mut Ends<'_>) -> Result<(), Fault> {
        // Bytes to come must not overtake the end of the payload that is owed.
        let lane = self.lane.as_ref().is_some_and(Lane::holds_data);
        if self.owed > 0 || !self.tail.is_empty() || self.ended || lane {
            return Ok(());
        }
        if self.filters.is_some() {
            return self.frame_filtered(input, ends);
        }
        if !self.received {
            let step = ends
                .from
                .1
                .handle_body(input.data(), &mut self.trailers)
                .map_err(Fault::Protocol)?;
            input.consume(step.skip);
            self.received = step.done;
            self.starved = step.skip + step.data == 0;
            if self.discards {
                input.consume(step.data);
            } else if step.data > 0 {
                let framing = ends.to.1.encode_data(step.data as u64).map_err(Fault::Protocol)?;
                self.outbox.bytes.extend_from_slice(framing.prefix());
                self.tail.bytes.extend_from_slice(framing.suffix());
                self.owed = step.data;
                if let Some(keep) = &mut self.keep {
                    keep.extend_from_slice(&input.data()[..step.data]);
                }
            }
        }
        if self.received {
            self.ended = true;
            ends.to.1.encode_end(Some(&self.trailers), &mut self.tail.bytes);
        }
        Ok(())
    }

    /// As [`Flow::frame`], by way of the filters.
    #[inline(never)]
    fn frame_filtered(&mut self, input: &mut Buf, ends: &mut Ends<'_>) -> Result<(), Fault> {
        self.decode(input, ends)?;
        let Some(filters) = &mut self.filters else { return Ok(()) };
        let passed = filters.pass(&input.data()[..self.held], self.received, &self.trailers);
        if passed.failed {
            return Err(Fault::Filter);
        }
        self.resumes = passed.until;
        self.held -= passed.input;
        let replaced = filters.replaces();
        let len = match (self.discards, replaced) {
            (true, _) => 0,
            (false, true) => filters.output().len(),
            (false, false) => passed.input,
        };
        if self.discards || replaced {
            input.consume(passed.input);
        }
        if replaced && !self.discards {
            self.saved += passed.input as i64;
        }
        if len > 0 {
            let framing = ends.to.1.encode_data(len as u64).map_err(Fault::Protocol)?;
            self.outbox.bytes.extend_from_slice(framing.prefix());
            if replaced {
                self.outbox.bytes.extend_from_slice(filters.output());
                let framing = framing.prefix().len() + framing.suffix().len();
                self.saved -= (len + framing) as i64;
            } else {
                self.owed = len;
            }
            self.tail.bytes.extend_from_slice(framing.suffix());
        }
        filters.drop_output();
        if passed.ended {
            self.ended = true;
            ends.to.1.encode_end(Some(&self.trailers), &mut self.tail.bytes);
        }
        Ok(())
    }

    /// Has the source's decoder pass the payload that comes next, unless some is held already.
    fn decode(&mut self, input: &mut Buf, ends: &mut Ends<'_>) -> Result<(), Fault> {
        if self.held > 0 || self.received {
            return Ok(());
        }
        let step = ends.from.1.handle_body(input.data(), &mut self.trailers);
        let step = step.map_err(Fault::Protocol)?;
        input.consume(step.skip);
        self.received = step.done;
        self.starved = step.skip + step.data == 0;
        self.held = step.data;
        if let Some(keep) = &mut self.keep {
            keep.extend_from_slice(&input.data()[..step.data]);
        }
        Ok(())
    }

    /// Copies short payload between its framing, so that one plain write does: a vectored write
    /// costs more than copying up to [`COPIED`] bytes. `false`: it is too long.
    fn gather(&mut self, input: &mut Buf) -> bool {
        let rest = self.owed + self.tail.unsent().len();
        if rest > COPIED {
            return false;
        }
        self.outbox.bytes.extend_from_slice(&input.data()[..self.owed]);
        input.consume(self.owed);
        self.owed = 0;
        if !self.tail.is_empty() {
            self.outbox.bytes.extend_from_slice(self.tail.unsent());
            self.tail.clear();
        }
        true
    }

    /// Writes the framed bytes. `false`: the destination accepts no more bytes now.
    pub fn flush(&mut self, input: &mut Buf, to: &Link) -> Result<bool, Fault> {
        if !self.outbox.is_empty() {
            self.gather(input);
        }
        while self.owed > 0 || !self.tail.is_empty() {
            match self.send_parts(input, to) {
                Ok(count) => self.advance(count, input),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Write(error)),
            }
        }
        while !self.outbox.is_empty() {
            match to.send(&[IoSlice::new(self.outbox.unsent())], false) {
                Ok(count) => {
                    self.sent += count as u64;
                    self.outbox.advance(count);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Write(error)),
            }
        }
        if self.lane.is_some() { self.drain_lane(to) } else { Ok(true) }
    }

    /// Sends the contents of the pipe. `false`: the destination takes nothing more now.
    #[inline(never)]
    fn drain_lane(&mut self, to: &Link) -> Result<bool, Fault> {
        let (Some(lane), Some(socket)) = (&mut self.lane, to.bare()) else { return Ok(true) };
        let (sent, outcome) = lane.drain(socket);
        self.sent += sent as u64;
        self.spliced += sent as u64;
        match outcome {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(Fault::Write(error)),
        }
    }

    /// Whether the next payload goes through a pipe: more of it than a buffer holds, framed
    /// already, and inspected by no filter. Takes a pipe.
    fn splices(&mut self, pools: Pools<'_>, input: &Buf, ends: &Ends<'_>) -> bool {
        let wanted = match ends.splicing {
            Splicing::Never => return false,
            Splicing::Bulk => self.filled,
            Splicing::Always => true,
        };
        let bare = ends.from.0.bare().is_some() && ends.to.0.bare().is_some();
        let much = ends.from.1.payload_left() > pools.buffers.size() as u64;
        let unseen =
            input.is_empty() && self.keep.is_none() && !self.discards && self.filters.is_none();
        if !wanted || !bare || !much || !unseen || ends.to.1.frames_payload() {
            return false;
        }
        self.lane = self.lane.take().or_else(|| Lane::take(pools.pipes));
        self.lane.is_some()
    }

    /// Takes more into the pipe, unless something has to be waited for.
    #[inline(never)]
    fn refill_lane(
        &mut self,
        pools: Pools<'_>,
        input: &mut Buf,
        ends: &mut Ends<'_>,
    ) -> Result<Option<Step>, Fault> {
        let (Some(lane), Some(from)) = (&mut self.lane, ends.from.0.bare()) else {
            return Ok(None);
        };
        match lane.fill(from, ends.from.1.payload_left()) {
            Ok(0) => self.end_of_stream(ends).map(|()| None),
            Ok(count) => {
                let count = count as u64;
                self.read += count;
                self.filled = 2 * count > pools.buffers.size() as u64;
                self.received = ends.from.1.skip_payload(count);
                if self.received {
                    from.recheck_readable();
                }
                ends.to.1.encode_data(count).map_err(Fault::Protocol)?;
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Ok(Some(Self::wait(pools, input)))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) if splice::is_unable(&error) => {
                ends.splicing = Splicing::Never;
                Ok(None)
            }
            Err(error) => Err(Fault::Read(error)),
        }
    }

    /// Writes payload from the input buffer, with the framing around it.
    #[inline(never)]
    fn send_parts(&self, input: &Buf, to: &Link) -> io::Result<usize> {
        let all = [self.outbox.unsent(), &input.data()[..self.owed], self.tail.unsent()];
        let mut parts = [IoSlice::new(&[]); 3];
        let mut used = 0;
        for part in all.into_iter().filter(|part| !part.is_empty()) {
            parts[used] = IoSlice::new(part);
            used += 1;
        }
        to.send(&parts[..used], false)
    }

    /// Accounts for written bytes.
    fn advance(&mut self, count: usize, input: &mut Buf) {
        self.sent += count as u64;
        let count = self.outbox.advance(count);
        if count > 0 {
            let payload = count.min(self.owed);
            input.consume(payload);
            self.owed -= payload;
            self.tail.advance(count - payload);
        }
    }

    /// Reads more from the source, unless something has to be waited for.
    fn refill(
        &mut self,
        pools: Pools<'_>,
        input: &mut Buf,
        ends: &mut Ends<'_>,
    ) -> Result<Option<Step>, Fault> {
        if !ends.from.0.is_readable() {
            return Ok(Some(Self::wait(pools, input)));
        }
        if !self.make_room(pools, input, ends) {
            return Ok(Some(Step::AwaitsBuffer));
        }
        loop {
            let space = input.space();
            let room = space.len();
            match ends.from.0.recv(space) {
                Ok(0) => return self.end_of_stream(ends).map(|()| None),
                Ok(count) => {
                    self.filled = count == room || count > pools.buffers.size();
                    self.read += count as u64;
                    input.filled(count);
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Some(Self::wait(pools, input)));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::Read(error)),
            }
        }
    }

    /// There is nothing to read now, and nothing to keep a buffer for while waiting.
    fn wait(pools: Pools<'_>, input: &mut Buf) -> Step {
        if input.is_empty() {
            pools.buffers.release(std::mem::replace(input, Buf::empty()));
        }
        Step::AwaitsSource
    }

    fn end_of_stream(&mut self, ends: &mut Ends<'_>) -> Result<(), Fault> {
        match ends.from.1.handle_eof() {
            Eof::MessageEnd | Eof::AfterMessage => {
                self.received = true;
                Ok(())
            }
            Eof::Truncated | Eof::Idle => Err(Fault::Truncated),
        }
    }

    /// Makes free space, in a bigger buffer if the source has filled this one and has more.
    /// `false`: there is no buffer.
    fn make_room(&mut self, pools: Pools<'_>, input: &mut Buf, ends: &Ends<'_>) -> bool {
        let ordinary = pools.buffers.size();
        let has_more = ends.from.1.payload_left() > ordinary as u64;
        let pays = self.filled && input.capacity() <= ordinary && has_more;
        if pays && let Some(mut bigger) = pools.buffers.take_bulk() {
            bigger.append(input.data());
            pools.buffers.release(std::mem::replace(input, bigger));
        } else if input.capacity() == 0 {
            let Some(fresh) = pools.buffers.try_take(ends.need) else { return false };
            *input = fresh;
        }
        if input.room() == 0 {
            input.compact();
        }
        true
    }
}
