//! One task per thread that tends idle connections, does the thread's part of shared work and
//! answers requests of other threads; one task of the process that measures its memory.

use engine::state::worker::Worker;
use reactor::{Class, Wake};
use settings::memory::Budget;
use std::rc::Rc;
use stdx::Tick;
use transport::thread::memory::Level;

/// How long the process waits after its last client for servers of rings to receive their messages,
/// and how often it checks them; in milliseconds.
const POURING_MS: u32 = 1_000;
const LOOK_MS: u32 = 10;

/// Runs until the soft stop has let the last client of the thread go.
pub(crate) async fn run(worker: Rc<Worker>) {
    let (thread, scheduler) = (worker.thread.index, worker.thread.scheduler());
    worker.shared.work.register(thread, worker.thread.mailbox().clone(), scheduler.current());
    let mut told = false;
    // The end of the wait for rings, and the next check of them.
    let mut pouring: Option<(Tick, Tick)> = None;
    // Other threads may have asked before this task first ran.
    answer(&worker);
    let mut purge = (!worker.idle.rests()).then(|| next_purge(&worker));
    loop {
        let deadline = Tick::earlier(purge, next_shared(&worker));
        let deadline = Tick::earlier(deadline, pouring.map(|(_, look)| look));
        let woken = scheduler.wait(deadline).await;
        if woken.contains(Wake::MESSAGE) {
            answer(&worker);
        }
        worker.idle.sweep();
        if purge.is_some_and(|at| at.is_due(worker.thread.tick())) {
            worker.idle.purge(&worker);
            purge = None;
        }
        // A thread without idle connections sleeps until it has one.
        if purge.is_none() && !worker.idle.rests() {
            purge = Some(next_purge(&worker));
        }
        do_shared(&worker).await;
        if worker.shared.is_stopping() && !std::mem::replace(&mut told, true) {
            // Listeners end, and so do clients between requests.
            scheduler.wake_all(Wake::SIGNAL);
            worker.thread.stop_busy_polling();
            worker.idle.clear_all();
            worker.trunks.clear_all();
        }
        // All threads end together: threads without clients still answer commands and signals, and
        // accept the clients in their backlogs.
        let shared = &worker.shared;
        let served = || worker.clients.get() == 0 && shared.connections.current() == 0;
        if shared.is_stopping() && shared.listening.is_over() && served() {
            let now = worker.thread.tick();
            let until = pouring.map_or(now.plus_ms(POURING_MS), |(until, _)| until);
            if !until.is_due(now) && shared.rings.iter().any(|ring| ring.is_awaited()) {
                pouring = Some((until, now.plus_ms(LOOK_MS)));
                continue;
            }
            worker.shared.work.remove_thread(thread);
            worker.thread.stop_when_flushed();
            return;
        }
    }
}

fn answer(worker: &Worker) {
    for question in worker.shared.take_questions(worker.thread.index) {
        question(worker);
    }
}

fn next_purge(worker: &Worker) -> Tick {
    worker.thread.tick().plus_ms(worker.idle.period())
}

/// When the thread has to do shared work.
fn next_shared(worker: &Worker) -> Option<Tick> {
    let due = worker.shared.work.next(worker.thread.index)?;
    let ahead = due.saturating_sub(worker.millis()).min(u64::from(Tick::MAX_SPAN_MS));
    Some(worker.thread.tick().plus_ms(ahead as u32))
}

/// Does the thread's share of common work, in the remaining time of the turn.
async fn do_shared(worker: &Worker) {
    let (thread, work) = (&worker.thread, &worker.shared.work);
    loop {
        let spare = thread.spare_expirations();
        let mut budget = spare;
        let more = work.run(thread.index, worker.millis(), &mut budget, worker).more;
        thread.use_expirations(spare - budget);
        if !more {
            return;
        }
        // The next turn has a new budget.
        thread.next_turn(Class::Bulk).await;
        // A message of another thread may have arrived meanwhile; its wake-up is consumed, so
        // answer now.
        answer(worker);
    }
}

/// Starts the task that measures memory, on the first thread of a process that has a budget.
pub(crate) fn start_measuring(worker: &Rc<Worker>) {
    if worker.thread.index == 0
        && let Some(budget) = worker.shared.memory.budget()
    {
        worker.thread.scheduler().spawn(Class::Urgent, measure(worker.clone(), budget));
    }
}

async fn measure(worker: Rc<Worker>, budget: Budget) {
    let (shared, thread) = (worker.shared.clone(), worker.thread.clone());
    let threads = shared.settings.threads;
    while !shared.is_stopping() || shared.connections.current() > 0 {
        let now = ((budget.measure)(), shared.buffer_bytes().0);
        let changed = shared.memory.look(budget, now, threads as u64);
        let level = shared.memory.level();
        if changed {
            // Table entries outlive their clients: while memory is short, tables leave room for
            // other uses.
            let tight = level >= Level::Tight;
            shared.tables.iter().for_each(|table| table.set_tight(tight));
            sample::pattern::let_rules_add(!tight);
        }
        // Threads keep the memory of ended connections for later ones: they free it now.
        if changed || shared.memory.gives_back() {
            (0..threads).for_each(|thread| shared.run_on_thread(thread, Box::new(Worker::adapt)));
        }
        if level == Level::Short {
            shared.tables.iter().for_each(|table| table.give_way(worker.millis()));
        }
        let period = shared.memory.period(shared.connections.current() > 0);
        let pause = thread.tick().plus_ms(period);
        thread.scheduler().wait(Some(pause)).await;
    }
}
