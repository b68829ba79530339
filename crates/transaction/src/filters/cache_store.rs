//! The payload of a response on its way into a cache.

use cache::{Cache, FetchTicket, Storing};
use engine::state::worker::Worker;
use htx::Fields;
use std::rc::Rc;
use std::sync::Arc;
use transport::filters::{Offer, PayloadFilter, Taken};

/// Copies payload into an object of a cache. An object that is not complete is dropped.
#[derive(Debug)]
pub(super) struct CacheStore {
    /// `None` once the object does not fit.
    storing: Option<Storing>,
    /// The fetch that other requests wait for.
    fetch: Option<FetchTicket>,
    worker: Rc<Worker>,
}

impl CacheStore {
    pub(super) fn new(
        storing: Storing,
        fetch: Option<(Arc<Cache>, FetchTicket)>,
        worker: &Rc<Worker>,
    ) -> Self {
        let fetch = fetch.map(|(_, ticket)| ticket);
        Self { storing: Some(storing), fetch, worker: worker.clone() }
    }
}

impl PayloadFilter for CacheStore {
    fn take(&mut self, offer: Offer<'_>, _: &mut Vec<u8>) -> Taken {
        if let Some(storing) = &mut self.storing
            && storing.payload(offer.payload).is_err()
        {
            (self.storing, self.fetch) = (None, None);
        }
        Taken::Bytes(offer.payload.len())
    }

    fn end(&mut self, trailers: &Fields) {
        if let Some(storing) = self.storing.take() {
            // An object that does not fit is not stored: those that wait go to the server.
            let _ = storing.finish(Some(trailers), self.worker.millis());
            self.fetch = None;
        }
    }
}
