//! Connections and datagram sockets; every descriptor is non-blocking.

use crate::namespace::Namespace;
use crate::option;
use crate::{Fd, borrow, into_raw};
use rustix::net::{
    self, AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny,
    SocketFlags, SocketType, sockopt,
};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// Bytes of an abstract name.
const ABSTRACT: usize = 107;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// Accepts a client. Its address is `None` for a unix socket.
pub fn accept(listener: Fd) -> io::Result<(Fd, Option<SocketAddr>)> {
    let (fd, peer) = match net::acceptfrom_with(borrow(listener)?, FLAGS) {
        // Not a listener but one end of a pair, over which the other end passes connections.
        Err(rustix::io::Errno::INVAL) => return Ok((crate::socketpair::accept(listener)?, None)),
        accepted => accepted?,
    };
    Ok((into_raw(fd), peer.and_then(internet)))
}

fn internet(address: SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address).ok()
}

/// Destination of an outgoing connection.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// TCP.
    Inet(SocketAddr),
    /// A unix stream socket.
    Unix(&'a Path),
    /// The process that holds the other end of this pair; it gets one end of a new pair.
    Pair(Fd),
}

/// Options of an outgoing connection besides its destination.
pub type ConnectOptions = stdx::socket::ConnectOptions<Arc<Namespace>>;

/// Starts a connection; it may be in progress when this returns.
pub fn connect(target: Target<'_>) -> io::Result<Fd> {
    dial(target, &ConnectOptions::default())
}

/// As [`connect`], with options.
///
/// # Errors
/// The system's error: not permitted, the source is not local or in use.
pub fn dial(target: Target<'_>, how: &ConnectOptions) -> io::Result<Fd> {
    let family = match target {
        Target::Inet(address) => family(&address),
        Target::Unix(_) => AddressFamily::UNIX,
        Target::Pair(over) => return crate::socketpair::connect(over),
    };
    let open = || stream_socket(family);
    let fd = match &how.namespace {
        Some(namespace) => namespace.within(open)?,
        None => open()?,
    };
    match target {
        Target::Inet(address) => {
            let _ = sockopt::set_tcp_nodelay(&fd, true);
            prepare(&fd, how)?;
            under_way(net::connect(&fd, &address))?;
        }
        Target::Unix(path) => under_way(net::connect(&fd, &unix_address(path)?))?,
        Target::Pair(_) => {}
    }
    Ok(into_raw(fd))
}

fn prepare(socket: &OwnedFd, how: &ConnectOptions) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    if let Some(interface) = &how.interface {
        option::set_interface(fd, interface)?;
    }
    if how.user_timeout_ms > 0 {
        option::set_user_timeout(fd, how.user_timeout_ms)?;
    }
    if let Some(probes) = how.keep_alive {
        option::set_keep_alive(fd, probes)?;
    }
    if how.resets {
        reset_on_close(fd)?;
    }
    if how.patient {
        // The option only saves packets, so a failure is no error.
        let _ = sockopt::set_tcp_quickack(socket, false);
    }
    if how.fast_open {
        // A kernel without the option connects in the usual way.
        let _ = option::set_fast_open_connect(fd);
    }
    option::set_buffers(fd, how.buffers)?;
    if let Some(source) = how.source {
        bind_source(socket, source, how.foreign)?;
    }
    Ok(())
}

fn bind_source(socket: &OwnedFd, source: SocketAddr, foreign: bool) -> io::Result<()> {
    let fd = socket.as_raw_fd();
    if foreign {
        option::set_foreign(fd, source.is_ipv4())?;
    }
    match source.port() {
        0 => drop(option::choose_port_late(fd)),
        _ => sockopt::set_socket_reuseaddr(socket, true)?,
    }
    Ok(net::bind(socket, &source)?)
}

/// As [`connect`], but the ACK of the handshake is delayed until data or a reset is sent: the
/// server's application does not see a connection that is reset right after it was established.
pub fn connect_probe(target: Target<'_>) -> io::Result<Fd> {
    let Target::Inet(address) = target else { return connect(target) };
    let fd = stream_socket(family(&address))?;
    let _ = sockopt::set_tcp_quickack(&fd, false);
    under_way(net::connect(&fd, &address))?;
    Ok(into_raw(fd))
}

/// Whether a path is an abstract name: it begins with a NUL byte.
pub(crate) fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().first() == Some(&0)
}

/// The address of a path. Abstract names are padded with NULs to the full length, as HAProxy's are.
pub(crate) fn unix_address(path: &Path) -> io::Result<net::SocketAddrUnix> {
    if !is_abstract(path) {
        return Ok(net::SocketAddrUnix::new(path)?);
    }
    let mut name = path.as_os_str().as_encoded_bytes()[1..].to_vec();
    name.resize(ABSTRACT.max(name.len()), 0);
    Ok(net::SocketAddrUnix::new_abstract_name(&name)?)
}

pub(crate) fn family(address: &SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

pub(crate) fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(net::socket_with(family, SocketType::STREAM, FLAGS, None)?)
}

pub(crate) fn datagram_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    Ok(net::socket_with(family, SocketType::DGRAM, FLAGS, None)?)
}

fn under_way(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Takes the pending error of a connection (`SO_ERROR`).
pub fn take_error(fd: Fd) -> io::Result<()> {
    Ok(sockopt::socket_error(borrow(fd)?)??)
}

/// Reads available bytes; 0 at the end of the stream.
pub fn recv(fd: Fd, buffer: &mut [u8]) -> io::Result<usize> {
    let (count, _) = net::recv(borrow(fd)?, buffer, RecvFlags::empty())?;
    Ok(count)
}

/// Reads available bytes without consuming them; 0 at the end of the stream. 0 at the end of the
/// stream.
pub fn peek(fd: Fd, buffer: &mut [u8]) -> io::Result<usize> {
    let (count, _) = net::recv(borrow(fd)?, buffer, RecvFlags::PEEK)?;
    Ok(count)
}

/// Whether a connection is open and has nothing to read.
pub fn is_quiet(fd: Fd) -> bool {
    let Ok(socket) = borrow(fd) else { return false };
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    matches!(net::recv(socket, &mut [0u8; 1], flags), Err(rustix::io::Errno::AGAIN))
}

/// Whether the peer has closed its side or the connection is broken, with or without unread data.
pub fn has_ended(fd: Fd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let Ok(socket) = borrow(fd) else { return true };
    let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut asked = [PollFd::new(&socket, PollFlags::RDHUP)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok_and(|_| asked[0].revents().intersects(ends))
}

/// Writes as much as fits, without raising SIGPIPE. `more`: another write follows at once.
pub fn send(fd: Fd, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
    let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
    let fd = borrow(fd)?;
    let sent = match parts {
        [] => Ok(0),
        [one] => net::send(fd, one, flags),
        many => net::sendmsg(fd, many, &mut SendAncillaryBuffer::default(), flags),
    };
    match sent {
        // A first write of TCP Fast Open that could not go into the SYN.
        Err(rustix::io::Errno::INPROGRESS) => Err(io::ErrorKind::WouldBlock.into()),
        sent => Ok(sent?),
    }
}

/// Closes the sending direction of a connection.
pub fn shutdown_write(fd: Fd) -> io::Result<()> {
    Ok(net::shutdown(borrow(fd)?, Shutdown::Write)?)
}

/// Makes the close discard unsent data and reset the connection.
pub fn reset_on_close(fd: Fd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(borrow(fd)?, Some(std::time::Duration::ZERO))?)
}

/// Sets the type of service of sent packets, for both address families.
pub fn set_tos(fd: Fd, tos: u8) -> io::Result<()> {
    let socket = borrow(fd)?;
    match sockopt::set_ip_tos(socket, tos) {
        Ok(()) => Ok(()),
        Err(_) => Ok(sockopt::set_ipv6_tclass(socket, tos.into())?),
    }
}

/// Sets the mark of sent packets; needs a privilege.
pub fn set_mark(fd: Fd, mark: u32) -> io::Result<()> {
    let fd = std::os::fd::AsRawFd::as_raw_fd(&borrow(fd)?);
    let size = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the value is a u32 of the length given.
    let result = unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_MARK, (&raw const mark).cast(), size)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The local address of a connection or listener.
pub fn local_address(fd: Fd) -> Option<SocketAddr> {
    internet(net::getsockname(borrow(fd).ok()?).ok()?)
}

/// Whether an address is local: whether a socket can be bound to it.
pub fn is_local(address: IpAddr) -> bool {
    if address.is_loopback() {
        return true;
    }
    let Ok(fd) = datagram_inet(address.is_ipv4()) else { return false };
    let bound = borrow(fd).and_then(|fd| Ok(net::bind(fd, &SocketAddr::new(address, 0))?));
    crate::close(fd);
    bound.is_ok()
}

/// `TCP_INFO` of a connection (tcp(7)); times are in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round trip time.
    pub rtt: u32,
    /// Its variance.
    pub rttvar: u32,
    /// Segments sent and not acknowledged yet.
    pub unacked: u32,
    /// Segments acknowledged selectively.
    pub sacked: u32,
    /// Segments counted as lost.
    pub lost: u32,
    /// Segments retransmitted and not acknowledged yet.
    pub retrans: u32,
    /// Segments between the first unacknowledged and the last acknowledged one.
    pub fackets: u32,
    /// Segments that may arrive out of order.
    pub reordering: u32,
}

/// Reads `TCP_INFO` of a connection.
pub fn tcp_info(fd: Fd) -> Option<TcpInfo> {
    // SAFETY: the structure is plain integers, for which zeroes are values.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the pointers are to the structure and to its length, which bounds what is written.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut len,
        )
    };
    (result == 0).then_some(TcpInfo {
        rtt: info.tcpi_rtt,
        rttvar: info.tcpi_rttvar,
        unacked: info.tcpi_unacked,
        sacked: info.tcpi_sacked,
        lost: info.tcpi_lost,
        retrans: info.tcpi_retrans,
        fackets: info.tcpi_fackets,
        reordering: info.tcpi_reordering,
    })
}

/// A datagram socket of one address family.
pub fn datagram_inet(v4: bool) -> io::Result<Fd> {
    let family = if v4 { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(into_raw(net::socket_with(family, SocketType::DGRAM, FLAGS, None)?))
}

/// A datagram socket connected to one address, on a port that the system chooses.
pub fn datagram_to(address: SocketAddr) -> io::Result<Fd> {
    let fd = net::socket_with(family(&address), SocketType::DGRAM, FLAGS, None)?;
    net::connect(&fd, &address)?;
    Ok(into_raw(fd))
}

/// A socket for datagrams to unix paths.
pub fn datagram_unix() -> io::Result<Fd> {
    Ok(into_raw(net::socket_with(AddressFamily::UNIX, SocketType::DGRAM, FLAGS, None)?))
}

/// Sends one datagram.
pub fn send_to(fd: Fd, target: Target<'_>, bytes: &[u8]) -> io::Result<usize> {
    let fd = borrow(fd)?;
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    Ok(match target {
        Target::Inet(address) => net::sendto(fd, bytes, flags, &address)?,
        Target::Unix(path) => net::sendto(fd, bytes, flags, &unix_address(path)?)?,
        Target::Pair(_) => return Err(io::ErrorKind::Unsupported.into()),
    })
}

/// Whether an address is a loopback address.
pub fn is_loopback(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    }
}
