//! Processes that run this program once more: fork, exec, and the reaping of children.
//!
//! The functions must be called while the process has one thread, except where they say otherwise.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

/// Result of [`fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkSide {
    /// In the calling process; with the child's process id.
    Parent(u32),
    /// In the new process.
    Child,
}

/// Forks this process.
///
/// # Errors
/// The system lacks memory or processes.
pub fn fork() -> io::Result<ForkSide> {
    // SAFETY: only this thread exists, as the module demands, so the child is whole.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(ForkSide::Child),
        child => Ok(ForkSide::Parent(child.unsigned_abs())),
    }
}

/// Runs `task` in a fork of this process and returns its text, up to 4096 bytes. The fork has ended
/// when this returns.
///
/// # Errors
/// The system lacks memory or processes.
pub fn run_in_fork(task: impl FnOnce() -> String) -> io::Result<String> {
    let (own, theirs) = crate::socketpair::pair()?;
    match fork() {
        Err(error) => {
            [own, theirs].into_iter().for_each(crate::close);
            Err(error)
        }
        Ok(ForkSide::Child) => {
            let text = task();
            if !text.is_empty() {
                let _ = crate::socketpair::send(theirs, text.as_bytes(), &[]);
            }
            exit_now(0)
        }
        Ok(ForkSide::Parent(pid)) => {
            crate::close(theirs);
            let mut status = 0;
            loop {
                // SAFETY: the pointer is to an integer of this function.
                let ended = unsafe { libc::waitpid(pid as i32, &raw mut status, 0) };
                let error = io::Error::last_os_error();
                if ended >= 0 || error.kind() != io::ErrorKind::Interrupted {
                    break;
                }
            }
            let mut bytes = [0; 4096];
            let received = crate::socketpair::receive(own, &mut bytes);
            crate::close(own);
            let count = received.map_or(0, |(count, _)| count);
            Ok(String::from_utf8_lossy(&bytes[..count]).into_owned())
        }
    }
}

/// Replaces this process by a program with these arguments (its name first) and this environment; a
/// name without a slash is looked up in the `PATH` of this process. Blocked signals stay blocked.
pub fn exec(program: &OsStr, args: &[OsString], env: &[(OsString, OsString)]) -> io::Error {
    let text = |bytes: &OsStr| CString::new(bytes.as_bytes());
    let pair = |(name, value): &(OsString, OsString)| {
        let mut line = name.clone();
        line.push("=");
        line.push(value);
        text(&line)
    };
    let made = text(program).and_then(|program| {
        let args: Result<Vec<_>, _> = args.iter().map(|word| text(word)).collect();
        let env: Result<Vec<_>, _> = env.iter().map(pair).collect();
        Ok((program, args?, env?))
    });
    let Ok((program, args, env)) = made else { return io::ErrorKind::InvalidInput.into() };
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|it| it.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (args, env) = (pointers(&args), pointers(&env));
    // SAFETY: all three are texts or lists of texts that end with a NUL each, and outlive the call.
    unsafe { libc::execvpe(program.as_ptr(), args.as_ptr(), env.as_ptr()) };
    io::Error::last_os_error()
}

/// Ends this process at once, without exit handlers, which belong to the parent.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(status) }
}

/// Connects the standard input to /dev/null.
///
/// # Errors
/// There is no /dev/null.
pub fn close_stdin() -> io::Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(())
}

/// Sets a variable in the environment of this process.
#[expect(clippy::disallowed_methods, reason = "this is where it is made safe")]
pub fn set_variable(name: &str, value: &str) {
    // SAFETY: only this thread exists, as the module demands, so no thread reads at the same time.
    unsafe { std::env::set_var(name, value) };
}

/// Removes a variable from the environment of this process.
pub fn remove_variable(name: &str) {
    // SAFETY: as above.
    unsafe { std::env::remove_var(name) };
}

/// A child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedChild {
    /// Its process id.
    pub pid: u32,
    /// Its exit status; 128 plus the signal if a signal killed it.
    pub status: i32,
    /// The signal that killed it, or 0.
    pub signal: i32,
}

/// Reaps one child that has ended, if any. May be called while threads run.
pub fn reap() -> Option<EndedChild> {
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to an integer of this function.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if pid < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
            continue;
        }
        if pid <= 0 {
            return None;
        }
        let signal = if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 };
        let status = if signal > 0 { 128 + signal } else { libc::WEXITSTATUS(status) };
        return Some(EndedChild { pid: pid.unsigned_abs(), status, signal });
    }
}

/// Text of a signal as the C library has it, such as "Killed".
pub fn signal_name(signal: i32) -> String {
    // SAFETY: strsignal(3) returns a text that is valid until its next call on this thread.
    let text = unsafe { std::ffi::CStr::from_ptr(libc::strsignal(signal)) };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_returns_its_text() {
        assert_eq!(run_in_fork(|| "no".to_owned()).expect("a copy"), "no");
        assert_eq!(run_in_fork(String::new).expect("a copy"), "");
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = exec(OsStr::new("/nonexistent"), &["x".into()], &[]);
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(signal_name(9), "Killed");
    }
}
