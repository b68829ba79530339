//! Datagrams with their addresses on both sides and their ECN bits, many of them per system call
//! (`recvmmsg`, `UDP_SEGMENT`, `UDP_GRO`).

use crate::Fd;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Messages per call: each is a datagram, or several of one sender that the system has joined.
pub const BATCH: usize = 32;

/// Bytes of a message. Memory that no message has needed stays with the system.
const SLOT: usize = 65_536;

/// Bytes of the largest datagram that is received: more than any Ethernet frame carries.
const LONGEST: usize = 2_048;

/// Room for a datagram of a simulated kernel, which joins none.
const OWN_SLOT: usize = LONGEST;

/// Room for the control messages of one datagram.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct UdpControl([u8; 128]);

/// A datagram of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived<'a> {
    /// The sender.
    pub from: SocketAddr,
    /// The address that it was sent to, if the system reports it.
    pub to: Option<IpAddr>,
    /// Its ECN bits.
    pub ecn: u8,
    /// The payload.
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    from: SocketAddr,
    to: Option<IpAddr>,
    ecn: u8,
    /// The place of its bytes.
    at: usize,
    len: usize,
    /// Bytes of each of its datagrams but the last one.
    segment: usize,
}

/// Memory for a batch of datagrams, and the last batch.
#[derive(Debug)]
pub struct UdpBatch {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl Default for UdpBatch {
    fn default() -> Self {
        Self { bytes: vec![0; BATCH * SLOT], slots: Vec::with_capacity(BATCH) }
    }
}

impl UdpBatch {
    /// Datagrams that fit.
    pub const CAPACITY: usize = BATCH;

    /// The datagrams. Datagrams that are too long are left out.
    pub fn iter(&self) -> impl Iterator<Item = Arrived<'_>> {
        self.slots.iter().flat_map(|slot| {
            let bytes = self.bytes.get(slot.at..slot.at + slot.len).unwrap_or_default();
            let fit = bytes.chunks(slot.segment.max(1)).filter(|it| it.len() <= LONGEST);
            fit.map(|bytes| Arrived { from: slot.from, to: slot.to, ecn: slot.ecn, bytes })
        })
    }

    /// Whether as many messages have come as fit.
    pub fn is_full(&self) -> bool {
        self.slots.len() == BATCH
    }

    /// Empties the batch.
    pub fn clear(&mut self) {
        self.slots.clear();
    }

    /// Replaces the batch, for a simulated kernel.
    pub fn fill<'a>(&mut self, datagrams: impl Iterator<Item = Arrived<'a>>) {
        self.slots.clear();
        for (n, datagram) in datagrams.take(BATCH).enumerate() {
            let (at, len) = (n * OWN_SLOT, datagram.bytes.len().min(OWN_SLOT));
            self.bytes[at..at + len].copy_from_slice(&datagram.bytes[..len]);
            let Arrived { from, to, ecn, bytes } = datagram;
            if bytes.len() <= LONGEST {
                self.slots.push(Slot { from, to, ecn, at, len, segment: len });
            }
        }
    }
}

/// Datagrams to one address, concatenated.
#[derive(Clone, Copy, Debug)]
pub struct UdpTrain<'a> {
    /// The receiver.
    pub to: SocketAddr,
    /// The address to send from; `None`: as the system chooses.
    pub from: Option<IpAddr>,
    /// Their ECN bits.
    pub ecn: u8,
    /// The payload of all of them.
    pub bytes: &'a [u8],
    /// Bytes of each but the last one.
    pub segment: usize,
}

fn set(fd: Fd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let len = size_of::<i32>() as u32;
    // SAFETY: the option is a number of this size, which is read only.
    let result = unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), len) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the system say where datagrams were sent to, and their ECN bits, and join datagrams of one
/// sender into one message; packets are not fragmented.
///
/// # Errors
/// The system's error.
pub fn prepare(fd: Fd) -> io::Result<()> {
    let v4 = crate::socket::local_address(fd).is_none_or(|address| address.is_ipv4());
    // A system without GRO delivers datagrams one by one.
    let _ = set(fd, libc::SOL_UDP, libc::UDP_GRO, 1);
    if v4 {
        set(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
        // Without these, connections work with less.
        let _ = set(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
        let _ = set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE);
    } else {
        set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
        let _ = set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1);
        let _ = set(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE);
        // Of IPv4 clients of a socket for both.
        let _ = set(fd, libc::IPPROTO_IP, libc::IP_PKTINFO, 1);
    }
    Ok(())
}

/// Receives the datagrams that have arrived, up to a batch; returns their number.
///
/// # Errors
/// `WouldBlock` if there is nothing; otherwise the system's error, which may concern a datagram
/// sent before.
pub fn receive(fd: Fd, batch: &mut UdpBatch) -> io::Result<usize> {
    batch.slots.clear();
    // SAFETY: these are integers and pointers, for which zeroes are values.
    let mut messages: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
    // SAFETY: the same.
    let mut parts: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
    // SAFETY: the same.
    let mut addresses: [libc::sockaddr_storage; BATCH] = unsafe { std::mem::zeroed() };
    let mut controls = [UdpControl([0; 128]); BATCH];
    for (i, slot) in batch.bytes.chunks_exact_mut(SLOT).enumerate() {
        parts[i] = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: SLOT };
        let header = &mut messages[i].msg_hdr;
        header.msg_name = (&raw mut addresses[i]).cast();
        header.msg_namelen = size_of::<libc::sockaddr_storage>() as u32;
        header.msg_iov = &raw mut parts[i];
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut controls[i]).cast();
        header.msg_controllen = size_of::<UdpControl>() as _;
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: all pointers are to arrays of this function and to the batch, which is borrowed
    // exclusively, with their lengths.
    let count = unsafe {
        libc::recvmmsg(fd, messages.as_mut_ptr(), BATCH as u32, flags as _, std::ptr::null_mut())
    };
    let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
    for (n, (message, address)) in messages.iter().zip(&addresses).take(count).enumerate() {
        let Some(from) = inet(address) else { continue };
        let (to, ecn, segment) = control(&message.msg_hdr);
        let len = (message.msg_len as usize).min(SLOT);
        let segment = segment.unwrap_or(len);
        batch.slots.push(Slot { from, to, ecn, at: n * SLOT, len, segment });
    }
    Ok(count)
}

fn inet(address: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(address.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which type it is, and the storage has room for each.
            let v4 = unsafe { *(&raw const *address).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the same.
            let v6 = unsafe { *(&raw const *address).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// The local address, the ECN bits and, if datagrams were joined, the length of a message's
/// datagrams.
fn control(header: &libc::msghdr) -> (Option<IpAddr>, u8, Option<usize>) {
    let (mut to, mut ecn, mut segment) = (None, 0, None);
    // SAFETY: the system has written the control messages into the buffer of the header.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !next.is_null() {
        // SAFETY: the pointer is to a whole control message, whose data has the type that its
        // level and type say.
        unsafe {
            let data = libc::CMSG_DATA(next);
            match ((*next).cmsg_level, (*next).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    to = Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    to = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => ecn = data.read() & 3,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    ecn = (data.cast::<i32>().read_unaligned() & 3) as u8;
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    segment = usize::try_from(data.cast::<i32>().read_unaligned()).ok();
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
    (to, ecn, segment)
}

/// Sends a train. A system that does not segment gets the datagrams one by one.
///
/// # Errors
/// `WouldBlock` if there is no room; otherwise the system's error, such as that a datagram is too
/// large for the path.
pub fn send(fd: Fd, train: &UdpTrain<'_>) -> io::Result<()> {
    let is_long = train.segment < train.bytes.len();
    match send_message(fd, train, is_long) {
        Err(error)
            if is_long
                && matches!(
                    error.raw_os_error(),
                    Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE)
                ) =>
        {
            let mut pieces = train.bytes.chunks(train.segment.max(1));
            pieces.try_for_each(|bytes| send_message(fd, &UdpTrain { bytes, ..*train }, false))
        }
        result => result,
    }
}

fn send_message(fd: Fd, train: &UdpTrain<'_>, segments: bool) -> io::Result<()> {
    let (mut address, name_len) = crate::datagram::address(train.to);
    let mut part = libc::iovec {
        iov_base: train.bytes.as_ptr().cast_mut().cast(),
        iov_len: train.bytes.len(),
    };
    let mut room = UdpControl([0; 128]);
    // SAFETY: these are integers and pointers, for which zeroes are values.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&raw mut address).cast();
    header.msg_namelen = name_len;
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = (&raw mut room).cast();
    header.msg_controllen = size_of::<UdpControl>() as _;
    let mut writer = ControlWriter { header: &header, next: None, len: 0 };
    match (train.from, train.to) {
        (Some(IpAddr::V4(from)), SocketAddr::V4(_)) => {
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr { s_addr: u32::from(from).to_be() },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            writer.put(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        }
        (Some(IpAddr::V6(from)), SocketAddr::V6(_)) => {
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr { s6_addr: from.octets() },
                ipi6_ifindex: 0,
            };
            writer.put(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
        _ => {}
    }
    if train.ecn != 0 {
        match train.to {
            SocketAddr::V4(_) => {
                writer.put(libc::IPPROTO_IP, libc::IP_TOS, i32::from(train.ecn));
            }
            SocketAddr::V6(_) => {
                writer.put(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, i32::from(train.ecn));
            }
        }
    }
    if segments {
        writer.put(libc::SOL_UDP, libc::UDP_SEGMENT, train.segment as u16);
    }
    header.msg_controllen = writer.len as _;
    if header.msg_controllen == 0 {
        header.msg_control = std::ptr::null_mut();
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: all pointers are to values of this function and to bytes borrowed for its time, which
    // the system only reads.
    let sent = unsafe { libc::sendmsg(fd, &raw const header, flags) };
    if sent >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Writes control messages into the buffer of a header.
struct ControlWriter<'a> {
    header: &'a libc::msghdr,
    next: Option<*mut libc::cmsghdr>,
    len: usize,
}

impl ControlWriter<'_> {
    fn put<T: Copy>(&mut self, level: i32, kind: i32, value: T) {
        let size = size_of::<T>() as u32;
        // SAFETY: the buffer has room for all control messages that a call makes (at most an
        // address, a type of service and a segment length), so there is a place for this one.
        unsafe {
            let place = match self.next {
                None => libc::CMSG_FIRSTHDR(self.header),
                Some(last) => libc::CMSG_NXTHDR(self.header, last),
            };
            if place.is_null() {
                return;
            }
            (*place).cmsg_level = level;
            (*place).cmsg_type = kind;
            (*place).cmsg_len = libc::CMSG_LEN(size) as _;
            libc::CMSG_DATA(place).cast::<T>().write_unaligned(value);
            self.next = Some(place);
            self.len += libc::CMSG_SPACE(size) as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    fn pair(host: &str) -> (UdpSocket, UdpSocket) {
        let bind = || {
            let socket = UdpSocket::bind((host, 0)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        (bind(), bind())
    }

    #[test]
    fn datagrams_arrive_with_addresses_and_marks() {
        for host in ["127.0.0.1", "::1"] {
            let (one, two) = pair(host);
            prepare(two.as_raw_fd()).unwrap();
            let (from, to) = (one.local_addr().unwrap(), two.local_addr().unwrap());
            let train = UdpTrain { to, from: Some(from.ip()), ecn: 2, bytes: b"aabbc", segment: 2 };
            send(one.as_raw_fd(), &train).unwrap();
            let mut batch = UdpBatch::default();
            receive(two.as_raw_fd(), &mut batch).unwrap();
            let got = batch.iter().collect::<Vec<_>>();
            let arrived = |bytes| Arrived { from, to: Some(to.ip()), ecn: 2, bytes };
            assert_eq!(got, [arrived(b"aa"), arrived(b"bb"), arrived(b"c")]);
            let nothing = receive(two.as_raw_fd(), &mut batch).unwrap_err();
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
            assert_eq!(batch.iter().count(), 0);
        }
    }

    #[test]
    fn joined_datagrams_are_told_apart() {
        let (one, two) = pair("127.0.0.1");
        prepare(two.as_raw_fd()).unwrap();
        let (from, to) = (one.local_addr().unwrap(), two.local_addr().unwrap());
        let bytes: Vec<u8> = (0..40 * 1_200 + 7).map(|n| (n / 1_200) as u8).collect();
        let train = UdpTrain { to, from: None, ecn: 0, bytes: &bytes, segment: 1_200 };
        send(one.as_raw_fd(), &train).unwrap();
        let (mut batch, mut got) = (UdpBatch::default(), Vec::new());
        while receive(two.as_raw_fd(), &mut batch).is_ok() {
            got.extend(batch.iter().map(|it| (it.from, it.bytes.to_vec())));
        }
        let expected = bytes.chunks(1_200).map(|it| (from, it.to_vec()));
        assert!(got == expected.collect::<Vec<_>>());
    }

    #[test]
    fn datagrams_that_are_too_long_are_left_out() {
        let (one, two) = pair("127.0.0.1");
        let to = two.local_addr().unwrap();
        for len in [LONGEST, LONGEST + 1, 1] {
            one.send_to(&vec![7; len], to).unwrap();
        }
        let mut batch = UdpBatch::default();
        receive(two.as_raw_fd(), &mut batch).unwrap();
        let lengths = batch.iter().map(|it| it.bytes.len()).collect::<Vec<_>>();
        assert_eq!(lengths, [LONGEST, 1]);
        assert!(!batch.is_full());
    }
}
