//! Rules on caches, as a transaction runs them: `cache-use` and `cache-store`.

use crate::telemetry::fetch_signal::FetchSignal;
use crate::telemetry::sample_context::View;
use cache::request::FreshnessDemand;
use cache::{Cache, FetchTicket, FetchTurn, Hit, Lookup, StoredAnswer, Storing, validation};
use engine::state::session::cache_use::{BackgroundValidation, CachedRequest, StaleObject};
use engine::state::session::pending::{self, OutsideAnswer};
use engine::state::session::transaction::RulePlace;
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
            // The request is the one that fetches the object.
            Lookup::Stale(_) if leads(view, cache) => None,
            Lookup::Miss if leads(view, cache) => None,
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

/// Uses an object that is not fresh enough: it answers while the process validates it, or it is
/// kept for a validation and for errors of the server.
fn use_stale(view: &mut View<'_>, request: &CachedRequest, hit: Hit) -> Option<Hit> {
    if hit.may_serve_while_revalidating() {
        validate_in_background(view, request, &hit);
        return Some(hit);
    }
    join_fetch(view, request);
    if view.notes.asked.is_asked() {
        return None;
    }
    let stale = view.request().map(|head| stale_object(view, request, head, hit));
    let wanted = stale.filter(|stale| stale.validates || stale.hit.may_serve_on_error());
    view.notes.cache.get_or_insert_default().stale = wanted;
    None
}

/// Has the process validate an object, unless a request for it is under way.
fn validate_in_background(view: &mut View<'_>, request: &CachedRequest, hit: &Hit) {
    let FetchTurn::Lead(ticket) = request.cache.fetches().join(&request.key, || Box::new(|| ()))
    else {
        return;
    };
    let Some(head) = view.request().map(validation::background_request) else { return };
    let scheme = scheme(view);
    let Some(request) = CachedRequest::new(&request.cache, &head, scheme) else { return };
    if request.verdict.store.is_err() {
        return;
    }
    let stale = stale_object(view, &request, &head, hit.again());
    let stale = Some(stale).filter(|stale| stale.validates);
    let place = RulePlace::default();
    let validation = BackgroundValidation { head, request, stale, ticket, place };
    view.notes.cache.get_or_insert_default().background = Some(Box::new(validation));
}

/// A stored response for a validation of it by this request.
fn stale_object(view: &View<'_>, of: &CachedRequest, request: &Head, hit: Hit) -> StaleObject {
    let settings = of.cache.settings();
    let (mut stored, mut scratch) = (Head::default(), view.worker.take_scratch());
    hit.write_head(&mut stored, &mut scratch);
    let rules = &settings.rules;
    let validates = (rules.keep_for_validation > 0 || rules.stale_while_revalidate > 0)
        && validation::is_validatable(&stored);
    scratch.clear();
    let answer = {
        let validators = hit.validators(&mut scratch);
        StoredAnswer::to(
            request,
            hit.content_len(),
            &validators,
            settings.ranges,
            view.worker.date(),
        )
    };
    view.worker.give_scratch(scratch);
    let cache = of.cache.clone();
    StaleObject { hit: Box::new(hit), cache, answer, validates, request: Head::default() }
}

/// Whether the request fetches an object of the cache for others, so that it must not wait for it.
fn leads(view: &View<'_>, cache: &Arc<Cache>) -> bool {
    view.notes.cache.as_ref().is_some_and(|it| it.leads(cache))
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

/// The request goes to the server for others as well. A request leads the fetch of one cache only;
/// requests that wait in another cache continue.
fn lead(view: &mut View<'_>, request: &CachedRequest, ticket: FetchTicket) {
    let fetch = &mut view.notes.cache.get_or_insert_default().fetch;
    if fetch.is_none() {
        *fetch = Some((request.cache.clone(), ticket));
    }
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
    let (date, since) = (view.worker.date(), asked_at(view));
    let Some(notes) = view.notes.cache.as_mut() else { return };
    let Some(request) = notes.of(&cache) else { return };
    let response = &view.space.response;
    if cache::request::invalidates(&request.verdict, response.status()) {
        return cache.invalidate(&request.key);
    }
    if request.is_head {
        return outdate(&cache, request, response, (date, since));
    }
    if request.verdict.store.is_err() {
        return;
    }
    let rules = &cache.settings().rules;
    if let Ok(storable) = cache::response::judge(response, &request.selecting, rules, date)
        && let Ok(storing) = Storing::begin(&cache, &request.key, response, &storable, since)
    {
        notes.storing.push(storing);
    }
}

/// The moment at which the request was sent to the server, in milliseconds: the age of a response
/// counts from then on (RFC 9111 section 4.2.3).
fn asked_at(view: &View<'_>) -> u64 {
    let (now, sent) = (view.worker.millis(), view.notes.journal.connected / 1_000_000);
    if sent == 0 { now } else { sent.min(now) }
}

/// Removes what is stored for a request to HEAD whose response has other validators (RFC 9111
/// section 4.3.5).
fn outdate(cache: &Cache, request: &CachedRequest, response: &Head, (date, now): (i64, u64)) {
    let any = FreshnessDemand::default();
    let stored = match cache.lookup(&request.key, &request.selecting, &any, now) {
        Lookup::Fresh(hit) | Lookup::Stale(hit) => hit,
        Lookup::Miss => return,
    };
    let mut scratch = Vec::new();
    let validators = stored.validators(&mut scratch);
    if validation::contradicts(response, &validators, stored.content_len(), date) {
        cache.invalidate(&request.key);
    }
}

fn of_request(view: &View<'_>, cache: &Arc<Cache>) -> Option<CachedRequest> {
    CachedRequest::new(cache, view.request()?, scheme(view))
}

/// The scheme of a target that names none.
fn scheme(view: &View<'_>) -> &'static [u8] {
    if view.client.is_encrypted() { b"https" } else { b"http" }
}

/// Lookups are those of the backend, or of a frontend that answers by itself.
fn count(view: &View<'_>, metric: Metric) {
    let front = &view.client.proxy;
    let backend = view.backend.or(front.itself.as_ref());
    backend.map_or_else(|| front.block(), |backend| backend.block()).count(metric);
}
