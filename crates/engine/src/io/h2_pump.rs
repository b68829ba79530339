//! Between a socket and the machine of an HTTP/2 connection: bytes in, bytes out.

use crate::state::worker::Worker;
use buf::Buf;
use mux::h2::{H2Conn, Key};
use reactor::{Class, Tick, Urgency};
use std::io;
use std::rc::Rc;
use transport::h2::Session;
use transport::socket::Transport;

/// Reads of one turn, after which others have theirs.
const READS: u32 = 8;

/// How long a peer may go on sending after our last word, in milliseconds.
const FAREWELL_MS: u32 = 1_000;
/// How much it may send then.
const FAREWELL_BYTES: usize = 1 << 20;

/// What a turn came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// There is more to read.
    More,
    /// One of the ends has to be waited for.
    Waits,
    /// The connection is over.
    Over,
}

/// What the task of a connection remembers of moving bytes.
pub struct Pump {
    session: Rc<Session>,
    /// Received and not yet understood; no memory while there is nothing.
    input: Buf,
    /// When the peer has last taken something, or there was nothing for it.
    pub moved: Tick,
    /// The peer has ended its side.
    ended: bool,
    /// What it has asked for until then is answered.
    answers: bool,
}

impl Pump {
    /// Starts with the bytes that the client or the server has sent already.
    pub fn new(session: &Rc<Session>, input: Buf, now: Tick) -> Self {
        Self { session: session.clone(), input, moved: now, ended: false, answers: false }
    }

    /// The same for a peer whose requests are answered even when it has ended its side.
    pub fn answering(self) -> Self {
        Self { answers: true, ..self }
    }

    /// Reads, shows each stream that the peer has opened to `start`, and writes.
    pub fn turn(
        &mut self,
        worker: &Worker,
        socket: &Transport,
        mut start: impl FnMut(Key),
    ) -> Turn {
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
        let pending = self.session.look(|mux| mux.output().len());
        let Ok(flushed) = self.session.flush(socket) else { return Turn::Over };
        if flushed || self.session.look(|mux| mux.output().len()) != pending {
            self.moved = worker.thread.tick();
        }
        let over = self.session.look(H2Conn::is_over) || self.session.vanishes();
        if over || (self.ended && flushed && !self.answers) {
            return Turn::Over;
        }
        let takes = self.session.look(H2Conn::takes_input);
        let more = more || self.session.look(H2Conn::turn_limit_reached);
        if more && takes { Turn::More } else { Turn::Waits }
    }

    /// Begins a turn; where nonsense ends no connection as long as the thread has time for it,
    /// finds out whether it has.
    fn begin_turn(&self, worker: &Worker) {
        let limit = worker.shared.settings.h2.kill_cpu_usage;
        let has_time = || limit > 0 && 100 - worker.idle_percent() < limit;
        self.session.ask(|mux| {
            mux.begin_turn();
            mux.set_flood_tolerance(has_time());
        });
    }

    /// Hands what has come to the machine. `false`: nothing more is of use now.
    fn understand(&mut self, now_ms: u64, start: &mut impl FnMut(Key)) -> bool {
        let (session, input) = (&self.session, &mut self.input);
        // What breaks the protocol is told with the output, and ends the connection then.
        let taken = session.drive(|mux| mux.handle_input(input.data(), now_ms));
        input.consume(taken.unwrap_or(usize::MAX));
        while let Some(key) = session.poll_opened() {
            start(key);
        }
        session.look(|mux| mux.takes_input() && !mux.turn_limit_reached())
    }

    /// Reads once. `false`: there is nothing now.
    fn read(&mut self, worker: &Worker, socket: &Transport) -> bool {
        if !socket.is_readable() || self.ended {
            self.rest(worker);
            return false;
        }
        if self.input.capacity() == 0 {
            // What a peer says may be that buffers can be given back.
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
                    self.session.drive(H2Conn::end_input);
                } else {
                    self.answers = false;
                }
                false
            }
        }
    }

    /// An empty buffer is given back.
    fn rest(&mut self, worker: &Worker) {
        if self.input.is_empty() {
            worker.release(std::mem::replace(&mut self.input, Buf::empty()));
        }
    }

    /// The output is waiting for the peer.
    pub fn is_stalled(&self) -> bool {
        self.session.look(|mux| !mux.output().is_empty())
    }

    /// Asks to be woken for whatever is waited for.
    pub fn want(&self, socket: &Transport) {
        let (takes, writes) =
            self.session.look(|mux| (mux.takes_input(), !mux.output().is_empty()));
        if takes && !self.ended {
            socket.want_read();
        }
        if writes {
            socket.want_write();
        }
    }

    /// Ends the connection: no stream can go on, and the peer, if it is there, is told.
    pub async fn close(mut self, worker: &Worker, socket: &Transport) {
        self.input.clear();
        self.rest(worker);
        let unsent = socket.unsent(<[u8]>::len) as u64;
        self.session.drive(|mux| {
            mux.take_back(unsent);
            mux.handle_eof();
        });
        if self.session.vanishes() {
            return socket.vanish_on_close();
        }
        if !self.ended && socket.shutdown_write().is_ok() {
            swallow(worker, socket).await;
        }
    }
}

/// Drops what still comes until the peer ends its side: closing at once might reset the connection
/// under what was said last.
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
