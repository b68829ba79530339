//! The caches that a transaction uses: the key of its request, a hit, an object that is being
//! stored.

use crate::state::session::transaction::RulePlace;
use cache::request::RequestVerdict;
use cache::{Cache, CacheKey, FetchTicket, Hit, Selecting, StoredAnswer, Storing};
use htx::{Head, Method};
use std::sync::Arc;

/// A cache, and the state of a request in it.
#[derive(Debug)]
pub struct CachedRequest {
    /// The cache.
    pub cache: Arc<Cache>,
    /// The key of the request.
    pub key: CacheKey,
    /// The fields that select among the objects of a key.
    pub selecting: Selecting,
    /// Whether the request may be answered by the cache, and its response be stored.
    pub verdict: RequestVerdict,
    /// Whether the method is HEAD.
    pub is_head: bool,
}

impl CachedRequest {
    /// `None`: the request has no key. `scheme` is that of a target without one.
    pub fn new(cache: &Arc<Cache>, request: &Head, scheme: &[u8]) -> Option<Self> {
        let (mut key, sip) = (CacheKey::default(), cache.sip_key());
        key.set(request, scheme, sip).then(|| Self {
            cache: cache.clone(),
            key,
            selecting: Selecting::of(request, sip),
            verdict: cache::request::judge(request),
            is_head: request.method_id() == Method::Head,
        })
    }
}

/// A stored response that is not fresh enough for the request: it is validated with the server, or
/// takes the place of an error.
#[derive(Debug)]
pub struct StaleObject {
    /// The stored response.
    pub hit: Box<Hit>,
    /// Its cache.
    pub cache: Arc<Cache>,
    /// Its answer to the request, whose conditions may be replaced by those of the validation.
    pub answer: StoredAnswer,
    /// Whether it has a validator, and the request goes out with conditions.
    pub validates: bool,
    /// The request without the conditions of the validation, once it has them.
    pub request: Head,
}

/// A request of the process itself for an object that is served stale meanwhile (RFC 5861 section
/// 3). It continues after the last rule of the client's request.
#[derive(Debug)]
pub struct BackgroundValidation {
    /// The head of the request.
    pub head: Head,
    /// The request, as the cache sees it.
    pub request: CachedRequest,
    /// The stored response, if it can be validated.
    pub stale: Option<StaleObject>,
    /// The right to fetch the object: no other request does so meanwhile.
    pub ticket: FetchTicket,
    /// The rule behind `cache-use`.
    pub place: RulePlace,
}

/// The use that a transaction makes of caches.
#[derive(Debug, Default)]
pub struct CacheUse {
    /// An object that the server may freshen.
    pub stale: Option<StaleObject>,
    /// The fetch that other requests wait for, and its cache.
    pub fetch: Option<(Arc<Cache>, FetchTicket)>,
    /// The validation to begin once the rules have come to their end.
    pub background: Option<Box<BackgroundValidation>>,
    /// Whether the request has waited for the fetch of another request, which it does at most once.
    pub has_waited: bool,
    /// The request, as the first cache has seen it.
    first: Option<CachedRequest>,
    /// The same for other caches, one of the frontend and one of the backend as a rule.
    others: Vec<CachedRequest>,
    /// The object that answers the request, until its body is sent.
    pub hit: Option<Box<Hit>>,
    /// The cache that answers the request.
    pub served_by: Option<Arc<Cache>>,
    /// The response on its way into caches, until its body begins.
    pub storing: Vec<Storing>,
}

impl CacheUse {
    /// The use that a validation makes of its cache.
    pub fn of_validation(
        request: CachedRequest,
        stale: Option<StaleObject>,
        ticket: FetchTicket,
    ) -> Self {
        let fetch = Some((request.cache.clone(), ticket));
        Self { stale, fetch, first: Some(request), ..Self::default() }
    }

    /// Whether the request fetches an object of this cache, so that others may wait for it.
    pub fn leads(&self, cache: &Arc<Cache>) -> bool {
        self.fetch.as_ref().is_some_and(|(led, _)| Arc::ptr_eq(led, cache))
    }

    /// The request, as a cache has seen it last.
    pub fn of(&self, cache: &Arc<Cache>) -> Option<&CachedRequest> {
        self.first.iter().chain(&self.others).find(|it| Arc::ptr_eq(&it.cache, cache))
    }

    /// Keeps the request as its cache sees it now; there are at most as many as caches.
    pub fn remember(&mut self, request: CachedRequest) {
        let Some(first) = &mut self.first else {
            self.first = Some(request);
            return;
        };
        let mut known = std::iter::once(first).chain(&mut self.others);
        match known.find(|it| Arc::ptr_eq(&it.cache, &request.cache)) {
            Some(known) => *known = request,
            None => self.others.push(request),
        }
    }
}
