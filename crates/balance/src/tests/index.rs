//! Least connections, random draws and slow start against their definitions.

use std::collections::BTreeSet;
use std::sync::{
    Barrier,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use proptest::prelude::*;
use stdx::Prng;

use super::{ORDERS, backend, id, ordered, pick, with};
use crate::index::tree::{FEW, Order};
use crate::{
    Admin, Algorithm, Balancer, Change, NoServer, OpState, PickRequest, Ticket, WEIGHT_SCALE,
};

#[derive(Clone, Debug)]
enum Step {
    Pick { avoid: Option<usize> },
    Serve { at: usize },
    Drop { at: usize },
    Claim { slot: usize },
    Weigh { slot: usize, weight: u32 },
    Limit { slot: usize, maxconn: u32 },
    Maintain { slot: usize, on: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let slot = 0..5usize;
    prop_oneof![
        8 => prop::option::weighted(0.2, slot.clone()).prop_map(|avoid| Step::Pick { avoid }),
        3 => any::<usize>().prop_map(|at| Step::Serve { at }),
        6 => any::<usize>().prop_map(|at| Step::Drop { at }),
        1 => slot.clone().prop_map(|slot| Step::Claim { slot }),
        1 => (slot.clone(), 0..5u32).prop_map(|(slot, weight)| Step::Weigh { slot, weight }),
        1 => (slot.clone(), 0..4u32).prop_map(|(slot, maxconn)| Step::Limit { slot, maxconn }),
        1 => (slot, any::<bool>()).prop_map(|(slot, on)| Step::Maintain { slot, on }),
    ]
}

/// The servers that the next pick may choose: by definition those with room that have the least
/// key, the avoided one only when no other has room.
fn least(backend: &Balancer, avoid: Option<usize>) -> Result<BTreeSet<usize>, NoServer> {
    let usable: Vec<_> = backend.servers().iter().filter(|s| s.is_usable()).collect();
    if usable.is_empty() {
        return Err(NoServer::Unusable);
    }
    let free = |s: &&&std::sync::Arc<crate::Server>| s.load().has_room();
    let others = || usable.iter().filter(free).filter(|s| avoid != Some(s.slot()));
    let Some(key) = others().map(|s| s.load().key()).min() else {
        let avoided = usable.iter().filter(free).map(|s| s.slot()).next();
        return avoided.map(|slot| BTreeSet::from([slot])).ok_or(NoServer::Full);
    };
    Ok(others().filter(|s| s.load().key() == key).map(|s| s.slot()).collect())
}

/// One step on a backend, checked against the definition.
fn play(backend: &Balancer, held: &mut Vec<Ticket>, step: &Step) -> Result<(), TestCaseError> {
    let random = Prng::new(1);
    match *step {
        Step::Pick { avoid } => {
            let expected = least(backend, avoid);
            let picked =
                backend.pick(&PickRequest { key: None, avoid, random: &random, now_ns: 0 });
            match (picked, expected) {
                (Ok(ticket), Ok(slots)) => {
                    prop_assert!(slots.contains(&ticket.server().slot()), "of {:?}", slots);
                    held.push(ticket);
                }
                (Err(error), Err(expected)) => prop_assert_eq!(error, expected),
                (picked, expected) => prop_assert!(false, "{:?}, not {:?}", picked, expected),
            }
        }
        Step::Serve { at } if !held.is_empty() => {
            let at = at % held.len();
            held[at].serve();
        }
        Step::Drop { at } if !held.is_empty() => drop(held.swap_remove(at % held.len())),
        Step::Serve { .. } | Step::Drop { .. } => {}
        Step::Claim { slot } => held.push(Ticket::claim(&backend.servers()[slot])),
        Step::Weigh { slot, weight } => backend.set_weight(slot, weight, 0),
        Step::Limit { slot, maxconn } => backend.servers()[slot].set_maxconn(maxconn),
        Step::Maintain { slot, on } => {
            let (set, clear) = if on { (1, 0) } else { (0, 1) };
            backend.set_admin(slot, Admin(set), Admin(clear), 0);
        }
    }
    let in_flight: u64 = backend.servers().iter().map(|s| s.load().total()).sum();
    prop_assert_eq!(in_flight, held.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn least_connections_agrees_with_its_definition(
        weights in prop::collection::vec(1..5u32, 5),
        steps in prop::collection::vec(step(), 0..200),
    ) {
        for order in ORDERS {
            let backend = ordered(order, &weights);
            let mut held = Vec::new();
            for step in &steps {
                play(&backend, &mut held, step)?;
            }
        }
    }

    #[test]
    fn two_random_draws_agree_with_their_definition(
        weights in prop::collection::vec(1..6u32, 1..6),
        seed in any::<u64>(),
        drops in prop::collection::vec(any::<Option<u8>>(), 1..60),
    ) {
        let backend = backend(Algorithm::Random { draws: 2, balance_factor: 0 }, &weights);
        let (random, same) = (Prng::new(seed), Prng::new(seed));
        let by_weight: Vec<usize> = weights.iter().enumerate()
            .flat_map(|(slot, weight)| vec![slot; (weight * WEIGHT_SCALE) as usize])
            .collect();
        let mut held: Vec<Ticket> = Vec::new();
        for drop in drops {
            let draw = || by_weight[same.below(by_weight.len() as u32) as usize];
            let (one, other) = (draw(), draw());
            let load = |slot: usize| {
                (backend.servers()[slot].load().total() + 1) as f64 / f64::from(weights[slot])
            };
            let expected = if load(other) < load(one) { other } else { one };
            let ticket = pick(&backend, None, &random).unwrap();
            prop_assert_eq!(ticket.server().slot(), expected);
            held.push(ticket);
            if let Some(at) = drop {
                held.swap_remove(usize::from(at) % held.len());
            }
        }
    }

    #[test]
    fn slow_start_agrees_with_its_definition(
        weight in 1..=256u32,
        slowstart_ms in 1..100_000u64,
        after in prop::collection::vec(0..120_000u64, 1..20),
    ) {
        let backend = with(Algorithm::LeastConn, &[weight], |s| s.slowstart_ms = slowstart_ms);
        backend.force_health(0, Change::Down, 0);
        let checked = crate::CheckResult { status: crate::CheckStatus::L4Ok, ..Default::default() };
        let changes = [0, 1].map(|_| backend.on_check(0, checked.clone(), 1_000).change);
        prop_assert_eq!(changes, [Change::None, Change::Up]);
        let mut times = after;
        times.sort_unstable();
        for ms in times {
            backend.warm_up(0, 1_000 + ms);
            let server = &backend.servers()[0];
            // Sixteen steps from one sixteenth of the weight to all of it.
            let sixteenths = (16 * ms / slowstart_ms + 1).min(16) as u32;
            prop_assert_eq!(server.load().weight(), weight * sixteenths);
            prop_assert_eq!(server.state().0 == OpState::Running, ms >= slowstart_ms);
            prop_assert!(pick(&backend, None, &Prng::new(1)).is_ok(), "it serves all the while");
        }
    }

    #[test]
    fn few_and_many_nodes_keep_the_same_order(
        nodes in prop::collection::vec((0..5u64, 0..100u64, 0..20usize), 0..40),
        removed in prop::collection::vec(0..40usize, 0..10),
    ) {
        let (mut few, mut many) = (Order::for_servers(FEW), Order::for_servers(FEW + 1));
        let unique: BTreeSet<_> = nodes.iter().copied().collect();
        for node in &unique {
            few.insert(*node);
            many.insert(*node);
        }
        for node in removed.iter().filter_map(|at| nodes.get(*at)) {
            few.remove(node);
            many.remove(node);
        }
        prop_assert_eq!(few.is_empty(), many.is_empty());
        let walk = |order: &Order| {
            let mut seen = Vec::new();
            order.find(|slot| {
                seen.push(slot);
                false
            });
            seen
        };
        prop_assert_eq!(walk(&few), walk(&many));
    }
}

#[test]
fn equals_take_turns_at_every_load() {
    for order in ORDERS {
        let backend = ordered(order, &[1; 6]);
        let random = Prng::new(1);
        let mut held = Vec::new();
        for _ in 0..5 {
            let round: Vec<_> = (0..6).map(|_| pick(&backend, None, &random).unwrap()).collect();
            assert_eq!(round.iter().map(id).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6], "{order:?}");
            held.extend(round);
        }
    }
}

#[test]
fn most_requests_move_no_server_in_the_levels() {
    let (levels, tree) = (ORDERS[0], ORDERS[1]);
    let moves = |order| {
        let backend = ordered(order, &[1; 16]);
        let random = Prng::new(5);
        let mut held: Vec<_> = (0..40).map(|_| pick(&backend, None, &random).unwrap()).collect();
        let before = backend.index_moves();
        for _ in 0..10_000 {
            drop(held.swap_remove(random.below(40) as usize));
            held.push(pick(&backend, None, &random).unwrap());
        }
        backend.index_moves() - before
    };
    assert_eq!(moves(tree), 20_000, "a pick and a release each");
    assert!(moves(levels) < 10_000, "{}", moves(levels));
}

/// Rounds between two quiescent points, and requests that a thread makes in each.
const ROUNDS: u64 = 40;
const REQUESTS: usize = 500;

#[test]
fn counts_equal_the_requests_in_flight_at_every_quiescent_point() {
    for order in ORDERS {
        let backend = &ordered(order, &[2, 1, 4, 1, 1]);
        let (in_flight, barrier) = (&AtomicU64::new(0), &Barrier::new(5));
        std::thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || requests(backend, seed, in_flight, barrier));
            }
            for round in 0..ROUNDS {
                upset(backend, round);
                barrier.wait();
                let counted: u64 = backend.servers().iter().map(|s| s.load().total()).sum();
                assert_eq!(counted, in_flight.load(SeqCst), "{order:?}, round {round}");
                // Quiet now, so the next pick must find one of the least loaded.
                let expected = least(backend, None).expect("the last server stays");
                let slot = pick(backend, None, &Prng::new(1)).unwrap().server().slot();
                assert!(expected.contains(&slot), "{order:?}, round {round}: {slot}");
                barrier.wait();
            }
        });
        assert!(backend.servers().iter().all(|s| s.load().total() == 0));
    }
}

#[test]
fn the_only_server_is_never_full() {
    for order in ORDERS {
        let backend = &ordered(order, &[1]);
        std::thread::scope(|scope| {
            for seed in 0..8 {
                scope.spawn(move || {
                    let random = Prng::new(seed);
                    let mut held = Vec::new();
                    for _ in 0..20_000 {
                        held.push(pick(backend, None, &random).expect("it has no limit"));
                        held.truncate(random.below(3) as usize);
                    }
                });
            }
        });
    }
}

/// Takes servers down, drains and re-weights them while others pick; the last one stays.
fn upset(backend: &Balancer, round: u64) {
    for n in 0..40 {
        let slot = (round + n) as usize % 4;
        match n % 5 {
            0 => drop(backend.set_admin(slot, Admin::FORCED_MAINT, Admin(0), round)),
            1 => drop(backend.set_admin(slot, Admin::FORCED_DRAIN, Admin(0), round)),
            2 => backend.set_weight(slot, (n as u32 * 7) % 11, round),
            3 => backend.force_health(slot, [Change::Down, Change::Up][n as usize / 5 % 2], round),
            _ => drop(backend.set_admin(slot, Admin(0), Admin(0x1f), round)),
        }
    }
}

fn requests(backend: &Balancer, seed: u64, in_flight: &AtomicU64, barrier: &Barrier) {
    let random = Prng::new(seed);
    let mut held: Vec<Ticket> = Vec::new();
    for _ in 0..ROUNDS {
        for _ in 0..REQUESTS {
            if held.len() < 8 && random.below(2) == 0 {
                let mut ticket = pick(backend, None, &random).expect("the last server stays");
                in_flight.fetch_add(1, SeqCst);
                if random.below(2) == 0 {
                    ticket.serve();
                }
                held.push(ticket);
            } else if !held.is_empty() {
                held.swap_remove(random.below(held.len() as u32) as usize);
                in_flight.fetch_sub(1, SeqCst);
            }
        }
        barrier.wait();
        barrier.wait();
    }
}

#[test]
fn a_backend_that_outgrows_a_handful_loses_no_request_and_no_server() {
    for _ in 0..50 {
        let backend = Balancer::new(Algorithm::LeastConn, false, super::settings(&[1], |_| {}), 0);
        let ready = Barrier::new(3);
        let play = |seed: u64| {
            let random = Prng::new(seed);
            ready.wait();
            while backend.servers().len() < 9 {
                drop(pick(&backend, None, &random).expect("servers that are up have room"));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| play(1));
            scope.spawn(|| play(2));
            ready.wait();
            for id in 2..=9 {
                let mut settings = crate::ServerSettings::new(id, format!("s{id}"));
                settings.checked = true;
                backend.add(settings, 0);
            }
        });
        assert!(backend.servers().iter().all(|server| server.load().total() == 0));
        let random = Prng::new(3);
        let held: Vec<Ticket> = (0..27).map(|_| pick(&backend, None, &random).unwrap()).collect();
        let count = |server: u32| held.iter().filter(|ticket| id(ticket) == server).count();
        assert!((1..=9).all(|server| count(server) == 3), "the least loaded is found");
        assert!(backend.index_moves() > 0, "they are kept in order by now");
    }
}
