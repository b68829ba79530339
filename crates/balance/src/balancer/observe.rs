//! Errors of traffic that count as failed checks (configuration manual section 5.2, `observe`).

use std::sync::atomic::Ordering::Relaxed;

use crate::balancer::{Balancer, Checked};
use crate::{CheckResult, CheckStatus, OnError, OpState, Sign};

/// The consequence of too many errors in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorAlarm {
    /// The check result that they count as; `None` if only the next check is brought forward.
    pub result: Option<(CheckResult, Checked)>,
}

impl Balancer {
    /// Takes a sign of the server in this slot into account; something follows from one error too
    /// many. Signs of a server that is down or in maintenance are ignored.
    pub fn on_sign(&self, slot: usize, sign: Sign, now_ms: u64) -> Option<ErrorAlarm> {
        let server = self.servers().get(slot)?;
        let watch = server.settings().watch?;
        let seen = server.seen();
        if sign.is_good(watch.layer)? {
            seen.clear();
            return None;
        }
        let (op, admin) = server.state();
        if !server.settings().checked || op == OpState::Stopped || admin.in_maint() {
            return None;
        }
        let errors = seen.errors.fetch_add(1, Relaxed) + 1;
        if errors < watch.limit {
            return None;
        }
        seen.errors.store(0, Relaxed);
        seen.triggered.fetch_add(1, Relaxed);
        match watch.then {
            OnError::FastInter => return Some(ErrorAlarm { result: None }),
            OnError::FailCheck => {}
            OnError::SuddenDeath => server.record().health.weaken(2),
            OnError::MarkDown => server.record().health.weaken(1),
        }
        let info = format!("Detected {errors} consecutive errors, last one was: {}", sign.words());
        let status = CheckStatus::HealthAnalysis;
        let result = CheckResult { status, info, ..CheckResult::default() };
        let checked = self.on_check(slot, result.clone(), now_ms);
        Some(ErrorAlarm { result: Some((result, checked)) })
    }
}
