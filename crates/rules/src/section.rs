//! All rules of one section of the configuration.

use crate::action::{Action, Control};
use crate::rule_set_kind::RuleSetKind;
use crate::ruleset::{Rule, RuleSet};
use crate::sticking::StickRule;
use crate::switching::UseBackend;
use sample::{Condition, ConditionIndex};
use std::sync::OnceLock;

/// The rule sets of one section, each in order of declaration.
#[derive(Debug)]
pub struct Rules {
    /// `quic-initial`.
    pub quic_initial: RuleSet,
    /// `tcp-request connection`.
    pub tcp_connection: RuleSet,
    /// `tcp-request session`.
    pub tcp_session: RuleSet,
    /// `tcp-request content`.
    pub tcp_request: RuleSet,
    /// `tcp-response content`.
    pub tcp_response: RuleSet,
    /// `http-request`.
    pub http_request: RuleSet,
    /// `http-response`.
    pub http_response: RuleSet,
    /// `http-after-response`.
    pub http_after_response: RuleSet,
    /// `redirect` lines; they run after `http-request`.
    pub redirect: RuleSet,
    /// `stats http-request` lines: access to the statistics page.
    pub stats: RuleSet,
    /// `use_backend` lines.
    pub switching: Vec<Switching>,
    /// `stick` lines.
    pub sticking: Vec<StickRule>,
    /// `use-server` lines.
    pub selection: Vec<Selection>,
    /// `force-persist` and `ignore-persist` lines.
    pub persistence: Vec<Persistence>,
    /// `monitor fail` conditions.
    pub monitor_fail: Vec<Condition>,
    /// `stats admin` conditions: whether the statistics page may change servers.
    pub stats_admin: Vec<Condition>,
    /// `stats drain` conditions: whether the statistics page may drain servers.
    pub stats_drain: Vec<Condition>,
    switching_guards: OnceLock<ConditionIndex>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            quic_initial: RuleSet::new(RuleSetKind::QuicInitial),
            tcp_connection: RuleSet::new(RuleSetKind::TcpConnection),
            tcp_session: RuleSet::new(RuleSetKind::TcpSession),
            tcp_request: RuleSet::new(RuleSetKind::TcpRequest),
            tcp_response: RuleSet::new(RuleSetKind::TcpResponse),
            http_request: RuleSet::new(RuleSetKind::HttpRequest),
            http_response: RuleSet::new(RuleSetKind::HttpResponse),
            http_after_response: RuleSet::new(RuleSetKind::HttpAfterResponse),
            redirect: RuleSet::new(RuleSetKind::HttpRequest),
            stats: RuleSet::new(RuleSetKind::HttpRequest),
            switching: Vec::new(),
            sticking: Vec::new(),
            selection: Vec::new(),
            persistence: Vec::new(),
            monitor_fail: Vec::new(),
            stats_admin: Vec::new(),
            stats_drain: Vec::new(),
            switching_guards: OnceLock::new(),
        }
    }
}

impl Rules {
    /// True without any rule.
    pub fn is_empty(&self) -> bool {
        let others = self.selection.is_empty() && self.persistence.is_empty();
        let lines = self.switching.is_empty() && self.sticking.is_empty();
        others && lines && self.sets().iter().all(|set| set.is_empty())
    }

    /// Whether bytes may become messages (`switch-mode http`).
    pub fn may_switch_mode(&self) -> bool {
        let switches =
            |rule: &Rule| matches!(rule.action(), Action::Control(Control::SwitchMode(_)));
        self.tcp_request.rules().iter().any(switches)
    }

    /// The guards of the `use_backend` conditions, compiled at the first call; lines added later
    /// are evaluated without them.
    pub fn switching_guards(&self) -> &ConditionIndex {
        let conditions = || self.switching.iter().map(|line| line.rule.condition());
        self.switching_guards.get_or_init(|| ConditionIndex::new(conditions()))
    }

    /// Compiles all that evaluation needs, so that the first request need not.
    pub fn prepare(&self) {
        self.sets().iter().for_each(|set| {
            set.guards();
        });
        self.switching_guards();
    }

    /// All sets but switching.
    pub fn sets(&self) -> [&RuleSet; 10] {
        [
            &self.quic_initial,
            &self.tcp_connection,
            &self.tcp_session,
            &self.tcp_request,
            &self.tcp_response,
            &self.http_request,
            &self.http_response,
            &self.http_after_response,
            &self.redirect,
            &self.stats,
        ]
    }

    /// The set that lines of this kind fill.
    pub fn set_mut(&mut self, ruleset: RuleSetKind) -> &mut RuleSet {
        match ruleset {
            RuleSetKind::QuicInitial => &mut self.quic_initial,
            RuleSetKind::TcpConnection => &mut self.tcp_connection,
            RuleSetKind::TcpSession => &mut self.tcp_session,
            RuleSetKind::TcpRequest => &mut self.tcp_request,
            RuleSetKind::TcpResponse => &mut self.tcp_response,
            RuleSetKind::HttpRequest => &mut self.http_request,
            RuleSetKind::HttpResponse => &mut self.http_response,
            RuleSetKind::HttpAfterResponse => &mut self.http_after_response,
        }
    }
}

/// One `use_backend` line.
#[derive(Debug)]
pub struct Switching {
    /// Name and condition.
    pub rule: UseBackend,
    /// The backend as an index among all proxies, when the name is fixed.
    pub backend: Option<usize>,
}

/// One `use-server` line.
#[derive(Debug)]
pub struct Selection {
    /// Name and condition.
    pub rule: UseBackend,
    /// The server's index in its backend, when the name is fixed.
    pub server: Option<usize>,
}

/// One `force-persist` or `ignore-persist` line.
#[derive(Debug)]
pub struct Persistence {
    /// Servers that are down are asked too; otherwise the persistence does not count.
    pub force: bool,
    /// When.
    pub condition: Condition,
}
