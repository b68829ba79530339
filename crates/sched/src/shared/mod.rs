//! Work that any thread of a set may do, in the order in which it falls due.
//! Never wakes a thread that it does not need, and never reads a clock.
//!
//! Jobs wait in one ordered tree with the sets of threads that may do them. A thread that has time
//! looks at one word that says when the first of all falls due; when that has come it takes its own
//! due jobs out, within a budget, and does them outside the lock. One thread scans at a time, and
//! nobody queues behind it: who finds the tree taken comes again later, and what is added or killed
//! meanwhile waits in a hatch (see `desk`).
//!
//! Each job is watched by one thread of its set, usually the one that added it: only this thread
//! sets a timer for it. So a process that has nothing to do sleeps, however many threads it has,
//! and a due job wakes one of them; the others do it if they pass by earlier.
//!
//! A job that was postponed goes back where it came from when its old time comes. One that was
//! killed leaves the tree under the lock, and never begins once [`SharedWork::kill`] said so.
//!
//! Time is in milliseconds of a clock that never goes back and never wraps. Shared lines written:
//! adding, the hatch, the tree's path and one watch; a look that finds nothing due, none.

mod watch;

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use stdx::{Position, ScopeTree};

use super::desk::Desk;
use super::sync::{self, AtomicU8, AtomicU64, Mutex, lock};
use super::{Mailbox, TaskId, Wake};
use watch::Watch;

/// What a job does: gets what its thread has to offer and the time, and says when it wants to run
/// again, if ever. It runs on any thread of its set, on one at a time.
pub type Job<C> = Box<dyn FnMut(&C, u64) -> Option<u64> + Send>;

/// It waits in the tree, or is on its way there.
const WAITING: u8 = 0;
/// A thread has taken it out to do it.
const RUNNING: u8 = 1;
/// It was killed, or has run for the last time.
const OVER: u8 = 2;

/// Where a job stands in the tree, and the job while nobody does it.
struct Inner<C> {
    position: Option<Position>,
    job: Option<Job<C>>,
}

struct Item<C> {
    /// The threads that may do it, one bit each.
    scope: u64,
    /// When it wants to run.
    due: AtomicU64,
    /// Where it goes in the tree, which is when its watch comes by: never later than `due`. Written
    /// only while the item is on nobody's way into the tree.
    place: AtomicU64,
    state: AtomicU8,
    inner: Mutex<Inner<C>>,
}

/// A job added to [`SharedWork`], for postponing or killing it.
pub struct Handle<C>(Arc<Item<C>>);

impl<C> std::fmt::Debug for Handle<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("scope", &self.0.scope).finish_non_exhaustive()
    }
}

type Tree<C> = ScopeTree<Arc<Item<C>>>;

/// Jobs of up to 64 threads. `C` is what a thread offers to a job.
pub struct SharedWork<C> {
    desk: Desk<Tree<C>, Arc<Item<C>>>,
    /// When the first job of all falls due, `u64::MAX` without any; written under the lock.
    earliest: AtomicU64,
    watches: Box<[Watch]>,
}

/// What came of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Pass {
    /// Jobs done.
    pub ran: usize,
    /// Whether to come again at once: the budget is spent, or another thread was scanning.
    pub more: bool,
}

impl<C> std::fmt::Debug for SharedWork<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedWork").field("earliest", &self.earliest).finish_non_exhaustive()
    }
}

impl<C> SharedWork<C> {
    /// No jobs yet, for this many threads; those beyond 64 can do none.
    pub fn new(threads: usize) -> Self {
        Self {
            desk: Desk::new(ScopeTree::new()),
            earliest: AtomicU64::new(u64::MAX),
            watches: (0..threads.min(64)).map(|_| Watch::default()).collect(),
        }
    }

    /// A set with all threads.
    pub fn everybody(&self) -> u64 {
        u64::MAX >> (64 - self.watches.len().clamp(1, 64))
    }

    /// Names the task that does a thread's share: it calls [`SharedWork::run`] when it is woken and
    /// at [`SharedWork::next`], and is woken when that has changed.
    pub fn attend(&self, thread: usize, mailbox: Arc<Mailbox>, task: TaskId) {
        if let Some(watch) = self.watches.get(thread) {
            watch.attend(mailbox, task);
        }
    }

    /// The thread ends: others of each set watch in its place.
    pub fn leave(&self, thread: usize) {
        let watched = self.watches.get(thread).map(Watch::leave).unwrap_or_default();
        for (due, scope) in watched {
            self.watch(thread, scope, due);
        }
    }

    /// Adds a job that the threads of `scope` may do from `due` on. `from` is the calling thread,
    /// which watches it if it is one of them.
    pub fn add(&self, from: usize, scope: u64, due: u64, job: Job<C>) -> Handle<C> {
        let item = Arc::new(Item {
            scope,
            due: AtomicU64::new(due),
            place: AtomicU64::new(due),
            state: AtomicU8::new(WAITING),
            inner: Mutex::new(Inner { position: None, job: Some(job) }),
        });
        self.queue(Arc::clone(&item));
        self.watch(from, scope, due);
        Handle(item)
    }

    /// Lets a job wait until `due`, if that is later than what it waits for.
    pub fn postpone(&self, handle: &Handle<C>, due: u64) {
        handle.0.due.fetch_max(due, AcqRel);
    }

    /// Ends a job. `true`: it will not run again; `false`: a thread has taken it out to run it for
    /// the last time, or it was over already.
    pub fn kill(&self, handle: &Handle<C>) -> bool {
        let before = handle.0.state.swap(OVER, AcqRel);
        if before == WAITING {
            self.queue(Arc::clone(&handle.0));
        }
        before == WAITING
    }

    /// When the task of this thread has to call [`SharedWork::run`] next.
    pub fn next(&self, thread: usize) -> Option<u64> {
        self.watches.get(thread)?.next()
    }

    /// Does the due jobs that this thread may do, at most `budget` of them, which it brings down.
    /// Jobs that turn out not to be due yet count too.
    pub fn run(&self, thread: usize, now: u64, budget: &mut usize, offer: &C) -> Pass {
        let Some(watch) = self.watches.get(thread) else { return Pass::default() };
        // What is watched may still lie in the hatch, so it is looked for whatever `earliest` says.
        let watched = watch.pass(now);
        if watched.is_empty() && self.earliest.load(Acquire) > now {
            return Pass::default();
        }
        let mut due = Vec::new();
        let scan = |tree: &mut Tree<C>| self.scan(tree, thread, now, budget, &mut due);
        let left = self.desk.enter(|tree, item| self.take_in(tree, item), scan);
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

    /// Takes due jobs out of the tree; yields what to watch for those that are left.
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
                self.take_in(tree, Arc::clone(&item));
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
            // Killed while it ran.
            lock(&item.inner).job = None;
        }
    }

    /// Has an item put into the tree, or taken out if it is over.
    fn queue(&self, item: Arc<Item<C>>) {
        self.desk.hand_in(item, |tree, item| self.take_in(tree, item));
    }

    fn take_in(&self, tree: &mut Tree<C>, item: Arc<Item<C>>) {
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

    /// Has a job watched by `thread` if it may, else by the next one of its set.
    fn watch(&self, thread: usize, scope: u64, due: u64) {
        let turn = (0..self.watches.len()).map(|ahead| (thread + ahead) % self.watches.len());
        let mut set = turn.filter(|thread| scope >> thread & 1 == 1);
        set.any(|thread| self.watches[thread].add(due, scope));
    }

    /// Jobs in the tree; `None` while a thread scans it.
    pub fn waiting(&self) -> Option<usize> {
        self.desk.enter(|tree, item| self.take_in(tree, item), |tree| tree.len())
    }

    /// Jobs added or killed that the thread that scans has yet to take in: none while nobody scans.
    pub fn backlog(&self) -> usize {
        self.desk.backlog()
    }
}
