//! Reloads of a QUIC listener in the virtual world: processes of one machine that hand its socket
//! from one to the next.

use super::{Lab, Listen, front, process};
use engine::state::os_handles::{ListenSockets, OsHandles, QuicSockets};
use engine::state::services::NoServices;
use engine::state::session::quic_line::QuicIdentity;
use proxy::{Shared, Worker};
use reactor::{Handle, Thread};
use sim::{Faults, Machine};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A process.
struct Generation {
    number: u8,
    shared: Arc<Shared>,
    threads: Vec<Rc<Thread>>,
    /// Its handles; the next process gets copies of the sockets, one for each thread, and of the
    /// end of its link.
    sockets: Vec<Handle>,
    given: Handle,
    others: Vec<Handle>,
}

/// A machine on which processes follow each other; `lab` has the newest one.
pub(crate) struct ReloadLab {
    pub(crate) lab: Lab,
    listen: Listen,
    /// Processes that run, the newest one last.
    running: Vec<Generation>,
    last: u8,
}

impl ReloadLab {
    /// A machine with one process.
    pub(crate) fn new(seed: u64, threads: usize, faults: Faults, listen: &Listen) -> Self {
        let mut machine = Machine::new(seed, threads);
        machine.net().set_faults(faults);
        let open = |_| machine.net().listen_datagrams(front(0)).expect("a free address");
        let sockets = (0..threads).map(open).collect();
        let own = machine.threads().to_vec();
        let (first, workers) = start(&mut machine, listen, own, (0, sockets), Vec::new());
        let (tally, lines) = (Rc::default(), Rc::default());
        let shared = first.shared.clone();
        let lab = Lab { machine, shared, workers, tally, lines, clients: 0 };
        Self { lab, listen: listen.clone(), running: vec![first], last: 0 }
    }

    /// Starts a process that takes the sockets of the newest one over and serves.
    pub(crate) fn start_successor(&mut self) {
        let machine = &mut self.lab.machine;
        let sockets = &self.running.last().expect("a process").sockets;
        let sockets = sockets.iter().map(|it| machine.net().duplicate(*it)).collect();
        let link = |it: &Generation| (it.number, machine.net().duplicate(it.given));
        let links = self.running.iter().rev().map(link).collect();
        let count = self.lab.workers.len();
        let threads = machine.add_process(count);
        self.last += 1;
        let number = (self.last, sockets);
        let (next, workers) = start(machine, &self.listen, threads, number, links);
        self.lab.shared = next.shared.clone();
        self.lab.workers = workers;
        self.running.push(next);
    }

    /// Begins the soft stop of all processes before the newest one.
    pub(crate) fn stop_older(&mut self) {
        let now = self.lab.machine.thread(0).nanos();
        let older = self.running.len() - 1;
        self.running[..older].iter().for_each(|it| it.shared.begin_stop(now));
    }

    /// Begins the soft stop of all processes.
    pub(crate) fn stop_all(&mut self) {
        let now = self.lab.machine.thread(0).nanos();
        self.running.iter().for_each(|it| it.shared.begin_stop(now));
    }

    /// Reloads: the next process begins to serve, then the others get the signal to stop.
    pub(crate) fn reload(&mut self) {
        self.start_successor();
        self.stop_older();
    }

    /// Processes that run.
    pub(crate) fn processes(&self) -> usize {
        self.running.len()
    }

    /// Runs until something holds. Processes that have finished end meanwhile.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, limit: Duration, done: impl Fn(&Lab) -> bool) {
        let end = self.lab.machine.net().now() + limit.as_nanos() as u64;
        while !done(&self.lab) {
            let now = self.lab.machine.net().now();
            assert!(now < end, "{what}: {}", self.lab.machine.report());
            self.pass(Duration::from_millis(10));
        }
    }

    /// Lets virtual time pass.
    #[track_caller]
    pub(crate) fn pass(&mut self, span: Duration) {
        self.lab.until_time(span);
        self.lab.take_lines();
        let older = self.running.len() - 1;
        let is_over =
            |it: &Generation| it.shared.is_stopping() && it.shared.connections.current() == 0;
        for place in (0..older).rev() {
            if is_over(&self.running[place]) {
                let ended = self.running.remove(place);
                self.end(&ended);
            }
        }
    }

    /// The system closes the handles of a process that has ended.
    fn end(&self, ended: &Generation) {
        ended.threads.iter().for_each(|thread| thread.scheduler().clear());
        let mut net = self.lab.machine.net();
        let handles = ended.sockets.iter().chain([&ended.given]).chain(&ended.others);
        handles.for_each(|handle| net.close_inherited(*handle));
    }

    /// Whether no process has a connection of a client.
    pub(crate) fn is_quiet(&self) -> bool {
        self.running.iter().all(|it| it.shared.connections.current() == 0)
    }
}

/// Starts a process.
fn start(
    machine: &mut Machine,
    listen: &Listen,
    threads: Vec<Rc<Thread>>,
    (number, sockets): (u8, Vec<Handle>),
    predecessors: Vec<(u8, Handle)>,
) -> (Generation, Vec<Rc<Worker>>) {
    let (own, given) = machine.net().link();
    let links = predecessors.iter().map(|(_, handle)| *handle);
    let others = [own].into_iter().chain(links).collect();
    let identity = QuicIdentity { process: number, key: [1, 2], secret: vec![7; 32] };
    let of_threads = (0..).map(|thread| vec![thread]);
    let first = sockets[0];
    let quic = QuicSockets {
        sockets: sockets.iter().copied().zip(of_threads).collect(),
        identity,
        own,
        predecessors,
    };
    let proxy = listen.clone().proxy(0, threads.len());
    let mut all = OsHandles::default();
    let quic = Some(Arc::new(quic));
    all.add_listener(&proxy.name, 1, ListenSockets { first, shards: Vec::new(), quic });
    let now = machine.thread(0).nanos();
    let shared = proxy::build(process(threads.len()), vec![proxy], all, now);
    let begin = |thread| proxy::start(thread, &shared, Box::new(NoServices));
    let workers = threads.iter().map(begin).collect();
    (Generation { number, shared, threads, sockets, given, others }, workers)
}
