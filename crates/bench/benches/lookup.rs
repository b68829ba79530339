//! `cargo xtask bench lookup`: finding a thread's next item in an ordered queue of 64 threads.
//!
//! The baseline is the same queue without unions, whose search skips items of other threads one by
//! one. In `mixed` each item belongs to a random thread; in `runs` each thread has its items in
//! rows of 2,000, as when one connection wakes all its streams at once.

use bench::{nanos_per_op, table};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound::{Excluded, Unbounded};
use stdx::{Position, Prng, ScopeTree};

const THREADS: usize = 64;
const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
const RUN: u64 = 2_000;

type Owner = fn(u64, &Prng) -> u32;

fn mixed(_: u64, random: &Prng) -> u32 {
    random.below(THREADS as u32)
}

fn runs(item: u64, _: &Prng) -> u32 {
    (item / RUN % THREADS as u64) as u32
}

/// Both queues with the same items, and each thread's position in them.
struct Queues {
    tree: ScopeTree<()>,
    at: Vec<Position>,
    naive: BTreeMap<Position, u64>,
    naive_at: Vec<Position>,
}

impl Queues {
    /// Keys are in order of insertion for `runs`, and scattered for `mixed`.
    fn new(items: u64, owner: Owner, scattered: bool) -> Self {
        let random = Prng::new(items);
        let mut tree = ScopeTree::new();
        let mut naive = BTreeMap::new();
        for item in 0..items {
            let scope = 1 << owner(item, &random);
            let key = if scattered { random.next_u64() >> 16 } else { item };
            naive.insert(tree.insert(key, scope, ()), scope);
        }
        let at = vec![Position::START; THREADS];
        Self { tree, naive_at: at.clone(), at, naive }
    }

    /// The next item of a thread, cyclically.
    fn pick(&mut self, thread: usize) {
        let found = self.tree.next_for(1 << thread, self.at[thread]).map(|(position, ())| position);
        self.at[thread] = black_box(found).map_or(Position::START, Position::after);
    }

    /// The same by skipping; returns the number of items visited.
    fn pick_naively(&mut self, thread: usize) -> u64 {
        let mut visited = 0;
        let mine = |visited: &mut u64, scope: u64| {
            *visited += 1;
            scope & (1 << thread) != 0
        };
        let behind = (Excluded(self.naive_at[thread]), Unbounded);
        let ahead = self.naive.range(behind).find(|it| mine(&mut visited, *it.1));
        let found = ahead.or_else(|| self.naive.iter().find(|it| mine(&mut visited, *it.1)));
        self.naive_at[thread] = black_box(found).map_or(Position::START, |it| *it.0);
        visited
    }

    /// Removes the first item of a thread and inserts it after all others.
    fn take(&mut self, thread: usize) {
        if let Some((_, ())) = self.tree.take_first(1 << thread, u64::MAX) {
            self.tree.insert(u64::MAX - 1, 1 << thread, ());
        }
    }

    fn row(&mut self, name: &str, items: u64) -> Vec<String> {
        let picks = 200_000;
        let naive_picks = (200_000_000 / items).clamp(200, 20_000);
        let tree = nanos_per_op(3, picks, || {
            (0..picks as usize).for_each(|n| self.pick(n % THREADS));
        });
        let mut visited = 0;
        let naive = nanos_per_op(1, naive_picks, || {
            visited = (0..naive_picks as usize).map(|n| self.pick_naively(n % THREADS)).sum();
        });
        let thread = |n: usize| (n % THREADS, self.at[n % THREADS]);
        let nodes: usize = (0..THREADS)
            .map(thread)
            .map(|(thread, at)| self.tree.nodes_visited(1 << thread, at))
            .sum();
        let take = nanos_per_op(3, picks, || {
            (0..picks as usize).for_each(|n| self.take(n % THREADS));
        });
        vec![
            format!("{items} {name}"),
            format!("{tree:.0}"),
            format!("{:.1}", nodes as f64 / THREADS as f64),
            format!("{naive:.0}"),
            format!("{:.0}", visited as f64 / naive_picks as f64),
            format!("{take:.0}"),
        ]
    }
}

fn main() {
    let layouts: [(&str, Owner, bool); 2] = [("mixed", mixed, true), ("runs", runs, false)];
    let mut rows = Vec::new();
    for (name, owner, scattered) in layouts {
        let row = |items: &u64| Queues::new(*items, owner, scattered).row(name, *items);
        rows.extend(SIZES.iter().map(row));
    }
    let head = ["items", "pick ns", "nodes", "skip ns", "items skipped", "take+put ns"];
    print!("{}", table(&head, &rows));
    println!(
        "published (HAProxy, 2 threads, 10 x 100 streams): 13,000 ns and 2,150 nodes by skipping,"
    );
    println!("40 ns and log n nodes with unions");
}
