//! Cost of waking a task of another, sleeping thread: from the wake-up to the turn, and back.

use bench::{now, quantile, table};
use reactor::{Settings, Thread};
use sched::{Class, Wake};
use std::future::poll_fn;
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Release},
};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};

const WAKES: usize = 20_000;

/// Wakes and waits until the task has run, `WAKES` times; returns microseconds, sorted.
fn measure(turns: &AtomicUsize, wake: impl Fn()) -> Vec<f64> {
    let mut all: Vec<f64> = (0..WAKES)
        .map(|_| {
            let before = turns.load(Acquire);
            let start = now();
            wake();
            while turns.load(Acquire) == before {
                std::hint::spin_loop();
            }
            let taken = start.elapsed().as_nanos() as f64 / 1e3;
            // Long enough for the other thread to fall asleep again.
            while (start.elapsed().as_micros() as f64) < taken + 20.0 {}
            taken
        })
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

fn row(name: &str, sorted: &[f64]) -> Vec<String> {
    let at = |fraction| format!("{:.1}", quantile(sorted, fraction));
    vec![name.to_owned(), at(0.5), at(0.99)]
}

fn weir() -> Vec<String> {
    let turns = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    let count = turns.clone();
    let other = std::thread::spawn(move || {
        let kernel = Box::new(reactor::os::Os::new(64).expect("a poller"));
        let thread = Thread::new(0, kernel, Settings::default());
        let own = thread.clone();
        let task = thread.scheduler().spawn(Class::Normal, async move {
            while !own.scheduler().wait(None).await.contains(Wake::SIGNAL) {
                count.fetch_add(1, Release);
            }
            own.stop();
        });
        sender.send((thread.mailbox().clone(), task)).expect("the other side listens");
        thread.run().expect("a poller");
    });
    let (mailbox, task) = receiver.recv().expect("it started");
    let sorted = measure(&turns, || mailbox.wake(task, Wake::IO));
    mailbox.wake(task, Wake::SIGNAL);
    other.join().expect("it ran");
    row("weir", &sorted)
}

/// A task of another executor that hands its waker out and counts its turns.
fn counted(
    turns: Arc<AtomicUsize>,
    sender: mpsc::Sender<Waker>,
) -> impl Future<Output = ()> + Send {
    let mut sender = Some(sender);
    poll_fn(move |context| {
        if let Some(sender) = sender.take() {
            sender.send(context.waker().clone()).expect("the other side listens");
            return Poll::Pending;
        }
        turns.fetch_add(1, Release);
        Poll::Pending
    })
}

fn tokio(name: &str, runtime: tokio::runtime::Runtime, drives: bool) -> Vec<String> {
    let turns = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    drop(runtime.spawn(counted(turns.clone(), sender)));
    let end: Arc<Mutex<Option<Waker>>> = Arc::default();
    let (ended, over) = (end.clone(), Arc::new(AtomicUsize::new(0)));
    let finish = over.clone();
    let driver = std::thread::spawn(move || {
        if drives {
            runtime.block_on(poll_fn(|context| {
                *ended.lock().expect("no panic") = Some(context.waker().clone());
                if finish.load(Acquire) == 1 { Poll::Ready(()) } else { Poll::Pending }
            }));
        }
        runtime
    });
    let waker = receiver.recv().expect("it started");
    let sorted = measure(&turns, || waker.wake_by_ref());
    over.store(1, Release);
    if let Some(waker) = end.lock().expect("no panic").take() {
        waker.wake();
    }
    drop(driver.join().expect("it ran"));
    row(name, &sorted)
}

fn smol() -> Vec<String> {
    let turns = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    let executor = Arc::new(async_executor::Executor::new());
    executor.spawn(counted(turns.clone(), sender)).detach();
    let (own, over) = (executor.clone(), Arc::new(AtomicUsize::new(0)));
    let finish = over.clone();
    let driver = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a parker");
        runtime.block_on(async {
            while finish.load(Acquire) == 0 {
                own.tick().await;
            }
        });
    });
    let waker = receiver.recv().expect("it started");
    let sorted = measure(&turns, || waker.wake_by_ref());
    over.store(1, Release);
    waker.wake();
    driver.join().expect("it ran");
    row("smol, executor", &sorted)
}

pub(crate) fn print() {
    let current = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let multi = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
    let rows = [
        weir(),
        tokio("tokio, current thread", current, true),
        tokio("tokio, multi thread (1)", multi.expect("a runtime"), false),
        smol(),
    ];
    println!("from a wake-up by another thread to the turn, the thread asleep, us:");
    println!("{}", table(&["executor", "p50", "p99"], &rows));
}
