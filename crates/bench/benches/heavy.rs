//! `cargo xtask bench heavy`: latency of a plain request while 1,000 heavy tasks of 0.5 ms are
//! always queued, and the throughput that the heavy tasks lose (row B4).
//!
//! Two measures. In slices: the number of heavy slices that end between a request and its answer,
//! which depends on the scheduler only. The results are in microseconds, next to those of a plain
//! loop in the same run: the same client asks a loop that burns slices and answers between two of
//! them. The loop's latency beyond one slice is the machine's. Client and server are bound to
//! processors of their own.

use bench::{now, quantile, table};
use reactor::{Handle, Settings, Socket, Thread};
use sched::Class;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::IntoRawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

const TASKS: usize = 1_000;
const SLICE: Duration = Duration::from_micros(500);
/// Duration of one measurement; each is made `ROUNDS` times, in turn.
const SPAN: Duration = Duration::from_secs(3);
const ROUNDS: usize = 4;
/// Pause between two plain requests: 1 to 2 ms, so that they are not in step with the slices. About
/// 500 per second, which take some 1 % of a core.
const PAUSE_US: (u32, u32) = (1_000, 1_000);
const SERVER: usize = 0;
const CLIENT: usize = 1;

/// State shared by both threads of a measurement.
#[derive(Default)]
struct Common {
    stop: AtomicBool,
    /// Heavy slices that have ended.
    slices: AtomicU64,
    /// The same at the last answer.
    answered: AtomicU64,
}

impl Common {
    fn slice(&self) {
        let start = now();
        while start.elapsed() < SLICE {}
        self.slices.fetch_add(1, SeqCst);
    }

    /// Must be called before an answer is sent.
    fn note_answer(&self) {
        self.answered.store(self.slices.load(SeqCst), SeqCst);
    }
}

/// Measurements of the client.
#[derive(Default)]
struct Seen {
    micros: Vec<f64>,
    /// Slices that ended between request and answer; at most one of them had begun before the
    /// request.
    slices: Vec<f64>,
}

/// Time that a thread wanted to run but did not.
#[derive(Default, Clone, Copy)]
struct WithheldTime {
    /// Number of preemptions while it was runnable.
    preempted: u64,
    /// Nanoseconds in the kernel's run queue.
    waited: u64,
}

impl WithheldTime {
    /// Values of the calling thread so far.
    fn so_far() -> Self {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/thread-self/{file}"));
        let status = read("status").unwrap_or_default();
        let line = status.lines().find_map(|it| it.strip_prefix("nonvoluntary_ctxt_switches:"));
        let schedstat = read("schedstat").unwrap_or_default();
        Self {
            preempted: line.and_then(|it| it.trim().parse().ok()).unwrap_or(0),
            waited: schedstat.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0),
        }
    }

    fn add_since(&mut self, before: Self) {
        let now = Self::so_far();
        self.preempted += now.preempted - before.preempted;
        self.waited += now.waited - before.waited;
    }
}

/// Results of one way to serve, over all rounds.
#[derive(Default)]
struct Sums {
    seen: Seen,
    slices: u64,
    seconds: f64,
    server: WithheldTime,
    client: WithheldTime,
}

/// A thread with its heavy tasks.
fn heavy_thread(common: &Arc<Common>) -> Rc<Thread> {
    let kernel = Box::new(reactor::os::Os::new(64).expect("a poller"));
    let thread = Thread::new(0, kernel, Settings::default());
    for _ in 0..TASKS {
        let (own, common) = (thread.clone(), common.clone());
        thread.scheduler().spawn(Class::Heavy, async move {
            loop {
                common.slice();
                own.scheduler().yield_as(Class::Heavy).await;
            }
        });
    }
    thread
}

async fn answer(socket: Socket, common: Arc<Common>) {
    let thread = socket.thread().clone();
    let mut buffer = [0; 64];
    loop {
        match socket.recv(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                common.note_answer();
                drop(socket.send(&[IoSlice::new(&buffer[..count])], false));
            }
            Err(_) => {
                socket.want_read();
                thread.scheduler().wait(None).await;
            }
        }
    }
}

/// Sends requests until it is stopped.
fn ask(mut stream: TcpStream, common: &Common, sums: &mut Sums) {
    sys::cpu::bind_thread(&[CLIENT]).expect("two processors");
    let prng = stdx::Prng::new(5);
    let before = WithheldTime::so_far();
    let mut byte = [0];
    while !common.stop.load(Relaxed) {
        let (start, slices) = (now(), common.slices.load(SeqCst));
        stream.write_all(b"x").and_then(|()| stream.read_exact(&mut byte)).expect("an answer");
        sums.seen.micros.push(start.elapsed().as_nanos() as f64 / 1e3);
        sums.seen.slices.push((common.answered.load(SeqCst) - slices) as f64);
        let pause = PAUSE_US.0 + prng.below(PAUSE_US.1);
        std::thread::park_timeout(Duration::from_micros(pause.into()));
    }
    sums.client.add_since(before);
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let client = TcpStream::connect(address).expect("connected");
    client.set_nodelay(true).expect("an option of TCP");
    let (served, _) = listener.accept().expect("the client");
    served.set_nodelay(true).expect("an option of TCP");
    served.set_nonblocking(true).expect("a mode of sockets");
    (client, served)
}

/// Calls `turn` for `SPAN`, and longer if the client is still running.
fn turn_for_span(common: &Common, sums: &mut Sums, mut turn: impl FnMut()) {
    let (start, before, denied) = (now(), common.slices.load(SeqCst), WithheldTime::so_far());
    while start.elapsed() < SPAN {
        turn();
    }
    sums.slices += common.slices.load(SeqCst) - before;
    sums.seconds += start.elapsed().as_secs_f64();
    sums.server.add_since(denied);
}

/// The scheduler without a client.
fn alone(sums: &mut Sums) {
    let common = Arc::new(Common::default());
    let thread = heavy_thread(&common);
    turn_for_span(&common, sums, || thread.turn(None).expect("a poller"));
    thread.scheduler().clear();
}

/// The scheduler with a client.
fn together(sums: &mut Sums) {
    let common = Arc::new(Common::default());
    let thread = heavy_thread(&common);
    let (client, served) = pair();
    let socket = Socket::adopt(&thread, Handle(served.into_raw_fd()));
    thread.scheduler().spawn(Class::Urgent, answer(socket, common.clone()));
    with_client(client, &common, sums, || thread.turn(None).expect("a poller"));
    thread.scheduler().clear();
}

/// The plain loop with a client.
fn bare(sums: &mut Sums) {
    let common = Common::default();
    let (client, mut served) = pair();
    let mut buffer = [0; 64];
    with_client(client, &common, sums, || {
        match served.read(&mut buffer) {
            Ok(count) => {
                common.note_answer();
                drop(served.write(&buffer[..count]));
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        common.slice();
    });
}

fn with_client(client: TcpStream, common: &Common, sums: &mut Sums, mut turn: impl FnMut()) {
    let mut asked = std::mem::take(sums);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            ask(client, common, &mut asked);
            asked
        });
        let mut served = Sums::default();
        turn_for_span(common, &mut served, &mut turn);
        common.stop.store(true, Relaxed);
        while !asking.is_finished() {
            turn();
        }
        *sums = asking.join().expect("it asked");
        sums.slices += served.slices;
        sums.seconds += served.seconds;
        sums.server.preempted += served.server.preempted;
        sums.server.waited += served.server.waited;
    });
}

/// A row of the latency table.
fn latency(name: &str, sums: &mut Sums) -> Vec<String> {
    sums.seen.micros.sort_by(f64::total_cmp);
    sums.seen.slices.sort_by(f64::total_cmp);
    let micros = |fraction| format!("{:.0}", quantile(&sums.seen.micros, fraction));
    let slices = |fraction| format!("{:.0}", quantile(&sums.seen.slices, fraction));
    let (p50, p99, p999, max) = (micros(0.5), micros(0.99), micros(0.999), micros(1.0));
    let count = sums.seen.micros.len().to_string();
    vec![name.to_owned(), count, p50, p99, p999, max, slices(0.5), slices(0.999), slices(1.0)]
}

/// A row of the table of withheld time.
fn denied(name: &str, sums: &Sums) -> Vec<String> {
    let share = |it: WithheldTime| format!("{:.2} %", it.waited as f64 / 1e7 / sums.seconds);
    let times = |it: WithheldTime| it.preempted.to_string();
    let (server, client) = (sums.server, sums.client);
    vec![name.to_owned(), times(server), share(server), times(client), share(client)]
}

fn main() {
    sys::cpu::bind_thread(&[SERVER]).expect("two processors");
    let (mut quiet, mut weir, mut loop_) = (Sums::default(), Sums::default(), Sums::default());
    for _ in 0..ROUNDS {
        alone(&mut quiet);
        together(&mut weir);
        bare(&mut loop_);
    }
    println!(
        "plain requests among {TASKS} heavy tasks of {SLICE:?}: us, and heavy slices that ended \
         between sending and answer\n(target: p99.9 <= 1000 us, 2 slices)"
    );
    let head = ["", "requests", "p50", "p99", "p99.9", "max", "slices p50", "p99.9", "max"];
    let rows = [latency("weir", &mut weir), latency("bare loop", &mut loop_)];
    println!("{}", table(&head, &rows));
    println!("time that the machine kept from them: preemptions, and share of time in its queue:");
    let head = ["", "server", "share", "client", "share"];
    println!("{}", table(&head, &[denied("weir", &weir), denied("bare loop", &loop_)]));
    let rate = |sums: &Sums| sums.slices as f64 / sums.seconds;
    let (alone, together) = (rate(&quiet), rate(&weir));
    println!("heavy slices per second (target: at most 5 % fewer):");
    let loss = format!("{:.1} %", (1.0 - together / alone) * 100.0);
    let row = vec![format!("{alone:.0}"), format!("{together:.0}"), loss];
    println!("{}", table(&["alone", "with plain load", "fewer"], &[row]));
}
