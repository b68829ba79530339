//! Pipes, through which bytes go from one socket to another without being copied (splice(2)). Never waits.

use crate::{Fd, borrow, into_raw};
use rustix::pipe::{self, PipeFlags, SpliceFlags};
use std::io;

/// Opens a pipe of about `size` bytes, 0 for the system's choice: the end to read from, the end to
/// write to, and the bytes that it holds.
///
/// # Errors
/// No descriptors left. A size that is refused is none: the pipe has the system's.
pub fn open(size: usize) -> io::Result<(Fd, Fd, usize)> {
    let (read, write) = pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    if size > 0 {
        let _ = pipe::fcntl_setpipe_size(&write, size);
    }
    let held = pipe::fcntl_getpipe_size(&write)?;
    Ok((into_raw(read), into_raw(write), held))
}

/// Moves up to `len` bytes between a pipe and a socket; 0 at the end of a socket's stream. `more`:
/// the next bytes follow at once.
///
/// # Errors
/// `WouldBlock` when there are none, or no room for them; otherwise as the system says, such as
/// `InvalidInput` for a socket that cannot do it.
pub fn splice(from: Fd, to: Fd, len: usize, more: bool) -> io::Result<usize> {
    let plain = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
    let flags = if more { plain | SpliceFlags::MORE } else { plain };
    Ok(pipe::splice(borrow(from)?, None, borrow(to)?, None, len, flags)?)
}

/// The bytes that a pipe holds, by one of its names in `/proc`: for tests.
///
/// # Errors
/// It is no pipe, or gone.
pub fn size_of(path: &std::path::Path) -> io::Result<i32> {
    let end = std::fs::OpenOptions::new().read(true).write(true).open(path)?;
    Ok(pipe::fcntl_getpipe_size(&end)? as i32)
}
