//! The trait between the reactor and the system: sockets, time and random seeds.
//!
//! In production [`crate::os::Os`] implements it with system calls, in simulations a virtual
//! network does. The trait is object-safe and reports readiness only.

use sched::profile::NoClock;
use sched::{Alarm, Clock};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use sys::socket::{ConnectOptions, TcpInfo};

pub use stdx::socket::Address;
pub use sys::child::{ExitStatus, Program};
pub use sys::epoll::{Event, Watch};
pub use sys::udp::{Arrived, UdpBatch, UdpTrain};

/// A descriptor as the kernel numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Handle(pub i32);

/// Services that the reactor needs from the system. All sockets are non-blocking: a call that would
/// wait fails with [`io::ErrorKind::WouldBlock`].
pub trait Kernel {
    /// Nanoseconds on a monotonic clock.
    fn monotonic(&self) -> u64;
    /// Nanoseconds since 1970-01-01 UTC.
    fn wall(&self) -> u64;
    /// Seconds east of Greenwich in the machine's time zone, at a moment in seconds since 1970 UTC.
    fn local_offset(&self, _seconds: i64) -> i32 {
        0
    }
    /// A seed for the thread's random generator.
    fn seed(&self) -> u64;
    /// An alarm by which other threads end [`Kernel::wait`].
    fn alarm(&self) -> Box<dyn Alarm>;
    /// The clock of [`Kernel::monotonic`] for task profiling. With the default, calls are counted
    /// and times are not.
    fn stopwatch(&self) -> Box<dyn Clock> {
        Box::new(NoClock)
    }
    /// Waits for events, without limit if there is no timeout, and appends them to `events`.
    fn wait(&self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()>;
    /// Registers a handle with the poller; its readiness is reported with `token`.
    fn watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()>;
    /// Changes what is reported of a handle; readiness that exists already is reported again
    /// (`EPOLL_CTL_MOD`).
    fn modify_watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()>;
    /// Removes a handle from the poller.
    fn unwatch(&self, handle: Handle) -> io::Result<()>;
    /// Accepts a client; its address is `None` on unix sockets.
    fn accept(&self, listener: Handle) -> io::Result<(Handle, Option<SocketAddr>)>;
    /// Starts a connection; the handle becomes writable when it is established or has failed.
    fn connect(&self, to: &Address) -> io::Result<Handle>;
    /// As [`Kernel::connect`], with options for the connection.
    fn dial(&self, to: &Address, _how: &ConnectOptions) -> io::Result<Handle> {
        self.connect(to)
    }
    /// As [`Kernel::connect`], for a probe that only checks whether the server accepts: if
    /// possible, the server's application sees nothing when the connection is reset after the
    /// handshake.
    fn connect_probe(&self, to: &Address) -> io::Result<Handle> {
        self.connect(to)
    }
    /// Returns and clears the pending error of a connection (`SO_ERROR`).
    fn take_error(&self, handle: Handle) -> io::Result<()>;
    /// Reads available bytes; 0 at the end of the stream.
    fn recv(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize>;
    /// Reads available bytes without consuming them; 0 at the end of the stream. 0 at the end of
    /// the stream.
    fn peek(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes what fits. `more`: another write follows at once (`MSG_MORE`).
    fn send(&self, handle: Handle, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize>;
    /// Opens a pipe of about `size` bytes, 0 for the system's default. Returns the reading end, the
    /// writing end and the capacity.
    fn pipe(&self, _size: usize) -> io::Result<(Handle, Handle, usize)> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Moves bytes between an end of a pipe and a stream socket without copying; 0 at the end of a
    /// stream. `more`: another call follows at once.
    fn splice(&self, _from: Handle, _to: Handle, _len: usize, _more: bool) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Whether an unregistered connection is open and has nothing to read.
    fn is_quiet(&self, handle: Handle) -> bool;
    /// Whether the peer has closed its side, or the connection is broken, at this moment and with
    /// or without unread data.
    fn has_ended(&self, _handle: Handle) -> bool {
        false
    }
    /// Closes the sending direction of a connection.
    fn shutdown_write(&self, handle: Handle) -> io::Result<()>;
    /// Closes a handle; `reset` discards unsent data and resets the connection.
    fn close(&self, handle: Handle, reset: bool);
    /// Makes a listener refuse clients and free its address for other sockets
    /// ([`sys::listen::suspend`]).
    fn suspend(&self, _listener: Handle) -> io::Result<()> {
        Ok(())
    }
    /// Makes a suspended listener listen at its address again, with this backlog.
    fn resume_listening(
        &self,
        _listener: Handle,
        _at: SocketAddr,
        _backlog: u32,
    ) -> io::Result<()> {
        Ok(())
    }
    /// The local address of a connection or listener.
    fn local_address(&self, handle: Handle) -> Option<SocketAddr>;
    /// The system's `TCP_INFO` of a connection; `None` for other sockets.
    fn tcp_info(&self, _handle: Handle) -> Option<TcpInfo> {
        None
    }
    /// Whether an address belongs to this machine.
    fn is_local(&self, address: IpAddr) -> bool {
        address.is_loopback()
    }
    /// Sets the type of service of sent packets.
    fn set_tos(&self, _handle: Handle, _tos: u8) -> io::Result<()> {
        Ok(())
    }
    /// Acknowledges received data and the next segment at once (`TCP_QUICKACK`).
    fn acknowledge(&self, _handle: Handle) {}
    /// Sets the mark of sent packets; needs a privilege.
    fn set_mark(&self, _handle: Handle, _mark: u32) -> io::Result<()> {
        Ok(())
    }
    /// Lowers the maximum segment size by this many bytes below the one that the peer announced.
    fn reduce_max_segment(&self, _handle: Handle, _bytes: u32) -> io::Result<()> {
        Ok(())
    }
    /// Makes the next close end a connection without notice to the peer, as far as possible.
    fn silent_drop_on_close(&self, _handle: Handle) -> io::Result<()> {
        Ok(())
    }
    /// Sends one datagram from a socket of the thread, at the latest before the next
    /// [`Kernel::wait`] waits. An error may concern an earlier datagram.
    fn datagram(&self, to: &Address, bytes: &[u8]) -> io::Result<()>;
    /// Sends at least one byte, together with copies of descriptors, to the process at the other
    /// end of a unix socket.
    fn send_with_descriptors(
        &self,
        _to: Handle,
        _bytes: &[u8],
        _copied: &[Handle],
    ) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Starts a program; the handle becomes readable when it has ended.
    fn start_program(&self, _program: &Program) -> io::Result<Handle> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// The exit status of a program; `None` while it runs. The status can be collected once.
    fn exit_status(&self, _child: Handle) -> io::Result<Option<ExitStatus>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Asks a program to end, or kills it with `force`.
    fn end_program(&self, _child: Handle, _force: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Opens a datagram socket connected to one address, on a port that the system chooses.
    fn datagrams(&self, _with: SocketAddr) -> io::Result<Handle> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Has the system say where the datagrams of a socket were sent to, and their ECN bits.
    fn prepare_udp(&self, _socket: Handle) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Receives up to a batch of datagrams; returns how many.
    fn receive_udp(&self, _socket: Handle, _batch: &mut UdpBatch) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Sends datagrams from a socket.
    fn send_udp(&self, _socket: Handle, _train: &UdpTrain<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Writes a line to an inherited descriptor, such as the standard output: all of it, or nothing
    /// where the system would block ([`sys::output::write`]).
    fn write(&self, descriptor: i32, line: &[u8]) -> io::Result<()>;
}
