//! What an agent says of its server (configuration manual, `agent-check`). Never connects to one.
//!
//! An agent's word takes a server down by itself. It brings it up again only where health checks
//! agree, and the other way round. Failing to reach an agent says nothing about the server.

use crate::{
    Balancer, Change, CheckResult, CheckStatus, Checked, Health, OpState, Server, Verdict,
};

/// What agents have said so far: the agent columns of the statistics.
#[derive(Clone, Debug)]
pub struct AgentRecord {
    /// One word takes it down, one brings it up.
    pub health: Health,
    /// The last finished check.
    pub last: CheckResult,
}

impl Default for AgentRecord {
    fn default() -> Self {
        Self { health: Health::new(1, 1), last: CheckResult::default() }
    }
}

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

    /// `set server <s> agent {up|down}`: as if the agent had said so.
    pub fn force_agent(&self, slot: usize, up: bool, now_ms: u64) -> Change {
        let Some(server) = self.servers().get(slot) else { return Change::None };
        match up {
            true => server.agent().health.set_up(),
            false => server.agent().health.set_down(),
        }
        self.follow(server, now_ms)
    }

    /// Makes the server's state follow from what its agent and its checks say.
    fn follow(&self, server: &Server, now_ms: u64) -> Change {
        let record = server.record();
        let (op, admin) = server.state();
        if admin.in_maint() {
            return Change::None;
        }
        let checks = !server.settings().checked || record.health.is_up();
        match (server.agent_allows(), op) {
            (false, OpState::Running | OpState::Starting | OpState::Stopping) => {
                self.settle(server, record, OpState::Stopped, now_ms);
                Change::Down
            }
            (true, OpState::Stopped) if checks => {
                self.settle(server, record, server.up_state(), now_ms);
                Change::Up
            }
            _ => Change::None,
        }
    }
}
