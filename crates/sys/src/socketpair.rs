//! Connected pairs of unix sockets, and the passing of descriptors over them.

use crate::{Fd, borrow, into_raw};
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// Most descriptors of one message (unix(7) allows 253).
pub const MAX_DESCRIPTORS: usize = 64;

/// Bytes of ancillary data for that many descriptors.
const SPACE: usize = rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS));

/// Creates two non-blocking stream sockets connected to each other.
///
/// # Errors
/// No descriptors left.
pub fn pair() -> io::Result<(Fd, Fd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (one, other) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok((into_raw(one), into_raw(other)))
}

/// Bytes that may wait in a pair that keeps the bounds of messages.
const SEQUENCE_BUFFER: usize = 1 << 20;

/// Creates two non-blocking sockets connected to each other that keep the bounds of messages, with
/// buffers as large as the system allows, up to 1 MiB.
///
/// # Errors
/// No descriptors left.
pub fn sequence() -> io::Result<(Fd, Fd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (one, other) = net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    for fd in [&one, &other] {
        net::sockopt::set_socket_send_buffer_size(fd, SEQUENCE_BUFFER)?;
    }
    Ok((into_raw(one), into_raw(other)))
}

/// Sends at least one byte, with copies of up to [`MAX_DESCRIPTORS`] descriptors.
///
/// # Errors
/// `WouldBlock` when there is no room; otherwise the system's error.
pub fn send(over: Fd, bytes: &[u8], descriptors: &[Fd]) -> io::Result<usize> {
    let lent: Vec<_> = descriptors.iter().map(|fd| borrow(*fd)).collect::<io::Result<_>>()?;
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !lent.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&lent)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    Ok(net::sendmsg(borrow(over)?, &[IoSlice::new(bytes)], &mut control, flags)?)
}

/// Receives one message: the number of bytes, and the descriptors in it, which the caller owns. 0
/// bytes: the peer has closed.
///
/// # Errors
/// `WouldBlock` when there is none; otherwise the system's error.
pub fn receive(over: Fd, buffer: &mut [u8]) -> io::Result<(usize, Vec<Fd>)> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let message = net::recvmsg(borrow(over)?, &mut [IoSliceMut::new(buffer)], &mut control, flags)?;
    let mut descriptors = Vec::new();
    for received in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = received {
            descriptors.extend(rights.map(into_raw));
        }
    }
    Ok((message.bytes, descriptors))
}

/// Passes one end of a new connection to the peer of `over`, as for an address `sockpair@` (manual,
/// section 11.1); the caller owns the other end.
///
/// # Errors
/// No descriptors left, the peer is gone, or its queue is full.
pub fn connect(over: Fd) -> io::Result<Fd> {
    let (own, theirs) = pair()?;
    let sent = send(over, b"\0", &[theirs]);
    crate::close(theirs);
    if let Err(error) = sent {
        crate::close(own);
        return Err(error);
    }
    Ok(own)
}

/// Takes a connection that the peer of `over` has made with [`connect`].
///
/// # Errors
/// `WouldBlock` when none waits; `NotConnected` when the peer has closed.
pub fn accept(over: Fd) -> io::Result<Fd> {
    let (count, mut descriptors) = receive(over, &mut [0])?;
    if count == 0 {
        return Err(io::ErrorKind::NotConnected.into());
    }
    let first = descriptors.pop();
    descriptors.into_iter().for_each(crate::close);
    let fd = first.ok_or(io::ErrorKind::WouldBlock)?;
    rustix::io::ioctl_fionbio(borrow(fd)?, true)?;
    Ok(fd)
}

/// Whether a descriptor is a connected unix stream socket.
pub fn is_connected(fd: Fd) -> bool {
    let Ok(socket) = borrow(fd) else { return false };
    let unix = net::getsockname(socket).is_ok_and(|it| it.address_family() == AddressFamily::UNIX);
    unix && net::getpeername(socket).is_ok()
}

/// Waits up to `milliseconds` until the socket is readable or the peer has closed. `false`: the
/// time is over.
///
/// # Errors
/// The system's error.
pub fn wait_readable(fd: Fd, milliseconds: u32) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let end = crate::clock::monotonic() + u64::from(milliseconds) * 1_000_000;
    let lent = borrow(fd)?;
    loop {
        let left = end.saturating_sub(crate::clock::monotonic());
        let left = Timespec {
            tv_sec: (left / 1_000_000_000) as i64,
            tv_nsec: (left % 1_000_000_000) as _,
        };
        match poll(&mut [PollFd::new(&lent, PollFlags::IN)], Some(&left)) {
            Ok(count) => return Ok(count > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_passed_over_a_socket_pair() {
        let (one, other) = pair().unwrap();
        assert_eq!(accept(other).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let client = connect(one).unwrap();
        let server = accept(other).unwrap();
        assert!(is_connected(server));
        send(client, b"hello", &[]).unwrap();
        let mut buffer = [0; 8];
        assert!(wait_readable(server, 1_000).unwrap());
        assert_eq!(receive(server, &mut buffer).unwrap(), (5, Vec::new()));
        assert!(!wait_readable(server, 0).unwrap());
        crate::close(client);
        // Forked children of other tests hold copies until they exec.
        assert!(wait_readable(server, 5_000).unwrap());
        assert_eq!(receive(server, &mut buffer).unwrap().0, 0);
        crate::close(one);
        assert!(wait_readable(other, 5_000).unwrap());
        assert_eq!(accept(other).unwrap_err().kind(), io::ErrorKind::NotConnected);
        [server, other].into_iter().for_each(crate::close);
    }
}
