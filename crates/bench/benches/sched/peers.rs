//! The workloads on tokio and smol.

use crate::{Figures, ROUNDS, TASKS, TURNS};
use async_executor::{Executor, LocalExecutor};
use bench::nanos_per_op;
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Yields once through the std waker, as `yield_now` of smol does.
fn give_way() -> impl Future<Output = ()> + Send {
    let mut yielded = false;
    poll_fn(move |context: &mut Context<'_>| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Tasks that hand out their waker once, count their turns, and run without end.
#[derive(Clone, Default)]
struct Sleepers {
    wakers: Arc<Mutex<Vec<Waker>>>,
    turns: Arc<AtomicUsize>,
}

impl Sleepers {
    fn future(&self) -> impl Future<Output = ()> + Send + 'static {
        let (own, mut told) = (self.clone(), false);
        poll_fn(move |context: &mut Context<'_>| {
            own.turns.fetch_add(1, Relaxed);
            if !std::mem::replace(&mut told, true) {
                own.wakers.lock().expect("no panic").push(context.waker().clone());
            }
            Poll::Pending
        })
    }

    /// Wakes all tasks; returns the number of turns after all have run.
    fn wake_all(&self) -> usize {
        let goal = self.turns.load(Relaxed) + TASKS;
        self.wakers.lock().expect("no panic").iter().for_each(Waker::wake_by_ref);
        goal
    }
}

async fn tokio_until(counter: &AtomicUsize, goal: usize) {
    while counter.load(Relaxed) < goal {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn tokio_current() -> Figures {
    let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
    tokio("tokio, current thread", &runtime)
}

/// Driven from a task of a worker thread, so that spawning and waking stay on it where possible.
pub(crate) fn tokio_multi() -> Figures {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
    tokio("tokio, multi thread (2)", &runtime.expect("a runtime"))
}

fn tokio(name: &'static str, runtime: &Runtime) -> Figures {
    let count = (TASKS * TURNS) as u64;
    let drive = |work: fn() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
        nanos_per_op(ROUNDS, count, || runtime.block_on(runtime.spawn(work())).expect("it ran"))
    };
    Figures {
        name,
        spawn: drive(|| Box::pin(tokio_spawn())),
        wake: f64::NAN,
        waker: {
            let sleepers = Sleepers::default();
            (0..TASKS).for_each(|_| drop(runtime.spawn(sleepers.future())));
            runtime.block_on(tokio_until(&sleepers.turns, TASKS));
            nanos_per_op(ROUNDS, count, || {
                let own = sleepers.clone();
                let work = async move {
                    for _ in 0..TURNS {
                        let goal = own.wake_all();
                        tokio_until(&own.turns, goal).await;
                    }
                };
                runtime.block_on(runtime.spawn(work)).expect("it ran");
            })
        },
        pace: drive(|| Box::pin(tokio_pace())),
        timer: drive(|| Box::pin(tokio_timer())),
    }
}

async fn tokio_spawn() {
    let done = Arc::new(AtomicUsize::new(0));
    for turn in 1..=TURNS {
        for _ in 0..TASKS {
            let done = done.clone();
            tokio::spawn(async move {
                done.fetch_add(1, Relaxed);
            });
        }
        tokio_until(&done, turn * TASKS).await;
    }
}

async fn tokio_pace() {
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            tokio::spawn(async {
                for _ in 0..TURNS {
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("it ran");
    }
}

/// As in Weir's workload: each turn postpones a deadline and waits for the next wake-up.
async fn tokio_timer() {
    let sleepers = Sleepers::default();
    let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(tokio_sleeper(sleepers.clone()))).collect();
    tokio_until(&sleepers.turns, TASKS).await;
    for _ in 0..TURNS {
        let goal = sleepers.wake_all();
        tokio_until(&sleepers.turns, goal).await;
    }
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
}

async fn tokio_sleeper(own: Sleepers) {
    let mut deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    let mut sleep = std::pin::pin!(tokio::time::sleep_until(deadline));
    let mut told = false;
    poll_fn(|context| {
        own.turns.fetch_add(1, Relaxed);
        if !std::mem::replace(&mut told, true) {
            own.wakers.lock().expect("no panic").push(context.waker().clone());
        }
        deadline += Duration::from_millis(1);
        sleep.as_mut().reset(deadline);
        sleep.as_mut().poll(context)
    })
    .await;
}

/// The operations that both executors of smol share.
trait Smol {
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static);
    fn try_tick(&self) -> bool;

    fn drain(&self) {
        while self.try_tick() {}
    }
}

impl Smol for LocalExecutor<'static> {
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        LocalExecutor::spawn(self, future).detach();
    }
    fn try_tick(&self) -> bool {
        LocalExecutor::try_tick(self)
    }
}

impl Smol for Executor<'static> {
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        Executor::spawn(self, future).detach();
    }
    fn try_tick(&self) -> bool {
        Executor::try_tick(self)
    }
}

pub(crate) fn smol_local() -> Figures {
    smol("smol, local executor", &LocalExecutor::new())
}

pub(crate) fn smol_shared() -> Figures {
    smol("smol, executor", &Executor::new())
}

fn smol(name: &'static str, executor: &impl Smol) -> Figures {
    let count = (TASKS * TURNS) as u64;
    let spawn = nanos_per_op(ROUNDS, count, || {
        for _ in 0..TURNS {
            (0..TASKS).for_each(|_| executor.spawn(async {}));
            executor.drain();
        }
    });
    let pace = nanos_per_op(ROUNDS, count, || {
        for _ in 0..TASKS {
            executor.spawn(async {
                for _ in 0..TURNS {
                    give_way().await;
                }
            });
        }
        executor.drain();
    });
    let sleepers = Sleepers::default();
    (0..TASKS).for_each(|_| executor.spawn(sleepers.future()));
    executor.drain();
    let waker = nanos_per_op(ROUNDS, count, || {
        for _ in 0..TURNS {
            sleepers.wake_all();
            executor.drain();
        }
    });
    Figures { name, spawn, wake: f64::NAN, waker, pace, timer: f64::NAN }
}
