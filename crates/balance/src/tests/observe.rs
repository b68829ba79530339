//! Tests of the consequences of signs of traffic, sign by sign.

use super::with;
use crate::{
    Admin, Algorithm, Balancer, Change, CheckResult, CheckStatus, ErrorAlarm, Layer, OnError,
    OpState, Sign, Watch,
};
use Sign::{Closed, Connected, Invalid, Silent, Status, Unconnected};
use std::sync::Barrier;

fn observed(layer: Layer, limit: u32, then: OnError) -> Balancer {
    let backend = with(Algorithm::RoundRobin, &[1], |settings| {
        settings.watch = Some(Watch { layer, limit, then });
    });
    let passed = CheckResult { status: CheckStatus::L7Ok, ..CheckResult::default() };
    backend.on_check(0, passed, 0);
    backend
}

fn alarms(backend: &Balancer, signs: &[Sign]) -> Vec<usize> {
    let alarmed = |(place, sign): (usize, &Sign)| backend.on_sign(0, *sign, 1).map(|_| place);
    signs.iter().enumerate().filter_map(alarmed).collect()
}

#[test]
fn a_good_sign_begins_the_count_anew() {
    let seven = || observed(Layer::Seven, 2, OnError::FastInter);
    assert_eq!(alarms(&seven(), &[Status(500), Status(200), Closed, Invalid, Silent]), [3]);
    assert_eq!(
        alarms(&seven(), &[Status(500), Connected, Unconnected]),
        [2],
        "a connection is not"
    );
    let four = observed(Layer::Four, 2, OnError::FastInter);
    assert_eq!(alarms(&four, &[Unconnected, Connected, Unconnected, Status(500), Closed]), []);
    assert_eq!(alarms(&four, &[Status(200), Unconnected]), [1], "what is said does not count");
    assert_eq!(four.servers()[0].alarms(), 1);
}

#[test]
fn a_check_that_passes_begins_the_count_anew() {
    let backend = observed(Layer::Four, 2, OnError::FastInter);
    assert_eq!(alarms(&backend, &[Unconnected]), []);
    let passed = CheckResult { status: CheckStatus::L4Ok, ..CheckResult::default() };
    backend.on_check(0, passed, 1);
    assert_eq!(alarms(&backend, &[Unconnected, Unconnected]), [1]);
}

#[test]
fn health_falls_as_far_as_was_measured() {
    for (then, health, change) in [
        (OnError::FailCheck, 3, Change::None),
        (OnError::SuddenDeath, 2, Change::None),
        (OnError::MarkDown, 0, Change::Down),
    ] {
        let backend = observed(Layer::Four, 1, then);
        let Some(ErrorAlarm { result: Some((result, checked)) }) =
            backend.on_sign(0, Unconnected, 1)
        else {
            panic!("{then:?} is told");
        };
        assert_eq!(result.status, CheckStatus::HealthAnalysis);
        assert_eq!((checked.change, checked.progressed), (change, true), "{then:?}");
        let record = backend.servers()[0].check_record();
        assert_eq!((record.health.value(), record.failed), (health, 1), "{then:?}");
    }
}

/// A state read by one thread must not be written back after another thread has changed it.
#[test]
fn errors_that_come_at_once_leave_no_server_up_that_its_health_calls_down() {
    let backend = observed(Layer::Four, 1, OnError::MarkDown);
    let server = &backend.servers()[0];
    let round = Barrier::new(2);
    let play = || {
        for _ in 0..20_000 {
            if round.wait().is_leader() {
                backend.force_health(0, Change::Up, 1);
            }
            round.wait();
            backend.on_sign(0, Unconnected, 1);
            round.wait();
            let up = server.check_record().health.is_up();
            assert_eq!((up, server.state().0), (false, OpState::Stopped));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(play);
        scope.spawn(play);
    });
}

#[test]
fn signs_of_suspended_or_down_servers_are_ignored() {
    let backend = observed(Layer::Four, 1, OnError::MarkDown);
    assert_eq!(alarms(&backend, &[Unconnected, Unconnected, Unconnected]), [0]);
    backend.force_health(0, Change::Up, 2);
    backend.set_admin(0, Admin::FORCED_MAINT, Admin::default(), 3);
    assert_eq!(alarms(&backend, &[Unconnected]), []);
    let unchecked = with(Algorithm::RoundRobin, &[1], |settings| {
        settings.checked = false;
        settings.watch = Some(Watch { layer: Layer::Four, limit: 1, then: OnError::MarkDown });
    });
    assert_eq!(alarms(&unchecked, &[Unconnected]), [], "nothing would bring it up again");
}
