//! A connection or listener owned by a task of this thread. Never blocks and never buffers.
//!
//! The reactor keeps ready bits per socket. A call tries the system only while its bit is set, and
//! clears the bit when the system has no more; the poller reports each change once. So whoever
//! stops before "would block" finds the bit still set later, and must look again by itself.

use crate::kernel::{Address, Handle, Kernel, Watch};
use crate::outgoing;
use crate::thread::Thread;
use sched::{TaskId, Wake};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use stdx::Key;
use sys::socket::{Dial, TcpInfo};

pub(crate) const READ: u16 = 1;
pub(crate) const WRITE: u16 = 2;
/// The peer has closed or the connection broke: readiness to read does not end any more.
pub(crate) const CLOSED: u16 = 4;

/// The system has taken a message at once: the connection stands.
pub(crate) const STANDS: u16 = 8;
/// A message waits to be sent with others.
pub(crate) const WAITS: u16 = 16;
/// The system has not taken the whole of a message; there is no room until it has.
pub(crate) const LATE: u16 = 32;
/// Sending has failed, and nobody has heard why.
pub(crate) const BROKEN: u16 = 64;
/// The poller does not know it yet: nobody has had to wait for it. Many a connection has said all
/// before it is accepted, and is closed with the answer.
pub(crate) const NEW: u16 = 128;
/// Something that was said to be sent will never leave.
pub(crate) const LOST: u16 = 256;
/// The poller reports only what comes in: nobody has had to wait for room. It would report that
/// there is room as soon as it knows of the connection, and wake the thread for nothing.
pub(crate) const HALF: u16 = 512;

/// What an owner can ask to be woken for.
pub(crate) const WANTED: u16 = READ | WRITE | CLOSED;

/// What the reactor keeps per socket.
#[derive(Debug)]
pub(crate) struct Io {
    pub(crate) handle: Handle,
    pub(crate) owner: TaskId,
    /// What its readiness means to the owner.
    pub(crate) reason: Wake,
    pub(crate) ready: u16,
    pub(crate) wanted: u16,
    /// Closing it resets the connection.
    pub(crate) resets: bool,
    /// Bytes sent since something was received last; more than there can be where the peer is
    /// doubted.
    pub(crate) unheard: u32,
}

impl Io {
    /// Whether something is waited for that nobody would report.
    fn is_unreported(&self) -> bool {
        let awaited = self.wanted & !self.ready & WANTED;
        self.ready & NEW != 0 && awaited != 0 || self.ready & HALF != 0 && awaited & WRITE != 0
    }

    /// What the poller has yet to be told of it; it is assumed to be told then.
    pub(crate) fn report(&mut self) -> Option<Report> {
        let lacks_room = self.ready & WRITE == 0;
        let first = self.ready & NEW != 0;
        let grows = self.ready & HALF != 0 && lacks_room;
        if !first && !grows {
            return None;
        }
        self.ready &= !(NEW | HALF);
        if lacks_room {
            return Some(Report { watch: Watch::Stream, first });
        }
        self.ready |= HALF;
        Some(Report { watch: Watch::Incoming, first })
    }
}

/// What the poller is told of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Report {
    pub(crate) watch: Watch,
    /// It does not know it yet.
    pub(crate) first: bool,
}

/// A stream socket. Dropping it closes the connection.
#[derive(Debug)]
pub struct Socket {
    pub(crate) thread: Rc<Thread>,
    pub(crate) key: Key,
}

impl Socket {
    /// Adopts a connected handle, which is assumed ready in both directions until it says
    /// otherwise. The poller hears of it when somebody has to wait for it; if it refuses, that is
    /// how the connection breaks.
    pub fn adopt(thread: &Rc<Thread>, handle: Handle) -> Self {
        let key = thread.enter(handle, READ | WRITE | STANDS | NEW);
        Self { thread: thread.clone(), key }
    }

    /// Starts a connection. It is assumed writable: the first write tells whether it stands
    /// already. The poller hears of it as of an adopted one.
    ///
    /// # Errors
    /// As the system says at once, such as "connection refused" or no descriptors left.
    pub fn connect(thread: &Rc<Thread>, to: &Address) -> io::Result<Self> {
        Ok(Self::begun(thread, thread.kernel().connect(to)?))
    }

    /// Opens a socket for datagrams to and from one address.
    ///
    /// # Errors
    /// As the system says, such as no descriptors left.
    pub fn datagrams(thread: &Rc<Thread>, with: SocketAddr) -> io::Result<Self> {
        Ok(Self::adopt(thread, thread.kernel().datagrams(with)?))
    }

    /// As [`Socket::connect`], with what is asked of the connection beyond where it goes.
    ///
    /// # Errors
    /// As the system says at once, such as a source address that is not the machine's.
    pub fn dial(thread: &Rc<Thread>, to: &Address, how: &Dial) -> io::Result<Self> {
        Ok(Self::begun(thread, thread.kernel().dial(to, how)?))
    }

    /// A connection that may stand already.
    fn begun(thread: &Rc<Thread>, handle: Handle) -> Self {
        let key = thread.enter(handle, WRITE | NEW);
        Self { thread: thread.clone(), key }
    }

    /// Adopts an open connection that has nothing to read, which another thread has let go.
    ///
    /// # Errors
    /// The poller refuses it; the handle is closed then.
    pub fn take_over(thread: &Rc<Thread>, handle: Handle) -> io::Result<Self> {
        let key = thread.register(handle, WRITE | STANDS | HALF, Watch::Incoming)?;
        Ok(Self { thread: thread.clone(), key })
    }

    /// Lets go of the connection without closing it: events already harvested for it find nothing.
    /// The handle belongs to the caller, who may pass it to another thread; the socket is good for
    /// nothing any more but to be dropped.
    pub fn let_go(&self) -> Handle {
        let handle = self.handle();
        self.thread.dismiss(self.key);
        handle
    }

    /// The thread that the socket belongs to.
    pub fn thread(&self) -> &Rc<Thread> {
        &self.thread
    }

    /// The number that the system gave it.
    pub fn handle(&self) -> Handle {
        self.thread.io(self.key, |io| io.handle)
    }

    /// Makes the running task the one that readiness wakes.
    pub fn own(&self) {
        let owner = self.thread.scheduler().current();
        self.thread.io(self.key, |io| io.owner = owner);
    }

    /// Makes another task the owner, to be woken when something arrives or the peer closes.
    pub fn watch_for(&self, owner: TaskId) {
        self.thread.io(self.key, |io| {
            io.owner = owner;
            io.wanted = READ;
        });
        self.thread.introduce(self.key);
    }

    /// Reads what is there; 0 at the end of the stream.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (handle, ready) = self.thread.io(self.key, |io| (io.handle, io.ready));
        if ready & READ == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut result = self.thread.kernel().recv(handle, buffer);
        if ready & BROKEN != 0 {
            result = self.with_failure(result);
        }
        let drained = match &result {
            // A short read has emptied the socket, unless what follows is the end.
            Ok(count) => *count < buffer.len() && ready & CLOSED == 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        let heard = matches!(result, Ok(1..));
        if drained || heard {
            self.change(|io| {
                io.ready &= if drained { !READ } else { u16::MAX };
                io.unheard = if heard { 0 } else { io.unheard };
            });
        }
        result
    }

    /// Reads one datagram; what does not fit into `buffer` is lost. Others may follow, whatever its
    /// length.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; otherwise as the system says, such as "connection refused".
    pub fn recv_datagram(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.attempt(READ, |kernel, handle| kernel.recv(handle, buffer))
    }

    /// Writes what fits. `more`: the next write follows at once.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; otherwise as the system says, perhaps of a message sent
    /// earlier.
    pub fn send(&self, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let result = self.attempt(WRITE, |kernel, handle| kernel.send(handle, parts, more));
        result.inspect(|count| self.thread.pulse().throughput().add(*count))
    }

    /// Sends bytes, at least one, and copies of descriptors with them, to the process at the other
    /// end of a unix socket, behind all that was sent before.
    ///
    /// # Errors
    /// As [`Socket::send`]; `Unsupported` where there are no descriptors.
    pub fn hand_over(&self, bytes: &[u8], copied: &[Handle]) -> io::Result<usize> {
        self.attempt(WRITE, |kernel, handle| kernel.hand_over(handle, bytes, copied))
    }

    /// Writes what fits. A short message goes with others of this turn, behind which it must not
    /// wait for long: before the thread sleeps, before work of another class, before the next call
    /// for this socket that would overtake it, and before the socket is closed. It goes at once if
    /// the system may have no room for it: more than a little was sent since something was heard;
    /// and if the peer has closed or is gone, so that the caller learns which.
    ///
    /// # Errors
    /// As [`Socket::send`].
    #[inline]
    pub fn send_soon(&self, message: &[u8]) -> io::Result<usize> {
        let short = message.len() <= outgoing::SHORT && !message.is_empty();
        let joins = self.thread.io(self.key, |io| {
            let room = io.unheard as usize + message.len() <= outgoing::UNHEARD;
            let states = WRITE | STANDS | BROKEN | LOST | CLOSED;
            let joins = short && room && io.ready & states == WRITE | STANDS;
            if joins {
                io.ready |= WAITS;
                io.unheard += message.len() as u32;
            }
            joins
        });
        if !joins {
            return self.send(&[IoSlice::new(message)], false);
        }
        self.thread.send_soon(self.key, message);
        Ok(message.len())
    }

    /// Has what is sent next go at once, until something is heard: the peer has been silent for so
    /// long that it may have gone, and the caller would rather know.
    pub fn doubt(&self) {
        self.thread.io(self.key, |io| io.unheard = u32::MAX);
    }

    /// What a read comes to where a message could not be sent: the system has told of the error
    /// then, and tells it once.
    #[cold]
    fn with_failure(&self, result: io::Result<usize>) -> io::Result<usize> {
        if matches!(result, Ok(1..)) {
            return result;
        }
        let failure = self.failure();
        // A peer that had closed in good order before has said all that it had to say.
        let closed = failure.kind() == io::ErrorKind::BrokenPipe && result.is_ok();
        if closed { result } else { Err(failure) }
    }

    /// Whether all that was sent is with the system, which has not complained.
    pub fn is_settled(&self) -> bool {
        self.send_waiting();
        self.thread.io(self.key, |io| io.ready & (LATE | BROKEN) == 0)
    }

    /// Looks at the last of the bytes that were said to be sent, if they have not left and never
    /// will: those behind which the connection broke. The peer has not seen them.
    pub fn unsent<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        self.send_waiting();
        let lost = self.thread.io(self.key, |io| io.ready & LOST != 0);
        if lost { self.thread.outgoing.lost(self.key, look) } else { look(&[]) }
    }

    /// Why sending has failed, once.
    #[cold]
    fn failure(&self) -> io::Error {
        self.thread.io(self.key, |io| io.ready &= !BROKEN);
        let failure = self.thread.outgoing.take_error(self.key);
        failure.unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends what waits, so that nothing overtakes it.
    fn send_waiting(&self) {
        if self.thread.io(self.key, |io| io.ready & WAITS != 0) {
            self.thread.send_waiting();
        }
    }

    /// Calls the system while the bit of this direction is set, and clears it when it would block.
    pub(crate) fn attempt(
        &self,
        direction: u16,
        call: impl FnOnce(&dyn Kernel, Handle) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let (handle, mut ready) = self.thread.io(self.key, |io| (io.handle, io.ready));
        if direction == WRITE && ready & (WAITS | BROKEN) != 0 {
            self.thread.send_waiting();
            ready = self.thread.io(self.key, |io| io.ready);
            if ready & BROKEN != 0 {
                return Err(self.failure());
            }
        }
        if ready & direction == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut result = call(self.thread.kernel(), handle);
        if direction == READ && ready & BROKEN != 0 {
            result = self.with_failure(result);
        }
        self.change(|io| match &result {
            Ok(count) if direction == WRITE => {
                io.ready |= STANDS;
                io.unheard = io.unheard.saturating_add((*count).try_into().unwrap_or(u32::MAX));
            }
            Ok(1..) => io.unheard = 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => io.ready &= !direction,
            _ => {}
        });
        result
    }

    /// Asks to be woken when reading becomes possible; again for each change until it wants
    /// nothing.
    pub fn want_read(&self) {
        self.want(READ);
    }

    /// Asks to be woken when writing becomes possible; again for each change until it wants
    /// nothing.
    pub fn want_write(&self) {
        self.want(WRITE);
    }

    /// Asks to be woken when the peer closes its side or the connection breaks, also while there is
    /// something to read that nobody reads; again for each change until it wants nothing.
    pub fn want_close(&self) {
        self.want(CLOSED);
    }

    fn want(&self, bits: u16) {
        let owner = self.thread.scheduler().current();
        let ready = self.change(|io| {
            io.owner = owner;
            io.wanted |= bits;
            io.ready & bits != 0
        });
        if ready {
            // Nothing will be reported that is known already.
            self.thread.scheduler().wake(owner, Wake::IO);
        }
    }

    /// Changes what is known or wanted of it; the poller hears of it where it has to report that.
    fn change<R>(&self, how: impl FnOnce(&mut Io) -> R) -> R {
        let (result, unreported) = self.thread.io(self.key, |io| (how(io), io.is_unreported()));
        if unreported {
            self.thread.introduce(self.key);
        }
        result
    }

    /// Leaves it to the poller to tell when there is something to read, where a fresh connection is
    /// assumed to have something: for who would take a turn of others to look in vain.
    pub fn await_report(&self) {
        self.thread.io(self.key, |io| {
            if io.ready & NEW != 0 {
                io.ready &= !READ;
            }
        });
    }

    /// Asks not to be woken any more.
    pub fn want_nothing(&self) {
        self.thread.io(self.key, |io| io.wanted = 0);
    }

    /// Whether a read may find something.
    pub fn is_readable(&self) -> bool {
        self.thread.io(self.key, |io| io.ready & READ != 0)
    }

    /// Whether the connection is open and has nothing to read, as the system knows at this moment.
    pub fn is_quiet(&self) -> bool {
        self.thread.kernel().is_quiet(self.handle())
    }

    /// As [`Socket::is_quiet`], and takes note of it: what is readable is not known otherwise after
    /// bytes have gone through a pipe.
    pub fn settle(&self) {
        if self.is_quiet() {
            self.change(|io| io.ready &= !READ);
        }
    }

    /// Whether a write may find room.
    pub fn is_writable(&self) -> bool {
        self.thread.io(self.key, |io| io.ready & WRITE != 0)
    }

    /// Whether the peer has closed its side, or the connection is broken, as far as reported: of a
    /// connection that nobody waits for, nothing is. See [`Socket::want_close`].
    pub fn is_closed(&self) -> bool {
        self.thread.io(self.key, |io| io.ready & CLOSED != 0)
    }

    /// Whether the peer has closed its side, or the connection is broken, as the system knows at
    /// this moment: for what costs much more than this question.
    pub fn has_ended(&self) -> bool {
        self.is_closed() || self.thread.kernel().has_ended(self.handle())
    }

    /// The pending error of a connection.
    pub fn take_error(&self) -> io::Result<()> {
        if self.thread.io(self.key, |io| io.ready & BROKEN != 0) {
            return Err(self.failure());
        }
        self.thread.kernel().take_error(self.handle())
    }

    /// Tells the peer that nothing more will be written.
    pub fn shutdown_write(&self) -> io::Result<()> {
        if self.thread.io(self.key, |io| io.ready & WAITS != 0) {
            self.thread.send_last(self.key);
        }
        if self.thread.ends_after_rest(self.key) {
            return Ok(());
        }
        self.thread.kernel().shutdown_write(self.handle())
    }

    /// Makes the coming drop a reset: what is unsent is dropped, and nothing lingers.
    pub fn reset_on_close(&self) {
        self.thread.io(self.key, |io| io.resets = true);
    }

    /// Makes the coming drop an end in good order again.
    pub fn end_on_close(&self) {
        self.thread.io(self.key, |io| io.resets = false);
    }

    /// Makes the coming drop end the connection without telling the peer, as far as possible.
    pub fn vanish_on_close(&self) {
        self.send_waiting();
        // Where even the lesser way fails, a reset is what is left.
        let _ = self.thread.kernel().vanish_on_close(self.handle());
        self.reset_on_close();
    }

    /// Our address of the connection.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.thread.kernel().local_address(self.handle())
    }

    /// What the system knows about the TCP connection.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.thread.kernel().tcp_info(self.handle())
    }

    /// Sets the type of service of the packets to the peer.
    pub fn set_tos(&self, tos: u8) -> io::Result<()> {
        self.send_waiting();
        self.thread.kernel().set_tos(self.handle(), tos)
    }

    /// Acknowledges at once what has been received, and what comes next: for a peer that may wait
    /// with more until then.
    pub fn acknowledge(&self) {
        self.thread.kernel().acknowledge(self.handle());
    }

    /// Sets the mark of the packets to the peer; needs a privilege.
    pub fn set_mark(&self, mark: u32) -> io::Result<()> {
        self.send_waiting();
        self.thread.kernel().set_mark(self.handle(), mark)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.thread.unregister(self.key);
    }
}

/// A listening socket that several threads may share. Dropping it stops watching, never closes.
#[derive(Debug)]
pub struct Listener {
    thread: Rc<Thread>,
    handle: Handle,
    reason: Wake,
    key: Option<Key>,
}

impl Listener {
    /// A listener over a handle that is bound and listens already; paused at first.
    pub fn new(thread: &Rc<Thread>, handle: Handle) -> Self {
        Self { thread: thread.clone(), handle, reason: Wake::IO, key: None }
    }

    /// As [`Listener::new`], over the descriptor by which signals rouse the poller: whoever watches
    /// it is woken with reason `SIGNAL`. It stays readable until cleared, so a signal that comes
    /// just before the poller sleeps is seen too.
    pub fn for_signals(thread: &Rc<Thread>, bell: Handle) -> Self {
        let mut listener = Self::new(thread, bell);
        listener.reason = Wake::SIGNAL;
        listener
    }

    /// The number that the system gave it.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Wakes the running task from now on while clients wait.
    ///
    /// # Errors
    /// The poller refuses it.
    pub fn resume(&mut self) -> io::Result<()> {
        if self.key.is_some() {
            return Ok(());
        }
        let key = self.thread.enrol(self.handle, 0, Watch::Listener)?;
        let owner = self.thread.scheduler().current();
        self.thread.io(key, |io| {
            io.owner = owner;
            io.reason = self.reason;
            io.wanted = READ;
        });
        self.key = Some(key);
        Ok(())
    }

    /// Leaves waiting clients to other threads or to the backlog.
    pub fn pause(&mut self) {
        if let Some(key) = self.key.take() {
            self.thread.dismiss(key);
        }
    }

    /// Closes the handle: no thread may listen on it any more.
    pub fn close(mut self) {
        self.pause();
        self.thread.kernel().close(self.handle, false);
    }

    /// Takes a waiting client, and its address unless it came over a path.
    ///
    /// # Errors
    /// `WouldBlock` when none waits; otherwise as the system says, such as no descriptors left.
    pub fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        let (handle, peer) = self.take()?;
        Ok((Socket::adopt(&self.thread, handle), peer))
    }

    /// As [`Listener::accept`], for a thread that is yet to be chosen: the handle is the caller's.
    ///
    /// # Errors
    /// As [`Listener::accept`].
    pub fn take(&self) -> io::Result<(Handle, Option<SocketAddr>)> {
        self.thread.kernel().accept(self.handle)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.pause();
    }
}
