//! Shares follow weights, whatever the weights: properties rather than tables.

use proptest::prelude::*;
use stdx::Prng;

use super::{backend, id, pick};
use crate::{Algorithm, HashMethod};

fn shares(algorithm: Algorithm, weights: &[u32], count: usize) -> Vec<usize> {
    let backend = backend(algorithm, weights);
    let random = Prng::new(42);
    let mut seen = vec![0; weights.len()];
    for _ in 0..count {
        seen[id(&pick(&backend, None, &random).unwrap()) as usize - 1] += 1;
    }
    seen
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_robin_is_exact_over_whole_rounds(weights in prop::collection::vec(1u32..=40, 1..12)) {
        let round: u32 = weights.iter().sum();
        let seen = shares(Algorithm::RoundRobin, &weights, 10 * round as usize);
        for (seen, weight) in seen.iter().zip(&weights) {
            prop_assert!(seen.abs_diff(10 * *weight as usize) <= 1, "{} for {}", seen, weight);
        }
    }

    #[test]
    fn static_round_robin_is_exact(weights in prop::collection::vec(0u32..=40, 1..12)) {
        let round: u32 = weights.iter().sum();
        prop_assume!(round > 0);
        let seen = shares(Algorithm::StaticRr, &weights, 2 * round as usize);
        let expected: Vec<_> = weights.iter().map(|w| 2 * *w as usize).collect();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn one_random_draw_follows_weights(weights in prop::collection::vec(1u32..=8, 1..6)) {
        let total: u32 = weights.iter().sum();
        let count = 20_000;
        let seen = shares(Algorithm::Random { draws: 1, balance_factor: 0 }, &weights, count);
        for (seen, weight) in seen.iter().zip(&weights) {
            let share = f64::from(*weight) / f64::from(total);
            let sigma = (count as f64 * share * (1.0 - share)).sqrt();
            prop_assert!((*seen as f64 - share * count as f64).abs() <= 6.0 * sigma + 1.0);
        }
    }

    #[test]
    fn least_connections_shares_held_connections_by_weight(weights in prop::collection::vec(1u32..=20, 1..8)) {
        let backend = backend(Algorithm::LeastConn, &weights);
        let random = Prng::new(1);
        let count = 50 * weights.iter().sum::<u32>();
        let held: Vec<_> = (0..count).map(|_| pick(&backend, None, &random).unwrap()).collect();
        for (server, weight) in backend.servers().iter().zip(&weights) {
            let share = u64::from(50 * weight);
            prop_assert!(server.load().total().abs_diff(share) <= u64::from(weight + 8));
        }
        drop(held);
    }

    #[test]
    fn a_bounded_ring_holds_its_bound(keys in prop::collection::vec(0u32..4, 1..200), factor in 110u32..300) {
        let method = HashMethod::Consistent;
        let backend = backend(Algorithm::Hash { method, balance_factor: factor }, &[1, 2, 3]);
        let random = Prng::new(1);
        let mut held = Vec::new();
        for key in keys {
            held.push(pick(&backend, Some(key.wrapping_mul(0x9e37_79b9)), &random).unwrap());
            let total = held.len() as u64;
            for (server, weight) in backend.servers().iter().zip([1u64, 2, 3]) {
                let bound = (total * weight * u64::from(factor)).div_ceil(600);
                prop_assert!(server.load().total() <= bound);
            }
        }
    }

    #[test]
    fn losing_a_server_moves_only_its_own_keys(keys in prop::collection::vec(any::<u32>(), 1..100)) {
        let method = HashMethod::Consistent;
        let backend = backend(Algorithm::Hash { method, balance_factor: 0 }, &[3, 1, 4, 2]);
        let random = Prng::new(1);
        let place = |key: &u32| id(&pick(&backend, Some(*key), &random).unwrap());
        let before: Vec<_> = keys.iter().map(place).collect();
        backend.set_weight(2, 0, 0);
        for (key, was) in keys.iter().zip(before) {
            let now = place(key);
            prop_assert!(now != 3 && (now == was || was == 3));
        }
    }
}

#[test]
fn two_draws_keep_loads_close() {
    let spread = |draws| {
        let backend = backend(Algorithm::Random { draws, balance_factor: 0 }, &[1; 20]);
        let random = Prng::new(3);
        let held: Vec<_> = (0..2000).map(|_| pick(&backend, None, &random).unwrap()).collect();
        let most = backend.servers().iter().map(|s| s.load().total()).max().unwrap();
        drop(held);
        most - 100
    };
    assert!(spread(2) <= 6 && spread(1) > spread(2), "{} {}", spread(1), spread(2));
}
