//! Sets of threads, and which thread belongs to which group (section 3.1).
use std::collections::BTreeMap;

/// Most threads of one group.
pub const PER_GROUP: u16 = 64;
/// Most groups.
pub const MAX_GROUPS: u16 = 16;
/// Most threads of the process.
pub const MAX_THREADS: u16 = PER_GROUP * MAX_GROUPS;

/// A set of threads, from 0: of one group, or of the process. The empty set means all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadSet {
    /// The group that the numbers are relative to, from 1; absolute numbers without one.
    pub group: Option<u16>,
    words: [u64; MAX_GROUPS as usize],
}

impl ThreadSet {
    /// Adds a thread; numbers beyond [`MAX_THREADS`] are ignored.
    pub fn insert(&mut self, thread: u16) {
        if let Some(word) = self.words.get_mut(usize::from(thread / 64)) {
            *word |= 1 << (thread % 64);
        }
    }

    /// Whether a thread is in the set.
    pub fn contains(&self, thread: u16) -> bool {
        self.words.get(usize::from(thread / 64)).is_some_and(|word| word >> (thread % 64) & 1 != 0)
    }

    /// Whether the set has no thread.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }
}

/// The place of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its group, from 1.
    pub group: u16,
    /// Its number in the group, from 0.
    pub rank: u16,
}

/// All threads of the process with their groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads(Vec<Seat>);

impl Threads {
    /// Places `count` threads in `groups` groups: first as configured, then evenly over the groups
    /// without a setting.
    ///
    /// # Errors
    /// Some threads have no group; returns their number.
    pub fn new(count: u16, groups: u16, told: &BTreeMap<u16, ThreadSet>) -> Result<Self, u16> {
        let mut group_of = vec![0; usize::from(count)];
        for (group, set) in told.iter().rev() {
            for (thread, seat) in (0..).zip(&mut group_of) {
                if set.contains(thread) {
                    *seat = *group;
                }
            }
        }
        let mut left = group_of.iter().filter(|group| **group == 0).count() as u16;
        let free: Vec<u16> = (1..=groups).filter(|group| !told.contains_key(group)).collect();
        let mut waiting = group_of.iter_mut().filter(|group| **group == 0);
        for (behind, group) in (1..=free.len() as u16).rev().zip(free) {
            let share = left.div_ceil(behind).min(PER_GROUP);
            waiting.by_ref().take(usize::from(share)).for_each(|seat| *seat = group);
            left -= share;
        }
        let mut used = [0; MAX_GROUPS as usize + 1];
        let seat = |group: u16| {
            let rank = &mut used[usize::from(group)];
            *rank += 1;
            Seat { group, rank: *rank - 1 }
        };
        if left > 0 { Err(left) } else { Ok(Self(group_of.into_iter().map(seat).collect())) }
    }

    /// The number of threads.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Where a thread sits; from 0.
    pub fn seat(&self, thread: usize) -> Option<Seat> {
        self.0.get(thread).copied()
    }

    /// The threads of a set, from 0 in the process. An empty result for a set that is not empty
    /// means that the process has none of its threads.
    pub fn of(&self, set: &ThreadSet) -> Vec<u16> {
        let has = |(thread, seat): &(u16, &Seat)| match set.group {
            None => set.contains(*thread),
            Some(group) => seat.group == group && set.contains(seat.rank),
        };
        (0..).zip(&self.0).filter(has).map(|(thread, _)| thread).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(group: Option<u16>, threads: &[u16]) -> ThreadSet {
        let mut set = ThreadSet { group, ..ThreadSet::default() };
        threads.iter().for_each(|thread| set.insert(*thread));
        set
    }

    fn groups(threads: &Threads) -> Vec<u16> {
        threads.0.iter().map(|seat| seat.group).collect()
    }

    #[test]
    fn threads_are_seated_evenly_after_those_that_were_told() {
        let none = BTreeMap::new();
        assert_eq!(groups(&Threads::new(5, 2, &none).unwrap()), [1, 1, 1, 2, 2]);
        assert_eq!(groups(&Threads::new(1, 3, &none).unwrap()), [1]);
        let told = [(2, set(None, &[0, 3]))].into();
        let threads = Threads::new(6, 3, &told).unwrap();
        assert_eq!(groups(&threads), [2, 1, 1, 2, 3, 3]);
        assert_eq!(threads.seat(3), Some(Seat { group: 2, rank: 1 }));
        assert_eq!(threads.seat(6), None);
        assert_eq!(Threads::new(65, 1, &none), Err(1));
        assert_eq!(Threads::new(4, 1, &[(1, set(None, &[1]))].into()), Err(3));
        assert_eq!(Threads::new(1024, 16, &none).unwrap().count(), 1024);
    }

    #[test]
    fn sets_are_absolute_or_of_a_group() {
        let threads = Threads::new(6, 2, &BTreeMap::new()).unwrap();
        assert_eq!(threads.of(&set(None, &[1, 4, 900])), [1, 4]);
        assert_eq!(threads.of(&set(Some(2), &[0, 2, 3])), [3, 5]);
        assert_eq!(threads.of(&set(Some(3), &[0])), []);
        assert!(set(None, &[2000]).is_empty());
    }
}
