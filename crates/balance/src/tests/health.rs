//! From a check result to the words of logs and statistics, as measured with HAProxy 2.6.

use super::with;
use crate::{
    Admin, Algorithm, Balancer, Change, CheckResult, CheckStatus, OpState, Tracked,
    notice::{self, Cause, Sessions},
};

fn backend() -> Balancer {
    with(Algorithm::RoundRobin, &[1, 1], |s| s.backup = s.id == 2)
}

fn result(status: CheckStatus, code: Option<i32>, info: &str) -> CheckResult {
    CheckResult { status, code, duration_ms: 0, info: info.to_owned() }
}

fn passed() -> CheckResult {
    result(CheckStatus::L7Ok, Some(200), "")
}

fn failed() -> CheckResult {
    result(CheckStatus::L7Status, Some(500), "X")
}

/// Feeds a result to the first server; returns the change and the line of `log-health-checks`.
fn check(backend: &Balancer, result: CheckResult, now: u64) -> (Change, Option<String>) {
    let checked = backend.on_check(0, result, now);
    let server = &backend.servers()[0];
    let record = server.check_record();
    let line = || notice::checked("be", server, &record.last, &record.health);
    (checked.change, checked.progressed.then(line))
}

#[test]
fn a_server_falls_and_rises_in_the_measured_words() {
    let backend = backend();
    let status = || notice::status(&backend.servers()[0]);
    assert_eq!(status(), "UP 1/3");
    let steps = [
        (
            passed(),
            Change::None,
            Some(
                "succeeded, reason: Layer7 check passed, code: 200, check duration: 0ms, status: 3/3 UP.",
            ),
            "UP",
        ),
        (passed(), Change::None, None, "UP"),
        (
            failed(),
            Change::None,
            Some(
                "failed, reason: Layer7 wrong status, code: 500, info: \"X\", check duration: 0ms, status: 2/3 UP.",
            ),
            "UP 2/3",
        ),
        (
            failed(),
            Change::None,
            Some(
                "failed, reason: Layer7 wrong status, code: 500, info: \"X\", check duration: 0ms, status: 1/3 UP.",
            ),
            "UP 1/3",
        ),
        (
            failed(),
            Change::Down,
            Some(
                "failed, reason: Layer7 wrong status, code: 500, info: \"X\", check duration: 0ms, status: 0/2 DOWN.",
            ),
            "DOWN",
        ),
        (failed(), Change::None, None, "DOWN"),
        (
            passed(),
            Change::None,
            Some(
                "succeeded, reason: Layer7 check passed, code: 200, check duration: 0ms, status: 1/2 DOWN.",
            ),
            "DOWN 1/2",
        ),
        (
            passed(),
            Change::Up,
            Some(
                "succeeded, reason: Layer7 check passed, code: 200, check duration: 0ms, status: 3/3 UP.",
            ),
            "UP",
        ),
    ];
    for (n, (result, change, line, shown)) in steps.into_iter().enumerate() {
        let seen = check(&backend, result, 1000 * n as u64);
        let line = line.map(|l| format!("Health check for server be/s1 {l}"));
        assert_eq!((seen, status().as_str()), ((change, line), shown), "step {n}");
    }
    let server = &backend.servers()[0];
    let record = server.check_record();
    assert_eq!((record.failed, record.went_down, record.downtime_ms), (3, 1, 3000));
    assert_eq!((server.changed_ms(), server.downtime_ms(9000)), (7000, 3000));
}

#[test]
fn state_lines_are_those_measured() {
    let backend = backend();
    let first = &backend.servers()[0];
    let refused = result(CheckStatus::L4Connection, None, "Connection refused");
    assert_eq!(check(&backend, refused.clone(), 0).0, Change::Down);
    let none = Sessions::default();
    assert_eq!(
        notice::down("be", first, Cause::Check(&refused), backend.usable(), none),
        "Server be/s1 is DOWN, reason: Layer4 connection problem, info: \"Connection refused\", check duration: 0ms. 0 active and 1 backup servers left. Running on backup. 0 sessions active, 0 requeued, 0 remaining in queue."
    );
    backend.on_check(1, failed(), 0);
    let second = &backend.servers()[1];
    let down = notice::down("be", second, Cause::Silent, backend.usable(), none);
    assert_eq!(
        down,
        "Backup Server be/s2 is DOWN. 0 active and 0 backup servers left. 0 sessions active, 0 requeued, 0 remaining in queue."
    );
    check(&backend, passed(), 0);
    assert_eq!(check(&backend, passed(), 0).0, Change::Up);
    let up = notice::up("be", first, Cause::Check(&passed()), backend.usable(), none);
    assert_eq!(
        up,
        "Server be/s1 is UP, reason: Layer7 check passed, code: 200, check duration: 0ms. 1 active and 0 backup servers online. 0 sessions requeued, 0 total in queue."
    );
    let by = Tracked { backend: "be".into(), server: "s1".into() };
    let via = notice::down("be", second, Cause::Tracked(&by), backend.usable(), none);
    assert!(via.starts_with("Backup Server be/s2 is DOWN via be/s1. 1 active"));
}

#[test]
fn a_404_takes_a_server_out_of_balancing_but_not_down() {
    let backend = backend();
    check(&backend, passed(), 0);
    let gone = || result(CheckStatus::L7OkConditional, Some(404), "");
    let (change, line) = check(&backend, gone(), 0);
    let first = &backend.servers()[0];
    assert_eq!((change, notice::status(first)), (Change::Stopping, "NOLB".into()));
    assert_eq!(
        line.unwrap(),
        "Health check for server be/s1 conditionally succeeded, reason: Layer7 check conditionally passed, code: 404, check duration: 0ms, status: 3/3 UP."
    );
    assert!(first.accepts_persistent() && !first.is_usable());
    assert_eq!(
        notice::stopping("be", first, Cause::Check(&gone()), backend.usable(), Sessions::default()),
        "Server be/s1 is stopping, reason: Layer7 check conditionally passed, code: 404, check duration: 0ms. 0 active and 1 backup servers online. Running on backup. 0 sessions requeued, 0 total in queue."
    );
    assert_eq!(check(&backend, passed(), 0).0, Change::Up);
    backend.force_health(0, Change::Down, 0);
    assert_eq!(check(&backend, gone(), 0).0, Change::None);
    let last = first.check_record().last;
    assert_eq!((last.status, last.code), (CheckStatus::L7Status, Some(404)));
}

#[test]
fn messages_on_maintenance_and_drain_are_haproxys() {
    let backend = backend();
    let first = &backend.servers()[0];
    check(&backend, passed(), 0);
    let (maint, drain, none) = (Admin::FORCED_MAINT, Admin::FORCED_DRAIN, Admin(0));
    let sessions = Sessions::default();
    backend.set_admin(0, drain, none, 0);
    assert_eq!(notice::status(first), "DRAIN");
    assert_eq!(
        notice::entering_drain("be", first, Cause::Silent, backend.usable(), sessions),
        "Server be/s1 enters drain state. 0 active and 1 backup servers online. Running on backup. 0 sessions requeued, 0 total in queue."
    );
    backend.set_admin(0, maint, drain, 0);
    assert_eq!((notice::status(first), first.check_record().went_down), ("MAINT".into(), 1));
    assert_eq!(
        notice::going_maint("be", first, Cause::Silent, backend.usable(), sessions),
        "Server be/s1 is going DOWN for maintenance. 0 active and 1 backup servers left. Running on backup. 0 sessions active, 0 requeued, 0 remaining in queue."
    );
    assert_eq!(check(&backend, failed(), 0), (Change::None, None));
    let before = backend.set_admin(0, drain, maint, 0);
    assert_eq!(notice::status(first), "DRAIN 1/3");
    assert_eq!(
        notice::leaving_admin("be", first, before),
        [
            "Server be/s1 is UP/DRAIN (leaving forced maintenance).",
            "Server be/s1 remains in forced drain mode."
        ]
    );
    let before = backend.set_admin(0, none, drain, 0);
    assert_eq!(
        notice::leaving_admin("be", first, before),
        ["Server be/s1 is UP (leaving forced drain)."]
    );
    backend.set_admin(0, maint, none, 0);
    let before = backend.set_admin(0, none, maint, 0);
    assert_eq!(
        notice::leaving_admin("be", first, before),
        ["Server be/s1 is UP/READY (leaving forced maintenance)."]
    );
    assert_eq!(notice::status(first), "UP 1/3");
}

#[test]
fn messages_name_servers_without_checks() {
    let backend = with(Algorithm::RoundRobin, &[4, 1], |s| {
        s.checked = false;
        s.disabled = s.id == 2;
    });
    let (first, second) = (&backend.servers()[0], &backend.servers()[1]);
    assert_eq!(
        (notice::status(first), notice::status(second)),
        ("no check".into(), "MAINT".into())
    );
    assert_eq!(second.state(), (OpState::Stopped, Admin(5)));
}

#[test]
fn slow_start_applies_after_a_fall_only() {
    let backend = with(Algorithm::RoundRobin, &[100, 100], |s| s.slowstart_ms = 2000);
    let first = &backend.servers()[0];
    assert_eq!((first.shown_weight(), first.throttle_percent()), (100, None));
    check(&backend, failed(), 0);
    check(&backend, passed(), 1000);
    assert_eq!(check(&backend, passed(), 2000).0, Change::Up);
    let seen = || (first.state().0, first.shown_weight(), first.throttle_percent());
    assert_eq!(seen(), (OpState::Starting, 7, Some(6)));
    backend.warm_up(0, 3000);
    assert_eq!(seen(), (OpState::Starting, 57, Some(56)));
    check(&backend, passed(), 4000);
    assert_eq!(seen(), (OpState::Running, 100, None));
}

#[test]
fn every_way_up_is_a_slow_start_but_the_end_of_a_drain() {
    for checked in [true, false] {
        let backend = with(Algorithm::RoundRobin, &[100], |s| {
            (s.slowstart_ms, s.checked) = (6000, checked);
        });
        let server = &backend.servers()[0];
        let seen = || (server.state().0, server.shown_weight(), server.throttle_percent());
        let slow = (OpState::Starting, 38, Some(37));
        let (rest, drain, none) = (Admin::FORCED_MAINT, Admin::FORCED_DRAIN, Admin::default());
        backend.set_admin(0, rest, none, 1000);
        backend.set_admin(0, none, rest, 2000);
        assert_eq!(seen(), (OpState::Starting, 7, Some(6)), "at once");
        backend.warm_up(0, 4000);
        assert_eq!(seen(), slow, "after maintenance");
        backend.force_health(0, Change::Up, 4000);
        assert_eq!(seen(), slow, "it was up");
        backend.force_health(0, Change::Down, 10_000);
        backend.force_health(0, Change::Up, 20_000);
        backend.warm_up(0, 22_000);
        assert_eq!(seen(), slow, "after `health down`");
        backend.warm_up(0, 30_000);
        backend.set_admin(0, drain, none, 31_000);
        backend.set_admin(0, none, drain, 32_000);
        assert_eq!(seen(), (OpState::Running, 100, None), "after drain");
        backend.set_admin(0, rest, none, 33_000);
        backend.set_admin(0, drain, rest, 34_000);
        assert_eq!(seen(), (OpState::Starting, 7, None), "not told of who drains");
        backend.set_admin(0, none, drain, 35_000);
        assert_eq!(seen(), (OpState::Starting, 19, Some(18)), "it went on");
        backend.force_health(0, Change::Stopping, 40_000);
        backend.force_health(0, Change::Up, 41_000);
        backend.warm_up(0, 43_000);
        assert_eq!(seen(), slow, "after `health stopping`");
    }
}

#[test]
fn a_silent_agent_brings_no_server_up() {
    let backend = with(Algorithm::RoundRobin, &[1], |s| s.checked = false);
    let server = &backend.servers()[0];
    let says = |status| {
        let result = CheckResult { status, ..CheckResult::default() };
        backend.on_agent(0, result, 1000).change
    };
    // The server in the state of a state file.
    backend.force_health(0, Change::Down, 0);
    assert_eq!(says(CheckStatus::L4Connection), Change::None);
    assert_eq!(says(CheckStatus::Checked), Change::None, "it told a weight only");
    assert_eq!(server.state().0, OpState::Stopped);
    assert_eq!(says(CheckStatus::L7Ok), Change::Up);
    assert_eq!(server.state().0, OpState::Running);
}

#[test]
fn texts_of_servers_stay_within_quotes() {
    let backend = with(Algorithm::RoundRobin, &[1], |_| {});
    let info = "\x01bad <b>\"x\", y\nz\u{7f}\u{e9}[31m\\ ".to_owned();
    let result = CheckResult { status: CheckStatus::L7Status, info, ..CheckResult::default() };
    let cause = Cause::Check(&result);
    let server = &backend.servers()[0];
    let text = notice::down("be", server, cause, backend.usable(), Sessions::default());
    let told = "info: \"<01>bad <3C>b<3E><22>x<22>, y<0A>z<7F><C3><A9>[31m\\ \", check";
    assert!(text.contains(told), "{text}");
}
