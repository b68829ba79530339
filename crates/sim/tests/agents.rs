//! Tests of FastCGI applications and agents of SPOE that fail in every way they can: every request
//! is answered once, and no number of a stream and no count stays behind.

mod support;

use balance::Algorithm::{LeastConn, RoundRobin};
use settings::Reuse;
use sim::Faults;
use sim::peers::{AgentPlan, AgentTally, ClientPlan, Origin, OriginPlan, SpoeAgent};
use std::cell::RefCell;
use std::rc::Rc;
use stdx::Prng;
use support::agents::{FcgiOptions, SpoeOptions};
use support::{Lab, Listen, assert_answers, assert_each_ended_once, front, listen, origin};

// ---- FastCGI

const APPLICATIONS: usize = 2;

fn fcgi_lab(seed: u64, faults: Faults, plan: fn(OriginPlan) -> OriginPlan) -> Lab {
    let random = Prng::new(seed);
    let options = || FcgiOptions {
        keep_conn: random.below(4) > 0,
        multiplexes: random.below(2) > 0,
        get_values: random.below(2) > 0,
    };
    let one = |algorithm, reuse| Listen {
        fcgi: Some(options()),
        ..listen(algorithm, reuse, APPLICATIONS)
    };
    let listens = vec![
        one(RoundRobin, Reuse::Safe),
        one(LeastConn, Reuse::Always),
        one(RoundRobin, Reuse::Never).maxconn(4),
    ];
    let lab = Lab::new(seed, 2, faults, listens);
    for index in 0..APPLICATIONS {
        let plan = plan(OriginPlan::new(reactor::Address::Inet(origin(index))));
        lab.machine.net().spawn(Origin::fcgi(plan, lab.tally.clone()));
    }
    lab
}

#[test]
fn applications_answer_every_request_once() {
    for seed in 0..12 {
        let mut lab = fcgi_lab(seed, Faults::BUMPY, |plan| OriginPlan { error: 20, ..plan });
        let steady =
            |plan: ClientPlan| ClientPlan { abandon: 0, close: 0, pipeline: 4, ..plan.wild() };
        lab.clients(6, 20, steady);
        lab.h2_clients(6, 20, steady);
        let tally = lab.tally.clone();
        lab.finish_without_failures(seed, 240);
        // Every connection has ended by now.
        assert_eq!(tally.borrow().numbers_in_use, 0, "seed {seed}");
    }
}

#[test]
fn faults_of_applications_clients_and_the_network_leave_nothing_behind() {
    for seed in 100..130 {
        let faults = if seed % 2 == 0 { Faults::BUMPY } else { Faults::ROUGH };
        let mut lab =
            fcgi_lab(seed, faults, |plan| OriginPlan { idle_close: 100, ..plan.faulty() });
        lab.clients(6, 20, ClientPlan::wild);
        lab.h2_clients(6, 20, ClientPlan::wild);
        lab.finish_under_faults(seed);
    }
}

// ---- SPOE

/// A listener whose requests pass an agent, and the listener in front of the agent.
fn spoe_listens(random: &Prng) -> Vec<Listen> {
    let spoe = SpoeOptions {
        backend: 1,
        pipelining: random.below(4) > 0,
        fragments: random.below(2) > 0,
        continues: random.below(2) > 0,
        max_frame_size: if random.below(2) > 0 { 256 } else { 0 },
    };
    let asks = Listen { spoe: Some(spoe), ..listen(RoundRobin, Reuse::Safe, 2) };
    // Its servers are the addresses behind those of the origins.
    let agents = Listen { is_tcp: true, ..listen(LeastConn, Reuse::Safe, 2) };
    vec![asks, agents.maxconn(if random.below(3) == 0 { 2 } else { 0 })]
}

struct Agents {
    lab: Lab,
    tally: Rc<RefCell<AgentTally>>,
}

impl Agents {
    fn new(seed: u64, faults: Faults, plan: fn(AgentPlan) -> AgentPlan) -> Self {
        let random = Prng::new(seed);
        let lab = Lab::new(seed, 2, faults, spoe_listens(&random));
        let tally: Rc<RefCell<AgentTally>> = Rc::default();
        for index in 0..2 {
            let base = AgentPlan {
                pipelining: random.below(4) > 0,
                fragmentation: random.below(4) > 0,
                max_frame_size: if random.below(2) > 0 { 400 } else { 16_380 },
                ..AgentPlan::new(reactor::Address::Inet(support::agent(index)))
            };
            lab.machine.net().spawn(SpoeAgent::new(plan(base), tally.clone()));
        }
        lab.origins(2, |plan| plan);
        Self { lab, tally }
    }

    fn clients(&mut self, plan: fn(ClientPlan) -> ClientPlan) {
        let to = reactor::Address::Inet(front(0));
        let agents = ["a".repeat(10), "a".repeat(700)];
        for agent in agents {
            let extra = format!("user-agent: {agent}\r\n");
            let plan = |base| plan(ClientPlan { to: to.clone(), extra: extra.clone(), ..base });
            self.lab.clients(3, 20, plan);
            self.lab.h2_clients(3, 20, plan);
        }
    }

    /// Runs to the end; nothing of an exchange is left then.
    #[track_caller]
    fn finish(&mut self, seed: u64) {
        let lab = &mut self.lab;
        lab.until_finished();
        lab.until_quiet();
        let tally = self.tally.borrow();
        assert!(tally.wrong.is_empty(), "seed {seed}: {tally:#?}");
        assert_each_ended_once(lab, seed);
        lab.workers.iter().flat_map(|worker| &worker.spoe).for_each(|agent| agent.publish());
        let sums = lab.shared.spoe[0].1.sums();
        assert_eq!(sums.state, [0; 4], "seed {seed}: {sums:?}");
        lab.assert_at_rest();
    }
}

#[test]
fn agents_answer_every_payload_and_variables_are_those_of_the_request() {
    for seed in 0..16 {
        let mut agents = Agents::new(seed, Faults::NONE, |plan| plan);
        agents.clients(|plan| ClientPlan { close: 0, head: 50, think: 3_000_000, ..plan });
        agents.finish(seed);
        let (lab, tally) = (&agents.lab, agents.tally.borrow());
        lab.assert_nothing_lost(seed);
        assert_eq!(lab.tally.borrow().answered, 240, "seed {seed}");
        assert_eq!(tally.answered, tally.payloads, "seed {seed}: {tally:?}");
        assert!(tally.payloads > 200, "seed {seed}: {tally:?}");
        drop(tally);
        agents.lab.stop();
    }
}

#[test]
fn faults_of_agents_clients_and_the_network_leave_nothing_behind() {
    for seed in 100..140 {
        let faults = if seed % 2 == 0 { Faults::BUMPY } else { Faults::ROUGH };
        let mut agents = Agents::new(seed, faults, AgentPlan::faulty);
        agents.clients(ClientPlan::wild);
        agents.finish(seed);
        assert_answers(&agents.lab);
        agents.lab.stop();
    }
}
