//! Tests of the tree against a sorted list, with its invariants checked after every step.

use super::*;
use proptest::prelude::*;

impl<T> ScopeTree<T> {
    /// Checks order, bounds, unions and fill of everything below a node; yields items and union.
    fn check(&self, at: u32, level: u32) -> (usize, u64) {
        let node = self.node(at);
        let entries: Vec<NodeEntry> = (0..node.len()).map(|place| node.entry(place)).collect();
        assert!(entries.is_sorted_by_key(|entry| entry.position), "entries in order");
        if level == 0 {
            return (node.len(), node.union());
        }
        assert!(node.len() > 0 && (at != self.root || node.len() > 1), "no idle level");
        let mut items = 0;
        for (place, entry) in entries.iter().enumerate() {
            let (below, union) = self.check(entry.link, level - 1);
            assert_eq!(entry.scope, union, "the union of what is below");
            let child = self.node(entry.link);
            let end = entries.get(place + 1).map(|next| next.position);
            let inside = |it: Position| it >= entry.position && end.is_none_or(|end| it < end);
            assert!((0..child.len()).all(|place| inside(child.position(place))));
            items += below;
        }
        (items, node.union())
    }

    fn check_all(&self) {
        assert_eq!(self.check(self.root, self.height).0, self.len());
        let in_use = self.nodes.len() - self.free.len();
        assert!(in_use <= 1 + self.len(), "no node without an item below it");
    }
}

/// The reference: a sorted list.
#[derive(Default)]
struct Naive(Vec<(Position, u64, u32)>);

impl Naive {
    fn next_for(&self, scope: u64, from: Position) -> Option<(Position, u32)> {
        let meets = |it: &&(Position, u64, u32)| it.1 & scope != 0;
        let ahead = self.0.iter().find(|it| it.0 >= from && meets(it));
        ahead.or_else(|| self.0.iter().find(meets)).map(|it| (it.0, it.2))
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert { key: u64, scope: u64 },
    Remove { at: usize },
    Take { scope: u64, key: u64 },
    Look { scope: u64, key: u64 },
}

/// Mostly one thread's bit, sometimes a few or none.
fn scope() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (0..64u32).prop_map(|bit| 1 << bit),
        2 => any::<(u8, u8)>().prop_map(|(a, b)| 1 << (a % 64) | 1 << (b % 64)),
        1 => any::<u64>(),
        1 => Just(0),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..50u64, scope()).prop_map(|(key, scope)| Step::Insert { key, scope }),
        3 => any::<usize>().prop_map(|at| Step::Remove { at }),
        1 => (scope(), 0..50u64).prop_map(|(scope, key)| Step::Take { scope, key }),
        2 => (scope(), 0..50u64).prop_map(|(scope, key)| Step::Look { scope, key }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn behaves_like_a_sorted_list(grown in 0..400u64, steps in prop::collection::vec(step(), 0..400)) {
        let (mut tree, mut naive) = (ScopeTree::new(), Naive::default());
        let insert = |tree: &mut ScopeTree<u32>, naive: &mut Naive, key, scope| {
            let item = naive.0.len() as u32;
            let position = tree.insert(key, scope, item);
            let place = naive.0.partition_point(|it| it.0 < position);
            naive.0.insert(place, (position, scope, item));
        };
        for n in 0..grown {
            insert(&mut tree, &mut naive, n * 7919 % 50, 1 << (n % 64));
        }
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert { key, scope } => insert(&mut tree, &mut naive, key, scope),
                Step::Remove { at } if !naive.0.is_empty() => {
                    let (position, _, item) = naive.0.remove(at % naive.0.len());
                    prop_assert_eq!(tree.get(position), Some(&item));
                    prop_assert_eq!(tree.remove(position), Some(item));
                    prop_assert_eq!(tree.remove(position), None);
                }
                Step::Remove { .. } => {}
                Step::Take { scope, key } => {
                    let place = naive.0.iter().position(|it| it.1 & scope != 0);
                    let place = place.filter(|place| naive.0[*place].0.key <= key);
                    let expected = place.map(|place| naive.0.remove(place)).map(|it| (it.0, it.2));
                    prop_assert_eq!(tree.take_first(scope, key), expected);
                }
                Step::Look { scope, key } => {
                    let from = Position::before(key);
                    let found = tree.next_for(scope, from).map(|(at, item)| (at, *item));
                    prop_assert_eq!(found, naive.next_for(scope, from));
                    if let Some((position, _)) = found {
                        let after = tree.next_for(scope, position.after()).map(|it| (it.0, *it.1));
                        prop_assert_eq!(after, naive.next_for(scope, position.after()));
                    }
                    let first = tree.first_for(scope).map(|(at, item)| (at, *item));
                    prop_assert_eq!(first, naive.next_for(scope, Position::START));
                }
            }
            if number % 16 == 0 {
                tree.check_all();
            }
        }
        tree.check_all();
    }
}

#[test]
fn a_thread_finds_all_its_items_in_order_and_no_others() {
    let mut tree = ScopeTree::new();
    for n in 0..10_000u64 {
        tree.insert(n * 6151 % 977, 1 << (n % 64), n);
    }
    for thread in 0..64 {
        let mut from = Position::START;
        let mut seen = Vec::new();
        while let Some((position, n)) = tree.next_for(1 << thread, from)
            && position >= from
        {
            assert_eq!(n % 64, thread);
            seen.push(position);
            from = position.after();
        }
        assert!(seen.is_sorted() && seen.len() >= 156, "{}", seen.len());
    }
}

#[test]
fn a_search_visits_a_number_of_nodes_that_grows_as_the_logarithm() {
    let mut tree = ScopeTree::new();
    for n in 0..100_000u64 {
        // One thread's items follow 50,000 items of another thread.
        tree.insert(n, if n < 50_000 { 1 } else { 2 }, ());
    }
    let height = tree.height as usize + 1;
    assert!(height <= 6, "{height} levels");
    let starts = [0, 1, 100, 49_999, 50_000, 77_777, 99_999];
    for (key, scope) in starts.iter().flat_map(|key| [(*key, 1), (*key, 2), (*key, 4)]) {
        let visited = tree.nodes_visited(scope, Position::before(key));
        assert!(visited <= 2 * height, "{visited} nodes from {key} for {scope}");
    }
}

#[test]
fn memory_of_removed_items_is_reused() {
    let mut tree = ScopeTree::new();
    let mut nodes = 0;
    for round in 0..50 {
        for n in 0..1000 {
            tree.insert(round * 1000 + n, 1, n);
        }
        while tree.len() > 10 {
            tree.take_first(1, u64::MAX).unwrap();
        }
        tree.check_all();
        nodes = if round == 0 { tree.nodes.len() } else { nodes };
    }
    assert!(tree.nodes.len() <= nodes + 2, "{} nodes, {nodes} after the first", tree.nodes.len());
}
