//! The seam between the reactor and the world: sockets, time and chance. Never a policy.
//!
//! In production [`crate::os::Os`] fills it with system calls, in simulations a virtual network
//! does. It is object-safe and speaks of readiness only.

use sched::profile::NoClock;
use sched::{Alarm, Clock};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use sys::socket::{Dial, TcpInfo};

pub use sys::child::{Ending, Program};
pub use sys::epoll::{Event, Watch};

/// A socket as the kernel numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Handle(pub i32);

/// Where a socket can be bound or connected to.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum Address {
    /// TCP or UDP over IPv4 or IPv6.
    Inet(SocketAddr),
    /// A path in the file system, or behind a NUL a name that has no file.
    Unix(PathBuf),
    /// One end of a pair: connections are handed over to whoever holds the other end (manual,
    /// section 11.1, `sockpair@`).
    Pair(i32),
}

impl Address {
    /// The internet address, unless it is a path.
    pub fn inet(&self) -> Option<SocketAddr> {
        match self {
            Self::Inet(address) => Some(*address),
            Self::Unix(_) | Self::Pair(_) => None,
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inet(address) => address.fmt(f),
            Self::Unix(path) => match path.to_str().and_then(|path| path.strip_prefix('\0')) {
                Some(name) => write!(f, "abns@{name}"),
                None => path.display().fmt(f),
            },
            Self::Pair(number) => write!(f, "sockpair@{number}"),
        }
    }
}

/// What the reactor asks of the world. All sockets are non-blocking: a call that would wait fails
/// with [`io::ErrorKind::WouldBlock`].
pub trait Kernel {
    /// Nanoseconds on a clock that never goes back.
    fn monotonic(&self) -> u64;
    /// Nanoseconds since 1970-01-01 UTC.
    fn wall(&self) -> u64;
    /// Seconds east of Greenwich in the machine's time zone, at a moment in seconds since 1970 UTC.
    fn local_offset(&self, _seconds: i64) -> i32 {
        0
    }
    /// A seed for the thread's generator.
    fn seed(&self) -> u64;
    /// Something that other threads can rouse [`Kernel::wait`] with.
    fn alarm(&self) -> Box<dyn Alarm>;
    /// The clock of [`Kernel::monotonic`], for profiling tasks. Unless there is one, calls are
    /// counted and times are not.
    fn stopwatch(&self) -> Box<dyn Clock> {
        Box::new(NoClock)
    }
    /// Waits for events, for ever without a timeout, and appends them to `events`.
    fn wait(&self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()>;
    /// Reports a handle's readiness from now on, with `token`.
    fn watch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()>;
    /// Reports it otherwise than so far, and what is true already again.
    fn rewatch(&self, handle: Handle, token: u64, watch: Watch) -> io::Result<()>;
    /// Stops reporting a handle.
    fn unwatch(&self, handle: Handle) -> io::Result<()>;
    /// Takes a waiting client, and its address unless it came over a path.
    fn accept(&self, listener: Handle) -> io::Result<(Handle, Option<SocketAddr>)>;
    /// Starts a connection; the handle becomes writable when it stands or has failed.
    fn connect(&self, to: &Address) -> io::Result<Handle>;
    /// As [`Kernel::connect`], with what is asked of it beyond where it goes.
    fn dial(&self, to: &Address, _how: &Dial) -> io::Result<Handle> {
        self.connect(to)
    }
    /// As [`Kernel::connect`], for one that only finds out whether the server is there: if
    /// possible, the server does not hear of it when it is reset as soon as it stands.
    fn connect_unheard(&self, to: &Address) -> io::Result<Handle> {
        self.connect(to)
    }
    /// The pending error of a connection.
    fn take_error(&self, handle: Handle) -> io::Result<()>;
    /// Reads what is there; 0 at the end of the stream.
    fn recv(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize>;
    /// Copies what is there and leaves it there; 0 at the end of the stream.
    fn peek(&self, handle: Handle, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes what fits. `more`: the next write follows at once.
    fn send(&self, handle: Handle, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize>;
    /// Opens a pipe of about so many bytes, 0 for the system's choice: its end to read from, its
    /// end to write to, and the bytes that it holds.
    fn pipe(&self, _size: usize) -> io::Result<(Handle, Handle, usize)> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Moves bytes between an end of a pipe and a stream socket without copying them; 0 at the end
    /// of a stream. `more`: the next ones follow at once.
    fn splice(&self, _from: Handle, _to: Handle, _len: usize, _more: bool) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Whether a connection that nobody watches is open and has nothing to read.
    fn is_quiet(&self, handle: Handle) -> bool;
    /// Whether the peer has closed its side, or the connection is broken, at this moment and
    /// whatever there is to read.
    fn has_ended(&self, _handle: Handle) -> bool {
        false
    }
    /// Tells the peer that nothing more will be written.
    fn shutdown_write(&self, handle: Handle) -> io::Result<()>;
    /// Closes a handle; `reset` drops what is unsent.
    fn close(&self, handle: Handle, reset: bool);
    /// Has a listener turn clients away and leave its address to others ([`sys::listen::suspend`]).
    fn suspend(&self, _listener: Handle) -> io::Result<()> {
        Ok(())
    }
    /// Has it listen at its address again, with so many clients that may wait.
    fn listen_again(&self, _listener: Handle, _at: SocketAddr, _backlog: u32) -> io::Result<()> {
        Ok(())
    }
    /// Our address of a connection or listener.
    fn local_address(&self, handle: Handle) -> Option<SocketAddr>;
    /// What the system knows about a TCP connection, where it tells.
    fn tcp_info(&self, _handle: Handle) -> Option<TcpInfo> {
        None
    }
    /// Whether an address belongs to this machine.
    fn is_local(&self, address: IpAddr) -> bool {
        address.is_loopback()
    }
    /// Sets the type of service of packets sent.
    fn set_tos(&self, _handle: Handle, _tos: u8) -> io::Result<()> {
        Ok(())
    }
    /// Acknowledges at once what has been received, and what comes next.
    fn acknowledge(&self, _handle: Handle) {}
    /// Sets the mark of packets sent; needs a privilege.
    fn set_mark(&self, _handle: Handle, _mark: u32) -> io::Result<()> {
        Ok(())
    }
    /// Sends segments smaller by so many bytes than the peer has announced.
    fn reduce_max_segment(&self, _handle: Handle, _bytes: u32) -> io::Result<()> {
        Ok(())
    }
    /// Makes the coming close end a connection without telling the peer, as far as possible.
    fn vanish_on_close(&self, _handle: Handle) -> io::Result<()> {
        Ok(())
    }
    /// Sends one datagram from a socket of the thread's own, at the latest before the next
    /// [`Kernel::wait`] waits. An error may also tell of an earlier datagram.
    fn datagram(&self, to: &Address, bytes: &[u8]) -> io::Result<()>;
    /// Sends bytes, at least one, and copies of descriptors with them, to the process at the other
    /// end of a unix socket.
    fn hand_over(&self, _to: Handle, _bytes: &[u8], _copied: &[Handle]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Starts a program; the handle becomes readable when it has ended.
    fn start(&self, _program: &Program) -> io::Result<Handle> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// How a program ended, once; `None` while it runs.
    fn ending(&self, _child: Handle) -> io::Result<Option<Ending>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Asks a program to end, or makes it end by `force`.
    fn end(&self, _child: Handle, _force: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// A handle for datagrams to and from one address, from a port of its own.
    fn datagrams(&self, _with: SocketAddr) -> io::Result<Handle> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Writes a line to an inherited descriptor, such as the standard output; all of it, or nothing
    /// where the system would wait ([`sys::output::write`]).
    fn write(&self, descriptor: i32, line: &[u8]) -> io::Result<()>;
}
