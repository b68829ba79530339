//! Tests of the timer wheel against a naive model. Never part of the product.

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
fn what_is_past_fires_at_the_next_tick() {
    let mut wheel = Wheel::new(Tick(10));
    wheel.arm(0, Tick(3));
    assert_eq!(fired(&mut wheel, Tick(10)), []);
    assert_eq!(fired(&mut wheel, Tick(11)), [0]);
}

proptest! {
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
