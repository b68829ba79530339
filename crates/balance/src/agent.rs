//! The results that a server's agent has reported so far.

use crate::{CheckResult, Health};

/// The results of agent checks: the agent columns of the statistics.
#[derive(Clone, Debug)]
pub struct AgentRecord {
    /// One word of an agent takes the server down, another brings it up.
    pub health: Health,
    /// The last finished check.
    pub last: CheckResult,
}

impl Default for AgentRecord {
    fn default() -> Self {
        Self { health: Health::new(1, 1), last: CheckResult::default() }
    }
}
