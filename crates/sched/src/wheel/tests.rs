//! Tests of the timer wheel against a naive model.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn fired(wheel: &mut Wheel, now: Tick) -> Vec<u32> {
    let mut all = Vec::new();
    wheel.advance(now, usize::MAX, |index| {
        all.push(index);
        None
    });
    all.sort_unstable();
    all
}

#[test]
fn fires_at_its_tick_and_not_before() {
    let mut wheel = Wheel::new(Tick(1000));
    for (index, ahead) in [1, 255, 256, 257, 65_535, 65_536, 20_000_000].into_iter().enumerate() {
        wheel.arm(index as u32, Tick(1000 + ahead));
        assert_eq!(fired(&mut wheel, Tick(1000 + ahead - 1)), []);
        assert_eq!(fired(&mut wheel, Tick(1000 + ahead)), [index as u32]);
        wheel = Wheel::new(Tick(1000));
    }
}

#[test]
fn a_storm_is_cut_by_the_budget_and_nothing_is_lost() {
    let mut wheel = Wheel::new(Tick(0));
    (0..1000).for_each(|index| wheel.arm(index, Tick(500)));
    let mut seen = wheel.advance(Tick(600), 300, |_| None);
    assert_eq!((seen, wheel.next()), (300, Some(Tick(500))));
    while seen < 1000 {
        let more = wheel.advance(Tick(600), 300, |_| None);
        assert!((1..=300).contains(&more));
        seen += more;
    }
    assert_eq!((wheel.len(), wheel.next()), (0, None));
}

#[test]
fn a_timer_may_be_armed_again_while_it_fires() {
    let mut wheel = Wheel::new(Tick(0));
    wheel.arm(7, Tick(5));
    assert_eq!(wheel.advance(Tick(9), 10, |_| Some(Tick(300))), 1);
    assert_eq!((wheel.armed(7), fired(&mut wheel, Tick(299))), (Some(Tick(300)), vec![]));
    assert_eq!(fired(&mut wheel, Tick(300)), [7]);
}

#[test]
fn a_timer_moved_later_touches_no_list_and_fires_once_at_its_new_time() {
    let mut wheel = Wheel::new(Tick(0));
    (0..1_000).for_each(|index| wheel.arm(index, Tick(100)));
    let lists = wheel.heads.clone();
    (0..1_000).for_each(|index| wheel.arm(index, Tick(70_000 + index)));
    assert_eq!((&wheel.heads, wheel.armed(7)), (&lists, Some(Tick(70_007))));
    // At the old time they are moved, a bounded number per call, and none fires.
    let mut calls = 0;
    while wheel.next().is_some_and(|next| next.is_due(Tick(100))) {
        assert_eq!(wheel.advance(Tick(100), 50, |_| None), 0);
        calls += 1;
    }
    assert_eq!((calls, wheel.len()), (1_000 / (50 * MOVES), 1_000));
    assert_eq!(fired(&mut wheel, Tick(70_006)), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(fired(&mut wheel, Tick(71_000)).len(), 993);
}

#[test]
fn past_deadlines_fire_at_the_next_tick() {
    let mut wheel = Wheel::new(Tick(10));
    wheel.arm(0, Tick(3));
    assert_eq!(fired(&mut wheel, Tick(10)), []);
    assert_eq!(fired(&mut wheel, Tick(11)), [0]);
}

#[test]
fn a_call_moves_and_fires_a_bounded_number_however_many_are_due() {
    let mut wheel = Wheel::new(Tick(0));
    (0..10_000).for_each(|index| wheel.arm(index, Tick(70_000)));
    let (mut calls, mut seen) = (0, 0);
    while !wheel.is_empty() {
        let before = wheel.nodes.iter().filter(|node| node.bucket >= SLOTS as u16).count();
        let fired = wheel.advance(Tick(70_001), 100, |_| None);
        let after = wheel.nodes.iter().filter(|node| node.bucket >= SLOTS as u16).count();
        assert!(fired <= 100 && before.abs_diff(after) <= 100 * MOVES);
        assert!(
            wheel.next().is_none_or(|next| next.is_due(Tick(70_001))),
            "it asks to go on at once"
        );
        (calls, seen) = (calls + 1, seen + fired);
    }
    assert_eq!(seen, 10_000);
    assert!((100..=151).contains(&calls), "{calls} calls");
}

#[test]
fn a_leap_over_weeks_fires_all_in_one_call_and_costs_no_walk() {
    let mut wheel = Wheel::new(Tick(u32::MAX - 5_000));
    let month = 30 * 24 * 3600 * 1000u32;
    let spans = [1, 1_000, 90_000, 20_000_000, month / 2, 24 * 24 * 3600 * 1000];
    for (index, ahead) in spans.into_iter().enumerate() {
        wheel.arm(index as u32, Tick((u32::MAX - 5_000).wrapping_add(ahead)));
    }
    let later = Tick((u32::MAX - 5_000).wrapping_add(month / 2));
    assert_eq!(fired(&mut wheel, later), [0, 1, 2, 3, 4]);
    assert_eq!((wheel.len(), wheel.current), (1, later));
}

proptest! {
    /// With far deadlines, long leaps and small budgets, no timer is lost, early or fired twice.
    #[test]
    fn nothing_is_lost_or_early_around_the_wrap(
        start in prop_oneof![any::<u32>(), (0..200_000u32).prop_map(|back| u32::MAX - back)],
        spans in prop::collection::vec(
            prop_oneof![0..600u32, 0..300_000u32, 0..2_000_000_000u32], 1..60),
        leaps in prop::collection::vec(
            prop_oneof![0..700u32, 0..400_000u32, 0..1_000_000_000u32], 1..60),
        budget in 1..10usize,
    ) {
        let mut wheel = Wheel::new(Tick(start));
        for (index, span) in spans.iter().enumerate() {
            wheel.arm(index as u32, Tick(start.wrapping_add(*span)));
        }
        let mut open: Vec<u32> = spans.iter().map(|span| (*span).max(1)).collect();
        let mut passed = 0u32;
        for leap in leaps {
            passed = passed.saturating_add(leap).min(2_100_000_000);
            let now = Tick(start.wrapping_add(passed));
            for _ in 0..1_000 {
                let mut done = Vec::new();
                wheel.advance(now, budget, |index| { done.push(index); None });
                for index in done {
                    let due = std::mem::replace(&mut open[index as usize], u32::MAX);
                    prop_assert!(due <= passed, "early or twice");
                }
                if wheel.next().is_none_or(|next| now.is_before(next)) {
                    break;
                }
            }
            prop_assert!(open.iter().all(|due| *due == u32::MAX || *due > passed), "late");
        }
    }

    #[test]
    fn agrees_with_a_sorted_map(
        start in prop_oneof![any::<u32>(), Just(u32::MAX - 300), Just(u32::MAX - 70_000)],
        steps in prop::collection::vec(
            (0..40u32, prop_oneof![1..300u32, 1..70_000u32, 1..40_000_000u32], any::<bool>()),
            1..200,
        ),
    ) {
        let mut wheel = Wheel::new(Tick(start));
        let mut model: BTreeMap<u32, u64> = BTreeMap::new();
        let mut now = 0u64;
        let tick = |at: u64| Tick(start.wrapping_add(at as u32));
        for (index, ahead, act) in steps {
            if act {
                wheel.arm(index, tick(now + u64::from(ahead)));
                model.insert(index, now + u64::from(ahead));
            } else if ahead % 3 == 0 {
                wheel.disarm(index);
                model.remove(&index);
            } else {
                if let Some(next) = wheel.next() {
                    let first = model.values().min().copied().unwrap_or(u64::MAX);
                    prop_assert!(!tick(first).is_before(next), "woke too late");
                }
                now += u64::from(ahead % 100_000);
                let mut due: Vec<u32> =
                    model.iter().filter(|(_, at)| **at <= now).map(|(index, _)| *index).collect();
                due.sort_unstable();
                model.retain(|_, at| *at > now);
                prop_assert_eq!(fired(&mut wheel, tick(now)), due);
            }
            prop_assert_eq!(wheel.len(), model.len());
        }
    }
}
