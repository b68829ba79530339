//! Connected pairs of unix sockets, and descriptors that travel over them. Never decides what they are for.

use crate::{Fd, borrow, into_raw};
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// Descriptors that one message may carry (unix(7) allows 253).
pub const MAX_DESCRIPTORS: usize = 64;

/// Bytes of ancillary data for as many descriptors.
const SPACE: usize = rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS));

/// Two stream sockets, each the other's peer; neither blocks.
///
/// # Errors
/// No descriptors are left.
pub fn pair() -> io::Result<(Fd, Fd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (one, other) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    Ok((into_raw(one), into_raw(other)))
}

/// Sends bytes, at least one, with copies of up to [`MAX_DESCRIPTORS`] descriptors.
///
/// # Errors
/// `WouldBlock` when there is no room; otherwise as the system says.
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

/// Receives one message: how many bytes, and the descriptors that came with them, which are the
/// caller's. 0 bytes: the peer has closed.
///
/// # Errors
/// `WouldBlock` when there is none; otherwise as the system says.
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

/// Gives the peer of `over` one end of a new connection, as an address `sockpair@` has it (manual,
/// section 11.1); the other end is the caller's.
///
/// # Errors
/// No descriptors are left, nobody is there to take it, or too many wait already.
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

/// Waits until something can be read, or the peer has closed, for at most so many milliseconds.
/// `false`: nothing came.
///
/// # Errors
/// As the system says.
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
    fn descriptors_travel() {
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
        // Programs that other tests start hold copies until they run.
        assert!(wait_readable(server, 5_000).unwrap());
        assert_eq!(receive(server, &mut buffer).unwrap().0, 0);
        crate::close(one);
        assert!(wait_readable(other, 5_000).unwrap());
        assert_eq!(accept(other).unwrap_err().kind(), io::ErrorKind::NotConnected);
        [server, other].into_iter().for_each(crate::close);
    }
}
