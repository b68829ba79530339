//! Tests of the crate as its callers see it.

mod health;
mod index;
mod load;
mod observe;
mod sequences;
mod shares;

use stdx::Prng;

use crate::{Algorithm, Balancer, LoadOrder, NoServer, PickRequest, ServerSettings, Ticket};

/// A backend of servers `s1`, `s2`... with these weights.
fn backend(algorithm: Algorithm, weights: &[u32]) -> Balancer {
    with(algorithm, weights, |_| {})
}

/// The same for `leastconn` over this index.
fn ordered(order: LoadOrder, weights: &[u32]) -> Balancer {
    Balancer::with_order(Algorithm::LeastConn, order, false, settings(weights, |_| {}), 0)
}

fn with(algorithm: Algorithm, weights: &[u32], change: impl Fn(&mut ServerSettings)) -> Balancer {
    Balancer::new(algorithm, false, settings(weights, change), 0)
}

fn settings(weights: &[u32], change: impl Fn(&mut ServerSettings)) -> Vec<ServerSettings> {
    let server = |(id, weight): (u32, &u32)| {
        let mut settings = ServerSettings::new(id, format!("s{id}"));
        settings.weight = *weight;
        settings.checked = true;
        change(&mut settings);
        settings
    };
    (1..).zip(weights).map(server).collect()
}

fn pick(backend: &Balancer, key: Option<u32>, random: &Prng) -> Result<Ticket, NoServer> {
    backend.pick(&PickRequest { key, avoid: None, random, now_ns: 0 })
}

fn id(ticket: &Ticket) -> u32 {
    ticket.server().settings().id
}

const ORDERS: [LoadOrder; 4] =
    [LoadOrder::Levels, LoadOrder::Tree, LoadOrder::Few, LoadOrder::Growing];

/// The identifiers of the servers of `count` requests, one after the other.
fn sequence(backend: &Balancer, count: usize) -> String {
    let random = Prng::new(1);
    (0..count).map(|_| id(&pick(backend, None, &random).unwrap()).to_string()).collect()
}
