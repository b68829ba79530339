//! Writes to the standard streams and other inherited descriptors that fail instead of blocking.
//!
//! A reader that does not read must not block the writing thread. The method depends on the kind of
//! descriptor: a socket is written with `MSG_DONTWAIT`; a pipe or a terminal is opened again for a
//! file description of its own with `O_NONBLOCK`, because other processes share the inherited one;
//! a regular file is written by a thread of its own (`spool`), because writes to files always wait
//! for the disk.

use crate::{Fd, borrow, into_raw};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::net::{self, SendFlags};
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

mod spool;
#[cfg(test)]
mod tests;

use spool::Spool;

/// Bytes that a terminal takes without blocking once it reports room.
const TERMINAL: usize = 256;

/// Descriptors that the process writes to while it serves.
static PREPARED: OnceLock<Vec<PreparedOutput>> = OnceLock::new();

/// Prepares non-blocking writes to these descriptors; those that are not open are left out. Must be
/// called once by the serving process, before it changes its root directory or its user and before
/// it starts threads.
pub fn prepare(numbers: &[Fd]) {
    let mut outputs: Vec<PreparedOutput> = Vec::with_capacity(numbers.len());
    for number in numbers {
        if outputs.iter().all(|known| known.number != *number) {
            outputs.extend(PreparedOutput::open(*number, true).ok());
        }
    }
    let _ = PREPARED.set(outputs);
}

/// Writes the whole line or nothing: a line of which a pipe took a part is completed before the
/// next line.
///
/// # Errors
/// `WouldBlock`: there is no room for the line. Otherwise the system's error; with a writing
/// thread, it may concern an earlier line.
pub fn write(number: Fd, line: &[u8]) -> io::Result<()> {
    let known = PREPARED.get().and_then(|known| known.iter().find(|it| it.number == number));
    match known {
        Some(output) => output.write(line),
        None => PreparedOutput::open(number, false)?.write(line),
    }
}

/// As [`write()`], but waits up to `span` for room. Messages printed before the process serves are
/// read by people and scripts that may be slow.
///
/// # Errors
/// As [`write()`].
pub fn write_within(number: Fd, line: &[u8], span: Duration) -> io::Result<()> {
    let end = crate::clock::monotonic().saturating_add(span.as_nanos() as u64);
    loop {
        match write(number, line) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let left = end.saturating_sub(crate::clock::monotonic());
                if left == 0 || !wait_writable(number, Duration::from_nanos(left))? {
                    return Err(error);
                }
            }
            done => return done,
        }
    }
}

/// Writes the rest of partly written lines, and waits for writing threads, up to `span`.
pub fn flush(span: Duration) {
    for output in PREPARED.get().into_iter().flatten() {
        match &output.kind {
            WriteMethod::File(spool) => spool.await_written(span),
            _ => drop(output.write(b"")),
        }
    }
}

fn wait_writable(number: Fd, span: Duration) -> io::Result<bool> {
    let lent = borrow(number)?;
    let span = Timespec {
        tv_sec: span.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: span.subsec_nanos().into(),
    };
    match poll(&mut [PollFd::new(&lent, PollFlags::OUT)], Some(&span)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// A descriptor to write to.
#[derive(Debug)]
struct PreparedOutput {
    number: Fd,
    kind: WriteMethod,
    /// Rest of a line that was written in part. The lock also keeps lines of threads apart.
    rest: stdx::Mutex<Vec<u8>>,
}

#[derive(Debug)]
enum WriteMethod {
    /// A socket: each call asks not to block.
    Socket,
    /// The inherited description does not block.
    NonBlocking,
    /// A description of our own, which does not block.
    Own(Fd),
    /// A terminal whose description may block: polled before each write.
    Terminal,
    /// A regular file or a disk, written by a thread of its own.
    File(Arc<Spool>),
    /// The same in a process that must not start threads.
    Direct,
}

impl Drop for PreparedOutput {
    fn drop(&mut self) {
        if let WriteMethod::Own(own) = self.kind {
            crate::close(own);
        }
    }
}

impl PreparedOutput {
    /// # Errors
    /// The number is not open.
    fn open(number: Fd, threads: bool) -> io::Result<Self> {
        let kind = match FileType::from_raw_mode(fs::fstat(borrow(number)?)?.st_mode) {
            FileType::Socket => WriteMethod::Socket,
            FileType::Fifo | FileType::CharacterDevice => method_for_blocking(number)?,
            _ if threads => WriteMethod::File(Spool::new(number)),
            _ => WriteMethod::Direct,
        };
        Ok(Self { number, kind, rest: stdx::Mutex::default() })
    }

    fn write(&self, line: &[u8]) -> io::Result<()> {
        if let WriteMethod::File(spool) = &self.kind {
            return spool.push(line);
        }
        let mut rest = self.rest.lock();
        if !rest.is_empty() {
            let taken = self.push(&rest)?;
            rest.drain(..taken);
            if !rest.is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        let taken = self.push(line)?;
        rest.extend_from_slice(&line[taken..]);
        Ok(())
    }

    /// Writes as much as fits, at least one byte.
    fn push(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            match self.call(&bytes[taken..]) {
                Ok(count) => taken += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) if taken == 0 => return Err(error.into()),
                Err(_) => break,
            }
        }
        Ok(taken)
    }

    fn call(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        let lent = |number| borrow(number).map_err(|_| rustix::io::Errno::BADF);
        match self.kind {
            WriteMethod::Socket => {
                net::send(lent(self.number)?, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
            }
            WriteMethod::Own(own) => rustix::io::write(lent(own)?, bytes),
            WriteMethod::Terminal => {
                if !wait_writable(self.number, Duration::ZERO).unwrap_or(true) {
                    return Err(rustix::io::Errno::AGAIN);
                }
                rustix::io::write(lent(self.number)?, &bytes[..bytes.len().min(TERMINAL)])
            }
            _ => rustix::io::write(lent(self.number)?, bytes),
        }
    }
}

/// Finds the method for a pipe or a device.
fn method_for_blocking(number: Fd) -> io::Result<WriteMethod> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    if let Ok(own) = fs::open(format!("/proc/self/fd/{number}"), flags, Mode::empty()) {
        return Ok(WriteMethod::Own(into_raw(own)));
    }
    let lent = borrow(number)?;
    if rustix::termios::isatty(lent) {
        return Ok(WriteMethod::Terminal);
    }
    // The pipe was made by another user, as container engines do, or its reader is gone. The flag
    // affects all processes that share the description; HAProxy sets it always.
    fs::fcntl_setfl(lent, fs::fcntl_getfl(lent)? | OFlags::NONBLOCK)?;
    Ok(WriteMethod::NonBlocking)
}
