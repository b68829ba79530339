//! Listening sockets. Never accepts.

use crate::socket::{family, stream_socket};
use crate::{Fd, borrow, into_raw};
use rustix::net::{self, SocketAddrUnix, sockopt};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What may be asked of a TCP listener beyond its address.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Length of the queue of clients that wait to be accepted.
    pub backlog: u32,
    /// Only clients that come in through this interface.
    pub interface: Option<String>,
    /// For `::`: accept IPv4 too (`v4v6`), or not (`v6only`); `None` leaves the system's default.
    pub v6_only: Option<bool>,
}

/// Opens a TCP listener.
///
/// # Errors
/// As the system says: address in use, not available here, not permitted.
pub fn tcp(address: SocketAddr, options: &Options) -> io::Result<Fd> {
    let fd = stream_socket(family(&address))?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    // A second process may take the address over while this one still listens.
    let _ = sockopt::set_socket_reuseport(&fd, true);
    if let (true, Some(only)) = (address.is_ipv6(), options.v6_only) {
        sockopt::set_ipv6_v6only(&fd, only)?;
    }
    if let Some(interface) = &options.interface {
        bind_to_device(&fd, interface)?;
    }
    net::bind(&fd, &address)?;
    net::listen(&fd, options.backlog.clamp(1, i32::MAX as u32) as i32)?;
    Ok(into_raw(fd))
}

fn bind_to_device(fd: &impl std::os::fd::AsRawFd, interface: &str) -> io::Result<()> {
    // SAFETY: pointer and length describe `interface`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            interface.as_ptr().cast(),
            interface.len() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens a unix stream listener at `path`, with permission bits `mode` if given. A stale socket
/// file there is replaced at once by the new one, so that no client finds the path absent.
pub fn unix(path: &Path, backlog: u32, mode: Option<u32>) -> io::Result<Fd> {
    let fd = stream_socket(net::AddressFamily::UNIX)?;
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}.tmp", std::process::id()));
    let fresh = Path::new(&fresh);
    let _ = std::fs::remove_file(fresh);
    net::bind(&fd, &SocketAddrUnix::new(fresh)?)?;
    if let Some(mode) = mode {
        std::fs::set_permissions(fresh, std::fs::Permissions::from_mode(mode))?;
    }
    net::listen(&fd, backlog.clamp(1, i32::MAX as u32) as i32)?;
    std::fs::rename(fresh, path)?;
    Ok(into_raw(fd))
}

/// Adopts a listening socket that was inherited from the parent, without changing whom it serves.
///
/// # Errors
/// The number is not open, or not a socket.
pub fn inherited(fd: Fd) -> io::Result<Fd> {
    let socket = borrow(fd)?;
    net::getsockname(socket)?;
    rustix::io::ioctl_fionbio(socket, true)?;
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC)?;
    if !sockopt::socket_acceptconn(socket)? {
        net::listen(socket, 1024)?;
    }
    Ok(fd)
}

/// Changes the owner of a unix socket's file; `None` leaves it.
pub fn set_owner(path: &Path, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    std::os::unix::fs::chown(path, uid, gid)
}
