//! Non-blocking pipes for moving bytes between sockets without copying (splice(2)).

use crate::{Fd, borrow, into_raw};
use rustix::pipe::{self, PipeFlags, SpliceFlags};
use std::io;

/// Opens a pipe of about `size` bytes, 0 for the system's default. Returns the reading end, the
/// writing end and the capacity.
///
/// # Errors
/// No descriptors left. A refused size is no error: the pipe keeps the default.
pub fn open(size: usize) -> io::Result<(Fd, Fd, usize)> {
    let (read, write) = pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    if size > 0 {
        let _ = pipe::fcntl_setpipe_size(&write, size);
    }
    let held = pipe::fcntl_getpipe_size(&write)?;
    Ok((into_raw(read), into_raw(write), held))
}

/// Moves up to `len` bytes between a pipe and a socket; 0 at the end of the socket's stream.
/// `more`: another call follows at once.
///
/// # Errors
/// `WouldBlock` when there are no bytes or no room for them; otherwise the system's error, such as
/// `InvalidInput` for a socket that cannot be spliced.
pub fn splice(from: Fd, to: Fd, len: usize, more: bool) -> io::Result<usize> {
    let plain = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
    let flags = if more { plain | SpliceFlags::MORE } else { plain };
    Ok(pipe::splice(borrow(from)?, None, borrow(to)?, None, len, flags)?)
}

/// The capacity of a pipe, by one of its names in `/proc`; for tests.
///
/// # Errors
/// The path names no pipe, or is gone.
pub fn size_of(path: &std::path::Path) -> io::Result<i32> {
    let end = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
    Ok(pipe::fcntl_getpipe_size(&end)? as i32)
}
