//! Commands about frontends, limits and counters.

use super::call::{Call, Reply};
use crate::settings::Level;
use engine::state::runtime::{Backend, Server};
use engine::state::worker::Worker;
use proxy::frontend::listener::pausing;
use proxy::frontend::listener::pausing::Switched;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::counters::{Counters, Gauge};

pub(super) fn disable_frontend(call: &mut Call<'_>) -> Reply {
    switch_frontend(call, true, "All sockets are already disabled.")
}

pub(super) fn enable_frontend(call: &mut Call<'_>) -> Reply {
    switch_frontend(call, false, "All sockets are already enabled.")
}

fn switch_frontend(call: &Call<'_>, disabled: bool, already: &str) -> Reply {
    match call.frontend(2) {
        Ok(front) if front.is_shut() => {
            let verb = if disabled { "disable" } else { "enable" };
            Reply::error(format!("Frontend was previously shut down, cannot {verb}."))
        }
        Ok(front) => {
            let switch = if disabled { pausing::pause } else { pausing::resume };
            match switch(call.worker, &front) {
                Switched::Done => Reply::Done,
                Switched::Already => Reply::error(already),
                Switched::Busy(_) => Reply::error(
                    "Failed to resume frontend, check logs for precise cause (port conflict?).",
                ),
            }
        }
        Err(reply) => reply,
    }
}

/// `shutdown frontend <frontend>`: closes the frontend's sockets for the rest of the process.
pub(super) fn shutdown_frontend(call: &mut Call<'_>) -> Reply {
    match call.frontend(2) {
        Ok(front) if proxy::shut_frontend(call.shared(), &front) => Reply::Done,
        Ok(_) => Reply::error("Frontend was already shut down."),
        Err(reply) => reply,
    }
}

pub(super) fn maxconn_frontend(call: &mut Call<'_>) -> Reply {
    let front = match call.frontend(3) {
        Ok(front) => front,
        Err(reply) => return reply,
    };
    match call.word(4).parse::<u32>() {
        Ok(limit) => {
            front.maxconn.store(limit, Relaxed);
            Reply::Done
        }
        Err(_) => Reply::error("Integer value expected."),
    }
}

pub(super) fn maxconn_global(call: &mut Call<'_>) -> Reply {
    let hard = call.shared().settings.maxconn;
    match call.word(3).parse::<u32>() {
        // As many as the process was made for, and no more; 0 brings that back.
        Ok(limit) if hard == 0 || limit <= hard => {
            let limit = if limit == 0 { hard } else { limit };
            call.shared().maxconn.store(limit, Relaxed);
            Reply::Done
        }
        Ok(_) => Reply::error("Value out of range."),
        Err(_) => Reply::error("Expects an integer value."),
    }
}

/// `set rate-limit <setting> global <value>`.
pub(super) fn rate_limit(call: &mut Call<'_>) -> Reply {
    let most = &call.shared().max_rates;
    let limit = match (call.word(2), call.word(3)) {
        ("connections", "global") => &most.connections,
        ("sessions", "global") => &most.sessions,
        ("ssl-sessions", "global") => &most.tls_sessions,
        ("http-compression", "global") => &most.compression,
        _ => return Reply::error(RATE_LIMITS),
    };
    match call.word(4).parse::<u32>() {
        Ok(value) => {
            limit.store(value, Relaxed);
            call.shared().wake_threads();
            Reply::Done
        }
        Err(_) if call.word(4).starts_with('-') => Reply::error("Value out of range."),
        Err(_) => Reply::error("Expects an integer value."),
    }
}

/// The answer when no limit is named.
const RATE_LIMITS: &str = "\
    'set rate-limit' only supports :\n   \
    - 'connections global' to set the per-process maximum connection rate\n   \
    - 'sessions global' to set the per-process maximum session rate\n   \
    - 'ssl-sessions global' to set the per-process maximum SSL session rate\n   \
    - 'http-compression global' to set the per-process maximum compression speed in kB/s";

/// `clear counters [all]`.
pub(super) fn clear_counters(call: &mut Call<'_>) -> Reply {
    let all = call.word(2) == "all";
    if all && call.state.level < Level::Admin {
        return Reply::error("Permission denied");
    }
    let shared = call.shared();
    for thread in 0..shared.settings.threads {
        let reset = |asked: &Worker| asked.thread.scheduler().activity().reset();
        shared.run_on_thread(thread, Box::new(reset));
    }
    shared.totals.clear_peaks();
    for proxy in &shared.proxies {
        if all {
            proxy.h2.front.clear();
            proxy.h2.back.clear();
            proxy.quic.clear();
        }
        if let Some(front) = &proxy.front {
            clear(&front.counters, &front.connections, all);
            for listener in &front.listeners {
                listener.connections.clear_peak();
                listener.counters.iter().for_each(|it| clear_counts(it, all));
            }
        }
        if let Some(back) = &proxy.back {
            clear_back(back, all);
        }
    }
    Reply::Done
}

fn clear_back(back: &Backend, all: bool) {
    clear(&back.counters, &back.sessions, all);
    back.queue.length.clear_peak();
    for server in &back.servers {
        clear_server(server, all);
    }
}

fn clear_server(server: &Server, all: bool) {
    clear(&server.counters, &server.sessions, all);
    server.queue.length.clear_peak();
    if all {
        server.state.clear_check_counts();
    }
}

fn clear(counters: &Counters, gauge: &Gauge, all: bool) {
    gauge.clear_peak();
    clear_counts(counters, all);
}

fn clear_counts(counters: &Counters, all: bool) {
    if all { counters.clear() } else { counters.clear_peaks() }
}
