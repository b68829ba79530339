//! The production proxy in the virtual world, with scripted peers; every log line is parsed.
#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    reason = "a tool box for all tests of this directory"
)]

pub(crate) mod agents;
mod h3_client;
mod h3_exchange;
mod lines;
pub(crate) mod material;
mod reload;
mod settings;

pub(crate) use h3_client::{H3Client, H3Plan};
pub(crate) use lines::Line;
pub(crate) use reload::ReloadLab;
pub(crate) use settings::{Listen, OriginKind, listen, process};

use engine::state::os_handles::{ListenSockets, OsHandles};
use engine::state::services::NoServices;
use proxy::{Shared, Worker};
use sim::peers::{Client, ClientPlan, H2Client, Origin, OriginPlan, PeerFault, Tally};
use sim::{Actor, Faults, Machine};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use transport::stats::counters::{Gauge, Metric};

/// Longer than any scenario takes in virtual time.
pub(crate) const LONG: Duration = Duration::from_secs(100_000);
/// Longer than all timeouts and purges together.
pub(crate) const QUIET: Duration = Duration::from_secs(600);
/// Request numbers available to each client.
pub(crate) const IDS: u64 = 1_000_000;

/// Port of the first listener; the others follow.
const FRONT_PORT: u16 = 8_000;

pub(crate) fn front(index: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), FRONT_PORT + index as u16)
}

pub(crate) fn origin(index: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 1, index as u8 + 1)), 80)
}

/// The address of an agent of SPOE.
pub(crate) fn agent(index: usize) -> SocketAddr {
    origin(100 + index)
}

/// The proxy on its virtual machine, with the peers around it.
pub(crate) struct Lab {
    pub(crate) machine: Machine,
    pub(crate) shared: Arc<Shared>,
    pub(crate) workers: Vec<Rc<Worker>>,
    pub(crate) tally: Rc<RefCell<Tally>>,
    lines: Rc<RefCell<Vec<Line>>>,
    clients: u64,
}

impl Lab {
    /// Workers on `threads` threads that run these listeners, without peers.
    pub(crate) fn new(seed: u64, threads: usize, faults: Faults, listens: Vec<Listen>) -> Self {
        Self::of(process(threads), seed, faults, listens)
    }

    /// As [`Lab::new`], with settings of the process.
    pub(crate) fn of(
        settings: settings::Process,
        seed: u64,
        faults: Faults,
        listens: Vec<Listen>,
    ) -> Self {
        let machine = Machine::new(seed, settings.threads);
        machine.net().set_faults(faults);
        let mut handles = OsHandles::default();
        let mut bind = |(index, listen): (usize, Listen)| {
            let handle = match listen.quic {
                Some(_) => machine.net().listen_datagrams(front(index)),
                None => machine.net().listen(reactor::Address::Inet(front(index)), 1_000),
            };
            let handle = handle.unwrap();
            let proxy = listen.proxy(index, settings.threads);
            handles.add_listener(&proxy.name, 1, ListenSockets::one(handle));
            proxy
        };
        let proxies = listens.into_iter().enumerate().map(&mut bind).collect();
        let now = machine.thread(0).nanos();
        let shared = proxy::build(settings, proxies, handles, now);
        let workers = machine
            .threads()
            .iter()
            .map(|thread| proxy::start(thread, &shared, Box::new(NoServices)))
            .collect();
        let (tally, lines) = (Rc::default(), Rc::default());
        Self { machine, shared, workers, tally, lines, clients: 0 }
    }

    /// Spawns an origin for each server number below `count`.
    pub(crate) fn origins(&self, count: usize, plan: impl Fn(OriginPlan) -> OriginPlan) {
        self.origins_of(OriginKind::default(), count, plan);
    }

    /// As [`Lab::origins`], for servers of this kind.
    pub(crate) fn origins_of(
        &self,
        kind: OriginKind,
        count: usize,
        plan: impl Fn(OriginPlan) -> OriginPlan,
    ) {
        for index in 0..count {
            let base = OriginPlan::new(reactor::Address::Inet(kind.address(index)));
            let tls = kind.tls.then(|| material::acceptor(kind.alpn()));
            let (plan, tally) = (OriginPlan { tls, ..plan(base) }, self.tally.clone());
            let actor: Box<dyn Actor> = match kind.h2 {
                true => Origin::h2(plan, tally),
                false => Origin::h1(plan, tally),
            };
            self.machine.net().spawn(actor);
        }
    }

    fn spawn_clients(
        &mut self,
        (count, requests): (u64, u32),
        plan: impl Fn(ClientPlan) -> ClientPlan,
        client: impl Fn(ClientPlan, Rc<RefCell<Tally>>) -> Box<dyn Actor>,
    ) {
        for _ in 0..count {
            let actor = client(plan(self.next_client(requests)), self.tally.clone());
            self.machine.net().spawn(actor);
        }
    }

    /// Spawns `count` clients with `requests` requests each, over all listeners in turn.
    pub(crate) fn clients(
        &mut self,
        count: u64,
        requests: u32,
        plan: impl Fn(ClientPlan) -> ClientPlan,
    ) {
        self.spawn_clients((count, requests), plan, |plan, tally| Client::new(plan, tally));
    }

    /// As [`Lab::clients`], with clients of HTTP/2.
    pub(crate) fn h2_clients(
        &mut self,
        count: u64,
        requests: u32,
        plan: impl Fn(ClientPlan) -> ClientPlan,
    ) {
        self.spawn_clients((count, requests), plan, |plan, tally| H2Client::new(plan, tally));
    }

    /// Runs to the end, at which so many requests were answered, each has a line without a failure,
    /// and nothing is left.
    #[track_caller]
    pub(crate) fn finish_without_failures(mut self, seed: u64, answered: u64) {
        self.until_finished();
        self.until_quiet();
        self.assert_nothing_lost(seed);
        assert_each_ended_once(&self, seed);
        let bad: Vec<_> = self.lines().iter().filter(|line| !line.is_fine()).cloned().collect();
        assert!(bad.is_empty(), "seed {seed}: {bad:#?}");
        assert_eq!(self.tally.borrow().answered, answered, "seed {seed}");
        assert_eq!(self.lines().len() as u64, self.front_sum(Metric::Requests), "seed {seed}");
        self.assert_at_rest();
        self.stop();
    }

    /// Runs to the end under faults, at which every request has ended in one way, the lines agree
    /// with the answers, and nothing is left.
    #[track_caller]
    pub(crate) fn finish_under_faults(mut self, seed: u64) {
        self.until_finished();
        self.until_quiet();
        assert_each_ended_once(&self, seed);
        assert_answers(&self);
        self.assert_at_rest();
        self.stop();
    }

    /// Spawns `count` clients of HTTP/3 with `requests` requests each, over all listeners in turn.
    pub(crate) fn h3_clients(
        &mut self,
        count: u64,
        requests: u32,
        plan: impl Fn(H3Plan) -> H3Plan,
    ) {
        for _ in 0..count {
            let number = self.clients;
            let ip = Ipv4Addr::new(192, 0, 2, (number % 251) as u8 + 1);
            let base = H3Plan {
                from: SocketAddr::new(ip.into(), 5_000 + number as u16),
                to: front(number as usize % self.shared.proxies.len()),
                first_id: number * IDS,
                requests,
                streams: 4,
                post: 400,
                body: 10_000,
                abandon: 0,
                vanish: 0,
                id_len: 8,
                rebind: 0,
                mtu: 1_472,
            };
            self.machine.net().spawn(H3Client::new(plan(base), self.tally.clone()));
            self.clients += 1;
        }
    }

    /// The plan of one more client.
    fn next_client(&mut self, requests: u32) -> ClientPlan {
        let index = self.clients as usize % self.shared.proxies.len();
        let to = reactor::Address::Inet(front(index));
        let base = ClientPlan::new(to, self.clients * IDS, requests);
        self.clients += 1;
        let front = self.shared.proxies[index].front.as_ref().map(|front| &front.settings);
        let has_tls = front.is_some_and(|front| front.binds[0].preamble.tls.is_some());
        let tls = has_tls.then(material::client_tls);
        ClientPlan { patience: 60 * sim::faults::SEC, tls, ..base }
    }

    /// Runs until `done`, reading log lines meanwhile.
    #[track_caller]
    pub(crate) fn until(
        &mut self,
        what: &str,
        limit: Duration,
        mut done: impl FnMut(&Shared) -> bool,
    ) {
        let (world, shared) = (self.machine.world().clone(), self.shared.clone());
        let lines = self.lines.clone();
        let result = self.machine.run_until(
            || {
                let datagrams = world.net().take_datagrams();
                let read = datagrams.iter().filter_map(|it| Line::read(&it.bytes));
                lines.borrow_mut().extend(read);
                done(&shared)
            },
            limit,
        );
        if let Err(stop) = result {
            let tally = self.tally.borrow();
            panic!(
                "{what}: {stop:?}: {}\nsent {} finished {} answered {} wrong {:?}",
                self.machine.report(),
                tally.sent,
                tally.finished,
                tally.answered,
                tally.wrong
            );
        }
    }

    /// Asserts that no client got a wrong response, and none lost one.
    #[track_caller]
    pub(crate) fn assert_nothing_lost(&self, seed: u64) {
        let tally = self.tally.borrow();
        assert!(tally.wrong.is_empty() && tally.doubled == 0, "seed {seed}: {tally:?}");
        assert_eq!(tally.foreign, [0; 6], "seed {seed}: {:?}", self.lines());
        let lost = tally.truncated + tally.broken + tally.timeouts + tally.refused;
        assert_eq!(lost, 0, "seed {seed}: {tally:?}");
    }

    /// Runs until all clients have made all their requests.
    #[track_caller]
    pub(crate) fn until_finished(&mut self) {
        let (tally, clients) = (self.tally.clone(), self.clients);
        self.until("clients finish", LONG, |_| tally.borrow().finished == clients);
    }

    /// Runs until only housekeeping is left.
    #[track_caller]
    pub(crate) fn until_quiet(&mut self) {
        self.until("connections end", QUIET, |shared| shared.connections.current() == 0);
        self.until("idle connections expire", QUIET, |shared| {
            let servers = shared.proxies.iter().filter_map(|it| it.back.as_ref());
            servers.flat_map(|it| &it.servers).all(|server| server.used.current() == 0)
        });
        // Deadlines of tasks that do not wait any more expire from the wheels.
        self.until_time(QUIET);
    }

    /// Lets virtual time pass.
    #[track_caller]
    pub(crate) fn until_time(&mut self, span: Duration) {
        let passed = self.machine.run_for(span);
        assert_eq!(passed, Ok(()), "time passes\n{}", self.machine.report());
    }

    /// Reads the log lines that have been sent.
    fn take_lines(&self) {
        let datagrams = self.machine.net().take_datagrams();
        self.lines.borrow_mut().extend(datagrams.iter().filter_map(|it| Line::read(&it.bytes)));
    }

    pub(crate) fn lines(&self) -> std::cell::Ref<'_, Vec<Line>> {
        self.lines.borrow()
    }

    /// The sum of a counter over all frontends.
    pub(crate) fn front_sum(&self, metric: Metric) -> u64 {
        let fronts = self.shared.proxies.iter().filter_map(|it| it.front.as_ref());
        fronts.map(|front| front.counters.sum(metric)).sum()
    }

    /// The sum of a counter over all backends.
    pub(crate) fn back_sum(&self, metric: Metric) -> u64 {
        let backs = self.shared.proxies.iter().filter_map(|it| it.back.as_ref());
        backs.map(|back| back.counters.sum(metric)).sum()
    }

    /// Asserts that every gauge is at zero, nothing is borrowed, and only housekeeping waits.
    #[track_caller]
    pub(crate) fn assert_at_rest(&self) {
        let zero = |gauge: &Gauge, what: &str| assert_eq!(gauge.current(), 0, "{what}");
        zero(&self.shared.connections, "process");
        for proxy in &self.shared.proxies {
            if let Some(front) = &proxy.front {
                zero(&front.connections, "frontend");
                front.listeners.iter().for_each(|it| zero(&it.connections, "listener"));
            }
            let Some(back) = &proxy.back else { continue };
            zero(&back.sessions, "backend");
            zero(&back.queue.length, "backend queue");
            for server in &back.servers {
                zero(&server.sessions, "server");
                zero(&server.queue.length, "server queue");
                zero(&server.used, "connections used");
                assert_eq!(server.idle(), 0, "idle");
                let load = server.state.load();
                assert_eq!((load.served(), load.pending(), load.queued()), (0, 0, 0), "load");
            }
        }
        match self.quic_listeners() {
            0 => self.assert_threads(0, self.shared.proxies.len()),
            _ => {
                let open = self.machine.net().open_handles();
                assert_eq!(open, self.shared.proxies.len(), "handles");
                self.workers.iter().for_each(|it| assert_eq!(it.buffers.in_use(), 0, "buffers"));
            }
        }
    }

    /// Listeners whose clients speak HTTP/3. The socket belongs to one thread, the connections to
    /// all.
    fn quic_listeners(&self) -> usize {
        let fronts = self.shared.frontends().map(|front| &front.settings);
        fronts.flat_map(|front| &front.binds).filter(|bind| bind.quic.is_some()).count()
    }

    /// Asserts that each thread has this many timers and sockets, and no buffer in use.
    #[track_caller]
    pub(crate) fn assert_threads(&self, timers: usize, sockets: usize) {
        for worker in &self.workers {
            let thread = &worker.thread;
            assert_eq!(thread.scheduler().timers(), timers, "timers\n{}", self.machine.report());
            assert_eq!(thread.sockets(), sockets, "sockets\n{}", self.machine.report());
            assert_eq!(worker.buffers.in_use(), 0, "buffers");
        }
    }

    /// Begins the soft stop and runs until no task is left.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        self.shared.begin_stop(self.machine.thread(0).nanos());
        let threads = self.machine.threads().to_vec();
        // Until its thread ends, one task waits for health checks of other threads, one per agent
        // for payloads, and two per QUIC listener for datagrams.
        let most = 1 + self.shared.spoe.len() + 2 * self.quic_listeners();
        self.until("tasks end", QUIET, |_| threads.iter().all(|it| it.scheduler().tasks() <= most));
        if self.quic_listeners() == 0 {
            self.assert_threads(0, 0);
        }
    }
}

/// Asserts that the clients' counts add up and agree with the proxy's.
#[track_caller]
pub(crate) fn assert_books(lab: &Lab) {
    let tally = lab.tally.borrow();
    let seed = lab.machine.world().seed();
    assert!(tally.wrong.is_empty(), "seed {seed}: {:?}", tally.wrong);
    let foreign: u64 = tally.foreign.iter().sum();
    let ends = [tally.answered, foreign, tally.unanswered, tally.truncated, tally.timeouts];
    let ends = ends.iter().sum::<u64>() + tally.abandoned;
    assert_eq!(ends, tally.sent, "seed {seed}");
    drop(tally);
    assert_lines(lab);
}

/// Asserts that every request of a client ended in one way.
#[track_caller]
pub(crate) fn assert_each_ended_once(lab: &Lab, seed: u64) {
    let tally = lab.tally.borrow();
    assert!(tally.wrong.is_empty() && tally.doubled == 0, "seed {seed}: {tally:#?}");
    let foreign: u64 = tally.foreign.iter().sum();
    let ends = [tally.answered, foreign, tally.unanswered, tally.truncated, tally.timeouts];
    let ends = ends.iter().sum::<u64>() + tally.abandoned;
    assert_eq!(ends, tally.sent, "seed {seed}: {tally:#?}");
}

/// As [`assert_answers`], and that counters of failures agree with the lines.
#[track_caller]
pub(crate) fn assert_lines(lab: &Lab) {
    assert_answers(lab);
    let (lines, seed) = (lab.lines(), lab.machine.world().seed());
    let ended = |phase: char| lines.iter().filter(|it| it.ending.ends_with(phase)).count() as u64;
    let failed = lab.back_sum(Metric::FailedResponses);
    let cut_short = lines.iter().filter(|it| &*it.ending == "SD").count() as u64;
    assert_eq!(failed, ended('H') + cut_short, "seed {seed}: failed responses");
    let unreachable = lab.back_sum(Metric::FailedConnections);
    assert_eq!(unreachable, ended('C') + ended('Q'), "seed {seed}: failed connections");
    let bad = lines.iter().filter(|it| it.id.is_none()).count() as u64;
    assert_eq!(lab.front_sum(Metric::FailedRequests), bad, "seed {seed}: bad requests");
}

/// Asserts that each parsed request has one log line, or was closed silently on purpose and
/// counted; that clients got what the lines say; and that every failure names side and phase.
#[track_caller]
pub(crate) fn assert_answers(lab: &Lab) {
    let (tally, lines) = (lab.tally.borrow(), lab.lines());
    let seed = lab.machine.world().seed();
    let mut by_id = HashMap::new();
    for line in lines.iter() {
        assert!(!line.is_fine() || !line.is_own_error(), "seed {seed}: {line:?}");
        assert!(!line.is_fine() || line.status > 0, "seed {seed}: {line:?}");
        let Some(id) = line.id else { continue };
        // A request that the client may repeat, as the proxy has said, got no status.
        if let Some(twice) = by_id.insert(id, line) {
            let repeated = tally.repeated > 0 && twice.status == -1;
            assert!(repeated, "seed {seed}: {twice:?} and {line:?}");
        }
    }
    for (id, status) in &tally.answers {
        let given_up = tally.given_up.get(id);
        let Some(line) = by_id.get(id) else {
            // A request that stops within its head, or takes too long over it, has no number in its
            // line.
            let within_head = given_up == Some(&PeerFault::Stalled) || *status == 408;
            assert!(within_head, "seed {seed}: no line for {id}, {status} after {given_up:?}");
            continue;
        };
        assert_eq!(line.status, i32::from(*status), "seed {seed}: {line:?}");
        if given_up.is_some() || tally.early.contains(id) {
            continue;
        }
        assert_eq!(line.is_fine(), !line.is_own_error(), "seed {seed}: {line:?}");
    }
    let class =
        |hundreds: i32| lines.iter().filter(|it| it.status / 100 == hundreds).count() as u64;
    for (hundreds, metric) in
        [(2, Metric::Status2xx), (4, Metric::Status4xx), (5, Metric::Status5xx)]
    {
        assert_eq!(lab.front_sum(metric), class(hundreds), "seed {seed}: {metric:?}");
    }
    // Including requests that were not parsed.
    let requests = lab.front_sum(Metric::Requests);
    let odd: Vec<_> = lines.iter().filter(|it| it.id.is_none() || it.status < 0).collect();
    assert_eq!(requests, lines.len() as u64, "seed {seed}: requests without a line: {odd:#?}");
}
