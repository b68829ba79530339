//! Work that any thread of a set may do, in the order of due times.
//!
//! Jobs wait in one ordered tree together with the sets of threads that may do them. A thread first
//! reads one word, the earliest due time of all jobs; once that has passed, it takes the due jobs
//! of its own out of the tree, within a budget, and runs them outside the lock. One thread scans at
//! a time. A thread that finds the tree locked comes again later, and jobs added or killed
//! meanwhile wait in its message list (see `delegating_lock`).
//!
//! Each job is watched by one thread of its set, usually the thread that has added it: only this
//! thread has a timer for the job. So an idle process sleeps, however many threads it has, and a
//! due job wakes one thread; any other thread of the set does the job if it runs earlier.
//!
//! A postponed job is put back into the tree when its old time comes. A killed job leaves the tree
//! under the lock, and does not begin once [`SharedWork::kill`] has returned `true`.
//!
//! Time is in milliseconds of a monotonic clock that does not wrap. Shared cache lines written:
//! adding a job writes the message list, the tree's path and one watch; a look that finds nothing
//! due writes none.

mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use stdx::{Position, ScopeTree};

use super::delegating_lock::DelegatingLock;
use super::sync::{self, AtomicU8, AtomicU64, Mutex, lock};
use super::{Mailbox, TaskId, Wake};
use watch::Watch;

/// A job: receives the thread's context and the time, and returns when it wants to run again, if
/// ever. A job runs on any thread of its set, on one at a time.
pub type Job<C> = Box<dyn FnMut(&C, u64) -> Option<u64> + Send>;

/// The job waits in the tree, or is on its way into it.
const WAITING: u8 = 0;
/// A thread has taken the job out to run it.
const RUNNING: u8 = 1;
/// The job was killed, or has run for the last time.
const OVER: u8 = 2;

/// Position of a job in the tree, and the job itself unless it runs.
struct ItemState<C> {
    position: Option<Position>,
    job: Option<Job<C>>,
}

struct Item<C> {
    /// Threads that may run the job, one bit each.
    scope: u64,
    /// Time at which the job wants to run.
    due: AtomicU64,
    /// Key in the tree, which is also the time of its watch: never later than `due`. Written only
    /// while no thread is inserting the item.
    place: AtomicU64,
    state: AtomicU8,
    inner: Mutex<ItemState<C>>,
}

/// A job added to [`SharedWork`], for postponing or killing it.
pub struct Handle<C>(Arc<Item<C>>);

impl<C> std::fmt::Debug for Handle<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("scope", &self.0.scope).finish_non_exhaustive()
    }
}

type Tree<C> = ScopeTree<Arc<Item<C>>>;

/// Jobs of up to 64 threads. `C` is the context that a thread gives to a job.
pub struct SharedWork<C> {
    tree: DelegatingLock<Tree<C>, Arc<Item<C>>>,
    /// Earliest due time of all jobs, `u64::MAX` if there are none; written under the lock.
    earliest: AtomicU64,
    watches: Box<[Watch]>,
}

/// Outcome of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Pass {
    /// Jobs run.
    pub ran: usize,
    /// Whether to call again at once: the budget is spent, or another thread was scanning.
    pub more: bool,
}

impl<C> std::fmt::Debug for SharedWork<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedWork").field("earliest", &self.earliest).finish_non_exhaustive()
    }
}

impl<C> SharedWork<C> {
    /// An empty set of jobs for this number of threads; threads beyond 64 can run none.
    pub fn new(threads: usize) -> Self {
        Self {
            tree: DelegatingLock::new(ScopeTree::new()),
            earliest: AtomicU64::new(u64::MAX),
            watches: (0..threads.min(64)).map(|_| Watch::default()).collect(),
        }
    }

    /// The set of all threads.
    pub fn all_threads(&self) -> u64 {
        u64::MAX >> (64 - self.watches.len().clamp(1, 64))
    }

    /// Registers the task that runs a thread's share: it calls [`SharedWork::run`] when it is woken
    /// and at [`SharedWork::next`], and is woken when the latter becomes earlier.
    pub fn register(&self, thread: usize, mailbox: Arc<Mailbox>, task: TaskId) {
        if let Some(watch) = self.watches.get(thread) {
            watch.attend(mailbox, task);
        }
    }

    /// Removes a thread that ends: other threads of each set take over its watches.
    pub fn remove_thread(&self, thread: usize) {
        let watched = self.watches.get(thread).map(Watch::leave).unwrap_or_default();
        for (due, scope) in watched {
            self.watch(thread, scope, due);
        }
    }

    /// Adds a job that the threads of `scope` may run from `due` on. `from` is the calling thread,
    /// which watches the job if it is in `scope`.
    pub fn add(&self, from: usize, scope: u64, due: u64, job: Job<C>) -> Handle<C> {
        let item = Arc::new(Item {
            scope,
            due: AtomicU64::new(due),
            place: AtomicU64::new(due),
            state: AtomicU8::new(WAITING),
            inner: Mutex::new(ItemState { position: None, job: Some(job) }),
        });
        self.queue(Arc::clone(&item));
        self.watch(from, scope, due);
        Handle(item)
    }

    /// Postpones a job to `due`, if that is later than its current time.
    pub fn postpone(&self, handle: &Handle<C>, due: u64) {
        handle.0.due.fetch_max(due, AcqRel);
    }

    /// Ends a job. `true`: it will not run again; `false`: a thread is running it for the last
    /// time, or it had ended already.
    pub fn kill(&self, handle: &Handle<C>) -> bool {
        let before = handle.0.state.swap(OVER, AcqRel);
        if before == WAITING {
            self.queue(Arc::clone(&handle.0));
        }
        before == WAITING
    }

    /// Time at which the task of this thread has to call [`SharedWork::run`] next.
    pub fn next(&self, thread: usize) -> Option<u64> {
        self.watches.get(thread)?.next()
    }

    /// Runs due jobs of this thread, at most `budget`, which is decreased by each. Jobs that were
    /// postponed and are not due yet count too.
    pub fn run(&self, thread: usize, now: u64, budget: &mut usize, offer: &C) -> Pass {
        let Some(watch) = self.watches.get(thread) else { return Pass::default() };
        // A watched job may still be in the message list, so the tree is scanned whatever
        // `earliest` says.
        let watched = watch.pass(now);
        if watched.is_empty() && self.earliest.load(Acquire) > now {
            return Pass::default();
        }
        let mut due = Vec::new();
        let scan = |tree: &mut Tree<C>| self.scan(tree, thread, now, budget, &mut due);
        let left = self.tree.try_with(|tree, item| self.sync_with_tree(tree, item), scan);
        let more = left != Some(None);
        if more {
            watch.put_back(watched.into_iter().chain(left.flatten()));
        }
        let ran = due.len();
        for (item, job) in due {
            self.run_one(thread, now, &item, job, offer);
        }
        Pass { ran, more }
    }

    /// Takes due jobs out of the tree; yields the due time and set of the next due job that is
    /// left.
    fn scan(
        &self,
        tree: &mut Tree<C>,
        thread: usize,
        now: u64,
        budget: &mut usize,
        due: &mut Vec<(Arc<Item<C>>, Job<C>)>,
    ) -> Option<(u64, u64)> {
        let own = 1 << thread;
        while *budget > 0 {
            let Some((_, item)) = tree.take_first(own, now) else { break };
            *budget -= 1;
            lock(&item.inner).position = None;
            let wanted = item.due.load(Acquire);
            if wanted > now {
                item.place.store(wanted, Release);
                self.sync_with_tree(tree, Arc::clone(&item));
                self.watch(thread, item.scope, wanted);
            } else if item.state.compare_exchange(WAITING, RUNNING, AcqRel, Relaxed).is_ok() {
                let job = lock(&item.inner).job.take();
                due.extend(job.map(|job| (item, job)));
            }
        }
        self.note_earliest(tree);
        let left = tree.first_for(own).filter(|(position, _)| position.key <= now);
        left.map(|(position, item)| (position.key, item.scope))
    }

    fn run_one(&self, thread: usize, now: u64, item: &Arc<Item<C>>, mut job: Job<C>, offer: &C) {
        let Some(again) = job(offer, now) else {
            item.state.store(OVER, Release);
            return;
        };
        item.due.store(again, Release);
        item.place.store(again, Release);
        lock(&item.inner).job = Some(job);
        if item.state.compare_exchange(RUNNING, WAITING, AcqRel, Relaxed).is_ok() {
            self.queue(Arc::clone(item));
            self.watch(thread, item.scope, again);
        } else {
            // The job was killed while it ran.
            lock(&item.inner).job = None;
        }
    }

    /// Has an item inserted into the tree, or removed if it is over.
    fn queue(&self, item: Arc<Item<C>>) {
        self.tree.delegate(item, |tree, item| self.sync_with_tree(tree, item));
    }

    fn sync_with_tree(&self, tree: &mut Tree<C>, item: Arc<Item<C>>) {
        let mut inner = lock(&item.inner);
        let over = match item.state.load(Acquire) {
            WAITING => {
                if inner.position.is_none() && inner.job.is_some() {
                    let key = item.place.load(Acquire);
                    inner.position = Some(tree.insert(key, item.scope, Arc::clone(&item)));
                }
                None
            }
            RUNNING => None,
            _ => {
                inner.position.take().and_then(|position| tree.remove(position));
                inner.job.take()
            }
        };
        drop(inner);
        self.note_earliest(tree);
        drop(over);
    }

    fn note_earliest(&self, tree: &Tree<C>) {
        let earliest = tree.first_for(u64::MAX).map_or(u64::MAX, |(position, _)| position.key);
        if self.earliest.load(Relaxed) != earliest {
            self.earliest.store(earliest, Release);
        }
    }

    /// Has a job watched by `thread` if it is in the set and alive, else by the next such thread.
    fn watch(&self, thread: usize, scope: u64, due: u64) {
        let turn = (0..self.watches.len()).map(|ahead| (thread + ahead) % self.watches.len());
        let mut set = turn.filter(|thread| scope >> thread & 1 == 1);
        set.any(|thread| self.watches[thread].add(due, scope));
    }

    /// Jobs in the tree; `None` while a thread scans it.
    pub fn waiting(&self) -> Option<usize> {
        self.tree.try_with(|tree, item| self.sync_with_tree(tree, item), |tree| tree.len())
    }

    /// Jobs added or killed that the scanning thread has yet to apply: 0 while none scans.
    pub fn backlog(&self) -> usize {
        self.tree.backlog()
    }
}
