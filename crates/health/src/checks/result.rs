//! The status of a check, from the bytes and errors of its exchange. Pure, but for the memory that
//! parsing borrows.

use balance::{CheckResult, CheckStatus};
use htx::Head;
use settings::HttpCheck;
use std::io;
use wire::h1::{HeadKind, HeadParser, Limits};

/// The state of a response so far.
#[derive(Debug)]
pub(super) enum Answer {
    /// Its head is not complete.
    Partial,
    /// The check is over.
    Final(CheckResult),
}

/// A result without a code.
pub(super) fn plain(status: CheckStatus, info: &str) -> CheckResult {
    CheckResult { status, info: info.to_owned(), ..CheckResult::default() }
}

/// The system's words for an error, without its number.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The connection could not be made.
pub(super) fn unconnected(error: &io::Error) -> CheckResult {
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable, PermissionDenied,
        TimedOut,
    };
    let general = || format!("General socket error ({})", words(error));
    match error.kind() {
        ConnectionRefused | ConnectionReset | HostUnreachable | PermissionDenied | TimedOut => {
            plain(CheckStatus::L4Connection, &words(error))
        }
        NetworkUnreachable => plain(CheckStatus::L4Connection, &general()),
        _ => plain(CheckStatus::SocketError, &general()),
    }
}

/// The connection broke after it had been made.
pub(super) fn broken(error: &io::Error) -> CheckResult {
    plain(CheckStatus::SocketError, &words(error))
}

/// The result of the response in `bytes`, of which more may come unless `ended`. Interim responses
/// are passed over.
pub(super) fn http(check: &HttpCheck, bytes: &[u8], ended: bool, head: &mut Head) -> Answer {
    let limits = Limits { head_bytes: u32::MAX, header_lines: u16::MAX, ..Limits::DEFAULT };
    let mut rest = bytes;
    loop {
        head.clear();
        match HeadParser::new().parse(HeadKind::Response, rest, limits, head) {
            Ok(Some(length)) if (100..200).contains(&head.status()) && head.status() != 101 => {
                rest = &rest[length..];
            }
            Ok(Some(_)) => return Answer::Final(status(check, head)),
            Ok(None) if !ended => return Answer::Partial,
            Ok(None) | Err(_) => return Answer::Final(plain(CheckStatus::L7Response, "")),
        }
    }
}

fn status(check: &HttpCheck, head: &Head) -> CheckResult {
    let status = head.status();
    let found = check.statuses.iter().any(|(low, high)| (*low..=*high).contains(&status));
    let code = Some(status.into());
    if found != check.negated {
        return CheckResult { status: CheckStatus::L7Ok, code, ..CheckResult::default() };
    }
    let info = String::from_utf8_lossy(head.reason()).into_owned();
    CheckResult { status: CheckStatus::L7Status, code, info, duration_ms: 0 }
}
