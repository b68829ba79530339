//! Socket options that rustix lacks, set by number.

use crate::Fd;
use std::io;
use stdx::socket::{KeepAlive, SystemBuffers};

/// Most bytes read from a connection that is closed without notice to its peer.
const MAX_UNREAD: usize = 64 << 10;

pub(crate) fn set(fd: Fd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let size = size_of::<i32>() as libc::socklen_t;
    // SAFETY: the value is an integer of the length given, and outlives the call; a wrong number of
    // a descriptor is an error of the call.
    let result = unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set_tcp(fd: Fd, name: i32, value: u32) -> io::Result<()> {
    set(fd, libc::IPPROTO_TCP, name, i32::try_from(value).unwrap_or(i32::MAX))
}

/// The value of an integer option, by the numbers of socket(7), tcp(7) and ip(7).
///
/// # Errors
/// The socket has no such option.
pub fn get(fd: Fd, level: i32, name: i32) -> io::Result<i32> {
    let (mut value, mut size) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the pointers are to the value and to its length, which bounds what is written.
    let result =
        unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &raw mut size) };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// Restricts a socket to a network interface; needs a privilege.
pub(crate) fn set_interface(fd: Fd, interface: &str) -> io::Result<()> {
    // SAFETY: pointer and length describe `interface`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            interface.as_ptr().cast(),
            interface.len() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets a socket use addresses that are not local (`IP_TRANSPARENT`); needs a privilege.
pub(crate) fn set_foreign(fd: Fd, v4: bool) -> io::Result<()> {
    match v4 {
        true => set(fd, libc::SOL_IP, libc::IP_TRANSPARENT, 1),
        false => set(fd, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, 1),
    }
}

/// Lets a socket be bound to an address that is not local yet (`IP_FREEBIND`).
pub(crate) fn set_freebind(fd: Fd) -> io::Result<()> {
    set(fd, libc::SOL_IP, libc::IP_FREEBIND, 1)
}

/// Delays the choice of a local port until the connect, when the destination is known.
pub(crate) fn choose_port_late(fd: Fd) -> io::Result<()> {
    set(fd, libc::SOL_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Time for which sent data may stay unacknowledged, in milliseconds.
pub(crate) fn set_user_timeout(fd: Fd, ms: u32) -> io::Result<()> {
    set_tcp(fd, libc::TCP_USER_TIMEOUT, ms)
}

/// Maximum segment size announced to peers.
pub(crate) fn set_max_segment(fd: Fd, bytes: u32) -> io::Result<()> {
    set_tcp(fd, libc::TCP_MAXSEG, bytes)
}

/// Sends segments smaller by `bytes` than the peer has announced.
pub fn reduce_max_segment(fd: Fd, bytes: u32) -> io::Result<()> {
    let announced = u32::try_from(get(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG)?).unwrap_or(0);
    set_max_segment(fd, announced.saturating_sub(bytes).max(1))
}

/// Lets up to `queue` clients send data in their SYN.
pub(crate) fn set_fast_open(fd: Fd, queue: u32) -> io::Result<()> {
    set_tcp(fd, libc::TCP_FASTOPEN, queue)
}

/// Makes the first write send its data in the SYN.
pub(crate) fn set_fast_open_connect(fd: Fd) -> io::Result<()> {
    set_tcp(fd, libc::TCP_FASTOPEN_CONNECT, 1)
}

/// Accepts a client only after its first bytes, or after `seconds`.
pub(crate) fn set_defer_accept(fd: Fd, seconds: u32) -> io::Result<()> {
    set_tcp(fd, libc::TCP_DEFER_ACCEPT, seconds)
}

/// Enables keep-alive probes.
pub(crate) fn set_keep_alive(fd: Fd, probes: KeepAlive) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    let options = [
        (libc::TCP_KEEPCNT, probes.count),
        (libc::TCP_KEEPIDLE, probes.idle),
        (libc::TCP_KEEPINTVL, probes.interval),
    ];
    for (name, value) in options {
        value.map_or(Ok(()), |value| set_tcp(fd, name, value))?;
    }
    Ok(())
}

/// Sets the sizes of the system's buffers.
pub(crate) fn set_buffers(fd: Fd, sizes: SystemBuffers) -> io::Result<()> {
    for (name, size) in [(libc::SO_RCVBUF, sizes.receive), (libc::SO_SNDBUF, sizes.send)] {
        if size > 0 {
            set(fd, libc::SOL_SOCKET, name, i32::try_from(size).unwrap_or(i32::MAX))?;
        }
    }
    if sizes.unsent > 0 {
        // Only TCP has this option, and an inherited descriptor may be of another kind.
        let _ = set_tcp(fd, libc::TCP_NOTSENT_LOWAT, sizes.unsent);
    }
    Ok(())
}

/// Makes the next close end the connection without a packet to the peer. Without the privilege for
/// that, the packet's TTL keeps it from passing the first router.
pub fn silent_drop_on_close(fd: Fd) -> io::Result<()> {
    acknowledge_all(fd);
    if set(fd, libc::IPPROTO_TCP, libc::TCP_REPAIR, 1).is_ok() {
        return Ok(());
    }
    let v6 = set(fd, libc::SOL_IPV6, libc::IPV6_UNICAST_HOPS, 1);
    set(fd, libc::SOL_IP, libc::IP_TTL, 1).or(v6)
}

/// Acknowledges received data as far as possible: the peer would retransmit unacknowledged data,
/// and the system answers that with a reset when the connection is gone. The system acknowledges at
/// once only if nothing is left to read (tcp(7), `TCP_QUICKACK`).
fn acknowledge_all(fd: Fd) {
    let Ok(socket) = crate::borrow(fd) else { return };
    let mut unread = [0; 4096];
    for _ in 0..MAX_UNREAD / unread.len() {
        match rustix::net::recv(socket, &mut unread, rustix::net::RecvFlags::DONTWAIT) {
            Ok((count, _)) if count == unread.len() => {}
            _ => break,
        }
    }
    acknowledge(fd);
}

/// Acknowledges received data and the next segment at once (tcp(7), `TCP_QUICKACK`).
pub fn acknowledge(fd: Fd) {
    if let Ok(socket) = crate::borrow(fd) {
        // The option only saves time, so a failure is no error.
        let _ = rustix::net::sockopt::set_tcp_quickack(socket, true);
    }
}

#[cfg(test)]
mod tests;
