//! Tests of counts and of the load index: every increment has its decrement, on one thread and on
//! many.

use std::sync::Arc;

use stdx::Prng;

use super::{ORDERS, backend, id, ordered, pick, with};
use crate::{Admin, Algorithm, Balancer, LoadOrder, NoServer, Ticket};

fn counts(backend: &Balancer) -> Vec<(u32, u32, u32)> {
    let of = |s: &Arc<crate::Server>| (s.load().served(), s.load().pending(), s.load().queued());
    backend.servers().iter().map(of).collect()
}

#[test]
fn a_ticket_counts_at_every_stage_and_not_after() {
    let backend = with(Algorithm::LeastConn, &[1], |s| s.maxconn = 1);
    let random = Prng::new(1);
    let mut first = pick(&backend, None, &random).unwrap();
    assert_eq!(counts(&backend), [(0, 1, 0)]);
    first.serve();
    first.serve();
    assert_eq!(counts(&backend), [(1, 0, 0)]);
    assert_eq!(pick(&backend, None, &random).unwrap_err(), NoServer::Full);
    let mut second = Ticket::claim(&backend.servers()[0]);
    assert!(!second.try_serve());
    second.enqueue();
    assert_eq!(counts(&backend), [(1, 1, 1)]);
    drop(first);
    assert!(second.try_serve() && second.try_serve() && second.is_served());
    assert_eq!(counts(&backend), [(1, 0, 0)]);
    drop(second);
    assert_eq!(counts(&backend), [(0, 0, 0)]);
    let mut queued = pick(&backend, None, &random).unwrap();
    queued.enqueue();
    drop(queued);
    assert_eq!(counts(&backend), [(0, 0, 0)]);
}

#[test]
fn serving_a_reservation_moves_nothing_in_the_index() {
    for (order, moves) in [(LoadOrder::Tree, 200), (LoadOrder::Levels, 0)] {
        let backend = ordered(order, &[1; 4]);
        let random = Prng::new(1);
        let before = backend.index_moves();
        for _ in 0..100 {
            let mut ticket = pick(&backend, None, &random).unwrap();
            ticket.serve();
        }
        assert_eq!(backend.index_moves() - before, moves, "{order:?}");
    }
}

#[test]
fn a_loaded_server_never_wins_over_an_idle_one() {
    ORDERS.iter().for_each(|order| never_over_an_idle_one(&ordered(*order, &[1; 7])));
}

fn never_over_an_idle_one(backend: &Balancer) {
    let random = Prng::new(9);
    let mut held: Vec<Ticket> = Vec::new();
    for _ in 0..2000 {
        if random.below(2) == 0 && !held.is_empty() {
            let at = random.below(held.len() as u32) as usize;
            held.swap_remove(at);
        } else {
            let least = backend.servers().iter().map(|s| s.load().total()).min();
            let ticket = pick(backend, None, &random).unwrap();
            assert_eq!(Some(ticket.server().load().total() - 1), least);
            held.push(ticket);
        }
    }
}

#[test]
fn counts_return_to_zero_under_threads_and_changes() {
    let weights = [3, 1, 2, 5];
    let all = [
        ordered(LoadOrder::Levels, &weights),
        ordered(LoadOrder::Tree, &weights),
        ordered(LoadOrder::Few, &weights),
        backend(Algorithm::RoundRobin, &weights),
        backend(Algorithm::Random { draws: 2, balance_factor: 0 }, &weights),
    ];
    for backend in &all {
        std::thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || churn(backend, seed));
            }
            for n in 0..400 {
                let slot = n % 3;
                backend.set_admin(slot, Admin::FORCED_MAINT, Admin(0), n as u64);
                backend.set_weight(slot, (n as u32 * 7) % 11, n as u64);
                backend.set_admin(slot, Admin(0), Admin::FORCED_MAINT, n as u64);
            }
        });
        assert_eq!(counts(backend), [(0, 0, 0); 4]);
        (0..4).for_each(|slot| backend.set_weight(slot, 1, 0));
        let random = Prng::new(1);
        let held: Vec<_> = (0..8).map(|_| pick(backend, None, &random).unwrap()).collect();
        if backend.algorithm() == Algorithm::LeastConn {
            let on = |n| held.iter().filter(|t| id(t) == n).count();
            assert_eq!([on(1), on(2), on(3), on(4)], [2; 4], "the index is right again");
        }
    }
}

fn churn(backend: &Balancer, seed: u64) {
    let random = Prng::new(seed);
    let mut held = Vec::new();
    for _ in 0..20_000 {
        let mut ticket = pick(backend, None, &random).expect("the fourth server stays");
        if random.below(3) > 0 {
            ticket.serve();
        }
        held.push(ticket);
        if held.len() > 10 {
            held.swap_remove(random.below(10) as usize);
        }
    }
}
