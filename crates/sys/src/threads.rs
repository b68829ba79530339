//! State of this process's threads and the system call in which each waits, from proc(5).

use crate::{Fd, borrow, into_raw};
use rustix::fs::{self, Mode, OFlags};
use std::io::{self, Read as _};

/// Most bytes read of a file; the files here are short.
const MAX_READ: usize = 1_024;

/// The directory of this process in `/proc`. The list stays readable when the root directory
/// changes.
#[derive(Debug)]
pub struct Threads(Fd);

impl Drop for Threads {
    fn drop(&mut self) {
        crate::close(self.0);
    }
}

impl Threads {
    /// Opens the directory. Must be called by the process whose threads are inspected, before it
    /// changes its root directory.
    ///
    /// # Errors
    /// `/proc` is not mounted.
    pub fn open() -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(into_raw(fs::open("/proc/self", flags, Mode::empty())?)))
    }

    /// Its descriptor, which must stay open.
    pub fn descriptor(&self) -> Fd {
        self.0
    }

    /// Where a thread sleeps in the kernel, as far as the system tells. `None` if it does not
    /// sleep: it runs, waits for a processor, was stopped, or has ended.
    pub fn sleeping(&self, thread: i32) -> Option<String> {
        let stat = self.read(thread, "stat")?;
        // The name in front of the state may contain any character.
        let (_, state) = stat.rsplit_once(") ")?;
        if !state.starts_with(['S', 'D']) {
            return None;
        }
        let call = self.read(thread, "syscall").and_then(|text| self.call(&text));
        // The kernel writes 0 where it does not know or does not report the place.
        let place = self.read(thread, "wchan").filter(|place| !["", "0"].contains(&&**place));
        Some(match (call, place) {
            (Some(call), Some(place)) => format!("{call}, at {place}"),
            (Some(text), None) | (None, Some(text)) => text,
            (None, None) => "at an unknown place".to_owned(),
        })
    }

    /// The system call of a line such as `1 0x2 0x7f...`: number, arguments, and more.
    fn call(&self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace();
        let number: i64 = words.next()?.parse().ok()?;
        let argument = words.next().and_then(|word| word.strip_prefix("0x"));
        let argument = argument.and_then(|word| u64::from_str_radix(word, 16).ok());
        let known = CALLS.iter().find(|(known, ..)| *known == number);
        let name = known.map_or_else(|| format!("system call {number}"), |it| it.1.to_owned());
        let descriptor = argument.filter(|_| known.is_some_and(|it| it.2));
        Some(match descriptor {
            Some(descriptor) => {
                format!("{name} on descriptor {descriptor}{}", self.descriptor_kind(descriptor))
            }
            None => name,
        })
    }

    /// The kind of a descriptor, such as ` (pipe:[123])`.
    fn descriptor_kind(&self, descriptor: u64) -> String {
        let path = format!("fd/{descriptor}");
        let link = borrow(self.0).ok().and_then(|dir| fs::readlinkat(dir, path, Vec::new()).ok());
        link.map_or_else(String::new, |link| format!(" ({})", link.to_string_lossy()))
    }

    fn read(&self, thread: i32, name: &str) -> Option<String> {
        let path = format!("task/{thread}/{name}");
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = fs::openat(borrow(self.0).ok()?, path, flags, Mode::empty()).ok()?;
        let mut text = String::new();
        std::fs::File::from(file).take(MAX_READ as u64).read_to_string(&mut text).ok()?;
        Some(text.trim_end().to_owned())
    }
}

/// System calls that may wait: number, name, and whether the first argument is a descriptor.
const CALLS: &[(i64, &str, bool)] = &[
    (libc::SYS_write, "write", true),
    (libc::SYS_writev, "writev", true),
    (libc::SYS_pwrite64, "pwrite", true),
    (libc::SYS_read, "read", true),
    (libc::SYS_readv, "readv", true),
    (libc::SYS_pread64, "pread", true),
    (libc::SYS_sendto, "sendto", true),
    (libc::SYS_sendmsg, "sendmsg", true),
    (libc::SYS_sendmmsg, "sendmmsg", true),
    (libc::SYS_recvfrom, "recvfrom", true),
    (libc::SYS_recvmsg, "recvmsg", true),
    (libc::SYS_accept4, "accept4", true),
    (libc::SYS_connect, "connect", true),
    (libc::SYS_close, "close", true),
    (libc::SYS_fsync, "fsync", true),
    (libc::SYS_fdatasync, "fdatasync", true),
    (libc::SYS_ftruncate, "ftruncate", true),
    (libc::SYS_flock, "flock", true),
    (libc::SYS_ioctl, "ioctl", true),
    (libc::SYS_splice, "splice", true),
    (libc::SYS_getdents64, "getdents", true),
    (libc::SYS_openat, "openat", false),
    (libc::SYS_newfstatat, "stat", false),
    (libc::SYS_unlinkat, "unlinkat", false),
    (libc::SYS_renameat2, "rename", false),
    (libc::SYS_execve, "execve", false),
    (libc::SYS_clone, "clone", false),
    (libc::SYS_clone3, "clone", false),
    (libc::SYS_wait4, "wait4", false),
    (libc::SYS_futex, "futex (a lock)", false),
    (libc::SYS_ppoll, "poll", false),
    (libc::SYS_clock_nanosleep, "nanosleep", false),
    (libc::SYS_getrandom, "getrandom", false),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn a_thread_that_waits_for_a_pipe_is_found_in_its_call() {
        let threads = Threads::open().unwrap();
        let (mut reader, mut writer) = io::pipe().unwrap();
        let number = reader.as_raw_fd();
        let (told, hear) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            told.send(crate::cpu::thread_id()).unwrap();
            reader.read_exact(&mut [0]).unwrap();
        });
        let thread = hear.recv().unwrap();
        let wanted = format!("read on descriptor {number} (pipe:[");
        let end = crate::clock::monotonic() + 15_000_000_000;
        loop {
            let place = threads.sleeping(thread);
            if place.as_ref().is_some_and(|place| place.starts_with(&wanted)) {
                break;
            }
            assert!(crate::clock::monotonic() < end, "{place:?}");
            std::thread::yield_now();
        }
        assert_eq!(threads.sleeping(crate::cpu::thread_id()), None, "it runs");
        assert_eq!(threads.sleeping(i32::MAX), None, "there is no such thread");
        writer.write_all(b"x").unwrap();
        waiting.join().unwrap();
    }
}
