//! How a signal of the master reaches a process that it has started: by kill(2), else over the
//! worker's socket pair.
//!
//! A worker that has changed its user cannot be signalled by a master without CAP_KILL. The worker
//! takes the number over its socket pair instead and raises the signal itself, which is always
//! permitted.

use super::master_state::Child;
use admin::Reload;
use std::fmt;
use std::io::ErrorKind;
use sys::signal;

/// How long a worker may take to confirm a signal, in milliseconds.
const PATIENCE: u32 = 2_000;
/// The first word of a worker's confirmation.
const CONFIRMED: &[u8] = b"Signal ";

/// Whether a process can be signalled in one of the two ways; one that has ended counts as well.
pub(crate) fn is_possible(child: &Child) -> bool {
    let sent = signal::send(child.process.pid as i32, 0);
    child.channel >= 0 || !sent.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// A signal that the system forbids to send.
#[derive(Debug)]
pub(crate) struct SignalError {
    number: i32,
    pid: u32,
    error: std::io::Error,
}

impl fmt::Display for SignalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, pid, error } = self;
        let name = sys::fork::signal_name(*number);
        write!(f, "Cannot send signal {number} ({name}) to process {pid}: {error}")
    }
}

impl std::error::Error for SignalError {}

/// Delivers a signal. A process that has ended already needs none.
///
/// # Errors
/// The system forbids the signal, and the process does not take it over its socket.
pub(crate) fn deliver(child: &Child, number: i32) -> Result<(), SignalError> {
    let pid = child.process.pid;
    let Err(error) = signal::send(pid as i32, number) else { return Ok(()) };
    if error.kind() != ErrorKind::PermissionDenied || confirmed(child.channel, number) {
        return Ok(());
    }
    Err(SignalError { number, pid, error })
}

/// Tells a worker of a reload that failed. It is only shown, so that no answer is waited for.
pub(crate) fn tell_of_failure(worker: &Child, reload: &Reload) {
    let Ok(connection) = sys::socketpair::connect(worker.channel) else { return };
    // A word of the command language without anything that has a meaning there.
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || "./:()[],=-".contains(*letter);
    let word = |letter: char| if plain(&letter) { letter } else { '_' };
    let text: String = reload.text.chars().map(word).collect();
    let command = format!("_reload_failed {} {} {text}\n", reload.at, reload.pid);
    let _ = sys::socketpair::send(connection, command.as_bytes(), &[]);
    sys::close(connection);
}

/// Whether a worker confirms that it raises a signal, or ends by it.
fn confirmed(channel: i32, number: i32) -> bool {
    if channel < 0 {
        return false;
    }
    let Ok(connection) = sys::socketpair::connect(channel) else { return false };
    let request = format!("_signal {number}\n");
    let sent = sys::socketpair::send(connection, request.as_bytes(), &[]);
    let answered =
        sent.is_ok() && sys::socketpair::wait_readable(connection, PATIENCE).unwrap_or(false);
    let mut answer = [0; 256];
    let received = answered.then(|| sys::socketpair::receive(connection, &mut answer));
    sys::close(connection);
    match received {
        // The worker has ended before it could answer.
        Some(Ok((0, _))) => true,
        Some(Ok((count, _))) => answer[..count].starts_with(CONFIRMED),
        _ => false,
    }
}
