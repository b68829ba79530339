//! A check by a program of the operator's (`option external-check`): starts it, waits for its exit
//! status.

use super::checker::Checker;
use crate::checks::check_run::{CheckRun, Subject, Underway};
use crate::checks::result;
use balance::{CheckResult, CheckStatus};
use engine::state::backend::check_record::Record;
use engine::state::worker::Worker;
use reactor::{Address, ChildProgram, ExitStatus, Program};
use settings::{External, Mode};
use std::rc::Rc;
use std::sync::Arc;

/// The argument in place of a missing address or port.
const NONE: &str = "NOT_USED";

/// The time in milliseconds that a program gets to end after its TERM signal.
const GRACE_MS: u32 = 1_000;

/// Runs one check to its end, and the program to its own.
pub(super) async fn run(checker: Rc<Checker>, record: Record, external: Arc<External>) {
    let underway = Underway::new(&checker, 1);
    let turn = CheckRun::new(&checker, record);
    let Some(subject) = turn.due_subject() else { return };
    let thread = &checker.worker.thread;
    let span = subject.server.settings.balance.intervals.inter;
    let started = match external.permitted {
        true => ChildProgram::start(thread, &program(&checker.worker, &external, &subject)),
        false => Err(std::io::ErrorKind::PermissionDenied.into()),
    };
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            // As if the program had failed: HAProxy finds out after it has forked.
            return turn.report(result(CheckStatus::ProcessError, 255, &result::words(&error)));
        }
    };
    let deadline = thread.tick().plus_ms(span);
    while !deadline.is_due(thread.tick()) {
        match child.ending() {
            Some(ExitStatus::Exited(0)) => {
                return turn.report(result(CheckStatus::ProcessOk, 0, ""));
            }
            Some(ending) => {
                let code = if let ExitStatus::Exited(status) = ending { status } else { -1 };
                return turn.report(result(CheckStatus::ProcessError, code, ""));
            }
            None => drop(thread.scheduler().wait(Some(deadline)).await),
        }
    }
    turn.report(result(CheckStatus::ProcessTimeout, 0, ""));
    child.end(false);
    let deadline = thread.tick().plus_ms(GRACE_MS);
    while child.ending().is_none() && !deadline.is_due(thread.tick()) {
        thread.scheduler().wait(Some(deadline)).await;
    }
    if child.ending().is_none() {
        child.end(true);
        // The system keeps the process until its exit status is read. The next check does not wait
        // for that.
        drop((turn, underway));
        while child.ending().is_none() {
            thread.scheduler().wait(None).await;
        }
    }
}

fn result(status: CheckStatus, code: i32, info: &str) -> CheckResult {
    CheckResult { code: Some(code), ..result::plain(status, info) }
}

/// The command with the arguments and environment of the manual (`external-check command`).
fn program(worker: &Worker, external: &External, subject: &Subject<'_>) -> Program {
    let Subject { proxy, server, .. } = *subject;
    let section = worker.shared.proxies.get(proxy.index);
    let front = section.and_then(|section| section.front.as_ref());
    let binds = front.into_iter().flat_map(|front| &front.settings.binds);
    let ours = binds.map(|bind| split(&bind.address)).next().unwrap_or_default();
    let theirs = split(&server.location.now().address);
    let tcp = proxy.settings.mode == Mode::Tcp;
    let env = [
        ("PATH", external.path.clone()),
        ("HAPROXY_PROXY_NAME", proxy.name().to_owned()),
        ("HAPROXY_PROXY_ID", proxy.settings.id.to_string()),
        ("HAPROXY_PROXY_ADDR", ours.0.clone()),
        ("HAPROXY_PROXY_PORT", ours.1.clone()),
        ("HAPROXY_SERVER_NAME", server.state.name().to_owned()),
        ("HAPROXY_SERVER_ID", server.state.id().to_string()),
        ("HAPROXY_SERVER_ADDR", theirs.0.clone()),
        ("HAPROXY_SERVER_PORT", theirs.1.clone()),
        ("HAPROXY_SERVER_MAXCONN", server.state.load().maxconn().to_string()),
        ("HAPROXY_SERVER_CURCONN", server.sessions.current().to_string()),
        ("HAPROXY_SERVER_SSL", "0".to_owned()),
        ("HAPROXY_SERVER_PROTO", if tcp { "tcp" } else { "h1" }.to_owned()),
    ];
    let argument = |text: String| if text.is_empty() { NONE.to_owned() } else { text };
    Program {
        name: external.command.clone(),
        args: [ours.0, ours.1, theirs.0, theirs.1].map(argument).into(),
        env: env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    }
}

/// Address and port as text; a path has no port.
fn split(address: &Address) -> (String, String) {
    match address {
        Address::Inet(address) => (address.ip().to_string(), address.port().to_string()),
        Address::Unix(path) => (path.to_string_lossy().into_owned(), String::new()),
        Address::Pair(_) => (address.to_string(), String::new()),
    }
}
