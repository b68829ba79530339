//! The servers of one backend with the algorithm that picks among them.
//!
//! Picks go to the algorithm without any lock of this level. Changes of state and weight are rare:
//! they are applied to the server first, then the list of those that take part is rebuilt under a
//! lock, so the last rebuild has seen every change. A pick in between may still choose a server
//! that has just gone down; connecting to it fails and is retried like any other failure.

use std::sync::{
    Arc, MutexGuard,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use stdx::Mutex;

use stdx::AppendList;

use crate::history::PastCheck;
use crate::{
    Admin, Algorithm, CheckRecord, CheckResult, CheckStatus, LoadOrder, NoServer, OpState,
    PickRequest, Server, ServerSettings, Ticket, Transition, Verdict,
    algo::{self, Built, Chooser, Member},
    index::LoadIndex,
    weight::MAX_WEIGHT,
};

mod agent;
mod observe;

pub use observe::ErrorAlarm;

/// How many servers of a backend are usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Usable {
    /// Servers without `backup`.
    pub active: u32,
    /// Servers with `backup`.
    pub backup: u32,
}

impl Usable {
    /// Whether only backup servers are left.
    pub fn on_backup(self) -> bool {
        self.active == 0 && self.backup > 0
    }
}

/// The change of state that a check or an operator has caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No state changed.
    None,
    /// The server came up.
    Up,
    /// The server went down.
    Down,
    /// The server is up but asks for no new sessions.
    Stopping,
}

/// The outcome of one check result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The change of state.
    pub change: Change,
    /// Whether status or counter moved, which is when `option log-health-checks` logs.
    pub progressed: bool,
}

/// A backend's servers and their algorithm.
#[derive(Debug)]
pub struct Balancer {
    servers: AppendList<Arc<Server>>,
    algorithm: Algorithm,
    all_backups: bool,
    chooser: Box<dyn Chooser>,
    index: Option<Arc<dyn LoadIndex>>,
    usable: AtomicU64,
    rebuild: Mutex<()>,
}

impl Balancer {
    /// Builds the servers of a backend. `all_backups` is `option allbackups`; `now_ms` is the
    /// caller's monotonic time in milliseconds, here and everywhere below.
    pub fn new(
        algorithm: Algorithm,
        all_backups: bool,
        settings: Vec<ServerSettings>,
        now_ms: u64,
    ) -> Self {
        let order = LoadOrder::for_servers(settings.len());
        Self::with_order(algorithm, order, all_backups, settings, now_ms)
    }

    /// As [`Balancer::new`], with another index for `leastconn`: for comparing them.
    pub fn with_order(
        algorithm: Algorithm,
        order: LoadOrder,
        all_backups: bool,
        settings: Vec<ServerSettings>,
        now_ms: u64,
    ) -> Self {
        let server = |(slot, settings)| Arc::new(Server::new(settings, slot, now_ms));
        let servers: AppendList<_> = settings.into_iter().enumerate().map(server).collect();
        let loads = servers.iter().map(|server| server.shared_load()).collect();
        let Built { chooser, index } = algo::build(algorithm, order, loads);
        if let Some(index) = &index {
            servers.iter().for_each(|server| server.attach(Arc::clone(index)));
        }
        let usable = AtomicU64::default();
        let this = Self {
            servers,
            algorithm,
            all_backups,
            chooser,
            index,
            usable,
            rebuild: Mutex::default(),
        };
        this.refresh();
        this
    }

    /// The servers, by slot.
    pub fn servers(&self) -> &AppendList<Arc<Server>> {
        &self.servers
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&Arc<Server>> {
        self.servers.iter().find(|s| s.name() == name)
    }

    /// Adds a server, which takes part once it is usable; returns its slot. The settings of the
    /// server decide whether it starts in maintenance.
    pub fn add(&self, settings: ServerSettings, now_ms: u64) -> usize {
        let slot = self.servers.push_with(|slot| {
            let server = Arc::new(Server::new(settings, slot, now_ms));
            if let Some(index) = &self.index {
                index.admit(server.shared_load());
                server.attach(Arc::clone(index));
            }
            server
        });
        if self.servers[slot].is_usable() {
            self.refresh();
        }
        slot
    }

    /// Reuses the server in an unused slot, with another name and number.
    pub fn renew(&self, slot: usize, name: &str, id: u32, now_ms: u64) {
        let Some(server) = self.servers.get(slot) else { return };
        server.renew(name, id, now_ms);
        if server.is_usable() {
            self.refresh();
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// How many servers are usable now.
    pub fn usable(&self) -> Usable {
        let packed = self.usable.load(Relaxed);
        Usable { active: packed as u32, backup: (packed >> 32) as u32 }
    }

    /// Whether the algorithm may choose the server in this slot.
    pub fn takes_part(&self, slot: usize) -> bool {
        let Some(server) = self.servers.get(slot).filter(|server| server.is_usable()) else {
            return false;
        };
        if !server.settings().backup {
            return true;
        }
        let is_backup = |server: &&Arc<Server>| server.settings().backup && server.is_usable();
        let is_first = || self.servers.iter().find(is_backup).is_some_and(|it| it.slot() == slot);
        self.usable().on_backup() && (self.all_backups || is_first())
    }

    /// Servers that `leastconn` has moved in its order so far; 0 for other algorithms.
    pub fn index_moves(&self) -> u64 {
        self.index.as_ref().map_or(0, |index| index.moves())
    }

    /// Chooses a server for one request and reserves a place on it.
    ///
    /// # Errors
    /// [`NoServer`] when none is usable, or all that could be are full.
    pub fn pick(&self, wish: &PickRequest<'_>) -> Result<Ticket, NoServer> {
        let slot = self.chooser.choose(wish)?;
        Ok(Ticket::reserved(Arc::clone(&self.servers[slot])))
    }

    /// Whether the algorithm uses response times.
    pub fn observes(&self) -> bool {
        self.algorithm == Algorithm::PeakEwma
    }

    /// Tells the algorithm how long the server in this slot took to answer.
    pub fn observe(&self, slot: usize, took_ns: u64, now_ns: u64) {
        if let Some(server) = self.servers.get(slot).filter(|_| self.observes()) {
            server.latency().observe(took_ns, now_ns);
        }
    }

    /// Tells the algorithm that the state or weight of some server changed behind its back.
    /// Calls of this type that change a server do this themselves.
    pub fn refresh(&self) {
        let _order = self.rebuild.lock();
        let members: Vec<_> = self.count().into_iter().map(member).collect();
        self.chooser.members(&members);
    }

    /// Counts usable servers; the list of servers that take part is updated by the next
    /// [`Balancer::refresh`].
    pub(crate) fn recount(&self) {
        let _order = self.rebuild.lock();
        self.count();
    }

    /// Counts the usable servers, under the lock; returns those that take part in balancing.
    fn count(&self) -> Vec<&Arc<Server>> {
        let usable: Vec<_> = self.servers.iter().filter(|s| s.is_usable()).collect();
        let (backups, actives): (Vec<_>, Vec<_>) =
            usable.into_iter().partition(|s| s.settings().backup);
        let packed = actives.len() as u64 | (backups.len() as u64) << 32;
        self.usable.store(packed, Relaxed);
        match (actives.is_empty(), self.all_backups) {
            (false, _) => actives,
            (true, true) => backups,
            (true, false) => backups.into_iter().take(1).collect(),
        }
    }

    /// Takes a finished check of the server in this slot into account. Results that arrive
    /// during maintenance count for nothing. A conditional success of a server that is down is a
    /// failure, since it may not come up that way.
    pub fn on_check(&self, slot: usize, mut result: CheckResult, now_ms: u64) -> Checked {
        let Some(server) = self.servers.get(slot) else { return Checked::NOTHING };
        let mut record = server.record();
        let (op, admin) = server.state();
        if admin.in_maint() {
            return Checked::NOTHING;
        }
        if op == OpState::Stopped && result.status.verdict() == Verdict::Conditional {
            result.status = CheckStatus::L7Status;
        }
        let verdict = result.status.verdict();
        let (status, duration_ms) = (result.status, result.duration_ms);
        server.history().add(PastCheck { at_ms: now_ms, status, duration_ms });
        if matches!(verdict, Verdict::Passed | Verdict::Conditional) {
            server.seen().clear();
        }
        let (moved, progressed) = note(&mut record, result);
        let up = server.up_state();
        let (change, next) = match (moved, verdict, op) {
            (Transition::Down, ..) => (Change::Down, OpState::Stopped),
            // Its agent has the last word.
            (Transition::Up, ..) if !server.agent_allows() => (Change::None, op),
            (Transition::Up, ..) => (Change::Up, up),
            (_, Verdict::Conditional, OpState::Running | OpState::Starting) => {
                (Change::Stopping, OpState::Stopping)
            }
            (_, Verdict::Passed, OpState::Stopping) => (Change::Up, up),
            _ => (Change::None, op),
        };
        self.apply(server, record, next, now_ms);
        Checked { change, progressed }
    }

    /// `set server <s> health {up|stopping|down}`: forces the state that checks would have found.
    pub fn force_health(&self, slot: usize, change: Change, now_ms: u64) {
        let Some(server) = self.servers.get(slot) else { return };
        let mut record = server.record();
        let (op, admin) = server.state();
        if admin.in_maint() {
            return;
        }
        let next = match (change, op) {
            (Change::None, _) => return,
            (Change::Down, _) => OpState::Stopped,
            (Change::Up, OpState::Starting | OpState::Running) => op,
            (Change::Up, _) => server.up_state(),
            (Change::Stopping, _) => OpState::Stopping,
        };
        match next {
            OpState::Stopped => record.health.set_down(),
            _ => record.health.set_up(),
        }
        self.apply(server, record, next, now_ms);
    }

    /// Puts a server that tracks another one, `leader`, into the state that this has now.
    pub fn follow_state(&self, slot: usize, leader: &Server, now_ms: u64) -> Change {
        let Some(server) = self.servers.get(slot) else { return Change::None };
        let record = server.record();
        let (before, admin) = server.state();
        if admin.in_maint() {
            return Change::None;
        }
        // Of two reports of a change, the last one sees the last state.
        let (next, change) = match (before, leader.state().0) {
            (OpState::Stopped, OpState::Stopped) => return Change::None,
            (_, OpState::Stopped) => (OpState::Stopped, Change::Down),
            (OpState::Stopped, OpState::Starting | OpState::Running) => {
                (server.up_state(), Change::Up)
            }
            (OpState::Stopping, OpState::Stopping) => return Change::None,
            (_, OpState::Stopping) => (OpState::Stopping, Change::Stopping),
            (OpState::Stopping, _) => (server.up_state(), Change::Up),
            _ => return Change::None,
        };
        self.apply(server, record, next, now_ms);
        change
    }

    /// Sets and clears administrative bits; entering maintenance stops the server, leaving it
    /// brings it back one step above down. Returns the bits before.
    pub fn set_admin(&self, slot: usize, set: Admin, clear: Admin, now_ms: u64) -> Admin {
        let Some(server) = self.servers.get(slot) else { return Admin::default() };
        let mut record = server.record();
        let (op, before) = server.state();
        let after = before.without(clear).with(set);
        let next = match (before.in_maint(), after.in_maint()) {
            (false, true) => {
                record.health.set_down();
                OpState::Stopped
            }
            (true, false) => {
                if server.settings().checked {
                    record.health.set_unchecked();
                }
                if server.agent_allows() { server.up_state() } else { OpState::Stopped }
            }
            _ => op,
        };
        server.transit(&mut record, next, |bits| bits.without(clear).with(set), now_ms);
        if next == op && before.in_drain() != after.in_drain() {
            server.touch(now_ms);
        }
        server.refresh_weight(&mut record, now_ms);
        drop(record);
        self.refresh();
        before
    }

    /// Whether the server in this slot may have a user weight: a static algorithm allows only 0 and
    /// the configured weight.
    pub fn allows_weight(&self, slot: usize, weight: u32) -> bool {
        let configured = |server: &Arc<Server>| server.settings().weight.min(MAX_WEIGHT);
        let initial = self.servers.get(slot).map(configured);
        !self.algorithm.is_static() || weight == 0 || initial == Some(weight)
    }

    /// `set server <s> weight`: a user weight of 0..=256; 0 drains. A weight out of these bounds
    /// changes nothing.
    pub fn set_weight(&self, slot: usize, weight: u32, now_ms: u64) {
        let allowed = self.allows_weight(slot, weight);
        let Some(server) = self.servers.get(slot).filter(|_| allowed) else { return };
        server.set_user_weight(weight);
        server.refresh_weight(&mut server.record(), now_ms);
        self.refresh();
    }

    /// Moves a slow start on; to be called with every check and at its end.
    pub fn warm_up(&self, slot: usize, now_ms: u64) {
        let Some(server) = self.servers.get(slot) else { return };
        let weighed = server.refresh_weight(&mut server.record(), now_ms);
        if weighed {
            self.refresh();
        }
    }

    /// Carries out a decision that was made under the lock of `record`.
    pub(crate) fn apply(
        &self,
        server: &Server,
        mut record: MutexGuard<'_, CheckRecord>,
        next: OpState,
        now_ms: u64,
    ) {
        let moved = server.transit(&mut record, next, |bits| bits, now_ms);
        let weighed = server.refresh_weight(&mut record, now_ms);
        drop(record);
        if moved || weighed {
            self.refresh();
        }
    }
}

impl Checked {
    pub(crate) const NOTHING: Self = Self { change: Change::None, progressed: false };
}

fn member(server: &Arc<Server>) -> Member {
    Member {
        slot: server.slot(),
        id: server.id(),
        weight: server.load().weight(),
        user_weight: server.user_weight(),
        load: server.shared_load(),
        latency: Arc::clone(server.latency()),
    }
}

/// Writes the result down; returns the machine's transition and whether anything moved.
fn note(record: &mut CheckRecord, result: CheckResult) -> (Transition, bool) {
    let verdict = result.status.verdict();
    if verdict == Verdict::Failed && record.health.is_up() {
        record.failed += 1;
    }
    let moved = record.health.on_check(verdict);
    let progressed = moved != Transition::None || record.last.status != result.status;
    record.last = result;
    (moved, progressed)
}
