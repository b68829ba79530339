//! Latency of a light task while heavy ones of 100 us each run without end (fairness).

use bench::{now, quantile, table};
use reactor::{Settings, Thread};
use sched::{Class, Wake};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

const HOGS: usize = 50;
const SLICE: Duration = Duration::from_micros(100);
const WAKES: usize = 300;

fn spin(span: Duration) {
    let start = now();
    while start.elapsed() < span {}
}

/// State shared by the light task and the thread that wakes it.
struct Probe {
    origin: Instant,
    sent: AtomicU64,
    taken: Mutex<Vec<f64>>,
    stop: AtomicBool,
}

impl Probe {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            origin: now(),
            sent: AtomicU64::new(0),
            taken: Mutex::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// Records a turn of the light task.
    fn turn(&self) {
        let sent = self.sent.swap(0, Relaxed);
        if sent != 0 {
            let waited = self.origin.elapsed().as_nanos() as u64 - sent;
            let mut taken = self.taken.lock().expect("no panic");
            taken.push(waited as f64 / 1e3);
            self.stop.store(taken.len() >= WAKES, Relaxed);
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Wakes the light task repeatedly, each time after it has run.
    fn keep_waking(&self, wake: impl Fn()) {
        while !self.stopped() {
            self.sent.store(self.origin.elapsed().as_nanos() as u64, Relaxed);
            wake();
            while self.sent.load(Relaxed) != 0 && !self.stopped() {
                std::thread::yield_now();
            }
            spin(Duration::from_micros(270));
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let mut sorted = self.taken.lock().expect("no panic").clone();
        sorted.sort_by(f64::total_cmp);
        let at = |fraction| format!("{:.0}", quantile(&sorted, fraction));
        vec![name.to_owned(), at(0.5), at(0.99), at(1.0)]
    }
}

fn weir() -> Vec<String> {
    let probe = Probe::new();
    let kernel = Box::new(reactor::os::Os::new(64).expect("a poller"));
    let thread = Thread::new(0, kernel, Settings::default());
    for _ in 0..HOGS {
        let (own, probe) = (thread.clone(), probe.clone());
        thread.scheduler().spawn(Class::Heavy, async move {
            while !probe.stopped() {
                spin(SLICE);
                own.scheduler().yield_as(Class::Heavy).await;
            }
            own.stop();
        });
    }
    let (own, light) = (thread.clone(), probe.clone());
    let task = thread.scheduler().spawn(Class::Urgent, async move {
        while !light.stopped() {
            own.scheduler().wait(None).await;
            light.turn();
        }
    });
    std::thread::scope(|scope| {
        let (mailbox, probe) = (thread.mailbox().clone(), probe.clone());
        scope.spawn(move || probe.keep_waking(|| mailbox.wake(task, Wake::IO)));
        thread.run().expect("a poller");
    });
    probe.row("weir (heavy class)")
}

/// The light task on another executor, which hands its waker out once.
fn light(probe: Arc<Probe>, waker: Arc<Mutex<Option<Waker>>>) -> impl Future<Output = ()> + Send {
    poll_fn(move |context| {
        waker.lock().expect("no panic").get_or_insert_with(|| context.waker().clone());
        probe.turn();
        if probe.stopped() { Poll::Ready(()) } else { Poll::Pending }
    })
}

fn wake_peer(probe: &Probe, waker: &Mutex<Option<Waker>>) {
    probe.keep_waking(|| {
        if let Some(waker) = &*waker.lock().expect("no panic") {
            waker.wake_by_ref();
        }
    });
}

fn tokio() -> Vec<String> {
    let (probe, waker) = (Probe::new(), Arc::new(Mutex::new(None)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for _ in 0..HOGS {
        let probe = probe.clone();
        runtime.spawn(async move {
            while !probe.stopped() {
                spin(SLICE);
                tokio::task::yield_now().await;
            }
        });
    }
    std::thread::scope(|scope| {
        scope.spawn(|| wake_peer(&probe, &waker));
        let light = runtime.spawn(light(probe.clone(), waker.clone()));
        runtime.block_on(light).expect("it ran");
    });
    probe.row("tokio, current thread")
}

fn smol() -> Vec<String> {
    let (probe, waker) = (Probe::new(), Arc::new(Mutex::new(None)));
    let executor = async_executor::Executor::new();
    for _ in 0..HOGS {
        let probe = probe.clone();
        executor
            .spawn(async move {
                while !probe.stopped() {
                    spin(SLICE);
                    tokio::task::yield_now().await;
                }
            })
            .detach();
    }
    executor.spawn(light(probe.clone(), waker.clone())).detach();
    std::thread::scope(|scope| {
        scope.spawn(|| wake_peer(&probe, &waker));
        while !probe.stopped() {
            executor.try_tick();
        }
    });
    probe.row("smol, executor")
}

pub(crate) fn print() {
    println!("{HOGS} tasks of 100 us always ready; a light one woken by another thread waits, us:");
    println!("{}", table(&["executor", "p50", "p99", "max"], &[weir(), tokio(), smol()]));
}
