//! All system calls and socket options.
//!
//! Invariant: no other crate of the product depends on crates that make system calls (`cargo xtask
//! tidy`).
//!
//! Descriptors are plain numbers ([`Fd`]), because simulations replace them with virtual ones. The
//! owner of a descriptor closes it once, with [`close`].

pub mod child;
pub mod clock;
pub mod cpu;
pub mod datagram;
pub mod epoll;
pub mod fork;
pub mod listen;
pub mod namespace;
pub mod option;
pub mod output;
pub mod pipe;
pub mod process;
pub mod sd_notify;
pub mod signal;
pub mod socket;
pub mod socketpair;
pub mod threads;
pub mod udp;

use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd, OwnedFd};

/// A descriptor number.
pub type Fd = i32;

/// Lends a descriptor number to a rustix call.
fn borrow<'a>(fd: Fd) -> io::Result<BorrowedFd<'a>> {
    if fd < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the number is not -1. Whether it is open is the owner's concern: a call on a closed
    // one fails with EBADF; the reactor forgets a number before it closes it, so none is used
    // afterwards.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

fn into_raw(fd: OwnedFd) -> Fd {
    fd.into_raw_fd()
}

/// Closes a descriptor. Errors are not reported, as the caller could do nothing about them.
pub fn close(fd: Fd) {
    if fd >= 0 {
        // SAFETY: the caller owns this number and gives it up here.
        drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
    }
}

/// An eventfd: a counter that makes pollers wake up.
pub fn eventfd() -> io::Result<Fd> {
    use rustix::event::{EventfdFlags, eventfd};
    Ok(into_raw(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
}

/// Adds one to an eventfd.
pub fn eventfd_ring(fd: Fd) {
    if let Ok(fd) = borrow(fd) {
        // A full counter keeps its poller awake as well.
        let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
    }
}

/// Resets an eventfd to zero.
pub fn eventfd_clear(fd: Fd) {
    if let Ok(fd) = borrow(fd) {
        let _ = rustix::io::read(fd, &mut [0u8; 8]);
    }
}

/// Fills `bytes` with unpredictable ones.
pub fn random(bytes: &mut [u8]) {
    let _ = rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty());
}

/// The machine's host name.
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
