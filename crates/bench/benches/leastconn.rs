//! `cargo xtask bench leastconn`: the designs of the server order of `balance leastconn`.
//!
//! Every thread holds eight requests and ends a random one for each that it begins, without pause:
//! only the balancer is measured, so contention is far above that of a proxy. Written cache lines
//! are counted by building the index over words that record each write.

#[path = "../../balance/tests/counting/mod.rs"]
mod counting;

use balance::{Algorithm, Balancer, LoadOrder, PickRequest, ServerSettings, Ticket};
use bench::{now, table};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use stdx::Prng;

const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const SERVERS: [u32; 3] = [4, 16, 256];
const HELD: u32 = 8;
const LENGTH: Duration = Duration::from_millis(300);

fn balancer(order: LoadOrder, servers: u32) -> Balancer {
    let settings = (1..=servers).map(|id| ServerSettings::new(id, format!("s{id}"))).collect();
    Balancer::with_order(Algorithm::LeastConn, order, false, settings, 0)
}

/// Issues one thread's requests until it is stopped; returns their number.
fn requests(balancer: &Balancer, seed: u64, stop: &AtomicBool) -> u64 {
    let random = Prng::new(seed);
    let pick = || {
        let mut ticket = balancer
            .pick(&PickRequest { key: None, avoid: None, random: &random, now_ns: 0 })
            .expect("all servers are usable");
        ticket.serve();
        ticket
    };
    let mut held: Vec<Ticket> = (0..HELD).map(|_| pick()).collect();
    let mut count = 0;
    while !stop.load(Relaxed) {
        for _ in 0..64 {
            drop(held.swap_remove(random.below(HELD) as usize));
            held.push(pick());
        }
        count += 64;
    }
    count
}

/// Picks per second, and the share of picks and releases that moved no server.
fn measure(order: LoadOrder, servers: u32, threads: usize) -> (f64, f64) {
    let balancer = &balancer(order, servers);
    let (stop, barrier, total) =
        (&AtomicBool::new(false), &Barrier::new(threads + 1), &AtomicU64::new(0));
    let mut seconds = 0.0;
    std::thread::scope(|scope| {
        for seed in 0..threads as u64 {
            scope.spawn(move || {
                barrier.wait();
                total.fetch_add(requests(balancer, seed, stop), Relaxed);
            });
        }
        barrier.wait();
        let start = now();
        // Waits for time to pass; a thread of the previous run may cut one wait short.
        while let Some(left) = LENGTH.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
            std::thread::park_timeout(left);
        }
        stop.store(true, Relaxed);
        seconds = start.elapsed().as_secs_f64();
    });
    let picks = total.load(Relaxed) as f64;
    (picks / seconds, 1.0 - balancer.index_moves() as f64 / (2.0 * picks))
}

fn rates() -> Vec<Vec<String>> {
    let row = |servers: u32, threads: usize| {
        let (tree, tree_avoided) = measure(LoadOrder::Tree, servers, threads);
        let (levels, levels_avoided) = measure(LoadOrder::Levels, servers, threads);
        let percent = |part: f64| format!("{:.1}", 100.0 * part.max(0.0));
        vec![
            format!("{servers} servers, {threads} threads"),
            format!("{:.0}", tree / 1e3),
            percent(tree_avoided),
            format!("{:.0}", levels / 1e3),
            percent(levels_avoided),
            format!("{:.2}", levels / tree),
            format!("{:.2}", measure(LoadOrder::Few, servers, threads).0 / tree),
        ]
    };
    SERVERS.iter().flat_map(|s| THREADS.iter().map(move |t| row(*s, *t))).collect()
}

fn lines() -> Vec<Vec<String>> {
    type Play = fn(counting::Build, usize, usize) -> counting::Lines;
    let plays: [(&str, Play); 2] =
        [("one for one", counting::steady), ("at random", counting::wandering)];
    let mut rows = Vec::new();
    for (name, play) in plays {
        for (servers, held) in [(4, 64), (16, 16), (16, 256), (256, 64), (256, 2048)] {
            let (tree, levels) =
                (play(counting::tree, servers, held), play(counting::levels, servers, held));
            let figures = [tree.pick, tree.release, levels.pick, levels.release];
            let mut row = vec![format!("{servers} servers, {held} in flight, {name}")];
            row.extend(figures.map(|figure| format!("{figure:.2}")));
            rows.push(row);
        }
    }
    rows
}

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("Thousands of picks per second on {cores} cores; avoided: operations without a move.");
    let head = ["", "tree", "avoided %", "levels", "avoided %", "levels/tree", "few/tree"];
    print!("{}", table(&head, &rates()));
    println!("published (HAProxy, 16 threads, E1's skip): 40-50 % avoided, 4 servers 554 -> 714");
    println!("thousand requests per second, 16 servers 415 -> 440");
    println!();
    println!("Shared cache lines written, counted:");
    let head = ["", "tree pick", "tree release", "levels pick", "levels release"];
    print!("{}", table(&head, &lines()));
}
