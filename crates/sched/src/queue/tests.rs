//! Tests of the run queues: the bitmap, and the bounds on what `nice` may reorder.

use super::*;
use proptest::prelude::*;
use stdx::Key;

fn id(index: u32) -> TaskId {
    TaskId(Key { index, generation: 0 })
}

#[test]
fn classes_are_separate_and_the_bitmap_follows() {
    let mut queue = RunQueue::default();
    assert!(queue.is_empty());
    queue.push(id(1), Class::Bulk, 0);
    queue.push(id(2), Class::Urgent, 0);
    queue.push(id(3), Class::Bulk, 0);
    assert_eq!((queue.ready(), queue.len(), queue.peak()), (0b0101, 3, 3));
    assert_eq!(queue.pop(Class::Bulk), Some(id(1)));
    assert_eq!(queue.pop(Class::Heavy), None);
    assert_eq!(queue.pop(Class::Bulk), Some(id(3)));
    assert_eq!((queue.ready(), queue.len(), queue.peak()), (0b0001, 1, 3));
}

#[test]
fn nice_moves_a_task_among_its_neighbours() {
    let mut queue = RunQueue::default();
    queue.push(id(1), Class::Normal, 10);
    for other in 2..20 {
        queue.push(id(other), Class::Normal, 0);
    }
    queue.push(id(20), Class::Normal, -5);
    let order: Vec<_> = std::iter::from_fn(|| queue.pop(Class::Normal)).collect();
    let place = |wanted| order.iter().position(|found| *found == id(wanted));
    assert_eq!(place(1), Some(10), "behind the next ten arrivals");
    assert_eq!(place(20), Some(15), "before the last five arrivals");
    assert!(queue.is_empty());
}

fn operation() -> impl Strategy<Value = Option<(Class, i16)>> {
    let class = prop::sample::select(Class::ALL.to_vec());
    let nice =
        prop_oneof![3 => Just(0i16), 1 => -1024..=1024i16, 1 => Just(1024), 1 => Just(-1024)];
    prop_oneof![2 => (class, nice).prop_map(Some), 1 => Just(None)]
}

proptest! {
    #[test]
    fn the_bitmap_marks_exactly_the_classes_with_work(
        operations in prop::collection::vec((operation(), 0..4usize), 0..200)
    ) {
        let mut queue = RunQueue::default();
        let mut model = [0usize; COUNT];
        for (number, (push, class)) in operations.into_iter().enumerate() {
            match push {
                Some((class, nice)) => {
                    queue.push(id(number as u32), class, nice);
                    model[class as usize] += 1;
                }
                None => {
                    let popped = queue.pop(Class::ALL[class]);
                    prop_assert_eq!(popped.is_some(), model[class] > 0);
                    model[class] -= usize::from(popped.is_some());
                }
            }
            for class in Class::ALL {
                let has = model[class as usize] > 0;
                prop_assert_eq!(queue.ready() & 1 << class as u8 != 0, has);
                prop_assert_eq!(queue.class_len(class), model[class as usize]);
            }
            prop_assert_eq!(queue.is_empty(), model.iter().sum::<usize>() == 0);
            prop_assert_eq!(queue.iter().count(), queue.len());
        }
    }

    /// A task is overtaken by at most 2048 later arrivals, whatever the `nice` of others, and one
    /// without `nice` by at most 1024.
    #[test]
    fn no_task_starves_whatever_the_nice_of_others(
        own in prop_oneof![Just(0i16), Just(1024), -1024..=1024i16],
        before in prop::collection::vec(-1024..=1024i16, 0..50),
        others in prop_oneof![Just(-1024i16), -1024..=1024i16],
    ) {
        let mut queue = RunQueue::default();
        for (number, nice) in before.iter().enumerate() {
            queue.push(id(number as u32), Class::Normal, *nice);
        }
        let mine = id(u32::MAX - 1);
        queue.push(mine, Class::Normal, own);
        // A new task arrives in each turn and may be favoured: the watched task still gets its
        // turn.
        let bound = before.len() + 1 + (i32::from(own) - i32::from(others)).max(0) as usize;
        let mut turns = 0;
        loop {
            turns += 1;
            prop_assert!(turns <= bound, "{turns} turns");
            if queue.pop(Class::Normal) == Some(mine) {
                break;
            }
            queue.push(id(1_000_000), Class::Normal, others);
        }
    }
}
