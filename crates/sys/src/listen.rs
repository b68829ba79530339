//! Listening sockets and datagram endpoints, with their options.

use crate::namespace::Namespace;
use crate::option;
use crate::socket::{family, is_abstract, stream_socket, unix_address};
use crate::{Fd, borrow, into_raw};
use rustix::net::{self, SocketAddrUnix, sockopt};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use stdx::socket::{KeepAlive, SystemBuffers};

/// Options of a TCP listener besides its address. Accepted connections inherit the options of
/// connections.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Length of the accept queue.
    pub backlog: u32,
    /// Only clients of this network interface are accepted.
    pub interface: Option<String>,
    /// For `::`: accept IPv4 too (`v4v6`), or not (`v6only`); `None` keeps the system's default.
    pub v6_only: Option<bool>,
    /// No other socket may listen on the address at the same time.
    pub exclusive: bool,
    /// The address need not be local (`transparent`).
    pub transparent: bool,
    /// Network namespace of the socket.
    pub namespace: Option<Arc<Namespace>>,
    /// Maximum segment size announced to clients; 0 for the system's default.
    pub max_segment: u32,
    /// Time for which sent data may stay unacknowledged, in milliseconds; 0 for the system's
    /// default.
    pub user_timeout_ms: u32,
    /// Clients may send data in their SYN (TCP Fast Open).
    pub fast_open: bool,
    /// Clients are accepted after they have sent something (`TCP_DEFER_ACCEPT`).
    pub defer_accept: bool,
    /// Keep-alive probes for silent clients.
    pub keep_alive: Option<KeepAlive>,
    /// Sizes of the system's buffers.
    pub buffers: SystemBuffers,
    /// Closing a connection discards unsent data and resets it.
    pub resets: bool,
    /// The acknowledgement of a client's first data is delayed, to travel with the response.
    pub patient: bool,
}

/// Opens a TCP listener.
///
/// # Errors
/// The system's error: address in use, not local, not permitted.
pub fn tcp(address: SocketAddr, options: &Options) -> io::Result<Fd> {
    let open = || stream_socket(family(&address));
    let fd = match &options.namespace {
        Some(namespace) => namespace.within(open)?,
        None => open()?,
    };
    sockopt::set_socket_reuseaddr(&fd, true)?;
    if !options.exclusive {
        // Another process may listen on the address, too, while this one still listens.
        let _ = sockopt::set_socket_reuseport(&fd, true);
    }
    if let (true, Some(only)) = (address.is_ipv6(), options.v6_only) {
        sockopt::set_ipv6_v6only(&fd, only)?;
    }
    if let Some(interface) = &options.interface {
        option::set_interface(fd.as_raw_fd(), interface)?;
    }
    if options.transparent {
        let fd = fd.as_raw_fd();
        option::set_foreign(fd, address.is_ipv4()).or_else(|_| option::set_freebind(fd))?;
    }
    prepare(fd.as_raw_fd(), options)?;
    net::bind(&fd, &address)?;
    listen(fd.as_fd(), options.backlog)?;
    if options.fast_open {
        option::set_fast_open(fd.as_raw_fd(), clamped(options.backlog).unsigned_abs())?;
    }
    Ok(into_raw(fd))
}

/// Whether a socket could not be opened because its network interface is missing.
pub fn lacks_device(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENODEV)
}

/// Opens a socket that receives datagrams.
///
/// # Errors
/// As [`tcp`].
pub fn datagrams(address: SocketAddr, options: &Options) -> io::Result<Fd> {
    let open = || crate::socket::datagram_socket(family(&address));
    let fd = match &options.namespace {
        Some(namespace) => namespace.within(open)?,
        None => open()?,
    };
    sockopt::set_socket_reuseaddr(&fd, true)?;
    if !options.exclusive {
        let _ = sockopt::set_socket_reuseport(&fd, true);
    }
    if let Some(interface) = &options.interface {
        option::set_interface(fd.as_raw_fd(), interface)?;
    }
    if options.transparent {
        let fd = fd.as_raw_fd();
        option::set_foreign(fd, address.is_ipv4()).or_else(|_| option::set_freebind(fd))?;
    }
    net::bind(&fd, &address)?;
    Ok(into_raw(fd))
}

/// Opens a unix datagram socket for `path`, as [`unix`] opens a listener.
///
/// # Errors
/// The system's error; no file is left.
pub fn unix_datagrams(path: &Path, mode: Option<u32>) -> io::Result<(Fd, Option<PathBuf>)> {
    let fd = crate::socket::datagram_socket(net::AddressFamily::UNIX)?;
    let fresh = bind_unix(fd.as_fd(), path, mode)?;
    Ok((into_raw(fd), fresh))
}

/// Binds a socket to `path`, or to a new file beside it that the caller renames later.
fn bind_unix(fd: BorrowedFd<'_>, path: &Path, mode: Option<u32>) -> io::Result<Option<PathBuf>> {
    if is_abstract(path) {
        // An abstract name has no file, so there is nothing to replace, and no permissions.
        net::bind(fd, &unix_address(path)?)?;
        return Ok(None);
    }
    let fresh = beside(path);
    let _ = std::fs::remove_file(&fresh);
    net::bind(fd, &SocketAddrUnix::new(fresh.as_path())?)?;
    let Some(mode) = mode else { return Ok(Some(fresh)) };
    match std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(mode)) {
        Ok(()) => Ok(Some(fresh)),
        Err(error) => {
            let _ = std::fs::remove_file(&fresh);
            Err(error)
        }
    }
}

/// A name beside `path` that is unique in this process: a configuration may name one path twice,
/// and the socket renamed last gets it.
fn beside(path: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{number}.tmp", std::process::id()));
    PathBuf::from(name)
}

/// Adopts a datagram socket that was inherited from the parent.
///
/// # Errors
/// The number is not open, or not a socket.
pub fn inherited_datagrams(fd: Fd) -> io::Result<Fd> {
    let socket = borrow(fd)?;
    net::getsockname(socket)?;
    rustix::io::ioctl_fionbio(socket, true)?;
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(fd)
}

fn clamped(backlog: u32) -> i32 {
    backlog.clamp(1, i32::MAX as u32) as i32
}

fn listen(fd: BorrowedFd<'_>, backlog: u32) -> io::Result<()> {
    keeping_delayed_ack(fd, || Ok(net::listen(fd, clamped(backlog))?))
}

/// Runs a call that resets the delayed acknowledgement of a listener, and sets it again afterwards:
/// accepted connections inherit it.
fn keeping_delayed_ack(fd: BorrowedFd<'_>, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let waits = sockopt::tcp_quickack(fd).is_ok_and(|quick| !quick);
    act()?;
    if waits {
        let _ = sockopt::set_tcp_quickack(fd, false);
    }
    Ok(())
}

/// Sets the options that accepted connections inherit.
fn prepare(fd: Fd, options: &Options) -> io::Result<()> {
    // Small responses must not wait for the acknowledgement of earlier ones. Set on the listener,
    // it costs no call per connection.
    let _ = sockopt::set_tcp_nodelay(borrow(fd)?, true);
    if options.max_segment > 0 {
        option::set_max_segment(fd, options.max_segment)?;
    }
    if options.user_timeout_ms > 0 {
        option::set_user_timeout(fd, options.user_timeout_ms)?;
    }
    if options.defer_accept {
        option::set_defer_accept(fd, 1)?;
    }
    if let Some(probes) = options.keep_alive {
        option::set_keep_alive(fd, probes)?;
    }
    if options.resets {
        crate::socket::reset_on_close(fd)?;
    }
    if options.patient {
        // The option only saves packets, so a failure is no error.
        let _ = sockopt::set_tcp_quickack(borrow(fd)?, false);
    }
    option::set_buffers(fd, options.buffers)
}

/// Stops listening but keeps the socket: others may listen on the address meanwhile, and clients in
/// the accept queue are reset.
///
/// # Errors
/// The socket does not listen.
pub fn suspend(fd: Fd) -> io::Result<()> {
    let socket = borrow(fd)?;
    keeping_delayed_ack(socket, || Ok(net::shutdown(socket, net::Shutdown::Read)?))
}

/// Listens at `address` again after [`suspend`]. If the system chose the port, it is now requested
/// by number, because the socket has lost it.
///
/// # Errors
/// Another socket listens there by now.
pub fn resume(fd: Fd, address: SocketAddr, backlog: u32) -> io::Result<()> {
    match net::bind(borrow(fd)?, &address) {
        // The socket has kept its port.
        Ok(()) | Err(rustix::io::Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    listen(borrow(fd)?, backlog)
}

/// Opens a unix stream listener for `path`, with permission bits `mode` if given. Its file is
/// created beside `path` under the returned name, and the caller renames it once it is sure to
/// serve; abstract names listen at once.
///
/// # Errors
/// The system's error; no file is left.
pub fn unix(path: &Path, backlog: u32, mode: Option<u32>) -> io::Result<(Fd, Option<PathBuf>)> {
    let fd = stream_socket(net::AddressFamily::UNIX)?;
    let fresh = bind_unix(fd.as_fd(), path, mode)?;
    if let Err(error) = listen(fd.as_fd(), backlog) {
        fresh.iter().for_each(|fresh| drop(std::fs::remove_file(fresh)));
        return Err(error);
    }
    Ok((into_raw(fd), fresh))
}

/// Adopts a listening socket inherited from the parent process, keeping its address.
///
/// # Errors
/// The descriptor is not open, not a socket, or an option is refused.
pub fn inherited(fd: Fd, options: &Options) -> io::Result<Fd> {
    let socket = borrow(fd)?;
    if matches!(
        net::getsockname(socket)?.address_family(),
        net::AddressFamily::INET | net::AddressFamily::INET6
    ) {
        prepare(fd, options)?;
        if options.fast_open {
            option::set_fast_open(fd, clamped(options.backlog).unsigned_abs())?;
        }
    }
    rustix::io::ioctl_fionbio(socket, true)?;
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    if !sockopt::socket_acceptconn(socket)? {
        listen(socket, 1024)?;
    }
    Ok(fd)
}

/// Adopts one end of a socket pair over which the other end passes connections.
///
/// # Errors
/// The descriptor is not open, or not one end of a connected pair.
pub fn inherited_pair(fd: Fd) -> io::Result<Fd> {
    let socket = borrow(fd)?;
    if !crate::socketpair::is_connected(fd) {
        return Err(io::Error::other("not one end of a connected pair of unix sockets"));
    }
    rustix::io::ioctl_fionbio(socket, true)?;
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    Ok(fd)
}

/// Adopts a listening socket of the previous process, as if opened with `options`.
///
/// # Errors
/// As [`inherited`].
pub fn inherited_from_previous(fd: Fd, options: &Options) -> io::Result<Fd> {
    let adopted = inherited(fd, options)?;
    listen(borrow(fd)?, options.backlog)?;
    Ok(adopted)
}

/// Changes the owner of a unix socket's file; `None` keeps it.
pub fn set_owner(path: &Path, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    std::os::unix::fs::chown(path, uid, gid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_connections_inherit_nodelay() {
        let buffers = SystemBuffers { unsent: 70_000, ..SystemBuffers::default() };
        let options = Options { buffers, ..Options::default() };
        let listener = tcp("127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let address = crate::socket::local_address(listener).unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        let (accepted, _) = crate::socket::accept(listener).unwrap();
        assert!(sockopt::tcp_nodelay(borrow(accepted).unwrap()).unwrap());
        let unsent = option::get(accepted, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT).unwrap();
        assert_eq!(unsent, 70_000, "bounds what waits to be sent, too");
        crate::close(accepted);
        crate::close(listener);
    }

    /// Whether a connection to this listener acknowledges received data at once.
    fn hurries(listener: Fd, address: SocketAddr) -> bool {
        let _client = std::net::TcpStream::connect(address).unwrap();
        let (accepted, _) = crate::socket::accept(listener).unwrap();
        let hurries = sockopt::tcp_quickack(borrow(accepted).unwrap()).unwrap();
        option::acknowledge(accepted);
        assert!(sockopt::tcp_quickack(borrow(accepted).unwrap()).unwrap());
        crate::close(accepted);
        hurries
    }

    #[test]
    fn accepted_connections_inherit_delayed_acknowledgements() {
        for patient in [false, true] {
            let options = Options { patient, ..Options::default() };
            let listener = tcp("127.0.0.1:0".parse().unwrap(), &options).unwrap();
            let address = crate::socket::local_address(listener).unwrap();
            assert_eq!(hurries(listener, address), !patient, "as it was opened");
            inherited_from_previous(listener, &options).unwrap();
            assert_eq!(hurries(listener, address), !patient, "as it was handed over");
            suspend(listener).unwrap();
            resume(listener, address, 1).unwrap();
            assert_eq!(hurries(listener, address), !patient, "as it listens again");
            crate::close(listener);
        }
    }
}
