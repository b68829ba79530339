//! Rules on caches, as a transaction runs them: `cache-use` and `cache-store`.

use crate::telemetry::sample_context::View;
use cache::{Cache, Lookup, Storing};
use engine::state::session::cache_use::CachedRequest;
use sample::Facts;
use std::sync::Arc;
use transport::stats::counters::Metric;

/// Looks the request up in a cache; whether there is a fresh object, which the notes hold then.
pub(crate) fn look_up(view: &mut View<'_>, name: &str) -> bool {
    let Some(cache) = view.worker.shared.cache(name) else { return false };
    let Some(request) = of_request(view, cache) else { return false };
    let mut hit = None;
    if let Ok(demand) = &request.verdict.lookup {
        count(view, Metric::CacheLookups);
        let now = view.worker.millis();
        let found = request.cache.lookup(&request.key, &request.selecting, demand, now);
        if let Lookup::Fresh(object) = found {
            count(view, Metric::CacheHits);
            hit = Some(Box::new(object));
        }
    }
    view.notes.used = true;
    let notes = view.notes.cache.get_or_insert_default();
    if hit.is_some() {
        (notes.hit, notes.served_by) = (hit, Some(request.cache.clone()));
    }
    notes.remember(request);
    notes.hit.is_some()
}

/// Begins to store the response, if it may be stored. The response to an unsafe method drops the
/// object of its URI (RFC 9111 section 4.4).
pub(crate) fn store(view: &mut View<'_>, name: &str) {
    let Some(cache) = view.worker.shared.cache(name).cloned() else { return };
    if view.notes.cache.as_ref().is_some_and(|it| it.served_by.is_some()) {
        return;
    }
    if view.notes.cache.as_ref().is_none_or(|it| it.of(&cache).is_none()) {
        let Some(request) = of_request(view, &cache) else { return };
        view.notes.used = true;
        view.notes.cache.get_or_insert_default().remember(request);
    }
    let date = (view.worker.thread.wall() / 1_000_000_000) as i64;
    let now = view.worker.millis();
    let Some(notes) = view.notes.cache.as_mut() else { return };
    let Some(request) = notes.of(&cache) else { return };
    let response = &view.space.response;
    if cache::request::invalidates(&request.verdict, response.status()) {
        return cache.invalidate(&request.key);
    }
    if request.verdict.store.is_err() {
        return;
    }
    let rules = &cache.settings().rules;
    if let Ok(storable) = cache::response::judge(response, &request.selecting, rules, date)
        && let Ok(storing) = Storing::begin(&cache, &request.key, response, &storable, now)
    {
        notes.storing.push(storing);
    }
}

fn of_request(view: &View<'_>, cache: &Arc<Cache>) -> Option<CachedRequest> {
    let scheme: &[u8] = if view.client.session().is_some() { b"https" } else { b"http" };
    CachedRequest::new(cache, view.request()?, scheme)
}

/// Lookups are those of the backend, or of a frontend that answers by itself.
fn count(view: &View<'_>, metric: Metric) {
    let proxy = view.backend.unwrap_or(&view.client.proxy);
    if let Some(block) = proxy.back_block().or_else(|| proxy.front_block()) {
        block.count(metric);
    }
}
