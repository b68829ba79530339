//! The rise/fall machine of one check. Pure: no clock, no server, no log.
//!
//! Health counts from 0 to `rise + fall - 1`. Below `rise` the server is down and climbs by one per
//! success; at `rise` or above it is up and sinks by one per failure. Crossing `rise` upwards jumps
//! to the top, crossing it downwards drops to 0 (management.txt 9.1, `check_health`).

use crate::check::Verdict;

/// The change that one result causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// Nothing: neither state nor counter moved.
    None,
    /// The counter moved inside the same state.
    Counter,
    /// The server is up now and was down.
    Up,
    /// The server is down now and was up.
    Down,
}

/// The counter with its two thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    rise: u32,
    fall: u32,
    value: u32,
}

impl Health {
    /// A server that was never checked: up, yet one step above down, so that the first failed
    /// check takes it down and the first success makes it fully up. Thresholds below 1 count as 1.
    pub fn new(rise: u32, fall: u32) -> Self {
        let rise = rise.max(1);
        Self { rise, fall: fall.max(1), value: rise }
    }

    /// Checks needed to come up.
    pub fn rise(&self) -> u32 {
        self.rise
    }

    /// Failures needed to go down.
    pub fn fall(&self) -> u32 {
        self.fall
    }

    /// The counter, `0..rise + fall`.
    pub fn value(&self) -> u32 {
        self.value
    }

    /// Whether the counter says up.
    pub fn is_up(&self) -> bool {
        self.value >= self.rise
    }

    /// Whether another result could change the state: going down, coming up.
    pub fn in_transition(&self) -> bool {
        self.value != 0 && self.value != self.top()
    }

    /// The fraction shown in statistics and log lines: steps left above down, or climbed towards
    /// up.
    pub fn fraction(&self) -> (u32, u32) {
        if self.is_up() { (self.value - self.rise + 1, self.fall) } else { (self.value, self.rise) }
    }

    /// Takes one result into account.
    pub fn on_check(&mut self, verdict: Verdict) -> Transition {
        match verdict {
            Verdict::Unknown | Verdict::Neutral => Transition::None,
            Verdict::Failed => self.sink(),
            Verdict::Passed | Verdict::Conditional => self.climb(),
        }
    }

    /// Fully up at once (`set server health up`).
    pub fn set_up(&mut self) {
        self.value = self.top();
    }

    /// Fully down at once (`set server health down`, maintenance).
    pub fn set_down(&mut self) {
        self.value = 0;
    }

    /// Up, one step above down: the state after leaving maintenance.
    pub fn set_unchecked(&mut self) {
        self.value = self.rise;
    }

    /// Sets a saved counter, limited to its range; it stays 0 for a server without checks.
    pub(crate) fn clamp(&mut self, value: u32, counts: bool) {
        self.value = if counts { value.min(self.top()) } else { 0 };
    }

    /// Raises the failure count so that `failures` more mark it down, unless fewer suffice already.
    pub(crate) fn weaken(&mut self, failures: u32) {
        self.value = self.value.min(self.rise.saturating_add(failures.max(1) - 1));
    }

    fn top(&self) -> u32 {
        self.rise.saturating_add(self.fall) - 1
    }

    fn climb(&mut self) -> Transition {
        if self.value == self.top() {
            return Transition::None;
        }
        let was_up = self.is_up();
        self.value += 1;
        if self.value < self.rise {
            return Transition::Counter;
        }
        self.value = self.top();
        if was_up { Transition::Counter } else { Transition::Up }
    }

    fn sink(&mut self) -> Transition {
        if self.value > self.rise {
            self.value -= 1;
            return Transition::Counter;
        }
        let before = *self;
        self.value = 0;
        match (before.is_up(), before.value) {
            (true, _) => Transition::Down,
            (false, 0) => Transition::None,
            (false, _) => Transition::Counter,
        }
    }
}

/// The three intervals between checks, in milliseconds (configuration manual, `inter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// While the state is settled.
    pub inter: u32,
    /// While going down or coming up; `inter` when absent.
    pub fast: Option<u32>,
    /// While settled down; `inter` when absent.
    pub down: Option<u32>,
}

impl Default for Intervals {
    fn default() -> Self {
        Self { inter: 2000, fast: None, down: None }
    }
}

impl Intervals {
    /// The time from one check to the next at this health. A server that was never checked uses
    /// `fastinter`, like one that goes down or up, unless a single result decides.
    pub fn next(&self, health: &Health) -> u32 {
        let chosen = if health.in_transition() {
            self.fast
        } else if health.is_up() {
            None
        } else {
            self.down
        };
        chosen.unwrap_or(self.inter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Conditional, Failed, Passed};
    use proptest::prelude::*;

    fn walk(health: &mut Health, verdicts: &[Verdict]) -> Vec<(Transition, u32)> {
        verdicts.iter().map(|v| (health.on_check(*v), health.value())).collect()
    }

    #[test]
    fn the_measured_walk_of_rise_3_fall_3() {
        let mut health = Health::new(3, 3);
        assert_eq!(health.fraction(), (1, 3));
        let seen = walk(
            &mut health,
            &[
                Passed, Failed, Failed, Failed, Failed, Passed, Passed, Failed, Passed, Passed,
                Passed,
            ],
        );
        use Transition::{Counter, Down, None, Up};
        let expected = [
            (Counter, 5),
            (Counter, 4),
            (Counter, 3),
            (Down, 0),
            (None, 0),
            (Counter, 1),
            (Counter, 2),
            (Counter, 0),
            (Counter, 1),
            (Counter, 2),
            (Up, 5),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn the_first_failure_of_an_unchecked_server_takes_it_down() {
        assert_eq!(Health::new(2, 4).on_check(Failed), Transition::Down);
    }

    #[test]
    fn intervals_follow_the_manual_table() {
        let set = Intervals { inter: 100, fast: Some(10), down: Some(1000) };
        let mut health = Health::new(2, 3);
        assert_eq!(set.next(&health), 10);
        health.on_check(Passed);
        assert_eq!(set.next(&health), 100);
        health.on_check(Failed);
        assert_eq!(set.next(&health), 10);
        health.set_down();
        assert_eq!(set.next(&health), 1000);
        health.on_check(Conditional);
        assert_eq!(set.next(&health), 10);
        assert_eq!(Intervals::default().next(&health), 2000);
    }

    #[test]
    fn a_first_check_that_settles_all_waits_no_longer_than_others() {
        let set = Intervals { inter: 100, fast: Some(20_000), down: Some(1000) };
        assert_eq!(set.next(&Health::new(1, 1)), 100);
        assert_eq!(set.next(&Health::new(2, 1)), 100);
        assert_eq!(set.next(&Health::new(1, 2)), 20_000);
    }

    proptest! {
        #[test]
        fn the_counter_stays_in_range_and_transitions_agree_with_it(
            rise in 0u32..6, fall in 0u32..6, results in prop::collection::vec(any::<bool>(), 0..60),
        ) {
            let mut health = Health::new(rise, fall);
            for passed in results {
                let before = health;
                let change = health.on_check(if passed { Passed } else { Failed });
                prop_assert!(health.value() < health.rise() + health.fall());
                prop_assert_eq!(change == Transition::Up, !before.is_up() && health.is_up());
                prop_assert_eq!(change == Transition::Down, before.is_up() && !health.is_up());
                prop_assert_eq!(change == Transition::None, before == health);
            }
        }
    }
}
