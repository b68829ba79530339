//! Tests of clients and servers of HTTP/1 and HTTP/2, in the clear and with TLS, in all
//! combinations: every request is answered once, and nothing is left at the end.

mod support;

use balance::Algorithm::{LeastConn, RoundRobin};
use settings::Reuse;
use sim::Faults;
use sim::peers::{ClientPlan, OriginPlan};
use support::{Lab, Listen, OriginKind, listen};

const SERVERS: usize = 2;

const KINDS: [OriginKind; 4] = [
    OriginKind { h2: false, tls: false },
    OriginKind { h2: false, tls: true },
    OriginKind { h2: true, tls: false },
    OriginKind { h2: true, tls: true },
];

/// Eight listeners: in the clear and with TLS, for servers of each kind. Clients of either protocol
/// may connect to each.
fn listens(reuse: Reuse) -> Vec<Listen> {
    let one = |tls_front, origins| {
        let algorithm = if tls_front { LeastConn } else { RoundRobin };
        Listen { tls_front, origins, ..listen(algorithm, reuse, SERVERS) }
    };
    let all = |tls_front| KINDS.map(|kind| one(tls_front, kind));
    [all(false), all(true)].concat()
}

fn lab(
    seed: u64,
    faults: Faults,
    origins: fn(OriginPlan) -> OriginPlan,
    clients: fn(ClientPlan) -> ClientPlan,
) -> Lab {
    let reuse = [Reuse::Safe, Reuse::Always, Reuse::Never, Reuse::Aggressive][seed as usize % 4];
    let mut lab = Lab::new(seed, 2, faults, listens(reuse));
    KINDS.iter().for_each(|kind| lab.origins_of(*kind, SERVERS, origins));
    lab.clients(8, 15, |plan| ClientPlan { pipeline: 1, ..clients(plan) });
    lab.h2_clients(8, 15, clients);
    lab
}

#[test]
fn every_request_is_answered_over_any_protocol() {
    for seed in 0..8 {
        let steady = |plan: ClientPlan| ClientPlan { abandon: 0, close: 0, ..plan.wild() };
        let lab = lab(seed, Faults::BUMPY, OriginPlan::varied, steady);
        lab.finish_without_failures(seed, 240);
    }
}

#[test]
fn faults_of_the_network_and_of_all_peers_leave_nothing_behind() {
    for seed in 100..120 {
        let origins = |plan: OriginPlan| OriginPlan { idle_close: 100, ..plan.faulty() };
        let lab = lab(seed, Faults::ROUGH, origins, ClientPlan::wild);
        lab.finish_under_faults(seed);
    }
}
