//! What a process before has left of a server (management.txt 9.3, `show servers state`; configuration manual,
//! `server-state-file`). Never reads a file.

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
    /// Puts a server that has just been made into the state that it had in a process before, as far
    /// as the configuration leaves room for it: who is configured to rest, does, and who tracks
    /// another one follows that one. Tells whether it goes down or stops by that.
    pub fn restore(&self, slot: usize, from: &Restored, now_ms: u64) -> Change {
        let Some(server) = self.servers().get(slot) else { return Change::None };
        if let Some(weight) = from.weight {
            server.set_user_weight(weight);
        }
        let by_configuration = from.admin.any(Admin::CONFIG_MAINT);
        let forced = if by_configuration { Admin::default() } else { Admin::FORCED_MAINT };
        let kept =
            Admin(from.admin.0 & forced.with(Admin::FORCED_DRAIN).with(Admin::FQDN_CHANGED).0);
        let (_, own) = server.state();
        let (own, admin) = (own.in_maint(), own.with(kept));
        // A rest that is over is no reason to be down.
        let rested = from.admin.in_maint() && !admin.in_maint();
        let tracks = server.settings().track.is_some();
        let up = !rested && from.op != OpState::Stopped;
        let next = match from.op {
            _ if admin.in_maint() => OpState::Stopped,
            _ if rested || tracks => server.state().0,
            OpState::Starting => server.up_state(),
            op => op,
        };
        server.revive(next, admin, now_ms.saturating_sub(from.since_ms));
        let checked = server.settings().checked;
        if !rested {
            let health = &mut server.record().health;
            health.recall(from.health, next, checked && up);
        }
        if from.status != CheckStatus::Initializing {
            server.record().last = CheckResult { status: from.status, ..CheckResult::default() };
        }
        server.refresh_weight(now_ms);
        self.refresh();
        match next {
            OpState::Stopped if !own && !tracks => Change::Down,
            OpState::Stopping => Change::Stopping,
            _ => Change::None,
        }
    }
}

impl Health {
    /// Takes a counter over as far as it fits a state.
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
    fn states_are_taken_over_as_measured() {
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
        // `disabled` has gone from the configuration, a name resolves again.
        for admin in [5, 0x20, 2] {
            let (change, op, admin, _) = after(saved(OpState::Stopped, admin, 0), |_| {});
            assert_eq!((change, op, admin), (Change::None, 2, 0));
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
