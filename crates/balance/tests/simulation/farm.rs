//! Servers that take their time, and requests that come whether or not they are answered.

use balance::{Algorithm, Balancer, PickRequest, ServerSettings, Ticket};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use stdx::Prng;

const REQUESTS: usize = 200_000;
/// Requests before the farm is measured.
const WARM_UP: usize = 20_000;
/// Mean time for one request, in nanoseconds.
const SERVICE_NS: f64 = 10e6;
/// Requests that a server works on at once; others wait in it.
const WORKERS: usize = 4;

/// The simulated load: exponential times between requests and for each request.
pub(crate) struct Farm {
    pub(crate) servers: usize,
    /// How many of them are slow.
    pub(crate) slow: usize,
    /// The factor by which a slow server takes longer.
    pub(crate) slower: f64,
    /// The offered load as a share of the capacity of all healthy servers.
    pub(crate) load: f64,
}

/// The measured latencies.
pub(crate) struct Latencies {
    /// In nanoseconds, ascending.
    sorted: Vec<u64>,
    /// The part of all requests that slow servers got.
    pub(crate) slow_share: f64,
}

impl Latencies {
    pub(crate) fn quantile_ms(&self, part: f64) -> f64 {
        let at = ((self.sorted.len() as f64 * part) as usize).min(self.sorted.len() - 1);
        self.sorted[at] as f64 / 1e6
    }
}

struct Request {
    began: u64,
    counted: bool,
    ticket: Ticket,
}

#[derive(Default)]
struct Server {
    working: usize,
    waiting: VecDeque<Request>,
}

/// Requests under way by number, so that the heap orders plain data.
#[derive(Default)]
struct Running {
    ends: BinaryHeap<Reverse<(u64, usize)>>,
    requests: Vec<Option<Request>>,
}

impl Farm {
    pub(crate) fn run(&self, algorithm: Algorithm) -> Latencies {
        let settings = (1..=self.servers as u32).map(|id| ServerSettings::new(id, id.to_string()));
        let balancer = Balancer::new(algorithm, false, settings.collect(), 0);
        let (random, times) = (Prng::new(3), Prng::new(4));
        let healthy = (self.servers - self.slow) * WORKERS;
        let between = SERVICE_NS / (healthy as f64 * self.load);
        let mut servers: Vec<Server> = (0..self.servers).map(|_| Server::default()).collect();
        let (mut running, mut next) = (Running::default(), 0u64);
        let (mut seen, mut slow, mut made) = (Vec::new(), 0usize, 0);
        while made < REQUESTS || !running.ends.is_empty() {
            let end = running.ends.peek().map(|Reverse((at, _))| *at);
            if made < REQUESTS && end.is_none_or(|end| next <= end) {
                let now = next;
                next += exponential(&times, between);
                let wish = PickRequest { key: None, avoid: None, random: &random, now_ns: now };
                let mut ticket = balancer.pick(&wish).expect("all servers are up");
                ticket.serve();
                let counted = made >= WARM_UP;
                made += 1;
                slow += usize::from(counted && ticket.server().slot() < self.slow);
                let slot = ticket.server().slot();
                servers[slot].waiting.push_back(Request { began: now, counted, ticket });
                self.work(slot, &mut servers[slot], &mut running, now, &times);
            } else if let Some(Reverse((at, number))) = running.ends.pop() {
                let now = at;
                let request = running.requests[number].take().expect("it runs");
                let slot = request.ticket.server().slot();
                balancer.observe(slot, now - request.began, now);
                if request.counted {
                    seen.push(now - request.began);
                }
                drop(request);
                servers[slot].working -= 1;
                self.work(slot, &mut servers[slot], &mut running, now, &times);
            }
        }
        seen.sort_unstable();
        Latencies { slow_share: slow as f64 / seen.len() as f64, sorted: seen }
    }

    /// A server begins waiting requests while it has free workers.
    fn work(
        &self,
        slot: usize,
        server: &mut Server,
        running: &mut Running,
        now: u64,
        times: &Prng,
    ) {
        while server.working < WORKERS
            && let Some(request) = server.waiting.pop_front()
        {
            server.working += 1;
            let mean = if slot < self.slow { SERVICE_NS * self.slower } else { SERVICE_NS };
            running.ends.push(Reverse((now + exponential(times, mean), running.requests.len())));
            running.requests.push(Some(request));
        }
    }
}

fn exponential(times: &Prng, mean: f64) -> u64 {
    let uniform = (f64::from(times.next_u32()) + 1.0) / (f64::from(u32::MAX) + 2.0);
    (-uniform.ln() * mean) as u64 + 1
}
