//! Child processes: start a program, read how it ended, signal it.
//!
//! A child is a pidfd that becomes readable when the program has ended. The process id stays taken
//! until [`exit_status`] has collected the status.

use crate::{Fd, borrow, into_raw};
use rustix::process::{self, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

/// A program to run, with its arguments and its whole environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// A path, or a name that is looked up in the `PATH` of `env`.
    pub name: String,
    /// Its arguments after the name.
    pub args: Vec<String>,
    /// Names and values of the environment; nothing is inherited.
    pub env: Vec<(String, String)>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The process exited with this status, 0 to 255.
    Exited(i32),
    /// A signal killed it.
    Killed,
}

/// Starts a program with /dev/null as its input and this process's output. The calling thread waits
/// until the system has loaded it.
///
/// # Errors
/// There is no such program, it may not be executed, or the system lacks memory or processes.
pub fn start(program: &Program) -> io::Result<Fd> {
    let env = program.env.iter().map(|(name, value)| (name, value));
    let mut command = Command::new(&program.name);
    let command = command.args(&program.args).env_clear().envs(env).stdin(Stdio::null());
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    match process::pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(fd) => Ok(into_raw(fd)),
        Err(error) => {
            // Without a pidfd its end could not be noticed, so the child is killed and reaped at
            // once.
            let _ = child.kill().and_then(|()| child.wait());
            Err(error.into())
        }
    }
}

/// The exit status of a child; `None` while it runs. The status can be collected once.
///
/// # Errors
/// The status was collected before.
pub fn exit_status(child: Fd) -> io::Result<Option<ExitStatus>> {
    let fd = borrow(child)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let status = process::waitid(WaitId::PidFd(fd.as_fd()), options)?;
    Ok(status.map(|status| status.exit_status().map_or(ExitStatus::Killed, ExitStatus::Exited)))
}

/// Asks a child to end (SIGTERM), or kills it with `force`.
///
/// # Errors
/// The child has ended.
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

    fn wait(child: Fd) -> ExitStatus {
        loop {
            if let Some(ending) = exit_status(child).unwrap() {
                crate::close(child);
                return ending;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn arguments_environment_and_status() {
        let script = "test \"$1 $A\" = 'one b' -a -z \"$HOME\" && exit 7";
        assert_eq!(wait(start(&shell(script)).unwrap()), ExitStatus::Exited(7));
        let nothing = start(&Program { name: "/nonexistent".into(), ..Program::default() });
        assert_eq!(nothing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_child_can_be_ended() {
        let child = start(&shell("while :; do :; done")).unwrap();
        assert_eq!(exit_status(child).unwrap(), None);
        end(child, false).unwrap();
        assert_eq!(wait(child), ExitStatus::Killed);
    }
}
