//! Moves bytes between a socket and the machine of a connection that carries many streams.

use crate::state::worker::Worker;
use buf::Buf;
use mux::h2::Key;
use reactor::{Class, Tick, Urgency};
use std::io;
use std::rc::Rc;
use transport::socket::Transport;
use transport::streams::{Session, StreamMux};

/// Reads of one turn at most; then other tasks run.
const READS: u32 = 8;

/// How long a closing connection drops bytes that the peer still sends, in milliseconds.
const FAREWELL_MS: u32 = 1_000;
/// Bytes that a closing connection drops at most.
const FAREWELL_BYTES: usize = 1 << 20;

/// The outcome of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PumpOutcome {
    /// More bytes are ready.
    More,
    /// The task has to wait for the socket or for the streams.
    Waits,
    /// The connection is over.
    Over,
}

/// State of the I/O of one connection, owned by its task.
pub struct Pump {
    session: Rc<Session>,
    /// Bytes received and not yet parsed; no memory while there are none.
    input: Buf,
    /// When the peer last took bytes, or the output was last empty.
    pub moved: Tick,
    /// The peer has ended its side.
    ended: bool,
    /// Requests that arrived before that are still answered.
    answers: bool,
}

impl Pump {
    /// A pump that begins with the bytes received so far.
    pub fn new(session: &Rc<Session>, input: Buf, now: Tick) -> Self {
        Self { session: session.clone(), input, moved: now, ended: false, answers: false }
    }

    /// Has requests answered even after the peer has closed its side.
    pub fn answering(self) -> Self {
        Self { answers: true, ..self }
    }

    /// Reads, calls `start` for each stream that the peer has opened, and writes.
    pub fn turn(
        &mut self,
        worker: &Worker,
        socket: &Transport,
        mut start: impl FnMut(Key),
    ) -> PumpOutcome {
        let mut more = true;
        self.begin_turn(worker);
        if let Some(refuses) = worker.shared.memory.refuses_streams(&worker.share) {
            worker.spares.set_short(refuses);
        }
        for _ in 0..READS {
            if !self.understand(worker.millis(), &mut start) {
                break;
            }
            more = self.read(worker, socket);
            if !more {
                break;
            }
        }
        let pending = self.session.inspect(|mux| mux.output().len());
        let Ok(flushed) = self.session.flush(socket) else { return PumpOutcome::Over };
        if flushed || self.session.inspect(|mux| mux.output().len()) != pending {
            self.moved = worker.thread.tick();
        }
        let over = self.session.inspect(StreamMux::is_over) || self.session.closes_silently();
        if over || (self.ended && flushed && !self.answers) {
            return PumpOutcome::Over;
        }
        let takes = self.session.inspect(StreamMux::takes_input);
        let more = more || self.session.inspect(StreamMux::turn_limit_reached);
        if more && takes { PumpOutcome::More } else { PumpOutcome::Waits }
    }

    /// Begins a turn. With `tune.glitches.kill.cpu-usage`, floods end no connection as long as the
    /// thread is less busy than that.
    fn begin_turn(&self, worker: &Worker) {
        let limit = worker.shared.settings.h2.kill_cpu_usage;
        let has_time = || limit > 0 && 100 - worker.idle_percent() < limit;
        self.session.update(|mux| {
            mux.begin_turn();
            mux.set_flood_tolerance(has_time());
        });
    }

    /// Hands the received bytes to the machine. `false`: the machine takes no more input now.
    fn understand(&mut self, now_ms: u64, start: &mut impl FnMut(Key)) -> bool {
        let (session, input) = (&self.session, &mut self.input);
        // The machine reports a protocol error in its output, and the connection ends after that.
        let taken = session.act_for_driver(|mux| mux.handle_input(input.data(), now_ms));
        input.consume(taken.unwrap_or(usize::MAX));
        while let Some(key) = session.poll_opened() {
            start(key);
        }
        session.inspect(|mux| mux.takes_input() && !mux.turn_limit_reached())
    }

    /// Reads once. `false`: the socket has nothing now.
    fn read(&mut self, worker: &Worker, socket: &Transport) -> bool {
        if !socket.is_readable() || self.ended {
            self.rest(worker);
            return false;
        }
        if self.input.capacity() == 0 {
            // The buffer is taken in any case: frames of the peer may let other buffers be given
            // back.
            self.input = match worker.buffers.try_take(Urgency::Urgent) {
                Some(fresh) => fresh,
                None => worker.buffers.take_anyway(),
            };
        }
        if self.input.room() == 0 {
            self.input.compact();
        }
        match socket.recv(self.input.space()) {
            Ok(count @ 1..) => {
                self.input.filled(count);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.rest(worker);
                false
            }
            end => {
                self.ended = true;
                if self.answers && end.is_ok() {
                    self.session.act_for_driver(StreamMux::end_input);
                } else {
                    self.answers = false;
                }
                false
            }
        }
    }

    /// Gives an empty buffer back.
    fn rest(&mut self, worker: &Worker) {
        if self.input.is_empty() {
            worker.release(std::mem::replace(&mut self.input, Buf::empty()));
        }
    }

    /// Whether output waits for the peer.
    pub fn is_stalled(&self) -> bool {
        self.session.inspect(|mux| !mux.output().is_empty())
    }

    /// Registers for the socket events that the connection waits for.
    pub fn want(&self, socket: &Transport) {
        let (takes, writes) =
            self.session.inspect(|mux| (mux.takes_input(), !mux.output().is_empty()));
        if takes && !self.ended {
            socket.want_read();
        }
        if writes {
            socket.want_write();
        }
    }

    /// Ends the connection with all its streams. Towards a peer that has not closed its side, the
    /// write side is shut down, and the rest of the input is dropped.
    pub async fn close(mut self, worker: &Worker, socket: &Transport) {
        self.input.clear();
        self.rest(worker);
        let unsent = socket.unsent(<[u8]>::len) as u64;
        self.session.act_for_driver(|mux| {
            mux.take_back(unsent);
            mux.handle_eof();
        });
        if self.session.closes_silently() {
            return socket.vanish_on_close();
        }
        if self.session.inspect(StreamMux::is_fcgi) {
            // An application notices an abort by the end of its connection.
            return;
        }
        if !self.ended && socket.shutdown_write().is_ok() {
            swallow(worker, socket).await;
        }
    }
}

/// Drops bytes that still arrive until the peer closes its side: closing at once might reset the
/// connection before the peer has read the last frames.
async fn swallow(worker: &Worker, socket: &Transport) {
    let thread = &worker.thread;
    let deadline = thread.tick().plus_ms(FAREWELL_MS);
    let mut dropped = 0;
    while dropped < FAREWELL_BYTES && !deadline.is_due(thread.tick()) {
        let Some(mut waste) = worker.buffers.try_take(Urgency::Urgent) else { return };
        let read = socket.recv(waste.space());
        worker.release(waste);
        match read {
            Ok(count @ 1..) => {
                dropped += count;
                thread.scheduler().yield_as(Class::Bulk).await;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                socket.want_read();
                thread.scheduler().wait(Some(deadline)).await;
            }
            _ => return,
        }
    }
}
