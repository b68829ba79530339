//! The process: limits, identity, background. Never called once threads run, save where it says so.

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

/// Asks for `wanted` descriptors, raising the hard limit where permitted. Returns the soft limit in
/// force afterwards, which may be lower.
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

/// Detaches from the terminal. The child returns; the parent is told the child's number, does what
/// has to be done before it is seen to end, and ends with the status that `parent` returns.
///
/// # Errors
/// No process could be made.
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

/// Whether a descriptor stays open in programs that this process starts. May be called at any time.
///
/// # Errors
/// It is not open.
pub fn keep_across_exec(fd: Fd, keep: bool) -> io::Result<()> {
    // SAFETY: fcntl(2) changes a flag of a descriptor number and touches no memory.
    let result = unsafe { libc::fcntl(fd, libc::F_SETFD, if keep { 0 } else { libc::FD_CLOEXEC }) };
    check(result)
}

/// Connects the standard streams to /dev/null.
pub fn silence() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// Gives the calling thread a table of descriptors of its own, with the standard streams only.
///
/// While all threads share one table, the kernel counts references at every call on a descriptor; a
/// process whose only other thread has left the table is spared that. Where the kernel cannot do it
/// (before Linux 5.9) nothing changes.
///
/// Signals go to the other threads from now on: here, their handler would find no descriptor to
/// ring, and the signal would be lost.
pub fn leave_descriptors() {
    leave_descriptors_but(&[]);
}

/// As [`leave_descriptors`], but keeps these descriptors as well.
pub fn leave_descriptors_but(kept: &[Fd]) {
    const UNSHARE: libc::c_uint = 1 << 1;
    if crate::signal::leave_to_others().is_err() {
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

/// Lets no program that is started gain privileges, such as by a setuid bit, for good.
///
/// # Errors
/// The system does not know how.
pub fn gain_no_privileges() -> io::Result<()> {
    // SAFETY: prctl(2) with this option takes plain numbers; it holds for all later threads.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// Has the system end this process (SIGTERM) when its parent dies. A change of user takes that
/// back.
///
/// # Errors
/// The system does not know how.
pub fn end_with_parent() -> io::Result<()> {
    // SAFETY: prctl(2) with this option takes plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0) })
}

/// Lets the process leave a core dump when it dies, as far as limits and a change of its user stand
/// against it.
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

/// Moves into a directory tree for good.
pub fn chroot(path: &Path) -> io::Result<()> {
    rustix::process::chroot(path)?;
    std::env::set_current_dir("/")
}

/// Gives up the group, then the user, for good.
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

/// Lets other threads go before the calling one. Without the permission nothing changes.
pub fn give_way() {
    const LEAST: i32 = 19;
    let _ = rustix::process::setpriority_process(None, LEAST);
}

/// Whether the process has the rights of the superuser, and whether it is in the superuser's group.
pub fn is_privileged() -> (bool, bool) {
    (rustix::process::geteuid().is_root(), rustix::process::getegid().is_root())
}

/// CPU seconds used so far, user and system together.
pub fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
