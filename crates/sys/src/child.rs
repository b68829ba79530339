//! Programs that run beside this process: start one, hear of its end, send it a signal. Never waits for one.
//!
//! A child is a descriptor (pidfd) that becomes readable when the program has ended. Its number
//! stays taken until [`ending`] has told how it ended.

use crate::{Fd, borrow, into_raw};
use rustix::process::{self, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

/// A program, what it is told, and all of its environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// A path, or a name that is looked for in the `PATH` of `env`.
    pub name: String,
    /// Its arguments after the name.
    pub args: Vec<String>,
    /// Names and values; there are no others.
    pub env: Vec<(String, String)>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this status, 0 to 255.
    Exited(i32),
    /// By a signal.
    Killed,
}

/// Starts a program with nothing to read; what it prints goes where this process prints. The
/// calling thread waits for the system to load it, and for nothing else.
///
/// # Errors
/// There is no such program, it may not be run, or the system has no room for it.
pub fn start(program: &Program) -> io::Result<Fd> {
    let env = program.env.iter().map(|(name, value)| (name, value));
    let mut command = Command::new(&program.name);
    let command = command.args(&program.args).env_clear().envs(env).stdin(Stdio::null());
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    match process::pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(fd) => Ok(into_raw(fd)),
        Err(error) => {
            // Nobody would hear of its end: it goes at once, and its number with it.
            let _ = child.kill().and_then(|()| child.wait());
            Err(error.into())
        }
    }
}

/// How a child ended, once; `None` while it runs.
///
/// # Errors
/// It has been told before.
pub fn ending(child: Fd) -> io::Result<Option<Ending>> {
    let fd = borrow(child)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let status = process::waitid(WaitId::PidFd(fd.as_fd()), options)?;
    Ok(status.map(|status| status.exit_status().map_or(Ending::Killed, Ending::Exited)))
}

/// Asks a child to end, or makes it end by `force`.
///
/// # Errors
/// It has ended.
pub fn end(child: Fd, force: bool) -> io::Result<()> {
    let signal = if force { Signal::KILL } else { Signal::TERM };
    Ok(process::pidfd_send_signal(borrow(child)?, signal)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        let args = vec!["-c".into(), script.into(), "sh".into(), "one".into()];
        Program { name: "/bin/sh".into(), args, env: vec![("A".into(), "b".into())] }
    }

    fn wait(child: Fd) -> Ending {
        loop {
            if let Some(ending) = ending(child).unwrap() {
                crate::close(child);
                return ending;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn arguments_environment_and_status() {
        let script = "test \"$1 $A\" = 'one b' -a -z \"$HOME\" && exit 7";
        assert_eq!(wait(start(&shell(script)).unwrap()), Ending::Exited(7));
        let nothing = start(&Program { name: "/nonexistent".into(), ..Program::default() });
        assert_eq!(nothing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_child_can_be_ended() {
        let child = start(&shell("while :; do :; done")).unwrap();
        assert_eq!(ending(child).unwrap(), None);
        end(child, false).unwrap();
        assert_eq!(wait(child), Ending::Killed);
    }
}
