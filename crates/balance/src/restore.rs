//! The state of a server in the previous process (management.txt 9.3, `show servers state`;
//! configuration manual, `server-state-file`).

use crate::{Admin, Balancer, Change, CheckResult, CheckStatus, OpState, health::Health};

/// The state of a server in a process before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Whether it was up.
    pub op: OpState,
    /// Why it rested or drained.
    pub admin: Admin,
    /// The weight that the user had set, if that still counts.
    pub weight: Option<u32>,
    /// Milliseconds since its last change.
    pub since_ms: u64,
    /// Its last check.
    pub status: CheckStatus,
    /// Its rise/fall counter.
    pub health: u32,
}

impl OpState {
    /// The state of this number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Stopped, Self::Starting, Self::Running, Self::Stopping]
            .into_iter()
            .find(|state| *state as u8 == number)
    }
}

impl Balancer {
    /// Puts a new server into the state that it had in an earlier process, as far as the
    /// configuration allows: a server that is configured to be in maintenance stays there unless an
    /// operator had ended that, and one that tracks another server follows it. Returns whether the
    /// server goes down or stops, or leaves its configured maintenance. Counters change at once;
    /// the server takes part after the next [`Balancer::refresh`], which may serve all servers.
    pub fn restore(&self, slot: usize, from: &Restored, now_ms: u64) -> Change {
        let Some(server) = self.servers().get(slot) else { return Change::None };
        if let Some(weight) = from.weight.filter(|weight| self.allows_weight(slot, *weight)) {
            server.set_user_weight(weight);
        }
        let (_, own) = server.state();
        let ended = from.ends(own);
        let admin = from.admin_beside(own);
        let own = own.in_maint();
        // A rest that is over is no reason to be down.
        let rested = from.admin.in_maint() && !admin.in_maint();
        let tracks = server.settings().track.is_some();
        let up = !rested && from.op != OpState::Stopped;
        let next = match from.op {
            _ if admin.in_maint() => OpState::Stopped,
            _ if ended => server.up_state(),
            _ if rested || tracks => server.state().0,
            OpState::Starting => server.up_state(),
            op => op,
        };
        server.revive(next, admin, now_ms.saturating_sub(from.since_ms));
        let checked = server.settings().checked;
        if ended && checked {
            server.record().health.set_unchecked();
        } else if !rested && !ended {
            let health = &mut server.record().health;
            health.recall(from.health, next, checked && up);
        }
        if from.status != CheckStatus::Initializing {
            server.record().last = CheckResult { status: from.status, ..CheckResult::default() };
        }
        server.refresh_weight(&mut server.record(), now_ms);
        self.recount();
        match next {
            _ if ended && !admin.in_maint() => Change::Up,
            OpState::Stopped if !own && !tracks => Change::Down,
            OpState::Stopping => Change::Stopping,
            _ => Change::None,
        }
    }
}

impl Restored {
    /// Whether an operator had ended the rest that the configuration asks for with `own`.
    fn ends(&self, own: Admin) -> bool {
        let configured = own.any(Admin::CONFIG_MAINT) && self.admin.any(Admin::CONFIG_MAINT);
        configured && !self.admin.any(Admin::FORCED_MAINT)
    }

    /// The bits of a server that starts with `own`: those that an operator had set stay, except a
    /// drain where the configuration says maintenance.
    fn admin_beside(&self, own: Admin) -> Admin {
        let ended = self.ends(own);
        let own = if ended { own.without(Admin::FORCED_MAINT) } else { own };
        let mut kept = Admin::FQDN_CHANGED;
        if ended || !own.any(Admin::CONFIG_MAINT) {
            kept = kept.with(Admin::FORCED_DRAIN);
        }
        if !self.admin.any(Admin::CONFIG_MAINT) {
            kept = kept.with(Admin::FORCED_MAINT);
        }
        own.with(Admin(self.admin.0 & kept.0))
    }
}

impl Health {
    /// Restores a counter within the bounds of a state.
    fn recall(&mut self, counter: u32, op: OpState, counts: bool) {
        match op {
            OpState::Stopped => self.clamp(counter.min(self.rise() - 1), counts),
            OpState::Stopping => self.set_unchecked(),
            _ if counts => self.clamp(counter.max(self.rise()), true),
            _ => self.set_unchecked(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, ServerSettings};

    fn saved(op: OpState, admin: u8, health: u32) -> Restored {
        Restored {
            op,
            admin: Admin(admin),
            weight: None,
            since_ms: 100,
            status: CheckStatus::L7Ok,
            health,
        }
    }

    /// State, admin bits and health of a server after its state was restored.
    fn after(from: Restored, change: impl Fn(&mut ServerSettings)) -> (Change, u8, u8, u32) {
        let mut settings = ServerSettings::new(1, "s");
        (settings.checked, settings.rise, settings.fall) = (true, 2, 3);
        change(&mut settings);
        let backend = Balancer::new(Algorithm::RoundRobin, false, vec![settings], 1_000);
        let change = backend.restore(0, &from, 1_000);
        let server = &backend.servers()[0];
        let (op, admin) = server.state();
        assert_eq!(server.changed_ms(), 900);
        (change, op as u8, admin.0, server.check_record().health.value())
    }

    #[test]
    fn saved_states_are_restored_as_in_haproxy() {
        use OpState::{Running, Starting, Stopped, Stopping};
        let plain = |from| after(from, |_| {});
        assert_eq!(plain(saved(Running, 0, 4)), (Change::None, 2, 0, 4));
        assert_eq!(plain(saved(Running, 0, 99)), (Change::None, 2, 0, 4));
        assert_eq!(plain(saved(Running, 0, 3)), (Change::None, 2, 0, 3), "one check had failed");
        assert_eq!(plain(saved(Stopped, 0, 0)), (Change::Down, 0, 0, 0));
        assert_eq!(plain(saved(Stopping, 0, 4)), (Change::Stopping, 3, 0, 2));
        assert_eq!(plain(saved(Stopped, 1, 2)), (Change::Down, 0, 1, 0), "forced to rest");
        assert_eq!(plain(saved(Running, 8, 4)), (Change::None, 2, 8, 4), "forced to drain");
        assert_eq!(plain(saved(Starting, 0, 4)).1, 2, "no slow start is configured");
        let slow = after(saved(Starting, 0, 4), |it| it.slowstart_ms = 60_000);
        assert_eq!(slow.1, 1);
        let unchecked = |from| after(from, |it| it.checked = false);
        assert_eq!(unchecked(saved(Running, 0, 4)).3, 2);
        assert_eq!(unchecked(saved(Stopped, 0, 2)), (Change::Down, 0, 0, 0));
    }

    #[test]
    fn the_configuration_has_the_last_word_on_rest() {
        let disabled = |from| after(from, |it| it.disabled = true);
        assert_eq!(disabled(saved(OpState::Running, 0, 4)).1, 0);
        assert_eq!(disabled(saved(OpState::Running, 0, 4)).2, 5);
        assert_eq!(disabled(saved(OpState::Running, 8, 4)).2, 5, "rest is more than drain");
        // `disabled` has gone from the configuration, a name resolves again.
        for admin in [5, 0x20, 2] {
            let (change, op, admin, _) = after(saved(OpState::Stopped, admin, 0), |_| {});
            assert_eq!((change, op, admin), (Change::None, 2, 0));
        }
    }

    #[test]
    fn a_configured_rest_that_was_ended_stays_ended() {
        let disabled = |op, admin| after(saved(op, admin, 0), |it| it.disabled = true);
        for op in [OpState::Running, OpState::Stopped, OpState::Stopping] {
            assert_eq!(disabled(op, 4), (Change::Up, 2, 4, 2), "{op:?}");
            assert_eq!(disabled(op, 12), (Change::Up, 2, 12, 2), "{op:?}");
            assert_eq!(disabled(op, 5).2, 5, "{op:?}");
        }
    }

    #[test]
    fn weights_of_users_stay() {
        let settings = ServerSettings::new(1, "s");
        let backend = Balancer::new(Algorithm::RoundRobin, false, vec![settings], 1_000);
        backend.restore(0, &Restored { weight: Some(7), ..saved(OpState::Running, 0, 4) }, 1_000);
        assert_eq!(backend.servers()[0].user_weight(), 7);
        assert_eq!(backend.servers()[0].shown_weight(), 7);
    }
}
