//! Connections and datagrams. Never waits: every descriptor is non-blocking.

use crate::namespace::Namespace;
use crate::option::{self, Buffers, KeepAlive};
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

/// Bytes of a name without a file.
const ABSTRACT: usize = 107;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// Takes a waiting client. Its address is `None` for a unix socket.
pub fn accept(listener: Fd) -> io::Result<(Fd, Option<SocketAddr>)> {
    let (fd, peer) = match net::acceptfrom_with(borrow(listener)?, FLAGS) {
        // No listener, but one end of a pair: the other end hands connections over.
        Err(rustix::io::Errno::INVAL) => return Ok((crate::pair::accept(listener)?, None)),
        accepted => accepted?,
    };
    Ok((into_raw(fd), peer.and_then(internet)))
}

fn internet(address: SocketAddrAny) -> Option<SocketAddr> {
    SocketAddr::try_from(address).ok()
}

/// Where an outgoing connection goes.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// TCP.
    Inet(SocketAddr),
    /// A unix stream socket.
    Unix(&'a Path),
    /// Who holds the other end of this pair is handed one end of a new one.
    Pair(Fd),
}

/// What may be asked of an outgoing connection beyond where it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dial {
    /// Where it comes from; port 0 leaves the port to the system.
    pub source: Option<SocketAddr>,
    /// The source need not be the machine's; needs a privilege.
    pub foreign: bool,
    /// The interface that it leaves through.
    pub interface: Option<Arc<str>>,
    /// The namespace that it belongs to.
    pub namespace: Option<Arc<Namespace>>,
    /// How long sent data may stay without an acknowledgement, in milliseconds; 0 for the system's.
    pub user_timeout_ms: u32,
    /// The first write goes with the first packet; nothing may be read before.
    pub fast_open: bool,
    /// The last packet of the handshake waits for the first bytes, if they come soon.
    pub patient: bool,
    /// Probes of a silent peer.
    pub keep_alive: Option<KeepAlive>,
    /// Sizes of the system's buffers.
    pub buffers: Buffers,
    /// Closing it drops what is unsent, and resets it.
    pub resets: bool,
}

/// Starts a connection; it may still be under way when this returns.
pub fn connect(target: Target<'_>) -> io::Result<Fd> {
    dial(target, &Dial::default())
}

/// As [`connect`], with what is asked for.
///
/// # Errors
/// As the system says: not permitted, the source is not the machine's or in use.
pub fn dial(target: Target<'_>, how: &Dial) -> io::Result<Fd> {
    let family = match target {
        Target::Inet(address) => family(&address),
        Target::Unix(_) => AddressFamily::UNIX,
        Target::Pair(over) => return crate::pair::connect(over),
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

fn prepare(socket: &OwnedFd, how: &Dial) -> io::Result<()> {
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
        // Packets are saved, or not: it is no error where the system cannot.
        let _ = sockopt::set_tcp_quickack(socket, false);
    }
    if how.fast_open {
        // A kernel that cannot do it connects in the usual way.
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

/// As [`connect`], but the last packet of the handshake waits for data, or for a reset: a server
/// does not hear of a connection that is given up as soon as it stands.
pub fn connect_unheard(target: Target<'_>) -> io::Result<Fd> {
    let Target::Inet(address) = target else { return connect(target) };
    let fd = stream_socket(family(&address))?;
    let _ = sockopt::set_tcp_quickack(&fd, false);
    under_way(net::connect(&fd, &address))?;
    Ok(into_raw(fd))
}

/// Whether a path is a name without a file: it begins with a NUL.
pub(crate) fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().first() == Some(&0)
}

/// The address of a path. Names without a file fill the address with NULs, as HAProxy's do.
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

/// The pending error of a connection, which this clears.
pub fn take_error(fd: Fd) -> io::Result<()> {
    Ok(sockopt::socket_error(borrow(fd)?)??)
}

/// Reads what is there; 0 at the end of the stream.
pub fn recv(fd: Fd, buffer: &mut [u8]) -> io::Result<usize> {
    let (count, _) = net::recv(borrow(fd)?, buffer, RecvFlags::empty())?;
    Ok(count)
}

/// Copies what is there and leaves it there; 0 at the end of the stream.
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

/// Whether the peer has closed its side, or the connection is broken, whatever there is to read.
pub fn has_ended(fd: Fd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let Ok(socket) = borrow(fd) else { return true };
    let ends = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut asked = [PollFd::new(&socket, PollFlags::RDHUP)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok_and(|_| asked[0].revents().intersects(ends))
}

/// Writes what fits, without raising SIGPIPE. `more` announces that the next write follows at once.
pub fn send(fd: Fd, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
    let flags = if more { SendFlags::NOSIGNAL | SendFlags::MORE } else { SendFlags::NOSIGNAL };
    let fd = borrow(fd)?;
    let sent = match parts {
        [] => Ok(0),
        [one] => net::send(fd, one, flags),
        many => net::sendmsg(fd, many, &mut SendAncillaryBuffer::default(), flags),
    };
    match sent {
        // A first write that was to go with the first packet, and could not.
        Err(rustix::io::Errno::INPROGRESS) => Err(io::ErrorKind::WouldBlock.into()),
        sent => Ok(sent?),
    }
}

/// Tells the peer that nothing more will be written.
pub fn shutdown_write(fd: Fd) -> io::Result<()> {
    Ok(net::shutdown(borrow(fd)?, Shutdown::Write)?)
}

/// Makes the coming close drop unsent data and reset the connection.
pub fn reset_on_close(fd: Fd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(borrow(fd)?, Some(std::time::Duration::ZERO))?)
}

/// Sets the type of service of the packets sent, whichever family the connection has.
pub fn set_tos(fd: Fd, tos: u8) -> io::Result<()> {
    let socket = borrow(fd)?;
    match sockopt::set_ip_tos(socket, tos) {
        Ok(()) => Ok(()),
        Err(_) => Ok(sockopt::set_ipv6_tclass(socket, tos.into())?),
    }
}

/// Acknowledges at once what has been received, and what comes next (tcp(7), `TCP_QUICKACK`).
pub fn acknowledge(fd: Fd) {
    if let Ok(socket) = borrow(fd) {
        // It only saves time, or does not.
        let _ = sockopt::set_tcp_quickack(socket, true);
    }
}

/// Sets the mark of the packets sent; the system wants a privilege for that.
pub fn set_mark(fd: Fd, mark: u32) -> io::Result<()> {
    let fd = std::os::fd::AsRawFd::as_raw_fd(&borrow(fd)?);
    let size = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the value is a u32 of the length given.
    let result = unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_MARK, (&raw const mark).cast(), size)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Our address of a connection or listener.
pub fn local_address(fd: Fd) -> Option<SocketAddr> {
    internet(net::getsockname(borrow(fd).ok()?).ok()?)
}

/// Whether an address belongs to this machine: whether a socket may be bound to it.
pub fn is_local(address: IpAddr) -> bool {
    if address.is_loopback() {
        return true;
    }
    let Ok(fd) = datagram_inet(address.is_ipv4()) else { return false };
    let bound = borrow(fd).and_then(|fd| Ok(net::bind(fd, &SocketAddr::new(address, 0))?));
    crate::close(fd);
    bound.is_ok()
}

/// What the system knows about a TCP connection (`TCP_INFO`, tcp(7)); times are microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round trip time.
    pub rtt: u32,
    /// Its variance.
    pub rttvar: u32,
    /// Segments sent and not acknowledged.
    pub unacked: u32,
    /// Segments acknowledged selectively.
    pub sacked: u32,
    /// Segments that count as lost.
    pub lost: u32,
    /// Segments sent again and not acknowledged yet.
    pub retrans: u32,
    /// Segments between the first not acknowledged and the last that was.
    pub fackets: u32,
    /// Segments that may come out of order.
    pub reordering: u32,
}

/// What the system knows about a TCP connection.
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

/// A socket for datagrams to addresses of one family.
pub fn datagram_inet(v4: bool) -> io::Result<Fd> {
    let family = if v4 { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(into_raw(net::socket_with(family, SocketType::DGRAM, FLAGS, None)?))
}

/// A socket for datagrams to and from one address; the system finds a free port for it.
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

/// Whether an address lies on this machine's loopback.
pub fn is_loopback(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    }
}
