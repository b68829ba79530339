//! The listeners of all proxies and the runtime sockets, with their states.

use super::writer::Json;
use crate::settings::Settings;
use crate::stats::{Clock, listener_address, listener_state};
use engine::state::runtime::{Frontend, ProxySection};
use proxy::Worker;
use settings::{Bind, StatsPage};
use std::sync::Arc;

/// The progress of the output, a proxy per piece.
pub(super) struct Listeners {
    settings: Arc<Settings>,
    page: StatsPage,
    json: Json,
    begun: bool,
    next: usize,
}

impl Listeners {
    pub(super) fn new(settings: &Arc<Settings>, page: &StatsPage) -> Self {
        let (settings, page) = (settings.clone(), page.clone());
        Self { settings, page, json: Json::default(), begun: false, next: 0 }
    }

    /// Appends the next piece; `false`: it was the last one.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let Self { settings, page, json, begun, next } = self;
        let mut more = true;
        json.onto(out, |json| {
            if !std::mem::replace(begun, true) {
                json.open('{');
                json.key("trusted").plain(super::is_trusted(page));
                json.key("rows").open('[');
                return;
            }
            let Some(proxy) = worker.shared.proxies.get(*next) else {
                json.close(']');
                json.key("sockets").array(|json| sockets(json, settings, page));
                json.close('}');
                more = false;
                return;
            };
            *next += 1;
            if super::is_in_scope(page, proxy.name()) && !proxy.settings.disabled {
                rows(json, worker, proxy, page);
            }
        });
        more
    }
}

fn rows(json: &mut Json, worker: &Worker, proxy: &ProxySection, page: &StatsPage) {
    let Some(front) = &proxy.front else { return };
    for (place, bind) in front.settings.binds.iter().enumerate() {
        json.object(|json| row(json, worker, (front, place, bind), page));
    }
}

fn row(
    json: &mut Json,
    worker: &Worker,
    (front, place, bind): (&Frontend, usize, &Bind),
    page: &StatsPage,
) {
    json.key("proxy").text(front.proxy.name());
    json.key("name").text(bind.name.as_deref().unwrap_or(""));
    json.key("id").plain(bind.id);
    if super::is_trusted(page) || page.show_legends {
        json.key("address").text(&listener_address(&bind.address));
    }
    json.key("state").text(listener_state(&worker.shared, front, place, Clock::of(worker)));
    let connections = front.listeners.get(place).map(|it| &it.connections);
    json.key("connections").plain(connections.map_or(0, |it| it.current()));
    json.key("peak").plain(connections.map_or(0, |it| it.peak()));
    json.key("limit").plain(bind.maxconn);
    json.key("tls").plain(bind.preamble.tls.is_some() || bind.quic.is_some());
    json.key("quic").plain(bind.quic.is_some());
    json.key("threads").plain(match bind.threads.len() {
        0 => worker.shared.settings.threads,
        some => some,
    });
}

/// The runtime sockets, on a page that shows everything.
fn sockets(json: &mut Json, settings: &Settings, page: &StatsPage) {
    if !super::is_whole(page) {
        return;
    }
    for socket in settings.sockets.iter().filter(|socket| !socket.of_master) {
        json.object(|json| {
            json.key("address").text(&socket.address);
            json.key("level").text(socket.level.name());
        });
    }
}
