//! The caches that a transaction uses: the key of its request, a hit, an object that is being
//! stored.

use cache::request::RequestVerdict;
use cache::{Cache, CacheKey, Hit, Selecting, Storing};
use htx::Head;
use std::sync::Arc;

/// A cache, and what a request means to it.
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
        })
    }
}

/// The use that a transaction makes of caches.
#[derive(Debug, Default)]
pub struct CacheUse {
    /// The request, as the last `cache-use` has seen it.
    pub request: Option<CachedRequest>,
    /// The object that answers the request, until its body is sent.
    pub hit: Option<Box<Hit>>,
    /// The name of the cache that answers the request.
    pub served_by: Option<String>,
    /// The response on its way into a cache, until its body begins.
    pub storing: Option<Storing>,
}
