//! One direction of a session: bytes from one socket to the other.
//!
//! Bytes go out of the buffer that they were received into. A pipe has a buffer only while it holds
//! bytes; a source that fills a buffer gets a larger one for the next read, and a small one again
//! after shorter reads.

use buf::Buf;
use engine::state::worker::Worker;
use reactor::Urgency;
use std::io::{self, IoSlice};
use stdx::Tick;
use transport::channel::Link;
use transport::filters::FilterChain;
use transport::splice;
use transport::splice::{Lane, Splicing};

/// Reads of one step, after which the task yields.
const READS: u32 = 16;

/// The event that a direction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The source has no more bytes now.
    AwaitsSource,
    /// The destination accepts no more bytes now.
    AwaitsDestination,
    /// There is no buffer to read into.
    AwaitsBuffer,
    /// A filter holds bytes back until [`Pipe::resumes`].
    AwaitsTime,
    /// None: the direction has used its reads of this turn.
    More,
    /// The source has ended, and the destination is shut down.
    Done,
}

/// Which end failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Read,
    Write,
    Filter,
}

/// One direction.
#[derive(Debug)]
pub(super) struct Pipe {
    buffer: Buf,
    /// The urgency of its buffers.
    need: Urgency,
    /// The source has ended.
    ended: bool,
    /// The destination is shut down.
    shut: bool,
    /// Whether the source fills buffers, so that a large one is worthwhile.
    fast: bool,
    /// Whether bytes go through a pipe of the system.
    splicing: Splicing,
    /// The pipe for splicing, while it holds bytes or more are expected.
    lane: Option<Lane>,
    /// The filters that bytes pass.
    filters: Option<Box<FilterChain>>,
    /// Bytes at the front of the buffer that the filters have let pass.
    allowed: usize,
    /// The bytes that filters have put in the place of received ones.
    replaced: Vec<u8>,
    /// The filters have seen the end.
    has_passed_end: bool,
    /// The moment at which the filters are called again.
    resumes: Option<Tick>,
    /// Bytes read from the source.
    pub(super) read: u64,
    /// Bytes written to the destination.
    pub(super) sent: u64,
}

impl Pipe {
    /// A direction that begins with bytes received before; `sent` bytes before them have been
    /// forwarded.
    pub(super) fn new(
        buffer: Buf,
        sent: u64,
        need: Urgency,
        splicing: Splicing,
        filters: Option<Box<FilterChain>>,
    ) -> Self {
        let (ended, shut, fast, lane, read) = (false, false, false, None, 0);
        // A pipe of the system passes no filter.
        let splicing = if filters.is_some() { Splicing::Never } else { splicing };
        let (allowed, resumes) = (0, None);
        Self {
            buffer,
            need,
            ended,
            shut,
            fast,
            splicing,
            lane,
            filters,
            allowed,
            replaced: Vec::new(),
            has_passed_end: false,
            resumes,
            read,
            sent,
        }
    }

    /// When a step that waits for a moment is to be repeated.
    pub(super) fn resumes(&self) -> Option<Tick> {
        self.resumes
    }

    pub(super) fn into_buffer(self) -> Buf {
        self.buffer
    }

    /// Reads no more from the source: the buffered bytes are sent, then the destination is shut
    /// down.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(super) fn is_shut(&self) -> bool {
        self.shut
    }

    pub(super) fn holds_data(&self) -> bool {
        !self.buffer.is_empty()
            || !self.replaced.is_empty()
            || self.lane.as_ref().is_some_and(Lane::holds_data)
    }

    /// Reads and writes until one of the ends has to be waited for.
    pub(super) fn step(&mut self, worker: &Worker, from: &Link, to: &Link) -> Result<Step, Fault> {
        for _ in 0..READS {
            if !self.flush(to)? {
                return Ok(Step::AwaitsDestination);
            }
            if self.resumes.is_some() {
                return Ok(Step::AwaitsTime);
            }
            if !self.buffer.is_empty() {
                // A filter has let a part pass.
                continue;
            }
            if self.ended {
                if !std::mem::replace(&mut self.shut, true) {
                    // A failed destination reports its error to the next read.
                    let _ = to.shutdown_write();
                }
                self.rest(worker);
                return Ok(Step::Done);
            }
            let awaited = match self.splices(worker, from, to) {
                true => self.refill_lane(worker, from)?,
                false => self.refill(worker, from)?,
            };
            if let Some(awaited) = awaited {
                self.lane = None;
                self.rest(worker);
                return Ok(awaited);
            }
        }
        Ok(Step::More)
    }

    /// Registers for the event that a step waits for.
    pub(super) fn want(&self, step: Step, from: &Link, to: &Link) {
        match step {
            Step::AwaitsSource => from.want_read(),
            Step::AwaitsDestination => to.want_write(),
            Step::AwaitsBuffer | Step::AwaitsTime | Step::More | Step::Done => {}
        }
    }

    /// Writes the buffered bytes. `false`: the destination accepts no more bytes now.
    fn flush(&mut self, to: &Link) -> Result<bool, Fault> {
        if self.filters.is_some() {
            return self.flush_filtered(to);
        }
        while !self.buffer.is_empty() {
            match to.send(&[IoSlice::new(self.buffer.data())], false) {
                Ok(count) => {
                    self.buffer.consume(count);
                    self.sent += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Fault::Write),
            }
        }
        let (Some(lane), Some(to)) = (&mut self.lane, to.bare()) else { return Ok(true) };
        let (sent, outcome) = lane.drain(to);
        self.sent += sent as u64;
        match outcome {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(_) => Err(Fault::Write),
        }
    }

    /// As [`Pipe::flush`], as far as the filters let bytes pass.
    #[inline(never)]
    fn flush_filtered(&mut self, to: &Link) -> Result<bool, Fault> {
        self.filter()?;
        while !self.replaced.is_empty() {
            match to.send(&[IoSlice::new(&self.replaced)], false) {
                Ok(count) => {
                    self.replaced.drain(..count);
                    self.sent += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Fault::Write),
            }
        }
        while self.allowed > 0 {
            match to.send(&[IoSlice::new(&self.buffer.data()[..self.allowed])], false) {
                Ok(count) => {
                    self.buffer.consume(count);
                    self.allowed -= count;
                    self.sent += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Fault::Write),
            }
        }
        Ok(true)
    }

    /// Passes new payload to the filters, once the payload that they allowed before is sent.
    fn filter(&mut self) -> Result<(), Fault> {
        let ends = self.ended && !self.has_passed_end;
        let idle = self.allowed == 0 && self.replaced.is_empty();
        let Some(filters) = self.filters.as_mut().filter(|_| idle) else { return Ok(()) };
        if self.buffer.is_empty() && !(ends && filters.replaces()) {
            return Ok(());
        }
        let passed = filters.pass(self.buffer.data(), self.ended, &htx::Fields::default());
        if passed.failed {
            return Err(Fault::Filter);
        }
        (self.resumes, self.has_passed_end) = (passed.until, passed.ended);
        if filters.replaces() {
            self.replaced.extend_from_slice(filters.output());
            filters.drop_output();
            self.buffer.consume(passed.input);
        } else {
            self.allowed = passed.input;
        }
        Ok(())
    }

    /// Whether the next payload goes through a pipe of the system. Takes one.
    fn splices(&mut self, worker: &Worker, from: &Link, to: &Link) -> bool {
        let wanted = match self.splicing {
            Splicing::Never => return false,
            Splicing::Bulk => self.fast,
            Splicing::Always => true,
        };
        if !wanted || !from.is_readable() || from.bare().is_none() || to.bare().is_none() {
            return false;
        }
        self.lane = self.lane.take().or_else(|| Lane::take(&worker.pipes));
        self.lane.is_some()
    }

    /// Takes more into the pipe, unless something has to be waited for.
    fn refill_lane(&mut self, worker: &Worker, from: &Link) -> Result<Option<Step>, Fault> {
        self.rest(worker);
        let (Some(lane), Some(from)) = (&mut self.lane, from.bare()) else { return Ok(None) };
        match lane.fill(from, u64::MAX) {
            Ok(count) => {
                self.ended = count == 0;
                self.fast = 2 * count > worker.buffers.size();
                self.read += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Some(Step::AwaitsSource));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if splice::is_unable(&error) => self.splicing = Splicing::Never,
            Err(_) => return Err(Fault::Read),
        }
        Ok(None)
    }

    /// Takes a new buffer after a wait; returns the old one.
    pub(super) fn give_buffer(&mut self, buffer: Buf) -> Buf {
        std::mem::replace(&mut self.buffer, buffer)
    }

    /// An empty buffer of the size that pays. `false`: there is none.
    fn make_room(&mut self, worker: &Worker) -> bool {
        let (ordinary, has) = (worker.buffers.size(), self.buffer.capacity());
        if self.fast
            && has <= ordinary
            && let Some(bigger) = worker.buffers.take_bulk()
        {
            worker.release(std::mem::replace(&mut self.buffer, bigger));
        } else if has == 0 || (!self.fast && has > ordinary) {
            self.rest(worker);
            let Some(fresh) = worker.buffers.try_take(self.need) else { return false };
            self.buffer = fresh;
        }
        true
    }

    /// Reads once, unless something has to be waited for.
    fn refill(&mut self, worker: &Worker, from: &Link) -> Result<Option<Step>, Fault> {
        while from.is_readable() {
            if !self.make_room(worker) {
                return Ok(Some(Step::AwaitsBuffer));
            }
            let size = self.buffer.capacity();
            match from.recv(self.buffer.space()) {
                Ok(count) => {
                    self.ended = count == 0;
                    self.fast = count == size || (self.fast && count > worker.buffers.size());
                    self.read += count as u64;
                    self.buffer.filled(count);
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Fault::Read),
            }
        }
        Ok(Some(Step::AwaitsSource))
    }

    /// Gives the empty buffer back.
    fn rest(&mut self, worker: &Worker) {
        worker.release(std::mem::replace(&mut self.buffer, Buf::empty()));
    }
}
