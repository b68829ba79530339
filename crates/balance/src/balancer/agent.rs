//! Results of agent checks (configuration manual, `agent-check`), applied to the state of a server.
//!
//! An agent takes a server down on its own. The agent brings the server up again only while health
//! checks agree, and health checks bring it up only while the agent agrees. An agent that cannot be
//! reached changes nothing.

use crate::balancer::{Balancer, Change, Checked};
use crate::{CheckResult, CheckStatus, OpState, Server, Verdict};

impl Balancer {
    /// Takes the result of an agent check of the server in this slot into account.
    pub fn on_agent(&self, slot: usize, result: CheckResult, now_ms: u64) -> Checked {
        let Some(server) = self.servers().get(slot) else { return Checked::NOTHING };
        let mut record = server.agent();
        let before = record.health;
        match result.status {
            CheckStatus::L7Ok => record.health.set_up(),
            CheckStatus::L7Status => record.health.set_down(),
            // No word about the state.
            _ => {}
        }
        let known = result.status == record.last.status;
        let silent = result.status.verdict() == Verdict::Neutral;
        let progressed = record.health != before || (!known && !silent);
        let speaks = matches!(result.status, CheckStatus::L7Ok | CheckStatus::L7Status);
        record.last = result;
        drop(record);
        let change = if speaks { self.follow(server, now_ms) } else { Change::None };
        Checked { change, progressed }
    }

    /// `set server <s> agent {up|down}`: has the effect of such an answer of the agent.
    pub fn force_agent(&self, slot: usize, up: bool, now_ms: u64) -> Change {
        let Some(server) = self.servers().get(slot) else { return Change::None };
        match up {
            true => server.agent().health.set_up(),
            false => server.agent().health.set_down(),
        }
        self.follow(server, now_ms)
    }

    /// Derives the server's state from the results of its agent and its health checks.
    fn follow(&self, server: &Server, now_ms: u64) -> Change {
        let record = server.record();
        let (op, admin) = server.state();
        if admin.in_maint() {
            return Change::None;
        }
        let checks = !server.settings().checked || record.health.is_up();
        match (server.agent_allows(), op) {
            (false, OpState::Running | OpState::Starting | OpState::Stopping) => {
                self.apply(server, record, OpState::Stopped, now_ms);
                Change::Down
            }
            (true, OpState::Stopped) if checks => {
                self.apply(server, record, server.up_state(), now_ms);
                Change::Up
            }
            _ => Change::None,
        }
    }
}
