//! The row of a proxy's server side.

use super::field::Field;
use super::front::{CACHE, COMPRESSION, RESPONSES, sums};
use super::server::{SHARED, times};
use super::{Clock, Filter, Kind, Row, States, is_http, mode};
use engine::state::runtime::{Backend, Server};
use transport::stats::counters::{Event, Metric};

pub(super) fn row(back: &Backend, clock: Clock, filter: &Filter) -> Row {
    let proxy = &back.proxy;
    let mut row = Row::new(Kind::Backend, proxy, 0, "BACKEND");
    let counters = &back.counters;
    row.set(Field::Qcur, back.queue.len());
    row.set(Field::Qmax, back.queue.length.peak());
    row.set(Field::Scur, back.sessions.current());
    row.set(Field::Smax, back.sessions.peak());
    row.set(Field::Slim, back.full.load(std::sync::atomic::Ordering::Relaxed));
    row.set(Field::Dreq, counters.sum(Metric::DeniedRequests));
    sums(&mut row, counters, SHARED);
    sums(&mut row, counters, COMPRESSION);
    times(&mut row, counters);
    row.set(Field::Rate, clock.rate(counters, Event::Session));
    row.set(Field::RateMax, counters.peak(Event::Session));
    row.set(Field::Lastsess, clock.last_session(counters));
    row.set(Field::Mode, mode(proxy));
    if is_http(proxy) {
        sums(&mut row, counters, RESPONSES);
        row.set(Field::ReqTot, counters.sum(Metric::Requests));
        sums(&mut row, counters, CACHE);
    }
    state(&mut row, back, clock, filter.states);
    if filter.legends {
        let settings = &back.settings;
        let cookie = settings.cookie.as_ref();
        row.set(Field::Cookie, cookie.map(|it| String::from_utf8_lossy(&it.name).into_owned()));
        let name = settings.algorithm_name.split_whitespace().next().unwrap_or("roundrobin");
        row.set(Field::Algo, name);
    }
    row
}

fn state(row: &mut Row, back: &Backend, clock: Clock, shown: States) {
    let usable = back.balancer.usable();
    let up = back.servers.is_empty() || usable.active + usable.backup > 0;
    let status = if up { "UP" } else { "DOWN" };
    // If servers are left out, the number of servers is shown instead.
    row.set(
        Field::Status,
        match shown {
            States::All => status.to_owned(),
            _ => format!(
                "{status} ({}/{})",
                usable.active + usable.backup,
                back.servers.iter().count()
            ),
        },
    );
    row.set(Field::Act, usable.active);
    row.set(Field::Bck, usable.backup);
    row.set(Field::Weight, total(back, |server| server.state.shown_weight()));
    row.set(Field::Uweight, total(back, |server| server.state.user_weight()));
    row.set(Field::Chkdown, back.availability.went_down());
    let changed = back.changed_ms.load(std::sync::atomic::Ordering::Relaxed);
    row.set(Field::Lastchg, clock.seconds_since(changed));
    row.set(Field::AggServerCheckStatus, 0u32);
    if !back.servers.is_empty() {
        let downtime = back.downtime_ms(clock.ms) / 1_000;
        row.set(Field::Downtime, u32::try_from(downtime).unwrap_or(u32::MAX));
    }
}

/// The sum over the servers in use: the active ones, else the backup ones.
fn total(back: &Backend, weight: impl Fn(&Server) -> u32) -> u32 {
    let backup = back.balancer.usable().on_backup();
    let takes_part = |it: &&Server| it.state.is_usable() && it.settings.balance.backup == backup;
    back.servers.iter().filter(takes_part).map(weight).sum()
}
