//! Processes that are this one once more: fork, exec in place, and how children end. Never called
//! once threads run.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

/// Which of the two a process is after [`fork`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The process that called; the child's number.
    Parent(u32),
    /// The new one.
    Child,
}

/// Makes a copy of this process.
///
/// # Errors
/// The system has no room for it.
pub fn fork() -> io::Result<Side> {
    // SAFETY: only this thread exists, as the module demands, so the child is whole.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        child => Ok(Side::Parent(child.unsigned_abs())),
    }
}

/// Lets a copy of this process find out something; what it says, up to 4096 bytes. The copy ends
/// before this returns.
///
/// # Errors
/// The system has no room for it.
pub fn ask_copy(task: impl FnOnce() -> String) -> io::Result<String> {
    let (own, theirs) = crate::pair::pair()?;
    match fork() {
        Err(error) => {
            [own, theirs].into_iter().for_each(crate::close);
            Err(error)
        }
        Ok(Side::Child) => {
            let text = task();
            if !text.is_empty() {
                let _ = crate::pair::send(theirs, text.as_bytes(), &[]);
            }
            end(0)
        }
        Ok(Side::Parent(pid)) => {
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
            let received = crate::pair::receive(own, &mut bytes);
            crate::close(own);
            let count = received.map_or(0, |(count, _)| count);
            Ok(String::from_utf8_lossy(&bytes[..count]).into_owned())
        }
    }
}

/// Becomes another program, with these arguments (its name first) and all of this environment; a
/// name without a slash is looked for in the `PATH` of this process. Signals that are held stay so.
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

/// Ends this process at once: what its parent would do at its end is left to the parent.
pub fn end(status: i32) -> ! {
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(status) }
}

/// Has this process and what it becomes read nothing.
///
/// # Errors
/// There is no /dev/null.
pub fn read_nothing() -> io::Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(())
}

/// Sets a variable of this process's own environment.
#[expect(clippy::disallowed_methods, reason = "this is where it is made safe")]
pub fn set_variable(name: &str, value: &str) {
    // SAFETY: only this thread exists, as the module demands, so nobody reads at the same time.
    unsafe { std::env::set_var(name, value) };
}

/// Removes one.
pub fn remove_variable(name: &str) {
    // SAFETY: as above.
    unsafe { std::env::remove_var(name) };
}

/// A child that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its number.
    pub pid: u32,
    /// Its status; 128 and the signal if one has ended it.
    pub status: i32,
    /// The signal, or 0.
    pub signal: i32,
}

/// Takes a child that has ended off the system's list, if there is one. May be called at any time.
pub fn reap() -> Option<Ended> {
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
        return Some(Ended { pid: pid.unsigned_abs(), status, signal });
    }
}

/// How the C library calls a signal, such as "Killed".
pub fn signal_name(signal: i32) -> String {
    // SAFETY: strsignal(3) returns a text that is valid until its next call on this thread.
    let text = unsafe { std::ffi::CStr::from_ptr(libc::strsignal(signal)) };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_says_what_it_has_found() {
        assert_eq!(ask_copy(|| "no".to_owned()).expect("a copy"), "no");
        assert_eq!(ask_copy(String::new).expect("a copy"), "");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = exec(OsStr::new("/nonexistent"), &["x".into()], &[]);
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(signal_name(9), "Killed");
    }
}
