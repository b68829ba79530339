//! Scripts of a thread: their surroundings, lines of `core.register_init`, `core.register_task`.

use engine::io::script_state;
use engine::io::script_state::enter;
use engine::state::worker::Worker;
use observability::logging::log;
use reactor::Class;
use script::{
    Answer, Cell, NoHost, Process, Script, ScriptError, SocketHandle, Step, Surroundings,
};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Names of the severities, by their numbers.
const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// A worker as its scripts see it.
struct ThreadSurroundings(Weak<Worker>);

impl Surroundings for ThreadSurroundings {
    fn log(&self, level: Option<u8>, text: &[u8]) {
        let Some(worker) = self.0.upgrade() else { return };
        let (level, text) = (level.unwrap_or(log::level::EMERG), log::without_controls(text));
        log::send(&worker, &worker.shared.settings.logs, level, &text);
        let label = format!("[{}]", LEVELS[usize::from(level) & 7]);
        log::complain(&worker, &label, &String::from_utf8_lossy(&text));
    }

    fn alert(&self, text: &str) {
        let Some(worker) = self.0.upgrade() else { return };
        let text = log::without_controls(text.as_bytes());
        log::send(&worker, &worker.shared.settings.logs, log::level::ERR, &text);
        log::complain(&worker, "[ALERT]", &String::from_utf8_lossy(&text));
    }

    fn write(&self, descriptor: i32, text: &[u8]) {
        let Some(worker) = self.0.upgrade() else { return };
        if worker.thread.kernel().write(descriptor, text).is_err() {
            worker.shared.dropped_logs.fetch_add(1, Relaxed);
        }
    }

    fn wall(&self) -> (i64, u32) {
        let Some(worker) = self.0.upgrade() else { return (0, 0) };
        let nanos = worker.thread.wall();
        ((nanos / 1_000_000_000) as i64, (nanos / 1_000 % 1_000_000) as u32)
    }

    fn set_nice(&self, nice: i64) {
        let Some(worker) = self.0.upgrade() else { return };
        let scheduler = worker.thread.scheduler();
        scheduler.set_nice(scheduler.current(), nice as i16);
    }

    fn process(&self) -> Option<Rc<dyn Process>> {
        let worker = self.0.upgrade()?;
        worker.services.script_process(&worker)
    }

    fn open_socket(&self) -> Result<SocketHandle, ScriptError> {
        let worker = self.0.upgrade();
        let worker = worker.ok_or_else(|| ScriptError::refused("socket: the thread ends"))?;
        let (thread, shared) = (worker.thread.index, worker.shared.clone());
        let opened = worker.script_sockets.open(thread, shared.settings.threads);
        let id = opened.ok_or_else(|| ScriptError::refused("socket: too many sockets are open"))?;
        let shared = Arc::downgrade(&shared);
        let close = move |id| {
            if let Some(shared) = shared.upgrade() {
                shared
                    .run_on_thread(thread, Box::new(move |worker| worker.script_sockets.close(id)));
            }
        };
        Ok(SocketHandle::new(id, Arc::new(close)))
    }
}

/// Prepares the scripts of a thread, and starts their tasks: those of the shared state run on the
/// first thread.
pub(crate) fn start(worker: &Rc<Worker>) {
    let Some(scripts) = worker.shared.scripts.get().cloned() else { return };
    script::surround(Rc::new(ThreadSurroundings(Rc::downgrade(worker))));
    let thread = worker.thread.index;
    for (level, text) in scripts.early_lines() {
        let level = level.unwrap_or(log::level::EMERG);
        log::send(worker, &worker.shared.settings.logs, level, &log::without_controls(&text));
    }
    for per_thread in [false, true] {
        if !per_thread && thread > 0 {
            continue;
        }
        if scripts.cell(per_thread, thread).is_none() {
            continue;
        }
        let (worker, scripts) = (worker.clone(), scripts.clone());
        let scheduler = worker.thread.clone();
        scheduler.scheduler().spawn(Class::Bulk, begin(worker, scripts, per_thread));
    }
}

/// Starts each task.
async fn begin(worker: Rc<Worker>, scripts: Arc<script::Runtime>, per_thread: bool) {
    let Some(cell) = scripts.cell(per_thread, worker.thread.index) else { return };
    let tasks = enter(&worker, cell).await.tasks();
    for _ in 0..tasks {
        let (own, scripts) = (worker.clone(), scripts.clone());
        worker.thread.scheduler().spawn(Class::Bulk, task(own, scripts, per_thread));
    }
}

/// Runs one task of a script to its end.
async fn task(worker: Rc<Worker>, scripts: Arc<script::Runtime>, per_thread: bool) {
    let Some(cell) = scripts.cell(per_thread, worker.thread.index) else { return };
    let begun = enter(&worker, cell).await.start_task(scripts.timeouts.task, &mut NoHost);
    let Some((mut step, mut script)) = begun else { return };
    loop {
        let answer = match (step, &script) {
            (Step::Waits(request), Some(_)) => script_state::meet(&worker, request).await,
            (Step::Failed(fault), _) => {
                let number = enter(&worker, cell).await.number();
                script::alert(&format!("Lua task: {}", fault.text(number)));
                return;
            }
            _ => return,
        };
        let Some(script) = &mut script else { return };
        step = resume(&worker, cell, script, answer).await;
    }
}

async fn resume(worker: &Worker, cell: &Cell, script: &mut Script, answer: Answer) -> Step {
    enter(worker, cell).await.resume(script, answer, &mut NoHost)
}
