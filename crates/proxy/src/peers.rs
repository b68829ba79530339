//! `peers` sections (configuration manual, section 3.5): stick tables shared with other processes.
//!
//! A section runs on one thread, which owns its [`Group`]. The driver is the task that does what
//! the group asks for; a listener takes the connections of other peers, and each connection has a
//! task. The driver wakes the connections when one of them has received something, when a table has
//! changed, and when a deadline has passed; a connection that has nothing to read and nothing to
//! send sleeps.

use connection::Connection;
use engine::state::os_handles::PEERS;
use engine::state::peer_group::PeerGroup;
use engine::state::worker::Worker;
use observability::logging::log;
use peers::{Action, Event, Group, Loss, SessionId};
use reactor::{Class, TaskId, Tick, Wake};
use settings::PeersSection;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard};

mod connection;
mod listener;

/// Starts the sections of this thread.
pub(crate) fn start(worker: &Rc<Worker>) {
    let shared = &worker.shared;
    let own = |place: &usize| place % shared.settings.threads == worker.thread.index;
    for place in (0..shared.peers.len()).filter(own) {
        Section::start(worker, place);
    }
}

/// Lines that a section logs in a second.
const LINES: u32 = 50;

/// A section that runs.
pub(crate) struct Section {
    worker: Rc<Worker>,
    settings: Arc<PeersSection>,
    /// Its place in [`engine::state::runtime::Shared::peers`].
    place: usize,
    /// The task that runs the actions of the group.
    driver: Cell<Option<TaskId>>,
    /// The listener takes connections.
    listens: Cell<bool>,
    /// The second of the last line, and its lines so far.
    logged: Cell<(u32, u32)>,
    /// The tasks of connections that the group has not closed.
    connections: RefCell<BTreeMap<SessionId, TaskId>>,
}

impl Section {
    fn start(worker: &Rc<Worker>, place: usize) {
        let settings = worker.shared.peers[place].settings.clone();
        let sockets = worker.shared.handles.section(PEERS, &settings.name);
        let listener = sockets.listeners.first().copied();
        let section = Rc::new(Self {
            worker: worker.clone(),
            listens: Cell::new(listener.is_some()),
            settings,
            place,
            driver: Cell::default(),
            logged: Cell::default(),
            connections: RefCell::default(),
        });
        let scheduler = worker.thread.scheduler();
        let driver = scheduler.spawn(Class::Normal, drive(section.clone()));
        section.driver.set(Some(driver));
        for shared in section.group().tables() {
            let mailbox = worker.thread.mailbox().clone();
            let wake = move || mailbox.wake(driver, Wake::MESSAGE);
            shared.table.set_change_callback(Box::new(wake));
        }
        if let Some(handle) = listener {
            scheduler.spawn(Class::Normal, listener::run(section, handle));
        }
    }

    fn state(&self) -> &PeerGroup {
        &self.worker.shared.peers[self.place]
    }

    /// The group, for a short while: runtime commands wait for it.
    fn group(&self) -> MutexGuard<'_, Group> {
        self.state().lock()
    }

    /// Milliseconds on the clock of the tables.
    fn now(&self) -> u64 {
        self.worker.millis()
    }

    /// Has the driver look at the group.
    fn wake_driver(&self) {
        if let Some(driver) = self.driver.get() {
            self.worker.thread.scheduler().wake(driver, Wake::OTHER);
        }
    }

    /// Whether the group continues with a connection.
    fn has(&self, id: SessionId) -> bool {
        self.connections.borrow().contains_key(&id)
    }

    /// Wakes all connections, so that they send new updates.
    fn wake_connections(&self) {
        let scheduler = self.worker.thread.scheduler();
        self.connections.borrow().values().for_each(|task| scheduler.wake(*task, Wake::OTHER));
    }

    /// Whether a line may be logged now: connections of strangers make no more than so many.
    fn may_log(&self) -> bool {
        let second = self.worker.second();
        let (last, count) = self.logged.get();
        let count = if last == second { count + 1 } else { 1 };
        self.logged.set((second, count));
        count <= LINES
    }

    /// Runs the actions that the group asks for; returns whether there were any.
    fn act(self: &Rc<Self>) -> bool {
        let mut acted = false;
        loop {
            let action = self.group().next_action();
            acted |= action.is_some();
            match action {
                None => return acted,
                Some(Action::Connect(peer)) => {
                    let dial = connection::dial(self.clone(), peer);
                    self.worker.thread.scheduler().spawn(Class::Normal, dial);
                }
                Some(Action::Close(id)) => {
                    if let Some(task) = self.connections.borrow_mut().remove(&id) {
                        self.worker.thread.scheduler().wake(task, Wake::OTHER);
                    }
                }
                Some(Action::Report(event)) => self.report(&event),
            }
        }
    }

    fn report(&self, event: &Event) {
        if !self.may_log() {
            return;
        }
        let section = &self.settings.name;
        let (level, text) = match event {
            Event::Established(peer) => {
                (log::level::NOTICE, format!("Peers {section}/{peer}: session established."))
            }
            Event::Lost(peer, loss) => {
                let why = reason(*loss);
                (log::level::WARNING, format!("Peers {section}/{peer}: session ended ({why})."))
            }
            Event::Refused(status) => {
                let text = format!("Peers {section}: connection refused with status {status}.");
                (log::level::WARNING, text)
            }
            Event::RefusedBy(peer, status) => {
                let text = format!("Peers {section}/{peer}: peer refuses us with status {status}.");
                (log::level::WARNING, text)
            }
            Event::Mismatch(peer, table) => {
                let text = format!(
                    "Peers {section}/{peer}: the keys of table {table} differ from ours: its \
                     updates have no effect."
                );
                (log::level::WARNING, text)
            }
            Event::Full(peer, table) => {
                let text = format!("Peers {section}/{peer}: table {table} is full.");
                (log::level::WARNING, text)
            }
            Event::UpToDate => {
                (log::level::NOTICE, format!("Peers {section}: tables are synchronized."))
            }
        };
        log::send(&self.worker, &self.settings.logs, level, text.as_bytes());
    }
}

fn reason(loss: Loss) -> &'static str {
    match loss {
        Loss::Closed => "connection closed",
        Loss::Silence => "no heartbeat",
        Loss::ProtocolError => "protocol error of the peer",
        Loss::Complaint => "the peer reports a protocol error",
        Loss::Collision => "a later connection takes its place",
        Loss::Stop => "this process stops",
    }
}

/// Keeps the process from ending while it teaches its successor.
struct Hold(Rc<Worker>);

impl Hold {
    fn new(worker: &Rc<Worker>) -> Self {
        worker.shared.connections.enter();
        Self(worker.clone())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.shared.connections.leave();
        self.0.shared.wake_threads();
    }
}

/// Runs the timers of the group, until the process has stopped and its successor is taught.
async fn drive(section: Rc<Section>) {
    let thread = &section.worker.thread;
    let mut hold = None;
    let mut stopped = false;
    loop {
        let now = section.now();
        section.state().turns.fetch_add(1, Relaxed);
        if section.worker.shared.is_stopping() {
            hold.get_or_insert_with(|| Hold::new(&section.worker));
            // The connection to the successor must not reach our own listener.
            if !section.listens.get() && !std::mem::replace(&mut stopped, true) {
                section.group().stop(now);
            }
        }
        section.group().tick(now);
        section.act();
        section.wake_connections();
        if hold.is_some() && section.group().is_taught() {
            return;
        }
        let due = section.group().next_deadline();
        let ahead = |due: u64| due.saturating_sub(now).min(u64::from(Tick::MAX_SPAN_MS)) as u32;
        let deadline = due.map(|due| thread.tick().plus_ms(ahead(due)));
        thread.scheduler().wait(deadline).await;
    }
}

/// Serves a connection that the group knows by `id`.
async fn serve(section: Rc<Section>, connection: Connection, id: SessionId) {
    let task = section.worker.thread.scheduler().current();
    section.connections.borrow_mut().insert(id, task);
    connection.run(&section, id).await;
    section.connections.borrow_mut().remove(&id);
    section.wake_driver();
}
