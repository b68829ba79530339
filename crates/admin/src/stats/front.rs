//! The row of a proxy's client side.

use super::field::Field;
use super::{Clock, Kind, Row, is_http, mode};
use engine::state::runtime::Frontend;
use engine::state::runtime::Shared;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::counters::{Counters, Event, Metric};

/// Counters that a client side always shows.
const ALWAYS: &[(Field, Metric)] = &[
    (Field::Stot, Metric::Sessions),
    (Field::Bin, Metric::BytesIn),
    (Field::Bout, Metric::BytesOut),
    (Field::Dreq, Metric::DeniedRequests),
    (Field::Dresp, Metric::DeniedResponses),
    (Field::Ereq, Metric::FailedRequests),
    (Field::ReqTot, Metric::Requests),
    (Field::ConnTot, Metric::Connections),
    (Field::Dcon, Metric::DeniedConnections),
    (Field::Dses, Metric::DeniedSessions),
    (Field::Wrew, Metric::FailedRewrites),
    (Field::Eint, Metric::InternalErrors),
];

/// Counters of responses, for HTTP.
pub(super) const RESPONSES: &[(Field, Metric)] = &[
    (Field::Hrsp1xx, Metric::Status1xx),
    (Field::Hrsp2xx, Metric::Status2xx),
    (Field::Hrsp3xx, Metric::Status3xx),
    (Field::Hrsp4xx, Metric::Status4xx),
    (Field::Hrsp5xx, Metric::Status5xx),
    (Field::HrspOther, Metric::StatusOther),
];

/// The counters of compression.
pub(super) const COMPRESSION: &[(Field, Metric)] = &[
    (Field::CompIn, Metric::CompressedIn),
    (Field::CompOut, Metric::CompressedOut),
    (Field::CompByp, Metric::CompressionBypassed),
    (Field::CompRsp, Metric::CompressedResponses),
];

/// The counters of caches, for HTTP.
pub(super) const CACHE: &[(Field, Metric)] =
    &[(Field::CacheLookups, Metric::CacheLookups), (Field::CacheHits, Metric::CacheHits)];

pub(super) fn sums(row: &mut Row, counters: &Counters, fields: &[(Field, Metric)]) {
    for (field, metric) in fields {
        row.set(*field, counters.sum(*metric));
    }
}

pub(super) fn row(shared: &Shared, front: &Frontend, clock: Clock) -> Row {
    let proxy = &front.proxy;
    let mut row = Row::new(Kind::Frontend, proxy, 0, "FRONTEND");
    let counters = &front.counters;
    row.set(Field::Scur, front.connections.current());
    row.set(Field::Smax, front.connections.peak());
    let limit = Some(front.maxconn.load(Relaxed)).filter(|limit| *limit != 0);
    row.set(Field::Slim, limit.unwrap_or_else(|| shared.maxconn.load(Relaxed)));
    row.set(Field::RateLim, front.settings.session_rate);
    row.set(Field::Status, status(shared, front));
    row.set(Field::Mode, mode(proxy));
    sums(&mut row, counters, ALWAYS);
    sums(&mut row, counters, COMPRESSION);
    rates(&mut row, counters, clock);
    if is_http(proxy) {
        sums(&mut row, counters, RESPONSES);
        row.set(Field::Intercepted, counters.sum(Metric::Intercepted));
        sums(&mut row, counters, CACHE);
    }
    row
}

fn status(shared: &Shared, front: &Frontend) -> &'static str {
    if shared.is_stopping() || front.is_shut() {
        "STOP"
    } else if front.disabled.load(Relaxed) {
        "PAUSED"
    } else {
        "OPEN"
    }
}

fn rates(row: &mut Row, counters: &Counters, clock: Clock) {
    row.set(Field::Rate, clock.rate(counters, Event::Session));
    row.set(Field::RateMax, counters.peak(Event::Session));
    row.set(Field::ReqRate, clock.rate(counters, Event::Request));
    row.set(Field::ReqRateMax, counters.peak(Event::Request));
    row.set(Field::ConnRate, clock.rate(counters, Event::Connection));
    row.set(Field::ConnRateMax, counters.peak(Event::Connection));
}
