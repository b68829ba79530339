//! The four scheduling classes, and how a round's budget is divided among them.

use crate::Wake;

/// Kind of work that a queued task does, from most to least urgent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum Class {
    /// Continues I/O that has just become possible.
    Urgent,
    /// Ordinary work: timers, messages, new and prioritised tasks.
    Normal,
    /// Work that wakes itself to continue.
    Bulk,
    /// One uninterruptible slice of CPU, such as a TLS handshake step: one per round.
    Heavy,
}

/// Number of classes.
pub const COUNT: usize = 4;

/// Relative shares of the classes when all have work (about 50, 37, 12 and 1 percent).
pub const WEIGHTS: [u32; COUNT] = [64, 48, 16, 1];

impl Class {
    /// All classes, most urgent first.
    pub const ALL: [Self; COUNT] = [Self::Urgent, Self::Normal, Self::Bulk, Self::Heavy];

    /// The class that a wake-up puts a task into.
    ///
    /// `own`: the task woke itself; `niced`: it has a priority of its own.
    pub fn of_wake(reason: Wake, own: bool, niced: bool) -> Self {
        if own {
            Self::Bulk
        } else if niced || !reason.intersects(Wake::IO) {
            Self::Normal
        } else {
            Self::Urgent
        }
    }
}

/// Shares `depth` items out over the classes named in `ready` (bit n = class n), by weight.
///
/// Each ready class gets at least one item, the heavy class exactly one. All shares are 0 if no
/// class is ready, which happens when the queue was emptied meanwhile.
pub fn shares(ready: u8, depth: u32) -> [u32; COUNT] {
    let has = |class: usize| ready & (1 << class) != 0;
    let total: u32 = (0..COUNT).filter(|c| has(*c)).map(|c| WEIGHTS[c]).sum();
    let mut shares = [0; COUNT];
    for class in (0..COUNT).filter(|c| has(*c)) {
        shares[class] = (depth * WEIGHTS[class]).div_ceil(total);
    }
    shares[Class::Heavy as usize] = shares[Class::Heavy as usize].min(1);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_follows_the_wake() {
        assert_eq!(Class::of_wake(Wake::IO, false, false), Class::Urgent);
        assert_eq!(Class::of_wake(Wake::IO, false, true), Class::Normal);
        assert_eq!(Class::of_wake(Wake::TIMER, false, false), Class::Normal);
        assert_eq!(Class::of_wake(Wake::OTHER, true, false), Class::Bulk);
    }

    #[test]
    fn only_ready_classes_get_shares() {
        assert_eq!(shares(0, 200), [0; COUNT]);
        assert_eq!(shares(0b0001, 200), [200, 0, 0, 0]);
        assert_eq!(shares(0b1000, 200), [0, 0, 0, 1]);
        assert_eq!(shares(0b1111, 129), [64, 48, 16, 1]);
        assert_eq!(shares(0b0110, 64), [0, 48, 16, 0]);
        assert!(shares(0b1111, 1).iter().all(|share| *share == 1));
    }
}
