//! A connection or listener owned by a task of this thread; calls neither block nor buffer.
//!
//! The reactor keeps ready bits per socket. A call tries the system only while its bit is set, and
//! clears the bit when the system would block; the poller reports each change once
//! (edge-triggered). A task that stops before `WouldBlock` finds the bit still set later, and has
//! to check it again by itself.

use super::send_queue;
use crate::kernel::{Address, Handle, Kernel, UdpBatch, Watch};
use crate::thread::Thread;
use sched::{TaskId, Wake};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::rc::Rc;
use stdx::Key;
use sys::socket::{ConnectOptions, TcpInfo};

pub(crate) const READ: u16 = 1;
pub(crate) const WRITE: u16 = 2;
/// The peer has closed or the connection is broken: the socket stays readable.
pub(crate) const CLOSED: u16 = 4;

/// The system has taken a message at once: the connection is established.
pub(crate) const ESTABLISHED: u16 = 8;
/// A message is queued to be sent with others.
pub(crate) const QUEUED: u16 = 16;
/// The system has not taken the whole of a message; the socket has no room until it has.
pub(crate) const UNSENT: u16 = 32;
/// Sending has failed, and the error was not returned yet.
pub(crate) const FAILED: u16 = 64;
/// The socket is not registered with the poller, because no task had to wait for it. Many
/// connections have their whole request in the buffer when they are accepted, and are closed after
/// the answer.
pub(crate) const UNREGISTERED: u16 = 128;
/// Bytes that were reported as sent will not be sent.
pub(crate) const LOST: u16 = 256;
/// The poller reports input only, because no task had to wait for room. Registered for output it
/// would report room at once, and wake the thread for nothing.
pub(crate) const INPUT_ONLY: u16 = 512;

/// The bits that an owner can wait for.
pub(crate) const WANTED: u16 = READ | WRITE | CLOSED;

/// State that the reactor keeps per socket.
#[derive(Debug)]
pub(crate) struct SocketState {
    pub(crate) handle: Handle,
    pub(crate) owner: TaskId,
    /// Wake reason that the owner gets.
    pub(crate) reason: Wake,
    pub(crate) ready: u16,
    pub(crate) wanted: u16,
    /// Whether closing resets the connection.
    pub(crate) resets: bool,
    /// Bytes sent since something was last received; `u32::MAX` to switch coalescing off.
    pub(crate) unanswered: u32,
}

impl SocketState {
    /// Whether the owner waits for something that the poller is not registered for.
    fn is_unreported(&self) -> bool {
        let awaited = self.wanted & !self.ready & WANTED;
        self.ready & UNREGISTERED != 0 && awaited != 0
            || self.ready & INPUT_ONLY != 0 && awaited & WRITE != 0
    }

    /// The registration that the poller lacks, if any; it is marked as done.
    pub(crate) fn missing_registration(&mut self) -> Option<Registration> {
        let lacks_room = self.ready & WRITE == 0;
        let first = self.ready & UNREGISTERED != 0;
        let grows = self.ready & INPUT_ONLY != 0 && lacks_room;
        if !first && !grows {
            return None;
        }
        self.ready &= !(UNREGISTERED | INPUT_ONLY);
        if lacks_room {
            return Some(Registration { watch: Watch::Stream, first });
        }
        self.ready |= INPUT_ONLY;
        Some(Registration { watch: Watch::Incoming, first })
    }
}

/// A registration of a connection with the poller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Registration {
    pub(crate) watch: Watch,
    /// Whether this is the first message of the socket.
    pub(crate) first: bool,
}

/// A stream socket. Dropping it closes the connection.
#[derive(Debug)]
pub struct Socket {
    pub(crate) thread: Rc<Thread>,
    pub(crate) key: Key,
}

impl Socket {
    /// Adopts a connected handle. The socket is assumed to be ready in both directions until a call
    /// would block. It is registered with the poller when a task has to wait for it; if the poller
    /// refuses it, the connection breaks with that error.
    pub fn adopt(thread: &Rc<Thread>, handle: Handle) -> Self {
        let key = thread.add(handle, READ | WRITE | ESTABLISHED | UNREGISTERED);
        Self { thread: thread.clone(), key }
    }

    /// Starts a connection. It is assumed to be writable: the first write shows whether it is
    /// established. It is registered with the poller like an adopted one.
    ///
    /// # Errors
    /// An error that the system reports at once, such as "connection refused" or no descriptors
    /// left.
    pub fn connect(thread: &Rc<Thread>, to: &Address) -> io::Result<Self> {
        Ok(Self::connecting(thread, thread.kernel().connect(to)?))
    }

    /// Opens a socket for datagrams to and from one address.
    ///
    /// # Errors
    /// An error of the system, such as no descriptors left.
    pub fn datagrams(thread: &Rc<Thread>, with: SocketAddr) -> io::Result<Self> {
        Ok(Self::adopt(thread, thread.kernel().datagrams(with)?))
    }

    /// As [`Socket::connect`], with options for the connection.
    ///
    /// # Errors
    /// An error that the system reports at once, such as a source address that is not local.
    pub fn dial(thread: &Rc<Thread>, to: &Address, how: &ConnectOptions) -> io::Result<Self> {
        Ok(Self::connecting(thread, thread.kernel().dial(to, how)?))
    }

    /// A connection that may be established already.
    fn connecting(thread: &Rc<Thread>, handle: Handle) -> Self {
        let key = thread.add(handle, WRITE | UNREGISTERED);
        Self { thread: thread.clone(), key }
    }

    /// Adopts an open connection without unread data that another thread has released.
    ///
    /// # Errors
    /// The poller refuses it; then the handle is closed.
    pub fn adopt_idle(thread: &Rc<Thread>, handle: Handle) -> io::Result<Self> {
        let key = thread.register(handle, WRITE | ESTABLISHED | INPUT_ONLY, Watch::Incoming)?;
        Ok(Self { thread: thread.clone(), key })
    }

    /// Releases the connection without closing it; events already collected for it are dropped. The
    /// caller owns the handle and may pass it to another thread; the socket must not be used any
    /// more.
    pub fn release(&self) -> Handle {
        let handle = self.handle();
        self.thread.forget(self.key);
        handle
    }

    /// The thread that owns the socket.
    pub fn thread(&self) -> &Rc<Thread> {
        &self.thread
    }

    /// Its descriptor.
    pub fn handle(&self) -> Handle {
        self.thread.io(self.key, |io| io.handle)
    }

    /// Makes the running task the one that readiness wakes.
    pub fn assign_to_current_task(&self) {
        let owner = self.thread.scheduler().current();
        self.thread.io(self.key, |io| io.owner = owner);
    }

    /// Makes another task the owner, to be woken when something arrives or the peer closes.
    pub fn wake_task_on_input(&self, owner: TaskId) {
        self.thread.io(self.key, |io| {
            io.owner = owner;
            io.wanted = READ;
        });
        self.thread.register_interest(self.key);
    }

    /// Reads available bytes; 0 at the end of the stream.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let (handle, ready) = self.thread.io(self.key, |io| (io.handle, io.ready));
        if ready & READ == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut result = self.thread.kernel().recv(handle, buffer);
        if ready & FAILED != 0 {
            result = self.with_failure(result);
        }
        let drained = match &result {
            // A short read has emptied the socket, unless the end of the stream follows.
            Ok(count) => *count < buffer.len() && ready & CLOSED == 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        let heard = matches!(result, Ok(1..));
        if drained || heard {
            self.change(|io| {
                io.ready &= if drained { !READ } else { u16::MAX };
                io.unanswered = if heard { 0 } else { io.unanswered };
            });
        }
        result
    }

    /// Reads one datagram; bytes that do not fit into `buffer` are lost. More datagrams may follow,
    /// whatever the length of this one.
    ///
    /// # Errors
    /// `WouldBlock` when there is none; otherwise the system's error, such as "connection refused".
    pub fn recv_datagram(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_io(READ, |kernel, handle| kernel.recv(handle, buffer))
    }

    /// Receives up to a batch of datagrams; returns how many.
    ///
    /// # Errors
    /// As [`Socket::recv_datagram`].
    pub fn recv_batch(&self, batch: &mut UdpBatch) -> io::Result<usize> {
        self.try_io(READ, |kernel, handle| kernel.receive_udp(handle, batch))
    }

    /// Writes what fits. `more`: another write follows at once.
    ///
    /// # Errors
    /// `WouldBlock` when there is no room; otherwise the system's error, possibly of a message sent
    /// earlier.
    pub fn send(&self, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let result = self.try_io(WRITE, |kernel, handle| kernel.send(handle, parts, more));
        result.inspect(|count| self.thread.heartbeat().throughput().add(*count))
    }

    /// Sends at least one byte, together with copies of descriptors, to the process at the other
    /// end of a unix socket, after everything sent before.
    ///
    /// # Errors
    /// As [`Socket::send`]; `Unsupported` on a kernel without descriptor passing.
    pub fn send_with_descriptors(&self, bytes: &[u8], copied: &[Handle]) -> io::Result<usize> {
        self.try_io(WRITE, |kernel, handle| kernel.send_with_descriptors(handle, bytes, copied))
    }

    /// Writes what fits. A short message is sent together with others of this turn: at the latest
    /// before the thread sleeps, before work of another class, before the next call for this socket
    /// that would overtake it, and before the socket is closed. It is sent at once if the system
    /// may lack room, because more than 8 KiB were sent since something was received; and if the
    /// peer has closed or is gone, so that the caller sees the error.
    ///
    /// # Errors
    /// As [`Socket::send`].
    #[inline]
    pub fn send_coalesced(&self, message: &[u8]) -> io::Result<usize> {
        let short = message.len() <= send_queue::MAX_COALESCED && !message.is_empty();
        let joins = self.thread.io(self.key, |io| {
            let room = io.unanswered as usize + message.len() <= send_queue::MAX_UNANSWERED;
            let states = WRITE | ESTABLISHED | FAILED | LOST | CLOSED;
            let joins = short && room && io.ready & states == WRITE | ESTABLISHED;
            if joins {
                io.ready |= QUEUED;
                io.unanswered += message.len() as u32;
            }
            joins
        });
        if !joins {
            return self.send(&[IoSlice::new(message)], false);
        }
        self.thread.queue_message(self.key, message);
        Ok(message.len())
    }

    /// Disables write coalescing until the next input, so that a dead peer is detected: it has been
    /// silent for so long that it may be gone.
    pub fn disable_coalescing(&self) {
        self.thread.io(self.key, |io| io.unanswered = u32::MAX);
    }

    /// Result of a read where a message could not be sent: the system reported the error on that
    /// send, and reports it once only.
    #[cold]
    fn with_failure(&self, result: io::Result<usize>) -> io::Result<usize> {
        if matches!(result, Ok(1..)) {
            return result;
        }
        let failure = self.failure();
        // A peer that had closed in good order before has sent all of its data.
        let closed = failure.kind() == io::ErrorKind::BrokenPipe && result.is_ok();
        if closed { result } else { Err(failure) }
    }

    /// Whether the system has accepted everything that was sent, without an error.
    pub fn is_flushed(&self) -> bool {
        self.send_waiting();
        self.thread.io(self.key, |io| io.ready & (UNSENT | FAILED) == 0)
    }

    /// Calls `look` with the bytes that were reported as sent but were not, because the connection
    /// broke before. The peer has not seen them.
    pub fn with_lost_bytes<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        self.send_waiting();
        let lost = self.thread.io(self.key, |io| io.ready & LOST != 0);
        if lost { self.thread.send_queue.with_lost_bytes(self.key, look) } else { look(&[]) }
    }

    /// Takes the error of a failed send.
    #[cold]
    fn failure(&self) -> io::Error {
        self.thread.io(self.key, |io| io.ready &= !FAILED);
        let failure = self.thread.send_queue.take_error(self.key);
        failure.unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
    }

    /// Sends queued messages, so that they keep their order.
    fn send_waiting(&self) {
        if self.thread.io(self.key, |io| io.ready & QUEUED != 0) {
            self.thread.send_queued();
        }
    }

    /// Calls the system while the bit of this direction is set, and clears the bit when it would
    /// block.
    pub(crate) fn try_io(
        &self,
        direction: u16,
        call: impl FnOnce(&dyn Kernel, Handle) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let (handle, mut ready) = self.thread.io(self.key, |io| (io.handle, io.ready));
        if direction == WRITE && ready & (QUEUED | FAILED) != 0 {
            self.thread.send_queued();
            ready = self.thread.io(self.key, |io| io.ready);
            if ready & FAILED != 0 {
                return Err(self.failure());
            }
        }
        if ready & direction == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut result = call(self.thread.kernel(), handle);
        if direction == READ && ready & FAILED != 0 {
            result = self.with_failure(result);
        }
        self.change(|io| match &result {
            Ok(count) if direction == WRITE => {
                io.ready |= ESTABLISHED;
                io.unanswered =
                    io.unanswered.saturating_add((*count).try_into().unwrap_or(u32::MAX));
            }
            Ok(1..) => io.unanswered = 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => io.ready &= !direction,
            _ => {}
        });
        result
    }

    /// Wakes the running task when the socket becomes readable, at each change until
    /// [`Socket::want_nothing`].
    pub fn want_read(&self) {
        self.want(READ);
    }

    /// Wakes the running task when the socket becomes writable, at each change until
    /// [`Socket::want_nothing`].
    pub fn want_write(&self) {
        self.want(WRITE);
    }

    /// Wakes the running task when the peer closes its side or the connection breaks, also in front
    /// of unread data; at each change until [`Socket::want_nothing`].
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
            // The poller does not report readiness twice.
            self.thread.scheduler().wake(owner, Wake::IO);
        }
    }

    /// Changes a socket's state; registers it with the poller if the owner now waits for more.
    fn change<R>(&self, how: impl FnOnce(&mut SocketState) -> R) -> R {
        let (result, unreported) = self.thread.io(self.key, |io| (how(io), io.is_unreported()));
        if unreported {
            self.thread.register_interest(self.key);
        }
        result
    }

    /// Marks a new connection as not readable until the poller reports it. A read that finds
    /// nothing would cost the other tasks of the turn time.
    pub fn await_input_event(&self) {
        self.thread.io(self.key, |io| {
            if io.ready & UNREGISTERED != 0 {
                io.ready &= !READ;
            }
        });
    }

    /// Stops wake-ups for this socket.
    pub fn want_nothing(&self) {
        self.thread.io(self.key, |io| io.wanted = 0);
    }

    /// Whether a read may find something.
    pub fn is_readable(&self) -> bool {
        self.thread.io(self.key, |io| io.ready & READ != 0)
    }

    /// Whether the connection is open and has nothing to read, checked with the system now.
    pub fn is_quiet(&self) -> bool {
        self.thread.kernel().is_quiet(self.handle())
    }

    /// As [`Socket::is_quiet`], and clears the ready bit if so: splicing does not maintain the bit.
    pub fn recheck_readable(&self) {
        if self.is_quiet() {
            self.change(|io| io.ready &= !READ);
        }
    }

    /// Whether a write may find room.
    pub fn is_writable(&self) -> bool {
        self.thread.io(self.key, |io| io.ready & WRITE != 0)
    }

    /// Whether the peer has closed its side or the connection is broken, as far as reported:
    /// nothing is reported of a connection that no task waits for. See [`Socket::want_close`].
    pub fn is_closed(&self) -> bool {
        self.thread.io(self.key, |io| io.ready & CLOSED != 0)
    }

    /// Whether the peer has closed its side or the connection is broken, checked with the system
    /// now. Worth a call before expensive work.
    pub fn has_ended(&self) -> bool {
        self.is_closed() || self.thread.kernel().has_ended(self.handle())
    }

    /// Takes the pending error of a connection.
    pub fn take_error(&self) -> io::Result<()> {
        if self.thread.io(self.key, |io| io.ready & FAILED != 0) {
            return Err(self.failure());
        }
        self.thread.kernel().take_error(self.handle())
    }

    /// Closes the sending direction after everything that was sent.
    pub fn shutdown_write(&self) -> io::Result<()> {
        if self.thread.io(self.key, |io| io.ready & QUEUED != 0) {
            self.thread.send_queued_with_fin(self.key);
        }
        if self.thread.shutdown_after_unsent(self.key) {
            return Ok(());
        }
        self.thread.kernel().shutdown_write(self.handle())
    }

    /// Makes the drop reset the connection: unsent data is discarded.
    pub fn reset_on_close(&self) {
        self.thread.io(self.key, |io| io.resets = true);
    }

    /// Makes the drop close the connection in good order again.
    pub fn end_on_close(&self) {
        self.thread.io(self.key, |io| io.resets = false);
    }

    /// Makes the drop end the connection without notice to the peer, as far as possible.
    pub fn silent_drop_on_close(&self) {
        self.send_waiting();
        // Where this fails, the reset is the fallback.
        let _ = self.thread.kernel().silent_drop_on_close(self.handle());
        self.reset_on_close();
    }

    /// The local address of the connection.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.thread.kernel().local_address(self.handle())
    }

    /// The system's `TCP_INFO` of the connection.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        self.thread.kernel().tcp_info(self.handle())
    }

    /// Sets the type of service of the packets to the peer.
    pub fn set_tos(&self, tos: u8) -> io::Result<()> {
        self.send_waiting();
        self.thread.kernel().set_tos(self.handle(), tos)
    }

    /// Acknowledges received data and the next segment at once, because the peer may delay more
    /// data until then.
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

/// A listening socket that several threads may share. A drop unregisters the socket but does not
/// close it.
#[derive(Debug)]
pub struct Listener {
    thread: Rc<Thread>,
    handle: Handle,
    reason: Wake,
    key: Option<Key>,
}

impl Listener {
    /// A listener over a handle that listens already; paused at first.
    pub fn new(thread: &Rc<Thread>, handle: Handle) -> Self {
        Self { thread: thread.clone(), handle, reason: Wake::IO, key: None }
    }

    /// As [`Listener::new`], over the descriptor that signals make readable: the watching task is
    /// woken with reason `SIGNAL`. It stays readable until cleared, so a signal that comes just
    /// before the poller sleeps is not lost.
    pub fn for_signals(thread: &Rc<Thread>, bell: Handle) -> Self {
        let mut listener = Self::new(thread, bell);
        listener.reason = Wake::SIGNAL;
        listener
    }

    /// Its descriptor.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Wakes the running task from now on while clients wait to be accepted.
    ///
    /// # Errors
    /// The poller refuses it.
    pub fn resume(&mut self) -> io::Result<()> {
        if self.key.is_some() {
            return Ok(());
        }
        let key = self.thread.add_registered(self.handle, 0, Watch::Listener)?;
        let owner = self.thread.scheduler().current();
        self.thread.io(key, |io| {
            io.owner = owner;
            io.reason = self.reason;
            io.wanted = READ;
        });
        self.key = Some(key);
        Ok(())
    }

    /// Leaves waiting clients to other threads or in the backlog.
    pub fn pause(&mut self) {
        if let Some(key) = self.key.take() {
            self.thread.forget(key);
        }
    }

    /// Closes the handle; no thread can accept from it any more.
    pub fn close(mut self) {
        self.pause();
        self.thread.kernel().close(self.handle, false);
    }

    /// Accepts a client; its address is `None` on unix sockets.
    ///
    /// # Errors
    /// `WouldBlock` when none waits; otherwise the system's error, such as no descriptors left.
    pub fn accept(&self) -> io::Result<(Socket, Option<SocketAddr>)> {
        let (handle, peer) = self.take()?;
        Ok((Socket::adopt(&self.thread, handle), peer))
    }

    /// As [`Listener::accept`], for a thread that is chosen later: the caller owns the handle.
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
