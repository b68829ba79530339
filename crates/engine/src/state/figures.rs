//! Counts of proxies and servers as samples and health checks read them.

use crate::state::runtime::{Backend, ProxySection};
use crate::state::worker::Worker;
use sample::{Count, ServerCount, WallTime};
use table::DataType;
use transport::stats::counters::{Counters, Event};

fn rate(worker: &Worker, counters: &Counters, event: Event) -> Option<i64> {
    let (second, ms) = (worker.second(), (worker.thread.wall() / 1_000_000) % 1000);
    Some(counters.rate(event, second, ms as u32).into())
}

/// A counter of a proxy.
pub fn count(worker: &Worker, proxy: &ProxySection, count: Count) -> Option<i64> {
    let (front, back) = (proxy.front.as_ref(), proxy.back.as_ref());
    match count {
        Count::BackendConnections => Some(back?.sessions.current().into()),
        Count::BackendFree | Count::ConnectionSlots => Some(free_places(back?)),
        Count::BackendSessionRate => rate(worker, &back?.counters, Event::Session),
        Count::UsableServers => {
            let usable = back?.balancer.usable();
            let standing = if usable.active > 0 { usable.active } else { usable.backup };
            Some(standing.into())
        }
        Count::Queue => Some(queued(back?)),
        Count::AverageQueue => {
            let usable = i64::from(back?.balancer.usable().active).max(1);
            Some((queued(back?) + usable - 1) / usable)
        }
        Count::FrontendConnections => Some(front?.connections.current().into()),
        Count::FrontendRequestRate => rate(worker, &front?.counters, Event::Request),
        Count::FrontendSessionRate => rate(worker, &front?.counters, Event::Session),
    }
}

/// A counter of a server of a backend.
pub fn server_count(
    worker: &Worker,
    back: &Backend,
    count: ServerCount,
    name: &str,
) -> Option<i64> {
    let server = back.servers.iter().find(|server| server.state.name() == name)?;
    let load = server.state.load();
    Some(match count {
        ServerCount::Connections => load.served().into(),
        ServerCount::Free => match load.maxconn() {
            0 => -1,
            limit => limit.saturating_sub(load.served()).into(),
        },
        ServerCount::Up => server.state.accepts_persistent().into(),
        ServerCount::Queue => server.queue.len().into(),
        ServerCount::SessionRate => {
            let ms = (worker.thread.wall() / 1_000_000 % 1000) as u32;
            server.counters.rate(Event::Session, worker.second(), ms).into()
        }
        ServerCount::Weight => server.state.shown_weight().into(),
        ServerCount::InitialWeight => server.settings.balance.weight.into(),
        ServerCount::UserWeight => server.state.user_weight().into(),
    })
}

/// Free places over the usable servers of a backend; -1 when one has no limit.
fn free_places(back: &Backend) -> i64 {
    let mut free = 0;
    for server in back.servers.iter().filter(|server| server.state.is_usable()) {
        match server.state.load().maxconn() {
            0 => return -1,
            limit => free += i64::from(limit.saturating_sub(server.state.load().served())),
        }
    }
    free
}

fn queued(back: &Backend) -> i64 {
    let servers: i64 = back.servers.iter().map(|server| i64::from(server.queue.len())).sum();
    servers + i64::from(back.queue.len())
}

/// A date in nanoseconds since 1970 as logs split it.
pub fn wall(nanos: u64) -> WallTime {
    WallTime { secs: (nanos / 1_000_000_000) as i64, micros: (nanos / 1_000 % 1_000_000) as u32 }
}

/// The counters of stick tables for a server's response: an error of the client, a failure of the
/// server, or none.
pub fn blamed(status: u16) -> &'static [DataType] {
    match status {
        400..500 => DataType::ERROR,
        501 | 505 => &[],
        500..600 => DataType::FAILURE,
        _ => &[],
    }
}
