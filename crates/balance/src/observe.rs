//! What traffic tells of a server's health (configuration manual section 5.2, `observe`, `on-error`, `error-limit`).
//! Never looks at traffic itself.
//!
//! Written per sign: nothing while a server answers well; one line of the server when it fails, or
//! answers well for the first time after that.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::{Balancer, CheckResult, CheckStatus, Checked, OpState, Server};

/// Which signs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Whether connections stand.
    Four,
    /// That, and what responses are worth.
    Seven,
}

/// What follows from too many errors. All of them bring the next check nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnError {
    /// Nothing else.
    FastInter,
    /// As if a check had failed.
    #[default]
    FailCheck,
    /// As if so many had that one more takes it down.
    SuddenDeath,
    /// It goes down.
    MarkDown,
}

/// How a server is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// What is looked at.
    pub layer: Layer,
    /// Errors in a row that are too many, from 1.
    pub limit: u32,
    /// What follows.
    pub then: OnError,
}

/// One thing that traffic has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A connection stands.
    Connected,
    /// A connection could not be made.
    Unconnected,
    /// A response with this status.
    Status(u16),
    /// A response that makes no sense.
    Invalid,
    /// The server closed before it answered.
    Closed,
    /// The server did not answer in time.
    Silent,
}

impl Sign {
    /// What it says at a layer; nothing at some.
    fn is_good(self, layer: Layer) -> Option<bool> {
        match (self, layer) {
            (Self::Unconnected, _) => Some(false),
            (Self::Connected, Layer::Four) => Some(true),
            (Self::Connected, Layer::Seven) | (_, Layer::Four) => None,
            (Self::Status(status), Layer::Seven) => Some(matches!(status, 100..=499 | 501 | 505)),
            (Self::Invalid | Self::Closed | Self::Silent, Layer::Seven) => Some(false),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Connected => "L4 successful connection",
            Self::Unconnected => "L4 unsuccessful connection",
            Self::Status(_) => "Wrong http response",
            Self::Invalid => "Invalid http response (headers)",
            Self::Closed => "Close from server (http)",
            Self::Silent => "Read timeout (http)",
        }
    }
}

/// What has been seen of a server.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Seen {
    /// Errors in a row.
    errors: AtomicU32,
    /// How often there were too many.
    triggered: AtomicU64,
}

impl Seen {
    /// The server is well.
    pub(crate) fn clear(&self) {
        if self.errors.load(Relaxed) != 0 {
            self.errors.store(0, Relaxed);
        }
    }
}

/// What too many errors have led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// What they count as, unless only the next check comes earlier.
    pub result: Option<(CheckResult, Checked)>,
}

impl Server {
    /// Whether traffic tells of its health.
    pub fn is_observed(&self) -> bool {
        self.settings().watch.is_some()
    }

    /// How often traffic failed too often in a row (`hanafail`).
    pub fn alarms(&self) -> u64 {
        self.seen().triggered.load(Relaxed)
    }

    /// Starts that count from zero.
    pub(crate) fn clear_alarms(&self) {
        self.seen().triggered.store(0, Relaxed);
    }
}

impl Balancer {
    /// Takes a sign of the server in this slot into account; something follows from one error too
    /// many. Those of a server that is down or in maintenance count for nothing.
    pub fn on_sign(&self, slot: usize, sign: Sign, now_ms: u64) -> Option<Alarm> {
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
            OnError::FastInter => return Some(Alarm { result: None }),
            OnError::FailCheck => {}
            OnError::SuddenDeath => server.record().health.weaken(2),
            OnError::MarkDown => server.record().health.weaken(1),
        }
        let info = format!("Detected {errors} consecutive errors, last one was: {}", sign.words());
        let status = CheckStatus::HealthAnalysis;
        let result = CheckResult { status, info, ..CheckResult::default() };
        let checked = self.on_check(slot, result.clone(), now_ms);
        Some(Alarm { result: Some((result, checked)) })
    }
}
