//! The reports on proxies and servers that a signal asks for, in HAProxy's words.

use engine::state::runtime::{Backend, Proxy, ProxySection};
use engine::state::worker::Worker;
use observability::logging::log;
use observability::logging::log::level;
use transport::stats::counters::Metric;

/// SIGHUP: one line per server and proxy.
pub(crate) fn states(worker: &Worker) {
    complain(worker, "SIGHUP received, dumping servers states.");
    for proxy in &worker.shared.proxies {
        let name = proxy.name();
        record(
            worker,
            proxy,
            &format!("SIGHUP received, dumping servers states for proxy {name}."),
        );
        let servers = proxy.back.iter().flat_map(|back| servers(name, back));
        for line in servers.chain([proxy_state(proxy)]) {
            complain(worker, &line);
            record(worker, proxy, &line);
        }
    }
}

/// The soft stop begins: one line per proxy.
pub(crate) fn stopped(worker: &Worker) {
    for proxy in worker.shared.proxies.iter().filter(|proxy| !proxy.settings.disabled) {
        let [front, back] = totals(proxy);
        let name = proxy.name();
        let line = format!("Proxy {name} stopped (cumulated conns: FE: {front}, BE: {back}).");
        complain(worker, &line);
        record(worker, proxy, &line);
    }
}

fn servers<'a>(proxy: &'a str, back: &'a Backend) -> impl Iterator<Item = String> + 'a {
    back.servers.iter().map(move |server| {
        let state = if server.state.accepts_persistent() { "UP" } else { "DOWN" };
        format!(
            "SIGHUP: Server {proxy}/{} is {state}. Conn: {} act, {} pend, {} tot.",
            server.state.name(),
            server.sessions.current(),
            server.queue.len(),
            server.counters.sum(Metric::Sessions),
        )
    })
}

fn proxy_state(proxy: &ProxySection) -> String {
    let usable = proxy.back.as_ref().map(|back| (back.balancer.usable(), back.servers.len()));
    let state = match usable {
        None | Some((_, 0)) => "has no servers.".to_owned(),
        Some((usable, _)) if usable.active > 0 => format!(
            "has {} active servers and {} backup servers available.",
            usable.active, usable.backup
        ),
        Some((usable, _)) if usable.backup > 0 => "is running on backup servers !".to_owned(),
        Some(_) => "has no server available !".to_owned(),
    };
    let front = proxy.front.as_ref().map_or(0, |front| front.connections.current());
    let back = proxy.back.as_ref().map_or(0, |back| back.sessions.current());
    let unassigned = proxy.back.as_ref().map_or(0, |back| back.queue.len());
    let servers = proxy.back.iter().flat_map(|back| &back.servers);
    let pending = unassigned + servers.map(|server| server.queue.len()).sum::<u32>();
    let [front_total, back_total] = totals(proxy);
    format!(
        "SIGHUP: Proxy {} {state} Conn: act(FE+BE): {front}+{back}, {pending} pend \
         ({unassigned} unass), tot(FE+BE): {front_total}+{back_total}.",
        proxy.name()
    )
}

/// Connections of clients, and sessions of the server side, since the start.
fn totals(proxy: &ProxySection) -> [u64; 2] {
    let front = proxy.front.as_ref().map_or(0, |front| front.counters.sum(Metric::Connections));
    let back = proxy.back.as_ref().map_or(0, |back| back.counters.sum(Metric::Sessions));
    [front, back]
}

fn complain(worker: &Worker, text: &str) {
    log::complain(worker, "[WARNING]", text);
}

fn record(worker: &Worker, proxy: &Proxy, text: &str) {
    log::send(worker, &proxy.settings.logs, level::WARNING, text.as_bytes());
}
