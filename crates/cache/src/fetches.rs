//! Coalesced fetches: one request for a missing object goes to the server, and others for the same
//! key wait for it.

use crate::key::CacheKey;
use std::sync::Arc;
use stdx::Mutex;

/// Called once when the fetch ends, on the thread that ends it. The request then looks the object
/// up: it may be stored or not.
pub type Waiter = Box<dyn FnOnce() + Send>;

struct Fetch {
    hash: u64,
    key: Box<[u8]>,
    id: u64,
    waiters: Vec<(u64, Waiter)>,
}

#[derive(Default)]
struct FetchList {
    fetches: Vec<Fetch>,
    next_id: u64,
}

impl FetchList {
    fn number(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

/// The fetches of a cache.
pub struct Fetches {
    list: Mutex<FetchList>,
    /// Most fetches at the same time.
    max_fetches: usize,
    /// Most requests that wait for one fetch.
    max_waiters: usize,
}

impl std::fmt::Debug for Fetches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fetches({} under way)", self.len())
    }
}

/// The part of a request in the fetch of a missing object.
#[derive(Debug)]
pub enum FetchTurn {
    /// The request goes to the server, and its response ends the fetch.
    Lead(FetchTicket),
    /// The request waits for the fetch of another one.
    Wait(WaitTicket),
    /// The request goes to the server and no other request waits for it: too many fetches are under
    /// way.
    Alone,
}

/// The right to end a fetch, which ends when the ticket is dropped.
#[derive(Debug)]
pub struct FetchTicket {
    fetches: Arc<Fetches>,
    id: u64,
}

/// A place in the queue of requests that wait for the fetch. Dropped, the waiter is forgotten and
/// not called any more.
#[derive(Debug)]
pub struct WaitTicket {
    fetches: Arc<Fetches>,
    fetch: u64,
    id: u64,
}

impl Fetches {
    /// No fetches, with these bounds.
    pub fn new(max_fetches: usize, max_waiters: usize) -> Arc<Self> {
        Arc::new(Self { list: Mutex::new(FetchList::default()), max_fetches, max_waiters })
    }

    /// Fetches under way.
    pub fn len(&self) -> usize {
        self.list.lock().fetches.len()
    }

    /// Whether no fetch is under way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Joins the fetch of a key, or begins one.
    pub fn join(self: &Arc<Self>, key: &CacheKey, waiter: impl FnOnce() -> Waiter) -> FetchTurn {
        let mut list = self.list.lock();
        let id = list.number();
        let same = |fetch: &&mut Fetch| fetch.hash == key.hash() && *fetch.key == *key.text();
        if let Some(fetch) = list.fetches.iter_mut().find(same) {
            if fetch.waiters.len() >= self.max_waiters {
                return FetchTurn::Alone;
            }
            fetch.waiters.push((id, waiter()));
            return FetchTurn::Wait(WaitTicket { fetches: self.clone(), fetch: fetch.id, id });
        }
        if list.fetches.len() >= self.max_fetches {
            return FetchTurn::Alone;
        }
        let fetch = Fetch { hash: key.hash(), key: key.text().into(), id, waiters: Vec::new() };
        list.fetches.push(fetch);
        FetchTurn::Lead(FetchTicket { fetches: self.clone(), id })
    }

    fn end(&self, id: u64) -> Vec<(u64, Waiter)> {
        let mut list = self.list.lock();
        let at = list.fetches.iter().position(|fetch| fetch.id == id);
        at.map_or_else(Vec::new, |at| list.fetches.swap_remove(at).waiters)
    }
}

impl Drop for FetchTicket {
    fn drop(&mut self) {
        // Waiters are called behind the lock.
        for (_, waiter) in self.fetches.end(self.id) {
            waiter();
        }
    }
}

impl Drop for WaitTicket {
    fn drop(&mut self) {
        let mut list = self.fetches.list.lock();
        let fetch = list.fetches.iter_mut().find(|fetch| fetch.id == self.fetch);
        let Some(fetch) = fetch else { return };
        let at = fetch.waiters.iter().position(|(id, _)| *id == self.id);
        let gone = at.map(|at| fetch.waiters.swap_remove(at));
        drop(list);
        drop(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Head;

    fn key(path: &str) -> CacheKey {
        let mut head = Head::default();
        head.set_request(b"GET", path.as_bytes(), htx::Version::Http11);
        head.push(b"host", b"h");
        let mut key = CacheKey::default();
        assert!(key.set(&head, b"http", [1, 2]));
        key
    }

    type Log = Arc<Mutex<Vec<u8>>>;

    fn waiter(log: &Log, number: u8) -> Waiter {
        let log = log.clone();
        Box::new(move || log.lock().push(number))
    }

    #[test]
    fn one_request_fetches_and_the_others_wait() {
        let (fetches, log) = (Fetches::new(2, 2), Log::default());
        let join = |path: &str, number| fetches.join(&key(path), || waiter(&log, number));
        let FetchTurn::Lead(lead) = join("/a", 0) else { panic!("the first fetches") };
        let FetchTurn::Wait(_one) = join("/a", 1) else { panic!("the second waits") };
        let FetchTurn::Wait(two) = join("/a", 2) else { panic!("the third waits") };
        assert!(matches!(join("/a", 3), FetchTurn::Alone), "two may wait");
        let FetchTurn::Lead(other) = join("/b", 4) else { panic!("another key") };
        assert!(matches!(join("/c", 5), FetchTurn::Alone), "two keys may be fetched");
        drop(two);
        drop(lead);
        assert_eq!(*log.lock(), [1], "the third has left");
        drop(other);
        assert!(fetches.is_empty());
    }

    #[test]
    fn the_end_of_a_fetch_wakes_those_that_wait() {
        let (fetches, log) = (Fetches::new(2, 2), Log::default());
        let FetchTurn::Lead(lead) = fetches.join(&key("/a"), || waiter(&log, 0)) else {
            panic!("the first fetches")
        };
        let FetchTurn::Wait(wait) = fetches.join(&key("/a"), || waiter(&log, 1)) else {
            panic!("the second waits")
        };
        drop(lead);
        assert_eq!(*log.lock(), [1]);
        drop(wait);
        assert!(fetches.is_empty());
    }
}
