//! One direction of a tunnel: bytes from one channel to the other.
//!
//! Bytes go out of the buffer that they were received into, which is the input buffer of the
//! source. There is one only while there are bytes; a source that fills one gets a bigger one for
//! the next read, and a small one again when it has slowed down.

use buf::Buf;
use engine::state::worker::Worker;
use mux::h1::Eof;
use reactor::Urgency;
use std::io::{self, IoSlice};
use stdx::Tick;
use transport::channel::Link;
use transport::codec::Machine;
use transport::filters::FilterChain;
use transport::splice;
use transport::splice::{Lane, Splicing};

/// Reads of one step, after which the task yields.
const READS: u32 = 16;

/// The event that a direction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
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
pub(crate) enum Fault {
    Read,
    Write,
    Filter,
}

/// One end of a direction.
pub(crate) struct PipeEnd<'a> {
    /// The channel.
    pub(crate) link: &'a Link,
    /// The machine of a message that is a tunnel; none in TCP mode.
    pub(crate) machine: Option<&'a mut Machine>,
    /// Bytes received from it.
    pub(crate) input: &'a mut Buf,
}

/// One direction. Tunnels at rest hold two, so its size counts.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// The pipe for splicing, while it holds bytes or more are expected.
    lane: Option<Box<Lane>>,
    /// The filters that bytes pass.
    filtering: Option<Box<Filtering>>,
    /// Bytes read from the source.
    pub(crate) read: u64,
    /// Bytes written to the destination.
    pub(crate) sent: u64,
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
    /// Whether received bytes have not been sent.
    holds_data: bool,
}

/// The filters of a direction, and how far bytes have passed them.
#[derive(Debug)]
struct Filtering {
    chain: Box<FilterChain>,
    /// Bytes at the front of the buffer that the filters have let pass.
    allowed: usize,
    /// The bytes that filters have put in the place of received ones.
    replaced: Vec<u8>,
    /// The filters have seen the end.
    has_passed_end: bool,
    /// The moment at which the filters are called again.
    resumes: Option<Tick>,
}

impl Filtering {
    fn new(chain: Box<FilterChain>) -> Self {
        Self { chain, allowed: 0, replaced: Vec::new(), has_passed_end: false, resumes: None }
    }
}

impl Pipe {
    /// A direction of which `sent` bytes have been forwarded; its source's input may have more.
    pub(crate) fn new(
        sent: u64,
        need: Urgency,
        splicing: Splicing,
        filters: Option<Box<FilterChain>>,
    ) -> Self {
        // A pipe of the system passes no filter.
        let splicing = if filters.is_some() { Splicing::Never } else { splicing };
        Self {
            lane: None,
            filtering: filters.map(|chain| Box::new(Filtering::new(chain))),
            read: 0,
            sent,
            need,
            ended: false,
            shut: false,
            fast: false,
            splicing,
            holds_data: false,
        }
    }

    /// When a step that waits for a moment is to be repeated.
    pub(crate) fn resumes(&self) -> Option<Tick> {
        self.filtering.as_ref()?.resumes
    }

    /// Whether bytes pass filters.
    pub(crate) fn is_filtered(&self) -> bool {
        self.filtering.is_some()
    }

    /// Reads no more from the source: the buffered bytes are sent, then the destination is shut
    /// down.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Gives the direction up: the buffered bytes are dropped, as the destination takes no more.
    pub(crate) fn abandon(&mut self, from: &mut PipeEnd<'_>) {
        (self.ended, self.shut, self.holds_data) = (true, true, false);
        from.input.clear();
        (self.lane, self.filtering) = (None, None);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.shut
    }

    /// Whether received bytes have not been sent.
    pub(crate) fn holds_data(&self) -> bool {
        self.holds_data
    }

    /// Reads and writes until one of the ends has to be waited for.
    pub(crate) fn step(
        &mut self,
        worker: &Worker,
        from: &mut PipeEnd<'_>,
        to: &mut PipeEnd<'_>,
    ) -> Result<Step, Fault> {
        let step = self.move_bytes(worker, from, to);
        self.holds_data = !from.input.is_empty()
            || self.filtering.as_ref().is_some_and(|it| !it.replaced.is_empty())
            || self.lane.as_ref().is_some_and(|lane| lane.holds_data());
        step
    }

    fn move_bytes(
        &mut self,
        worker: &Worker,
        from: &mut PipeEnd<'_>,
        to: &mut PipeEnd<'_>,
    ) -> Result<Step, Fault> {
        for _ in 0..READS {
            if !self.flush(from.input, to.link)? {
                return Ok(Step::AwaitsDestination);
            }
            if self.resumes().is_some() {
                return Ok(Step::AwaitsTime);
            }
            if !from.input.is_empty() {
                // A filter has let a part pass.
                continue;
            }
            if self.ended {
                // Bytes that the pipe has moved are counted before the destination sees the end.
                self.lane = None;
                self.shut_down(to);
                rest(worker, from.input);
                return Ok(Step::Done);
            }
            let awaited = match self.splices(worker, from.link, to.link) {
                true => self.refill_lane(worker, from)?,
                false => self.refill(worker, from, to)?,
            };
            if let Some(awaited) = awaited {
                self.lane = None;
                rest(worker, from.input);
                return Ok(awaited);
            }
        }
        Ok(Step::More)
    }

    /// Registers for the event that a step waits for.
    pub(crate) fn want(&self, step: Step, from: &Link, to: &Link) {
        match step {
            Step::AwaitsSource => from.want_read(),
            Step::AwaitsDestination => to.want_write(),
            Step::AwaitsBuffer | Step::AwaitsTime | Step::More | Step::Done => {}
        }
    }

    /// Ends the outgoing direction, once.
    fn shut_down(&mut self, to: &mut PipeEnd<'_>) {
        if std::mem::replace(&mut self.shut, true) {
            return;
        }
        if let Some(machine) = &mut to.machine {
            machine.encode_end(None, &mut Vec::new());
        }
        // A failed destination reports its error to the next read.
        let _ = to.link.shutdown_write();
    }

    /// Writes the buffered bytes. `false`: the destination accepts no more bytes now.
    fn flush(&mut self, buffer: &mut Buf, to: &Link) -> Result<bool, Fault> {
        if self.filtering.is_some() {
            return self.flush_filtered(buffer, to);
        }
        while !buffer.is_empty() {
            match to.send(&[IoSlice::new(buffer.data())], false) {
                Ok(count) => {
                    buffer.consume(count);
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
    fn flush_filtered(&mut self, buffer: &mut Buf, to: &Link) -> Result<bool, Fault> {
        self.filter(buffer)?;
        let Some(filtering) = &mut self.filtering else { return Ok(true) };
        while !filtering.replaced.is_empty() {
            match to.send(&[IoSlice::new(&filtering.replaced)], false) {
                Ok(count) => {
                    filtering.replaced.drain(..count);
                    self.sent += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Fault::Write),
            }
        }
        while filtering.allowed > 0 {
            match to.send(&[IoSlice::new(&buffer.data()[..filtering.allowed])], false) {
                Ok(count) => {
                    buffer.consume(count);
                    filtering.allowed -= count;
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
    fn filter(&mut self, buffer: &mut Buf) -> Result<(), Fault> {
        let Some(filtering) = &mut self.filtering else { return Ok(()) };
        let ends = self.ended && !filtering.has_passed_end;
        let idle = filtering.allowed == 0 && filtering.replaced.is_empty();
        let chain = &mut filtering.chain;
        if !idle || (buffer.is_empty() && !(ends && chain.replaces())) {
            return Ok(());
        }
        let passed = chain.pass(buffer.data(), self.ended, &htx::Fields::default());
        if passed.failed {
            return Err(Fault::Filter);
        }
        (filtering.resumes, filtering.has_passed_end) = (passed.until, passed.ended);
        if chain.replaces() {
            filtering.replaced.extend_from_slice(chain.output());
            chain.drop_output();
            buffer.consume(passed.input);
        } else {
            filtering.allowed = passed.input;
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
        self.lane = self.lane.take().or_else(|| Lane::take(&worker.pipes).map(Box::new));
        self.lane.is_some()
    }

    /// Takes more into the pipe, unless something has to be waited for.
    fn refill_lane(
        &mut self,
        worker: &Worker,
        from: &mut PipeEnd<'_>,
    ) -> Result<Option<Step>, Fault> {
        rest(worker, from.input);
        let (Some(lane), Some(from)) = (&mut self.lane, from.link.bare()) else { return Ok(None) };
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

    /// Makes the buffer an empty one of the size that pays. `false`: there is none.
    fn make_room(&mut self, worker: &Worker, buffer: &mut Buf) -> bool {
        let (ordinary, has) = (worker.buffers.size(), buffer.capacity());
        if self.fast
            && has <= ordinary
            && let Some(bigger) = worker.buffers.take_bulk()
        {
            worker.release(std::mem::replace(buffer, bigger));
        } else if has == 0 || (!self.fast && has > ordinary) {
            rest(worker, buffer);
            let Some(fresh) = worker.buffers.try_take(self.need) else { return false };
            *buffer = fresh;
        }
        true
    }

    /// Reads once, unless something has to be waited for.
    fn refill(
        &mut self,
        worker: &Worker,
        from: &mut PipeEnd<'_>,
        to: &mut PipeEnd<'_>,
    ) -> Result<Option<Step>, Fault> {
        while from.link.is_readable() {
            if !self.make_room(worker, from.input) {
                return Ok(Some(Step::AwaitsBuffer));
            }
            let size = from.input.capacity();
            match from.link.recv(from.input.space()) {
                Ok(count) => {
                    self.ended = count == 0;
                    self.fast = count == size || (self.fast && count > worker.buffers.size());
                    self.read += count as u64;
                    from.input.filled(count);
                    return self.pass_machines(from, to).map(|()| None);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Fault::Read),
            }
        }
        Ok(Some(Step::AwaitsSource))
    }

    /// Has the machines of the two messages, if there are any, count what was read or find its end.
    fn pass_machines(&mut self, from: &mut PipeEnd<'_>, to: &mut PipeEnd<'_>) -> Result<(), Fault> {
        let input = &*from.input;
        let (Some(from), Some(to)) = (&mut from.machine, &mut to.machine) else { return Ok(()) };
        if self.ended {
            return match from.handle_eof() {
                Eof::MessageEnd | Eof::AfterMessage => Ok(()),
                Eof::Truncated | Eof::Idle => Err(Fault::Read),
            };
        }
        let step = from.handle_body(input.data(), &mut htx::Fields::default());
        let step = step.map_err(|_| Fault::Read)?;
        self.ended = step.done;
        to.encode_data(input.len() as u64).map_err(|_| Fault::Write)?;
        Ok(())
    }
}

/// Gives the empty buffer back.
fn rest(worker: &Worker, buffer: &mut Buf) {
    worker.release(std::mem::replace(buffer, Buf::empty()));
}
