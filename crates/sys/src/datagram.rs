//! Many datagrams in one system call (sendmmsg(2)), also segmented by the kernel (`UDP_SEGMENT`).

use crate::Fd;
use std::io;
use std::net::SocketAddr;

/// Trains per call.
pub const MAX_TRAINS: usize = 32;
/// Most datagrams of equal length that the system takes as one message.
pub const MAX_SEGMENTS: usize = 64;
/// Most bytes of such a message.
pub const MAX_TRAIN: usize = 60_000;

/// Datagrams to one address, concatenated. All have the length `segment` except the last, which may
/// be shorter.
#[derive(Debug, Clone, Copy)]
pub struct Train<'b> {
    /// Destination address.
    pub to: SocketAddr,
    /// Bytes of all datagrams.
    pub bytes: &'b [u8],
    /// Length of each datagram; that of `bytes` if there is only one.
    pub segment: usize,
}

impl Train<'_> {
    /// Whether the train has more than one datagram.
    pub fn is_long(&self) -> bool {
        self.segment < self.bytes.len()
    }
}

/// Room for an address of either family.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Address {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

/// Room for one control message with the length of segments (udp(7), `UDP_SEGMENT`).
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 24]);

const CONTROL_LEN: usize =
    // SAFETY: computes a length.
    unsafe { libc::CMSG_SPACE(size_of::<u16>() as u32) } as usize;
const _: () = assert!(CONTROL_LEN <= size_of::<Control>());

pub(crate) fn address(to: SocketAddr) -> (Address, u32) {
    match to {
        SocketAddr::V4(to) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: to.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*to.ip()).to_be() },
                sin_zero: [0; 8],
            };
            (Address { v4 }, size_of::<libc::sockaddr_in>() as u32)
        }
        SocketAddr::V6(to) => {
            let v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: to.port().to_be(),
                sin6_flowinfo: to.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: to.ip().octets() },
                sin6_scope_id: to.scope_id(),
            };
            (Address { v6 }, size_of::<libc::sockaddr_in6>() as u32)
        }
    }
}

/// Sends up to [`MAX_TRAINS`] trains in order; returns how many were sent before the first that
/// failed.
///
/// # Errors
/// The first train failed. A train of several datagrams may fail where single ones do not: on
/// systems before Linux 4.18, or when a segment exceeds the MTU of the path.
pub fn send_trains(fd: Fd, trains: &[Train<'_>]) -> io::Result<usize> {
    // SAFETY: these are integers and pointers, for which zeroes are values.
    let mut messages: [libc::mmsghdr; MAX_TRAINS] = unsafe { std::mem::zeroed() };
    // SAFETY: the same.
    let mut parts: [libc::iovec; MAX_TRAINS] = unsafe { std::mem::zeroed() };
    // SAFETY: the same.
    let mut addresses: [Address; MAX_TRAINS] = unsafe { std::mem::zeroed() };
    let mut controls = [Control([0; 24]); MAX_TRAINS];
    let count = trains.len().min(MAX_TRAINS);
    for (i, train) in trains.iter().take(count).enumerate() {
        let header = &mut messages[i].msg_hdr;
        (addresses[i], header.msg_namelen) = address(train.to);
        parts[i] = libc::iovec {
            iov_base: train.bytes.as_ptr().cast_mut().cast(),
            iov_len: train.bytes.len(),
        };
        header.msg_name = (&raw mut addresses[i]).cast();
        header.msg_iov = &raw mut parts[i];
        header.msg_iovlen = 1;
        if train.is_long() {
            header.msg_control = (&raw mut controls[i]).cast();
            header.msg_controllen = CONTROL_LEN as _;
            segment(header, train.segment);
        }
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: all pointers are to arrays of this function and to bytes borrowed for its time; the
    // system only reads what they point to, and writes lengths into `messages`.
    let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count as u32, flags as _) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Writes the segment length into the control buffer of `header`.
fn segment(header: &libc::msghdr, len: usize) {
    // SAFETY: the buffer is large enough for one control message, so there is a first one, whose
    // data has room for 16 bits.
    unsafe {
        let control = libc::CMSG_FIRSTHDR(header);
        (*control).cmsg_level = libc::SOL_UDP;
        (*control).cmsg_type = libc::UDP_SEGMENT;
        (*control).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
        libc::CMSG_DATA(control).cast::<u16>().write_unaligned(len as u16);
    }
}
