//! Algorithms at work on a simulated farm: shares against their definition, keys that move, tail
//! latency.
//!
//! The tables of `docs/balancing.md` are what these tests compute; `WEIR_DOCS=write` writes them
//! there.

#[path = "simulation/farm.rs"]
mod farm;
#[path = "simulation/tables.rs"]
mod tables;

use balance::{Algorithm, Balancer, HashMethod, PickRequest, ServerSettings, hash};
use farm::{Farm, Latencies};
use stdx::Prng;

const SERVERS: usize = 100;
const KEYS: usize = 20_000;
/// Streams of keys and of random numbers: these, whatever they yield.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=40;
/// How often these tests may fail by chance, had the seeds been drawn again.
const CHANCE: f64 = 0.01;
const STANDING: usize = 20_000;

/// The function that makes a key of a random number.
type Key = fn(u32) -> u32;

fn hash(method: HashMethod) -> Algorithm {
    Algorithm::Hash { method, balance_factor: 0 }
}

fn random(draws: u32) -> Algorithm {
    Algorithm::Random { draws, balance_factor: 0 }
}

/// Weights of machines of mixed speed: 1 to 4 of every unit.
fn weights() -> Vec<u32> {
    let random = Prng::new(11);
    (0..SERVERS).map(|_| [4, 8, 16, 32][random.below(4) as usize]).collect()
}

fn balancer(algorithm: Algorithm, weights: &[u32]) -> Balancer {
    let server = |(id, weight): (u32, &u32)| ServerSettings {
        weight: *weight,
        ..ServerSettings::new(id, format!("s{id}"))
    };
    Balancer::new(algorithm, false, (1..).zip(weights).map(server).collect(), 0)
}

fn place(balancer: &Balancer, key: Option<u32>, random: &Prng) -> usize {
    let wish = PickRequest { key, avoid: None, random, now_ns: 0 };
    balancer.pick(&wish).expect("some server is up").server().slot()
}

/// Requests per server, one after the other; `key` makes a hash of a random number.
fn counts(algorithm: Algorithm, weights: &[u32], key: Key, seed: u64) -> Vec<u64> {
    let balancer = balancer(algorithm, weights);
    let (random, keys) = (Prng::new(seed), Prng::new(1_000 + seed));
    let mut counts = vec![0; weights.len()];
    for _ in 0..KEYS {
        counts[place(&balancer, Some(key(keys.next_u32())), &random)] += 1;
    }
    counts
}

/// Requests per server while none of them ends.
fn standing(algorithm: Algorithm, weights: &[u32]) -> Vec<u64> {
    let balancer = balancer(algorithm, weights);
    let random = Prng::new(5);
    let wish = PickRequest { key: None, avoid: None, random: &random, now_ns: 0 };
    let pick = |_| balancer.pick(&wish).expect("some server is up");
    let tickets: Vec<_> = (0..STANDING).map(pick).collect();
    let mut counts = vec![0; weights.len()];
    tickets.iter().for_each(|ticket| counts[ticket.server().slot()] += 1);
    counts
}

/// A path, as `hash-type` functions get one.
fn path(number: u32) -> String {
    format!("/item/{number:x}.html")
}

/// The probability of a chi-square at least as large as this one (Wilson and Hilferty's
/// approximation, good for 99 degrees).
fn p_value(counts: &[u64], shares: &[f64]) -> f64 {
    let (all, sum): (u64, f64) = (counts.iter().sum(), shares.iter().sum());
    let term = |(count, share): (&u64, &f64)| {
        let expected = all as f64 * share / sum;
        (*count as f64 - expected).powi(2) / expected
    };
    let chi: f64 = counts.iter().zip(shares).map(term).sum();
    let freedom = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    let z = ((chi / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    upper_tail(z)
}

/// P(Z > z) of the normal distribution, by Simpson's rule.
fn upper_tail(z: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let (end, steps) = (z.max(0.0) + 10.0, 2_000);
    let step = (end - z) / f64::from(steps);
    let inner: f64 = (1..steps)
        .map(|n| density(z + f64::from(n) * step) * if n % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    step / 3.0 * (density(z) + inner + density(end))
}

/// The share of the ring that belongs to each server, computed from the points.
fn arcs(weights: &[u32]) -> Vec<f64> {
    let of = |(slot, weight): (usize, &u32)| {
        let first = (slot as u32 + 1) * 4096;
        (0..weight * balance::WEIGHT_SCALE).map(move |n| (hash::avalanche(first + n), slot))
    };
    let mut points: Vec<_> = weights.iter().enumerate().flat_map(of).collect();
    points.sort_unstable();
    let mut arcs = vec![0.0; weights.len()];
    for (n, (point, slot)) in points.iter().enumerate() {
        let before = points[(n + points.len() - 1) % points.len()].0;
        let after = points[(n + 1) % points.len()].0;
        let reach = f64::from(point.wrapping_sub(before)) + f64::from(after.wrapping_sub(*point));
        arcs[*slot] += reach / 2.0;
    }
    arcs
}

/// The probabilities that the seeds found for an algorithm, ascending.
struct Found(Vec<f64>);

impl Found {
    fn new(algorithm: Algorithm, weights: &[u32], key: Key, shares: &[f64]) -> Self {
        let of = |seed| p_value(&counts(algorithm, weights, key, seed), shares);
        let mut all: Vec<f64> = SEEDS.map(of).collect();
        all.sort_unstable_by(f64::total_cmp);
        Self(all)
    }

    /// The probability that small values are as frequent as these by chance. They are uniform if
    /// the definition holds; by how much too many lie below any bound is Smirnov's one-sided
    /// statistic, and the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart bounds its
    /// probability.
    fn together(&self) -> f64 {
        let count = self.0.len() as f64;
        let excess = |(n, p): (usize, &f64)| (n + 1) as f64 / count - p;
        let most = self.0.iter().enumerate().map(excess).fold(0.0, f64::max);
        (-2.0 * count * most * most).exp()
    }

    fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }
}

#[test]
fn turns_and_loads_are_shared_exactly() {
    let weights = weights();
    let by_weight: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
    for (name, counts) in [
        ("roundrobin", counts(Algorithm::RoundRobin, &weights, |number| number, 1)),
        ("static-rr", counts(Algorithm::StaticRr, &weights, |number| number, 1)),
        ("leastconn", standing(Algorithm::LeastConn, &weights)),
    ] {
        let p = p_value(&counts, &by_weight);
        assert!(p > 0.999, "{name}: p = {p}");
    }
}

#[test]
fn shares_follow_the_definition() {
    let weights = weights();
    let by_weight: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
    let (equal, uniform) = (vec![4; SERVERS], vec![1.0; SERVERS]);
    let arcs = arcs(&weights);
    let (map, ring) = (hash(HashMethod::MapBased), hash(HashMethod::Consistent));
    let any: Key = |number| number;
    let mut rows = vec![
        ("random(1)".to_owned(), Found::new(random(1), &weights, any, &by_weight)),
        ("random(2)".to_owned(), Found::new(random(2), &equal, any, &uniform)),
        ("random(3)".to_owned(), Found::new(random(3), &equal, any, &uniform)),
        ("peak-ewma".to_owned(), Found::new(Algorithm::PeakEwma, &equal, any, &uniform)),
        ("source, map-based".to_owned(), Found::new(map, &weights, address, &by_weight)),
    ];
    for (name, key) in FUNCTIONS {
        rows.push((format!("{name}, map-based"), Found::new(map, &weights, key, &by_weight)));
        rows.push((format!("{name}, consistent"), Found::new(ring, &weights, key, &arcs)));
    }
    let mut table = String::from(
        "| algorithm | least p of chi-square | median | p of all together |\n|---|---:|---:|---:|\n",
    );
    for (name, found) in &rows {
        let (least, together) = (found.0[0], found.together());
        table.push_str(&format!(
            "| {name} | {least:.4} | {:.3} | {together:.3} |\n",
            found.median()
        ));
    }
    // Bonferroni: so many looks may find something by chance, each the less likely.
    let looks = rows.len() as f64;
    for (name, found) in &rows {
        assert!(found.together() > CHANCE / 2.0 / looks, "{name}\n{table}");
        assert!(found.0[0] > CHANCE / 2.0 / looks / found.0.len() as f64, "{name}\n{table}");
    }
    tables::hold("shares", &table);
}

/// The hash that `source` computes of a random IPv4 address.
fn address(number: u32) -> u32 {
    hash::avalanche(hash::source(std::net::Ipv4Addr::from_bits(number).into()))
}

/// The functions of `hash-type` with `avalanche`, on random paths.
const FUNCTIONS: [(&str, Key); 4] = [
    ("sdbm avalanche", |number| hash::avalanche(hash::sdbm(path(number).as_bytes()))),
    ("djb2 avalanche", |number| hash::avalanche(hash::djb2(path(number).as_bytes()))),
    ("crc32 avalanche", |number| hash::avalanche(hash::crc32(path(number).as_bytes()))),
    ("wt6 avalanche", |number| hash::avalanche(hash::wt6(path(number).as_bytes()))),
];

/// The shares of `first` are not fixed: each server is full before the next one gets a request.
#[test]
fn the_first_server_with_room_takes_all() {
    let limit = 100;
    let server =
        |id: u32| ServerSettings { maxconn: limit, ..ServerSettings::new(id, format!("s{id}")) };
    let servers = (1..=SERVERS as u32).map(server).collect();
    let balancer = Balancer::new(Algorithm::First, false, servers, 0);
    let random = Prng::new(5);
    let wish = PickRequest { key: None, avoid: None, random: &random, now_ns: 0 };
    let mut tickets = Vec::new();
    for request in 0..SERVERS * limit as usize {
        let ticket = balancer.pick(&wish).expect("some server has room");
        assert_eq!(ticket.server().slot(), request / limit as usize);
        tickets.push(ticket);
    }
    // The ticket that ends makes room on its server.
    tickets.swap_remove(7);
    assert_eq!(balancer.pick(&wish).expect("there is room").server().slot(), 0);
}

#[test]
fn keys_move_only_from_the_server_that_leaves() {
    let mut table = String::from("| | keys moved / keys of the server |\n|---|---:|\n");
    for (name, weights) in [("equal weights", vec![16; SERVERS]), ("mixed weights", weights())] {
        let balancer = balancer(hash(HashMethod::Consistent), &weights);
        let random = Prng::new(1);
        let places = || -> Vec<usize> {
            let keys = Prng::new(6);
            (0..20_000).map(|_| place(&balancer, Some(keys.next_u32()), &random)).collect()
        };
        let before = places();
        let mut worst = 0.0_f64;
        for slot in (0..SERVERS).step_by(10) {
            balancer.set_weight(slot, 0, 0);
            let after = places();
            balancer.set_weight(slot, weights[slot], 0);
            let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
            let had = before.iter().filter(|place| **place == slot).count();
            worst = worst.max(moved as f64 / had as f64);
        }
        assert!(worst <= 1.2, "{name}: {worst}");
        table.push_str(&format!("| {name} | {worst:.2} |\n"));
    }
    tables::hold("movement", &table);
}

#[test]
fn latency_awareness_keeps_the_tail_short() {
    let mut table = String::from(
        "| algorithm | p50 | p95 | p99 | p99.9 | share of the slow server |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    let run = |algorithm| Farm { servers: 20, slow: 1, slower: 10.0, load: 0.6 }.run(algorithm);
    let rows: Vec<(&str, Latencies)> = [
        ("roundrobin", Algorithm::RoundRobin),
        ("random(2)", random(2)),
        ("leastconn", Algorithm::LeastConn),
        ("peak-ewma", Algorithm::PeakEwma),
    ]
    .map(|(name, algorithm)| (name, run(algorithm)))
    .into();
    for (name, seen) in &rows {
        let [p50, p95, p99, p999] = [0.5, 0.95, 0.99, 0.999].map(|part| seen.quantile_ms(part));
        let share = 100.0 * seen.slow_share;
        table.push_str(&format!(
            "| {name} | {p50:.1} | {p95:.1} | {p99:.1} | {p999:.1} | {share:.2} % |\n"
        ));
    }
    let [_, random, least, peak] = &rows[..] else { panic!("four rows") };
    for other in [random, least] {
        assert!(peak.1.quantile_ms(0.99) < other.1.quantile_ms(0.99), "{table}");
        assert!(peak.1.quantile_ms(0.999) < other.1.quantile_ms(0.999), "{table}");
    }
    tables::hold("tail", &table);
}
