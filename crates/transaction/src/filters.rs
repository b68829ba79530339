//! Filters of a transaction: `filter` lines of its frontend and backend, and what stands for one
//! (configuration manual, section 9).
//!
//! The filters of the frontend go before those of the backend, each in the order of its lines. A
//! filter decides at the stages of the transaction whether it sees payload; [`request`] and
//! [`response`] give the payload filters of a direction to the forwarder.

mod bandwidth;
mod cache_store;
mod compression;
mod script;
mod trace;

use engine::state::runtime::Proxy;
use engine::state::session::transaction::Transaction;
use mux::BodyKind;
use sample::Side;
use settings::Filter;
use std::sync::Arc;
use trace::Checkpoint;
use transport::filters::{FilterChain, PayloadFilter};
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// Whether the transaction has filters: its frontend's or its backend's.
#[inline]
pub(crate) fn has_any(tx: &Transaction) -> bool {
    !tx.client.proxy.settings.filters.is_empty() || !tx.side().settings.filters.is_empty()
}

/// Whether a filter of the transaction reports every stage.
#[inline]
fn is_traced(tx: &Transaction) -> bool {
    let backend = tx.backend.as_ref();
    tx.client.proxy.rules.traced || backend.is_some_and(|backend| backend.rules.traced)
}

/// Reports a checkpoint to filters that trace.
fn report(tx: &Transaction, at: Checkpoint) {
    if is_traced(tx) {
        trace::checkpoint(tx, at);
    }
}

/// A stream begins, and with it the filters of the frontend.
#[inline]
pub(crate) fn begin(tx: &mut Transaction) {
    if !tx.client.proxy.settings.filters.is_empty() {
        let front = tx.client.proxy.common.clone();
        script::attach(tx, &front);
    }
    if is_traced(tx) {
        trace::checkpoint(tx, Checkpoint::Begins);
    }
}

/// The backend is chosen: its filters are attached.
#[inline]
pub(crate) fn backend_chosen(tx: &mut Transaction) {
    let front = tx.client.proxy.index;
    let backend = tx.backend.as_ref().filter(|back| back.index != front);
    if let Some(backend) = backend.filter(|back| !back.settings.filters.is_empty()) {
        let backend = backend.common.clone();
        script::attach(tx, &backend);
    }
    if is_traced(tx) {
        trace::checkpoint(tx, Checkpoint::BackendChosen);
    }
}

/// A stage has run.
#[inline]
pub(crate) fn analyzed(tx: &mut Transaction, stage: &'static str, side: Side) {
    if is_traced(tx) {
        trace::checkpoint(tx, Checkpoint::Analyzed(side, stage));
    }
}

/// The stream ends, with the filters of the backend, then with those of the frontend.
#[inline]
pub(crate) fn end(tx: &mut Transaction) {
    if script::has_any(tx) {
        script::end(tx);
    }
    if is_traced(tx) {
        trace::checkpoint(tx, Checkpoint::Ends);
    }
}

/// The request is as it goes to a server or a service: all its rules have run.
///
/// # Errors
/// A filter refuses it.
#[inline]
pub(crate) fn request_head(tx: &mut Transaction) -> Result<(), Failure> {
    if has_any(tx) {
        script::head(tx, Side::Request)?;
        compression::request_head(tx);
        report(tx, Checkpoint::Head(Side::Request));
    }
    Ok(())
}

/// The head of the request goes to a server: its body may be compressed on the way.
#[inline]
pub(crate) fn request_to_server(tx: &mut Transaction) {
    if has_any(tx) {
        compression::request_body(tx);
    }
}

/// How the body of the request is delimited behind the filters.
#[inline]
pub(crate) fn sent_body(tx: &Transaction) -> BodyKind {
    if tx.notes.compressed_request.is_some() { BodyKind::Chunked } else { tx.request_body }
}

/// The heads of a request that the statistics page answers, and of the page.
pub(crate) fn head_of_page(tx: &mut Transaction, body: BodyKind) {
    if has_any(tx) {
        compression::request_head(tx);
        response_begins(tx, body);
    }
}

/// A response begins; its rules have not run.
#[inline]
pub(crate) fn response_begins(tx: &mut Transaction, body: BodyKind) {
    if has_any(tx) {
        script::response_begins(tx);
        report(tx, Checkpoint::ResponseBegins);
        compression::response_begins(tx, body);
    }
}

/// An answer of the proxy takes the place of the response that had begun: it passes none of the
/// filters that were made for that one.
#[inline]
pub(crate) fn response_is_replaced(tx: &mut Transaction) {
    tx.notes.compressed = None;
    tx.space.down.filters = None;
    if let Some(cache) = &mut tx.notes.cache {
        (cache.storing, cache.fetch) = (Vec::new(), None);
    }
}

/// The payload of the request begins.
#[inline]
pub(crate) fn request(tx: &mut Transaction) {
    if has_any(tx) {
        // Rules on the response can limit the request while its payload passes.
        let encoder = compression::request_encoder(tx);
        tx.space.up.filters = payload_filters(tx, Side::Request, Limits::All, encoder);
    }
}

/// Filters of scripts see the head of the response, and may change it. The result is how its body
/// is delimited then.
///
/// # Errors
/// A filter refuses it.
#[inline]
pub(crate) fn response_head(tx: &mut Transaction, body: BodyKind) -> Result<BodyKind, Failure> {
    if !script::has_any(tx) {
        return Ok(body);
    }
    script::head(tx, Side::Response)?;
    Ok(script::framing(&tx.space.response, body))
}

/// The rules of the response have run, and only filters may change it now. The result is how its
/// body is delimited behind the filters.
#[inline]
pub(crate) fn response(tx: &mut Transaction, body: BodyKind) -> BodyKind {
    if !has_any(tx) && tx.notes.cache.is_none() {
        return body;
    }
    let (body, encoder) = compression::response_head(tx, body);
    report(tx, Checkpoint::Head(Side::Response));
    let caches = tx.notes.cache.as_mut();
    let caches = caches.map(|it| (std::mem::take(&mut it.storing), it.fetch.take()));
    let (storing, mut fetch) = caches.unwrap_or_default();
    let mut chain = payload_filters(tx, Side::Response, Limits::Enabled, encoder);
    for storing in storing {
        // A cache stores the server's bytes, before other filters change them.
        let fetch = fetch.take_if(|(cache, _)| Arc::ptr_eq(cache, storing.cache()));
        let first = Box::new(cache_store::CacheStore::new(storing, fetch, &tx.worker));
        chain.get_or_insert_default().push_front(first);
    }
    tx.space.down.filters = chain;
    body
}

/// The payload filters of one direction of a session in TCP mode.
pub(crate) fn of_session(tx: &mut Transaction, side: Side) -> Option<Box<FilterChain>> {
    if !has_any(tx) {
        return None;
    }
    if side == Side::Response {
        script::response_begins(tx);
    }
    payload_filters(tx, side, Limits::All, None)
}

/// The failure of a message whose filter has failed: its head may be on its way.
pub(crate) fn failed() -> Failure {
    Failure::close(Cause::Internal, Phase::Data)
}

/// As [`response`], for a local response: bandwidth limits do not apply to it.
pub(crate) fn local_response(tx: &mut Transaction, body: BodyKind) -> BodyKind {
    if !has_any(tx) {
        return body;
    }
    let (body, encoder) = compression::response_head(tx, body);
    report(tx, Checkpoint::Head(Side::Response));
    tx.space.down.filters = payload_filters(tx, Side::Response, Limits::None, encoder);
    body
}

/// The filters of a proxy that one direction passes, in order.
fn in_order(proxy: &Proxy, side: Side) -> &[Filter] {
    let settings = &proxy.settings;
    settings.filter_sequences[side as usize].as_deref().unwrap_or(&settings.filters)
}

/// The bandwidth limits that are among the filters of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limits {
    /// All, as rules that are still to run can enable them.
    All,
    /// Limits that rules have enabled.
    Enabled,
    /// None.
    None,
}

/// The payload filters of one direction; `encoder` takes the place of the first `filter
/// compression`, so that there is only one also if both frontend and backend have the line.
fn payload_filters(
    tx: &mut Transaction,
    side: Side,
    limits: Limits,
    mut encoder: Option<Box<dyn PayloadFilter>>,
) -> Option<Box<FilterChain>> {
    let front = tx.client.proxy.common.clone();
    let back = tx.backend.as_ref().filter(|back| back.index != front.index);
    let back = back.map(|back| back.common.clone());
    let mut chain = FilterChain::default();
    for proxy in std::iter::once(front).chain(back) {
        for filter in in_order(&proxy, side) {
            let filter = match filter {
                Filter::Trace(settings) => {
                    let trace = trace::PayloadTrace::new(tx, settings, &proxy, side);
                    Some(Box::new(trace) as Box<dyn PayloadFilter>)
                }
                Filter::Compression => encoder.take(),
                Filter::BandwidthLimit(_) if limits == Limits::None => None,
                Filter::BandwidthLimit(limit) => {
                    bandwidth::payload_filter(tx, limit, side, limits == Limits::All)
                }
                Filter::Script(line) => script::payload_filter(tx, line, side),
                // Its events are stages of the transaction.
                Filter::Spoe(_) => None,
            };
            filter.into_iter().for_each(|filter| chain.push(filter));
        }
    }
    (!chain.is_empty()).then(|| Box::new(chain))
}
