//! One server as all threads share it: counters, state, weight and check record.
//!
//! Cache lines: the [`Load`] is written per request; state and weights only when they change; the
//! check record sits behind a lock that only the checker and the statistics take. A change of state
//! takes that lock too.

use std::sync::{
    Arc, MutexGuard, OnceLock,
    atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};
use stdx::Mutex;

use crate::{
    Admin, AgentRecord, CheckResult, Health, Load, OpState, PastCheck, health::Intervals,
    history::History, index::LoadIndex, latency::Latency, server_name::NameCell,
    server_name::ServerName, state::State, traffic_errors::Seen, traffic_errors::Watch, weight,
};

/// The server that this one tracks, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// Its backend.
    pub backend: String,
    /// Its name there.
    pub server: String,
}

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Persistent identifier, unique in the backend, from 1.
    pub id: u32,
    /// Name in the backend.
    pub name: String,
    /// `weight`, 0..=256; larger values count as 256.
    pub weight: u32,
    /// `maxconn`, 0 for no limit.
    pub maxconn: u32,
    /// `backup`.
    pub backup: bool,
    /// `disabled`: starts in maintenance.
    pub disabled: bool,
    /// Starts in maintenance until its name resolves.
    pub unresolved: bool,
    /// Starts in maintenance as if an operator had put it there.
    pub forced_maint: bool,
    /// `slowstart` in milliseconds, 0 for none.
    pub slowstart_ms: u64,
    /// Whether health checks run.
    pub checked: bool,
    /// `rise`.
    pub rise: u32,
    /// `fall`.
    pub fall: u32,
    /// `inter`, `fastinter`, `downinter`.
    pub intervals: Intervals,
    /// `track`.
    pub track: Option<Tracked>,
    /// `observe`, `error-limit` and `on-error`.
    pub watch: Option<Watch>,
}

impl ServerSettings {
    /// A server with the defaults of the manual.
    pub fn new(id: u32, name: impl Into<String>) -> Self {
        Self {
            id,
            name: name.into(),
            weight: 1,
            maxconn: 0,
            backup: false,
            disabled: false,
            unresolved: false,
            forced_maint: false,
            slowstart_ms: 0,
            checked: false,
            rise: 2,
            fall: 3,
            intervals: Intervals::default(),
            track: None,
            watch: None,
        }
    }
}

impl ServerSettings {
    /// The check record, state and administrative state of a new server.
    fn beginning(&self) -> (CheckRecord, OpState, Admin) {
        let mut health = Health::new(self.rise, self.fall);
        let (mut op, mut admin) = (OpState::Running, Admin::default());
        if self.disabled || self.forced_maint {
            let configured = Admin::CONFIG_MAINT.with(Admin::FORCED_MAINT);
            admin = if self.disabled { configured } else { Admin::FORCED_MAINT };
            op = OpState::Stopped;
        }
        if self.unresolved {
            (op, admin) = (OpState::Stopped, admin.with(Admin::RESOLUTION_MAINT));
        }
        if op == OpState::Stopped {
            health.set_down();
        }
        let last = CheckResult::default();
        let record = CheckRecord { health, last, failed: 0, went_down: 0, downtime_ms: 0 };
        (record, op, admin)
    }
}

/// The results of health checks: the check columns of the statistics.
#[derive(Clone, Debug)]
pub struct CheckRecord {
    /// The rise/fall counter.
    pub health: Health,
    /// The last finished check.
    pub last: CheckResult,
    /// Failed checks while the server was up (`chkfail`).
    pub failed: u64,
    /// UP to DOWN transitions (`chkdown`).
    pub went_down: u64,
    /// Milliseconds spent down before the current state began.
    pub downtime_ms: u64,
}

/// A server, shared between threads.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    name: NameCell,
    id: AtomicU32,
    slot: usize,
    load: Arc<Load>,
    latency: Arc<Latency>,
    state: State,
    user_weight: AtomicU32,
    changed_ms: AtomicU64,
    record: Mutex<CheckRecord>,
    agent: Mutex<AgentRecord>,
    history: Mutex<History>,
    index: OnceLock<Arc<dyn LoadIndex>>,
    seen: Seen,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, slot: usize, now_ms: u64) -> Self {
        let weight = settings.weight.min(weight::MAX_WEIGHT);
        let (record, op, admin) = settings.beginning();
        Self {
            name: NameCell::new(&settings.name),
            id: settings.id.into(),
            state: State::new(op, admin),
            load: Arc::new(Load::new(weight * weight::WEIGHT_SCALE, settings.maxconn)),
            latency: Arc::default(),
            user_weight: weight.into(),
            changed_ms: now_ms.into(),
            record: Mutex::new(record),
            agent: Mutex::default(),
            history: Mutex::default(),
            index: OnceLock::new(),
            seen: Seen::default(),
            settings,
            slot,
        }
    }

    /// Becomes an unused server with another name and number and the same settings.
    pub(crate) fn renew(&self, name: &str, id: u32, now_ms: u64) {
        let (record, op, admin) = self.settings.beginning();
        let mut own = self.record();
        self.name.set(name);
        self.id.store(id, Relaxed);
        self.user_weight.store(self.settings.weight.min(weight::MAX_WEIGHT), Relaxed);
        self.load.set_maxconn(self.settings.maxconn);
        self.latency.forget();
        self.state.update(|_, _| (op, admin));
        self.changed_ms.store(now_ms, Relaxed);
        *own = record;
        *self.agent() = AgentRecord::default();
        *self.history() = History::default();
        self.seen.clear();
        self.clear_alarms();
        self.refresh_weight(&mut own, now_ms);
    }

    /// The settings.
    pub fn settings(&self) -> &ServerSettings {
        &self.settings
    }

    /// Name in the backend.
    pub fn name(&self) -> ServerName {
        self.name.get()
    }

    /// Number in the backend.
    pub fn id(&self) -> u32 {
        self.id.load(Relaxed)
    }

    /// Position in the backend's list, as [`crate::Balancer`] calls take it.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The request counters.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Operational and administrative state, read together.
    pub fn state(&self) -> (OpState, Admin) {
        self.state.get()
    }

    /// The weight that the user set last, 0..=256.
    pub fn user_weight(&self) -> u32 {
        self.user_weight.load(Relaxed)
    }

    /// The effective weight as statistics show it.
    pub fn shown_weight(&self) -> u32 {
        weight::shown(self.load.weight())
    }

    /// The slow-start percentage of statistics, absent at full speed.
    pub fn throttle_percent(&self) -> Option<u32> {
        let starting = self.state().0 == OpState::Starting && !self.is_draining();
        starting.then(|| weight::throttle_percent(self.load.weight(), self.user_weight()))
    }

    /// When the operational state changed last, in the caller's milliseconds.
    pub fn changed_ms(&self) -> u64 {
        self.changed_ms.load(Relaxed)
    }

    /// Milliseconds spent down up to `now_ms`.
    pub fn downtime_ms(&self, now_ms: u64) -> u64 {
        let before = self.record().downtime_ms;
        let down = self.state().0 == OpState::Stopped;
        before + if down { now_ms.saturating_sub(self.changed_ms()) } else { 0 }
    }

    /// Whether it takes part in balancing: up, not draining, not in maintenance, weight above 0.
    pub fn is_usable(&self) -> bool {
        self.accepts_persistent() && !self.is_draining() && self.load.weight() > 0
    }

    /// Whether a request bound to it by a cookie or a table may still go there.
    pub fn accepts_persistent(&self) -> bool {
        let (op, admin) = self.state();
        op != OpState::Stopped && !admin.in_maint()
    }

    /// The check columns, copied out.
    pub fn check_record(&self) -> CheckRecord {
        self.record().clone()
    }

    /// The last checks, oldest first.
    pub fn check_history(&self) -> Vec<PastCheck> {
        self.history().all()
    }

    /// The lock is never held across a panic.
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock()
    }

    /// The agent columns, copied out.
    pub fn agent_record(&self) -> AgentRecord {
        self.agent().clone()
    }

    /// Whether no agent keeps it down.
    pub fn agent_allows(&self) -> bool {
        self.agent().health.is_up()
    }

    /// How long to wait from one check to the next, in milliseconds.
    pub fn check_interval_ms(&self) -> u32 {
        let record = self.record();
        self.settings.intervals.next(&record.health)
    }

    /// Takes the limit that `minconn` and `fullconn`, slow start or the CLI ask for now; 0 lifts
    /// it.
    pub fn set_maxconn(&self, limit: u32) {
        self.load.set_maxconn(limit);
    }

    /// Starts the counts of checks from zero (`clear counters all`).
    pub fn clear_check_counts(&self) {
        self.clear_alarms();
        let mut record = self.record();
        (record.failed, record.went_down) = (0, 0);
    }

    /// Whether traffic is observed for its health (`observe`).
    pub fn is_observed(&self) -> bool {
        self.settings().watch.is_some()
    }

    /// How often traffic failed too often in a row (`hanafail`).
    pub fn alarms(&self) -> u64 {
        self.seen.triggered.load(Relaxed)
    }

    /// Sets the count of [`Server::alarms`] to zero.
    pub(crate) fn clear_alarms(&self) {
        self.seen.triggered.store(0, Relaxed);
    }

    fn is_draining(&self) -> bool {
        let (op, admin) = self.state();
        op == OpState::Stopping || admin.in_drain()
    }

    /// The state of the server after it comes up: throttled if it has a slow start.
    pub(crate) fn up_state(&self) -> OpState {
        if self.settings.slowstart_ms > 0 { OpState::Starting } else { OpState::Running }
    }

    pub(crate) fn shared_load(&self) -> Arc<Load> {
        Arc::clone(&self.load)
    }

    pub(crate) fn seen(&self) -> &Seen {
        &self.seen
    }

    pub(crate) fn latency(&self) -> &Arc<Latency> {
        &self.latency
    }

    /// Sets the index that gets every change of load; only the first call counts.
    pub(crate) fn attach(&self, index: Arc<dyn LoadIndex>) {
        let _ = self.index.set(index);
    }

    pub(crate) fn load_changed(&self) {
        if let Some(index) = self.index.get() {
            index.load_changed(self.slot);
        }
    }

    pub(crate) fn record(&self) -> MutexGuard<'_, CheckRecord> {
        self.record.lock()
    }

    pub(crate) fn agent(&self) -> MutexGuard<'_, AgentRecord> {
        self.agent.lock()
    }

    /// Moves to `op`, keeping dates and downtime; the admin bits are replaced by `admin`'s result.
    /// Returns whether the state changed.
    ///
    /// The caller holds the record from reading the state until this call: of two concurrent
    /// changes, the later would otherwise write back a state read before the other change.
    pub(crate) fn transit(
        &self,
        record: &mut CheckRecord,
        op: OpState,
        admin: impl Fn(Admin) -> Admin,
        now_ms: u64,
    ) -> bool {
        let (before, _) = self.state.update(|_, bits| (op, admin(bits)));
        if before == op {
            return false;
        }
        let since = self.changed_ms.swap(now_ms, Relaxed);
        if before == OpState::Stopped {
            record.downtime_ms += now_ms.saturating_sub(since);
        } else if op == OpState::Stopped {
            record.went_down += 1;
        }
        true
    }

    /// Puts a new server into the state that it had before the process began, since `since_ms`.
    pub(crate) fn revive(&self, op: OpState, admin: Admin, since_ms: u64) {
        self.state.update(|_, _| (op, admin));
        self.changed_ms.store(since_ms, Relaxed);
    }

    /// Notes a change that is none of the operational state, unless time counts in that state.
    pub(crate) fn touch(&self, now_ms: u64) {
        if matches!(self.state().0, OpState::Running | OpState::Stopping) {
            self.changed_ms.store(now_ms, Relaxed);
        }
    }

    pub(crate) fn set_user_weight(&self, weight: u32) {
        self.user_weight.store(weight.min(weight::MAX_WEIGHT), Relaxed);
    }

    /// Recomputes the effective weight at `now_ms`; ends a slow start that is over. Tells of a
    /// change.
    pub(crate) fn refresh_weight(&self, record: &mut CheckRecord, now_ms: u64) -> bool {
        let up_for = now_ms.saturating_sub(self.changed_ms());
        let slowstart = match self.state().0 {
            OpState::Starting => self.settings.slowstart_ms,
            _ => 0,
        };
        if self.state().0 == OpState::Starting && weight::warm(up_for, slowstart) {
            self.transit(record, OpState::Running, |bits| bits, now_ms);
        }
        self.load.set_weight(weight::effective(self.user_weight(), up_for, slowstart))
    }
}
