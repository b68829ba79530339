//! The row of a listener, which there is with `option socket-stats`.

use super::field::Field;
use super::front::sums;
use super::{Clock, Kind, Row, mode, server};
use engine::state::runtime::Shared;
use engine::state::runtime::{Frontend, Listener};
use proxy::frontend::listener::{ListenerState, standing};
use settings::Bind;
use transport::stats::counters::{Counters, Metric};

/// Counters that a listener shows. The sessions of HAProxy are connections here.
const COUNTERS: &[(Field, Metric)] = &[
    (Field::Stot, Metric::Connections),
    (Field::Bin, Metric::BytesIn),
    (Field::Bout, Metric::BytesOut),
    (Field::Dreq, Metric::DeniedRequests),
    (Field::Dresp, Metric::DeniedResponses),
    (Field::Ereq, Metric::FailedRequests),
    (Field::Dcon, Metric::DeniedConnections),
    (Field::Dses, Metric::DeniedSessions),
    (Field::Wrew, Metric::FailedRewrites),
    (Field::Eint, Metric::InternalErrors),
];

/// A listener with counters of its own.
pub(super) struct Counted<'a> {
    place: usize,
    pub(super) bind: &'a Bind,
    listener: &'a Listener,
    pub(super) counters: &'a Counters,
}

/// The listeners of a proxy that count for themselves.
pub(super) fn all(front: &Frontend) -> impl Iterator<Item = Counted<'_>> {
    front.settings.binds.iter().zip(&front.listeners).enumerate().filter_map(
        |(place, (bind, listener))| {
            let counters = listener.counters.as_ref()?;
            Some(Counted { place, bind, listener, counters })
        },
    )
}

pub(super) fn row(
    shared: &Shared,
    front: &Frontend,
    it: &Counted<'_>,
    clock: Clock,
    legends: bool,
) -> Row {
    let unnamed = || format!("sock-{}", it.bind.id);
    let name = it.bind.name.clone().unwrap_or_else(unnamed);
    let mut row = Row::new(Kind::Listener, &front.proxy, it.bind.id, &name);
    row.set(Field::Scur, it.listener.connections.current());
    row.set(Field::Smax, it.listener.connections.peak());
    row.set(Field::Slim, it.bind.maxconn);
    sums(&mut row, it.counters, COUNTERS);
    row.set(Field::Status, status(shared, front, it.place, clock));
    row.set(Field::Mode, mode(&front.proxy));
    if legends {
        row.set(Field::Addr, server::address(&it.bind.address));
    }
    row
}

pub(super) fn status(
    shared: &Shared,
    front: &Frontend,
    place: usize,
    clock: Clock,
) -> &'static str {
    match standing(shared, front, place, clock.moment()) {
        ListenerState::Open => "OPEN",
        ListenerState::Full => "FULL",
        ListenerState::Waiting => "WAITING",
    }
}
