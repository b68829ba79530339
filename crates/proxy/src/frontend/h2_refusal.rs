//! Log lines of HTTP/2 streams and connections that are refused before there is a transaction.
//!
//! These are streams with malformed requests, and connections that break the protocol or exceed a
//! limit of abuse.
//!
//! The machine only counts. A connection ends after a few such streams, so there are few lines, and
//! no data is kept for them.

use engine::state::figures::wall;
use engine::state::session::client::Client;
use mux::h2::Counters;
use observability::logging::log;
use observability::telemetry::accounting;
use sample::TransactionRecord;
use std::sync::atomic::Ordering::Relaxed;

/// Writes a line for each stream that was refused, and one for a connection that was ended.
#[cold]
pub(crate) fn report(client: &Client, counters: &Counters) {
    let settings = &client.proxy.settings;
    let front = &client.proxy.front.settings;
    if settings.logs.targets.is_empty() || settings.log_format.is_none() {
        return;
    }
    let level = if front.separate_errors { log::level::ERR } else { log::level::INFO };
    for _ in 0..counters.refused + counters.connection_errors {
        write_line(client, level);
    }
}

/// A line with nothing but time and client address: malformed input is input, so that `option
/// dontlognull` does not suppress the line.
fn write_line(client: &Client, level: u8) {
    let (worker, settings) = (&client.worker, &client.proxy.settings);
    let now = wall(worker.thread.wall());
    let (mut line, mut data) = (worker.take_scratch(), worker.take_scratch());
    let adapt = |record: &mut TransactionRecord| {
        (record.accepted, record.requested) = (now, now);
        (record.handshake_ms, record.active_ms, record.total_ms, record.user_ms) = (0, 0, 0, 0);
    };
    accounting::show_unborn(client, adapt, |view| {
        if let Some(format) = settings.error_log_format.as_ref().or(settings.log_format.as_ref()) {
            format.write(view, &mut line);
        }
        match &settings.log_format_sd {
            Some(format) => format.write(view, &mut data),
            None => data.push(b'-'),
        }
    });
    client.proxy.front.lines.fetch_add(1, Relaxed);
    log::send_structured(worker, &settings.logs, level, &data, &line);
    worker.give_scratch(line);
    worker.give_scratch(data);
}
