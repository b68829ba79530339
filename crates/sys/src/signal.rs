//! Signals as bits and a descriptor that a poller can watch; the handler itself only sets a bit and
//! writes.

use crate::Fd;
use std::io;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The null signal: tests whether a signal could be sent.
pub const NONE: i32 = 0;
/// Interrupt from the keyboard.
pub const INT: i32 = libc::SIGINT;
/// Request to stop.
pub const TERM: i32 = libc::SIGTERM;
/// Hang-up: dump server states.
pub const HUP: i32 = libc::SIGHUP;
/// Quit: dump pools.
pub const QUIT: i32 = libc::SIGQUIT;
/// Soft stop.
pub const USR1: i32 = libc::SIGUSR1;
/// Reload.
pub const USR2: i32 = libc::SIGUSR2;
/// Pause listeners.
pub const TTOU: i32 = libc::SIGTTOU;
/// Resume listeners.
pub const TTIN: i32 = libc::SIGTTIN;
/// A child has ended.
pub const CHLD: i32 = libc::SIGCHLD;
/// Kills a process; cannot be caught.
pub const KILL: i32 = libc::SIGKILL;
/// Stops a process until SIGCONT.
pub const STOP: i32 = libc::SIGSTOP;
/// Continues a stopped process.
pub const CONT: i32 = libc::SIGCONT;

static PENDING: AtomicU64 = AtomicU64::new(0);
static EVENTFD: AtomicI32 = AtomicI32::new(-1);

extern "C" fn record_signal(signal: libc::c_int) {
    PENDING.fetch_or(1 << signal, Ordering::Relaxed);
    let fd = EVENTFD.load(Ordering::Relaxed);
    let one = 1u64.to_ne_bytes();
    // SAFETY: the location is this thread's own; the interrupted code must find its errno
    // unchanged.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: write(2) is async-signal-safe and reads eight bytes that are alive.
    unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Catches these signals from now on; each sets its bit and makes the returned descriptor readable.
pub fn listen(signals: &[i32]) -> io::Result<Fd> {
    let bell = match EVENTFD.load(Ordering::Relaxed) {
        -1 => crate::eventfd()?,
        bell => bell,
    };
    EVENTFD.store(bell, Ordering::Relaxed);
    for signal in signals {
        set(*signal, record_signal as *const () as libc::sighandler_t)?;
    }
    Ok(bell)
}

/// Ignores a signal from now on.
pub fn ignore(signal: i32) -> io::Result<()> {
    set(signal, libc::SIG_IGN)
}

/// Ignores SIGPIPE: a write to a closed connection is an error, not the end.
pub fn ignore_pipe() -> io::Result<()> {
    ignore(libc::SIGPIPE)
}

/// Restores the default action of a signal.
pub fn restore(signal: i32) -> io::Result<()> {
    set(signal, libc::SIG_DFL)
}

fn set(signal: i32, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sigaction`: no flags, empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is initialised; its handler is a function of the right type or a constant.
    match unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Blocks signals, or unblocks them and delivers pending ones. The mask survives exec. Must be
/// called while the process has one thread.
///
/// # Errors
/// A number is not that of a signal.
pub fn block(signals: &[i32], hold: bool) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sigset_t`, which the next call initialises anyway.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a set of this function.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in signals {
        // SAFETY: as above; a wrong number is refused.
        if unsafe { libc::sigaddset(&raw mut set, *signal) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let how = if hold { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    // SAFETY: the set is initialised; the old one is not asked for.
    match unsafe { libc::sigprocmask(how, &raw const set, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Blocks all signals in the calling thread.
///
/// # Errors
/// The system refuses.
pub(crate) fn block_all_in_thread() -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sigset_t`, which the next call initialises anyway.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a set of this function.
    unsafe { libc::sigfillset(&raw mut set) };
    // SAFETY: the set is initialised; the old one is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) } {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

/// The signals caught since the last call, in ascending order.
pub fn take() -> impl Iterator<Item = i32> {
    let bits = PENDING.swap(0, Ordering::Relaxed);
    (1..64).filter(move |signal| bits & (1 << signal) != 0)
}

/// Sends a signal to a process.
pub fn send(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
