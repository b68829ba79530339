//! The words in which state changes are announced, as existing tools expect them.

use std::fmt::Write;

use crate::{Admin, CheckResult, Health, OpState, Server, Tracked, Usable, Verdict};

/// The sessions of a server that left or joined.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sessions {
    /// Sessions still on the server.
    pub active: u32,
    /// Sessions taken from its queue, or handed to it from the backend's.
    pub requeued: u32,
    /// Sessions left in the queue.
    pub queued: u32,
}

/// Where a change comes from, in the text's own words.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// The notice is not logged: `option log-health-checks` has written a line of its own.
    Silent,
    /// The result of a check.
    Check(&'a CheckResult),
    /// A command.
    Cli,
    /// The state of a process before.
    Restored,
    /// Its name does not resolve, for this reason.
    Resolution(&'a str),
    /// The tracked server.
    Tracked(&'a Tracked),
}

/// The line of `option log-health-checks` after a check that moved something.
pub fn checked(backend: &str, server: &Server, result: &CheckResult, health: &Health) -> String {
    check_line("Health", backend, server, result, health)
}

/// As [`checked`], for an agent.
pub fn agent_checked(
    backend: &str,
    server: &Server,
    result: &CheckResult,
    health: &Health,
) -> String {
    check_line("Agent", backend, server, result, health)
}

fn check_line(
    kind: &str,
    backend: &str,
    server: &Server,
    result: &CheckResult,
    health: &Health,
) -> String {
    let outcome = match result.status.verdict() {
        Verdict::Conditional => "conditionally succeeded",
        Verdict::Passed => "succeeded",
        _ => "failed",
    };
    let backup = if server.settings().backup { "backup " } else { "" };
    let (now, of) = health.fraction();
    let state = match health.is_up() {
        true if server.user_weight() == 0 => "DRAIN",
        true => "UP",
        false => "DOWN",
    };
    format!(
        "{kind} check for {backup}server {backend}/{} {outcome}{}, status: {now}/{of} {state}.",
        server.name(),
        reason(result)
    )
}

/// `Server be/s1 is DOWN...`
pub fn down(backend: &str, server: &Server, cause: Cause<'_>, left: Usable, s: Sessions) -> String {
    format!("{} is DOWN{}.{}", subject(backend, server), because(cause), leaving(left, s))
}

/// `Server be/s1 is UP...`
pub fn up(backend: &str, server: &Server, cause: Cause<'_>, now: Usable, s: Sessions) -> String {
    format!("{} is UP{}.{}", subject(backend, server), because(cause), joining(now, s))
}

/// `Server be/s1 is stopping...`: the server asks for no new sessions.
pub fn stopping(
    backend: &str,
    server: &Server,
    cause: Cause<'_>,
    now: Usable,
    s: Sessions,
) -> String {
    format!("{} is stopping{}.{}", subject(backend, server), because(cause), joining(now, s))
}

/// `Server be/s1 is going DOWN for maintenance...`
pub fn going_maint(
    backend: &str,
    server: &Server,
    cause: Cause<'_>,
    left: Usable,
    s: Sessions,
) -> String {
    let subject = subject(backend, server);
    format!("{subject} is going DOWN for maintenance{}.{}", because(cause), leaving(left, s))
}

/// `Server be/s1 was DOWN and now enters maintenance.`
pub fn down_to_maint(backend: &str, server: &Server, cause: Cause<'_>) -> String {
    let why = match cause {
        Cause::Resolution(_) => because(cause),
        _ => String::new(),
    };
    format!("{} was DOWN and now enters maintenance{why}.", subject(backend, server))
}

/// `Server be/s1 ('host') is UP/READY (resolves again).`
pub fn resolves_again(backend: &str, server: &Server, host: &str) -> String {
    let subject = subject(backend, server);
    let (op, admin) = server.state();
    if admin.in_maint() {
        return format!("{subject} ('{host}') resolves again but remains in forced maintenance.");
    }
    let state = if op == OpState::Stopped { "DOWN" } else { "UP" };
    let mode = if admin.in_drain() { "DRAIN" } else { "READY" };
    format!("{subject} ('{host}') is {state}/{mode} (resolves again).")
}

/// `Server be/s1 administratively READY thanks to valid DNS answer.`
pub fn ready_by_dns(backend: &str, server: &Server) -> String {
    format!("{} administratively READY thanks to valid DNS answer.", subject(backend, server))
}

/// `Server be/s1 enters drain state...`
pub fn entering_drain(
    backend: &str,
    server: &Server,
    cause: Cause<'_>,
    now: Usable,
    s: Sessions,
) -> String {
    let rest = match server.state().0 {
        OpState::Stopped => leaving(now, s),
        _ => joining(now, s),
    };
    format!("{} enters drain state{}.{rest}", subject(backend, server), because(cause))
}

/// The lines for a server that leaves maintenance or drain, given the bits before and now.
pub fn leaving_admin(backend: &str, server: &Server, before: Admin) -> Vec<String> {
    let subject = subject(backend, server);
    let (op, now) = server.state();
    let state = if op == OpState::Stopped { "DOWN" } else { "UP" };
    let mut lines = Vec::new();
    if before.in_maint() && !now.in_maint() {
        let mode = if now.in_drain() { "DRAIN" } else { "READY" };
        let forced = if before.any(Admin::FORCED_MAINT) { "forced " } else { "" };
        lines.push(format!("{subject} is {state}/{mode} (leaving {forced}maintenance)."));
        lines.extend(still_draining(backend, server));
    } else if now.in_maint() {
        // Maintenance hides changes of a drain.
    } else if before.in_drain() && !now.in_drain() {
        lines.push(format!("{subject} is {state} (leaving forced drain)."));
    } else if before.0 & Admin::ANY_DRAIN.0 != now.0 & Admin::ANY_DRAIN.0 {
        lines.extend(still_draining(backend, server));
    }
    lines
}

/// The line for a server that still drains after a change that might have ended the drain; `None`
/// in maintenance, which has a line of its own.
pub fn still_draining(backend: &str, server: &Server) -> Option<String> {
    let admin = server.state().1;
    let subject = subject(backend, server);
    if admin.in_maint() {
        None
    } else if admin.any(Admin::FORCED_DRAIN) {
        Some(format!("{subject} remains in forced drain mode."))
    } else if admin.any(Admin::INHERITED_DRAIN) {
        let by = because(server.settings().track.as_ref().map_or(Cause::Silent, Cause::Tracked));
        Some(format!("{subject} is leaving forced drain but remains in drain mode{by}."))
    } else {
        None
    }
}

/// The `status` column of the statistics (management.txt 9.1).
pub fn status(server: &Server) -> String {
    let (op, admin) = server.state();
    if admin.any(Admin::RESOLUTION_MAINT) {
        return "MAINT (resolution)".to_owned();
    }
    if admin.in_maint() {
        return match &server.settings().track {
            Some(by) if admin.any(Admin::INHERITED_MAINT) => {
                format!("MAINT (via {}/{})", by.backend, by.server)
            }
            _ => "MAINT".to_owned(),
        };
    }
    let watched = server.settings().checked || server.settings().track.is_some();
    let word = match op {
        OpState::Stopped if !server.agent_allows() => return "DOWN (agent)".to_owned(),
        OpState::Stopped => "DOWN",
        _ if admin.in_drain() => "DRAIN",
        OpState::Stopping => "NOLB",
        _ if !watched => return "no check".to_owned(),
        _ => "UP",
    };
    let health = server.check_record().health;
    if server.settings().checked && health.in_transition() {
        let (now, of) = health.fraction();
        format!("{word} {now}/{of}")
    } else {
        word.to_owned()
    }
}

fn subject(backend: &str, server: &Server) -> String {
    let kind = if server.settings().backup { "Backup Server" } else { "Server" };
    format!("{kind} {backend}/{}", server.name())
}

fn because(cause: Cause<'_>) -> String {
    match cause {
        Cause::Silent => String::new(),
        Cause::Check(result) => reason(result),
        Cause::Cli => ", changed from CLI".to_owned(),
        Cause::Restored => ", changed from server-state after a reload".to_owned(),
        Cause::Resolution(why) => format!(" ({why})"),
        Cause::Tracked(by) => format!(" via {}/{}", by.backend, by.server),
    }
}

fn reason(result: &CheckResult) -> String {
    let mut text = format!(", reason: {}", result.status.description());
    if let Some(code) = result.code {
        let _ = write!(text, ", code: {code}");
    }
    if !result.info.is_empty() {
        text.push_str(", info: \"");
        escape(&result.info, &mut text);
        text.push('"');
    }
    if let Some(ms) = result.took_ms() {
        let _ = write!(text, ", check duration: {ms}ms");
    }
    text
}

/// A text from a server is escaped, so that it stays within its quotes and its line.
fn escape(info: &str, text: &mut String) {
    for byte in info.bytes() {
        match byte {
            b'"' | b'<' | b'>' | 0..=31 | 127..=255 => {
                let _ = write!(text, "<{byte:02X}>");
            }
            _ => text.push(char::from(byte)),
        }
    }
}

fn leaving(left: Usable, s: Sessions) -> String {
    format!(
        " {} active and {} backup servers left.{} {} sessions active, {} requeued, {} remaining in queue.",
        left.active,
        left.backup,
        on_backup(left),
        s.active,
        s.requeued,
        s.queued
    )
}

fn joining(now: Usable, s: Sessions) -> String {
    format!(
        " {} active and {} backup servers online.{} {} sessions requeued, {} total in queue.",
        now.active,
        now.backup,
        on_backup(now),
        s.requeued,
        s.queued
    )
}

fn on_backup(usable: Usable) -> &'static str {
    if usable.on_backup() { " Running on backup." } else { "" }
}
