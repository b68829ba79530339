//! Limits, identity and background mode of the process.
//!
//! The functions must be called while the process has one thread, except where they say otherwise.

use crate::Fd;
use std::io;
use std::path::Path;

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Soft and hard limit of open descriptors.
pub fn descriptor_limit() -> (u64, u64) {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    (limit.current.unwrap_or(u64::MAX), limit.maximum.unwrap_or(u64::MAX))
}

/// Raises the limit of descriptors to `wanted`, the hard limit too if permitted. Returns the soft
/// limit afterwards, which may be lower.
pub fn raise_descriptor_limit(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let (current, maximum) = descriptor_limit();
    if current >= wanted {
        return current;
    }
    let ask = |current: u64, maximum: u64| {
        let limit = Rlimit { current: Some(current), maximum: Some(maximum) };
        setrlimit(Resource::Nofile, limit).is_ok()
    };
    if !ask(wanted, maximum.max(wanted)) {
        ask(wanted.min(maximum), maximum);
    }
    descriptor_limit().0
}

/// Limits the address space of the process, in bytes.
pub fn limit_memory(bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    Ok(setrlimit(Resource::As, limit)?)
}

/// Detaches from the terminal. The function returns in the child; the parent calls `parent` with
/// the child's process id and exits with the status that it returns.
///
/// # Errors
/// The fork failed.
pub fn daemonize(parent: impl FnOnce(u32) -> i32) -> io::Result<()> {
    // SAFETY: only this thread exists, as the module demands, so the child is whole.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {}
        child => {
            let status = parent(child.unsigned_abs());
            // SAFETY: ends this process without running destructors that belong to the child now.
            unsafe { libc::_exit(status) }
        }
    }
    rustix::process::setsid()?;
    Ok(())
}

/// Sets whether a descriptor stays open across exec. May be called while threads run.
///
/// # Errors
/// The descriptor is not open.
pub fn keep_across_exec(fd: Fd, keep: bool) -> io::Result<()> {
    // SAFETY: fcntl(2) changes a flag of a descriptor number and touches no memory.
    let result = unsafe { libc::fcntl(fd, libc::F_SETFD, if keep { 0 } else { libc::FD_CLOEXEC }) };
    check(result)
}

/// Connects the standard streams to /dev/null.
pub fn detach_standard_streams() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// Gives the calling thread a descriptor table of its own, with the standard streams only.
///
/// While threads share a table, the kernel counts references in each call on a descriptor; it does
/// not in a process whose only other thread has left the table. Before Linux 5.9 nothing changes.
///
/// The thread blocks all signals from now on: their handler would find no descriptor to write to in
/// this thread, and the signal would be lost.
pub fn unshare_descriptors() {
    unshare_descriptors_except(&[]);
}

/// As [`unshare_descriptors`], but keeps these descriptors as well.
pub fn unshare_descriptors_except(kept: &[Fd]) {
    const UNSHARE: libc::c_uint = 1 << 1;
    if crate::signal::block_all_in_thread().is_err() {
        return;
    }
    let mut kept: Vec<u32> = kept.iter().filter_map(|fd| u32::try_from(*fd).ok()).collect();
    kept.retain(|fd| *fd > 2);
    kept.sort_unstable();
    kept.push(libc::c_uint::MAX);
    let mut from = 3;
    for fd in kept {
        let last = if fd == libc::c_uint::MAX { fd } else { fd - 1 };
        if from <= last {
            // SAFETY: only this thread's own table is affected, and it uses no descriptor but the
            // standard streams and those kept from here on, as the caller promises by calling this.
            unsafe { libc::syscall(libc::SYS_close_range, from, last, UNSHARE) };
        }
        from = fd.saturating_add(1);
    }
}

/// Keeps programs that are started from gaining privileges, for instance by a setuid bit;
/// irrevocable.
///
/// # Errors
/// The kernel lacks this.
pub fn set_no_new_privileges() -> io::Result<()> {
    // SAFETY: prctl(2) with this option takes plain numbers; it holds for all later threads.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// Makes the system end this process (SIGTERM) when its parent dies. A change of user cancels this.
///
/// # Errors
/// The kernel lacks this.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: prctl(2) with this option takes plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0) })
}

/// Enables core dumps, where limits or a change of user have disabled them.
///
/// # Errors
/// A limit or the flag could not be changed.
pub fn allow_core_dumps() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // SAFETY: prctl(2) with this option takes plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) })?;
    for resource in [Resource::Core, Resource::Fsize] {
        if setrlimit(resource, Rlimit { current: None, maximum: None }).is_err() {
            let maximum = getrlimit(resource).maximum;
            setrlimit(resource, Rlimit { current: maximum, maximum })?;
        }
    }
    Ok(())
}

/// Changes the root directory; irrevocable.
pub fn chroot(path: &Path) -> io::Result<()> {
    rustix::process::chroot(path)?;
    std::env::set_current_dir("/")
}

/// Changes the group, then the user; irrevocable.
pub fn drop_privileges(uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    if let Some(gid) = gid {
        // SAFETY: an empty list of groups is read, that is, nothing.
        let groups = unsafe { libc::setgroups(0, std::ptr::null()) };
        if groups != 0 && rustix::process::geteuid().is_root() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: no memory is involved; this also holds for all later threads.
        check(unsafe { libc::setgid(gid) })?;
    }
    if let Some(uid) = uid {
        // SAFETY: no memory is involved; this also holds for all later threads.
        check(unsafe { libc::setuid(uid) })?;
    }
    Ok(())
}

/// Gives the calling thread the lowest priority. Without the permission nothing changes.
pub fn lower_priority() {
    const LEAST: i32 = 19;
    let _ = rustix::process::setpriority_process(None, LEAST);
}

/// Whether the effective user is root, and whether the effective group is.
pub fn is_privileged() -> (bool, bool) {
    (rustix::process::geteuid().is_root(), rustix::process::getegid().is_root())
}

/// CPU seconds of the process so far, user and system.
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
