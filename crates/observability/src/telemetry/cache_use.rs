//! Rules on caches, as a transaction runs them: `cache-use` and `cache-store`.

use crate::telemetry::fetch_signal::FetchSignal;
use crate::telemetry::sample_context::View;
use cache::{Cache, FetchTicket, FetchTurn, Hit, Lookup, StoredAnswer, Storing, validation};
use engine::state::session::cache_use::{CachedRequest, StaleObject};
use engine::state::session::pending::{self, OutsideAnswer};
use htx::Head;
use sample::Facts;
use std::sync::Arc;
use transport::stats::counters::Metric;

/// Looks the request up in a cache; whether there is an object to answer with, which the notes hold
/// then. If another request fetches the object, that is awaited, and this is called again.
pub(crate) fn look_up(view: &mut View<'_>, name: &str) -> bool {
    let Some(cache) = view.worker.shared.cache(name) else { return false };
    let Some(request) = of_request(view, cache) else { return false };
    view.notes.used = true;
    let mut hit = None;
    if let Ok(demand) = &request.verdict.lookup {
        let now = view.worker.millis();
        hit = match request.cache.lookup(&request.key, &request.selecting, demand, now) {
            Lookup::Fresh(hit) => Some(hit),
            Lookup::Stale(hit) => use_stale(view, &request, hit),
            Lookup::Miss => {
                join_fetch(view, &request);
                None
            }
        };
        if view.notes.asked.is_asked() {
            return false;
        }
        count(view, Metric::CacheLookups);
        if hit.is_some() {
            count(view, Metric::CacheHits);
        }
    }
    let notes = view.notes.cache.get_or_insert_default();
    if let Some(hit) = hit {
        (notes.hit, notes.served_by) = (Some(Box::new(hit)), Some(request.cache.clone()));
    }
    notes.remember(request);
    notes.hit.is_some()
}

/// Uses an object that is not fresh enough: it answers while another request validates it, or it is
/// kept for a validation and for errors of the server.
fn use_stale(view: &mut View<'_>, request: &CachedRequest, hit: Hit) -> Option<Hit> {
    let settings = request.cache.settings();
    let has_waited = view.notes.cache.as_ref().is_some_and(|it| it.has_waited);
    if hit.may_serve_while_revalidating() {
        let turn = request.cache.fetches().join(&request.key, || Box::new(|_| ()));
        match turn {
            FetchTurn::Lead(ticket) if !has_waited => lead(view, request, ticket),
            _ => return Some(hit),
        }
    } else {
        join_fetch(view, request);
        if view.notes.asked.is_asked() {
            return None;
        }
    }
    let date = date(view);
    let mut scratch = view.worker.take_scratch();
    let mut stored = Head::default();
    hit.write_head(&mut stored, &mut scratch);
    let rules = &settings.rules;
    let validates = (rules.keep_for_validation > 0 || rules.stale_while_revalidate > 0)
        && validation::is_validatable(&stored);
    if validates || hit.may_serve_on_error() {
        scratch.clear();
        let answer = view.request().map(|head| {
            let validators = hit.validators(&mut scratch);
            StoredAnswer::to(head, hit.content_len(), &validators, settings.ranges, date)
        });
        let cache = request.cache.clone();
        view.notes.cache.get_or_insert_default().stale = answer.map(|answer| StaleObject {
            hit: Box::new(hit),
            cache,
            answer,
            validates,
            request: Head::default(),
        });
    }
    view.worker.give_scratch(scratch);
    None
}

/// Joins the fetch of a missing object where the cache has `coalesce`: the first request goes to
/// the server, the others wait.
fn join_fetch(view: &mut View<'_>, request: &CachedRequest) {
    let Some(span) = request.cache.settings().coalesce else { return };
    let notes = view.notes.cache.get_or_insert_default();
    if notes.has_waited || request.verdict.store.is_err() {
        return;
    }
    let signal = FetchSignal::new();
    match request.cache.fetches().join(&request.key, || signal.waiter()) {
        FetchTurn::Lead(ticket) => lead(view, request, ticket),
        FetchTurn::Wait(ticket) => {
            notes.has_waited = true;
            let thread = view.worker.thread.clone();
            let wait = async move {
                let deadline = thread.tick().plus_ms(span);
                signal.wait(&thread, deadline).await;
                drop(ticket);
            };
            view.notes.asked.begin(pending::after(wait, |(), _| OutsideAnswer::Continue));
        }
        FetchTurn::Alone => {}
    }
}

/// The request goes to the server for others as well. It does so for one cache: those that wait for
/// it in another one are not held up.
fn lead(view: &mut View<'_>, request: &CachedRequest, ticket: FetchTicket) {
    let fetch = &mut view.notes.cache.get_or_insert_default().fetch;
    if fetch.is_none() {
        *fetch = Some((request.cache.clone(), ticket));
    }
}

/// The date in seconds since the epoch.
fn date(view: &View<'_>) -> i64 {
    (view.worker.thread.wall() / 1_000_000_000) as i64
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
    let (date, now) = (date(view), view.worker.millis());
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
    let front = &view.client.proxy;
    let backend = view.backend.or(front.itself.as_ref());
    backend.map_or_else(|| front.block(), |backend| backend.block()).count(metric);
}
