//! The line of a client's connection that never became a session (manual sections 4.2
//! `error-log-format` and 8.2.5).

use engine::state::figures::wall;
use engine::state::session::client::Client;
use observability::logging::log;
use observability::telemetry::accounting;
use sample::calendar::Date;
use settings::Frontend;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

/// Sends the line, unless the client has sent nothing and `option dontlognull` is set, or the
/// format is the default one, whose line is for sessions (as in HAProxy).
pub(super) fn unborn(client: &Client, silent: bool) {
    let (worker, settings) = (&client.worker, &client.proxy.settings);
    let front = &client.proxy.front.settings;
    let default_format = settings.logs_at_start && settings.error_log_format.is_none();
    if default_format || front.dont_log_null && silent {
        return;
    }
    let level = if front.separate_errors { log::level::ERR } else { log::level::INFO };
    let line = match &settings.error_log_format {
        Some(format) => {
            let mut line = Vec::with_capacity(256);
            accounting::show_unborn(client, |_| {}, |view| format.write(view, &mut line));
            line
        }
        None => plain(client, front).into_bytes(),
    };
    front_lines(client);
    log::send(worker, &settings.logs, level, &line);
}

/// Counts the line (`%lc`).
fn front_lines(client: &Client) {
    client.proxy.front.lines.fetch_add(1, Relaxed);
}

/// The short default line.
fn plain(client: &Client, front: &Frontend) -> String {
    let mut line = String::with_capacity(128);
    let bind = front.binds.get(client.bind as usize);
    // The source address is that of the header if there was one, as HAProxy does it: a failed
    // handshake behind a header belongs to the client, not to the proxy in front. Writing to a
    // string cannot fail.
    let _ = match client.rare.source.or(client.peer) {
        Some(SocketAddr::V4(peer)) => write!(line, "{peer}"),
        Some(SocketAddr::V6(peer)) => write!(line, "{}:{}", peer.ip(), peer.port()),
        None => write!(line, "unix:{}", client.bind + 1),
    };
    let _ = write!(line, " [{}] {}/", accepted(client), client.proxy.settings.name);
    let _ = match bind.and_then(|bind| bind.name.as_ref()) {
        Some(name) => write!(line, "{name}"),
        None => write!(line, "{}", bind.map_or(client.bind + 1, |bind| bind.id)),
    };
    let _ = write!(line, ": {}", client.rare.trouble.map_or("", |(_, words)| words));
    line
}

/// The moment at which the connection was accepted, in the format of log lines.
fn accepted(client: &Client) -> String {
    let worker = &client.worker;
    let ago = worker.thread.nanos().saturating_sub(client.since);
    let at = wall(worker.thread.wall().saturating_sub(ago));
    let mut date = Vec::with_capacity(32);
    Date::new(at.secs, worker.local_offset()).write_clf(&mut date);
    format!("{}.{:03}", String::from_utf8_lossy(&date), at.micros / 1_000)
}
