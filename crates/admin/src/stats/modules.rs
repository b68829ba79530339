//! The columns behind HAProxy's fixed ones: those of its modules, then Weir's own.
//!
//! In CSV they follow the `-` that closes the fixed columns, like HAProxy's modules, so that tools
//! find their columns by name and by position.

use super::field::{Column, column};
use super::times::Times;
use super::{Kind, Value, is_http};
use engine::state::runtime::{Backend, Frontend, ProxySection, Server};
use transport::h2::stats::{FIELDS, Field};
use transport::quic_stats::{H3_FIELDS, QUIC_FIELDS, QuicField};
use transport::stats::counters::{Counters, Metric};
use transport::stats::latency::Span;

/// Columns that belong together.
#[derive(Debug)]
pub struct Module {
    /// Its name on the statistics page.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Appends a value for each column; no value if the module does not apply to the subject.
    fill: fn(&Subject<'_>, &mut Vec<Value>),
}

/// The subject of a row.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) proxy: &'a ProxySection,
    pub(crate) kind: Kind,
    pub(crate) server: Option<&'a Server>,
    pub(crate) counters: &'a Counters,
    /// For a backend, the times of its servers.
    pub(crate) servers: Option<&'a Times>,
}

/// All modules, in order.
pub const MODULES: [Module; 6] = [
    Module { name: "ssl", columns: &SSL, fill: ssl },
    Module { name: "h2", columns: &H2, fill: h2 },
    Module { name: "h1", columns: &H1, fill: h1 },
    Module { name: "h3", columns: &H3, fill: h3 },
    Module { name: "quic", columns: &QUIC, fill: quic },
    Module { name: "latency", columns: &LATENCY, fill: latency },
];

/// All columns, in order.
pub fn columns() -> impl Iterator<Item = &'static Column> {
    MODULES.iter().flat_map(|module| module.columns)
}

/// The values of all columns.
pub(super) fn values(subject: &Subject<'_>) -> Vec<Value> {
    let mut values = Vec::with_capacity(columns().count());
    for module in &MODULES {
        let end = values.len() + module.columns.len();
        (module.fill)(subject, &mut values);
        values.resize(end, Value::Empty);
    }
    values
}

const SSL: [Column; 3] = [
    column("ssl_sess", "MCP", "Total number of ssl sessions established"),
    column("ssl_reused_sess", "MCP", "Total number of ssl sessions reused"),
    column("ssl_failed_handshake", "MCP", "Total number of failed handshake"),
];

fn ssl(it: &Subject<'_>, values: &mut Vec<Value>) {
    let metrics = [Metric::TlsSessions, Metric::TlsReuses, Metric::TlsFailures];
    values.extend(metrics.map(|metric| Value::U64(it.counters.sum(metric))));
}

const H2: [Column; FIELDS.len()] = {
    let mut columns = [column("", "", ""); FIELDS.len()];
    let mut at = 0;
    while at < FIELDS.len() {
        let tags = match FIELDS[at].0 {
            Field::OpenConnections | Field::OpenStreams => "MGP",
            _ => "MCP",
        };
        columns[at] = column(FIELDS[at].1, tags, FIELDS[at].2);
        at += 1;
    }
    columns
};

fn h2(it: &Subject<'_>, values: &mut Vec<Value>) {
    let stats = match it.kind {
        Kind::Frontend => &it.proxy.h2.front,
        Kind::Backend => &it.proxy.h2.back,
        Kind::Server | Kind::Listener => return,
    };
    values.extend(FIELDS.iter().map(|(field, ..)| {
        Value::U64(match (field, it.kind) {
            (Field::OpenStreams, Kind::Frontend) if it.proxy.quic.connections()[1] == 0 => {
                open(it.counters, Metric::StreamRequests, Metric::StreamsEnded)
            }
            (field, _) => stats.get(*field),
        })
    }));
}

const H3: [Column; H3_FIELDS.len()] = {
    let mut columns = [column("", "", ""); H3_FIELDS.len()];
    let mut at = 0;
    while at < H3_FIELDS.len() {
        columns[at] = column(H3_FIELDS[at].0, "MCP", H3_FIELDS[at].1);
        at += 1;
    }
    columns
};

fn h3(it: &Subject<'_>, values: &mut Vec<Value>) {
    if it.kind == Kind::Frontend {
        values.extend(it.proxy.quic.h3().map(Value::U64));
    }
}

const QUIC: [Column; QUIC_FIELDS.len()] = {
    let mut columns = [column("", "", ""); QUIC_FIELDS.len()];
    let mut at = 0;
    while at < QUIC_FIELDS.len() {
        let tags = if at == QuicField::HalfOpen as usize { "MGP" } else { "MCP" };
        columns[at] = column(QUIC_FIELDS[at].0, tags, QUIC_FIELDS[at].1);
        at += 1;
    }
    columns
};

fn quic(it: &Subject<'_>, values: &mut Vec<Value>) {
    if it.kind == Kind::Frontend {
        values.extend(it.proxy.quic.quic().map(Value::U64));
    }
}

const H1: [Column; 8] = [
    column("h1_open_connections", "MGP", "Count of currently open connections"),
    column("h1_open_streams", "MGP", "Count of currently open streams"),
    column("h1_total_connections", "MCP", "Total number of connections"),
    column("h1_total_streams", "MCP", "Total number of streams"),
    column("h1_bytes_in", "MCP", "Total number of bytes received"),
    column("h1_bytes_out", "MCP", "Total number of bytes send"),
    column("h1_spliced_bytes_in", "MCP", "Total number of bytes received using kernel splicing"),
    column("h1_spliced_bytes_out", "MCP", "Total number of bytes sendusing kernel splicing"),
];

fn h1(it: &Subject<'_>, values: &mut Vec<Value>) {
    let (front, back) = (it.proxy.front.as_ref(), it.proxy.back.as_ref());
    let numbers = match (it.kind, front, back) {
        (Kind::Server | Kind::Listener, ..) => return,
        _ if !is_http(it.proxy) => [0; 8],
        (Kind::Frontend, Some(front), _) => h1_front(front),
        (Kind::Backend, _, Some(back)) => h1_back(back),
        _ => return,
    };
    values.extend(numbers.map(Value::U64));
}

/// The counters of clients, less the shares of HTTP/2 and HTTP/3.
fn h1_front(front: &Frontend) -> [u64; 8] {
    let (counters, h2) = (&front.counters, &front.proxy.h2.front);
    let sum = |metric| counters.sum(metric);
    let connections = u64::from(front.connections.current());
    let requests = counters.since_start(Metric::Requests);
    let streams = counters.since_start(Metric::StreamRequests);
    let ended = counters.since_start(Metric::Ended);
    let [quic_open, quic_total] = front.proxy.quic.connections();
    [
        connections.saturating_sub(h2.get(Field::OpenConnections) + quic_open),
        requests.saturating_sub(streams).saturating_sub(ended),
        sum(Metric::Connections).saturating_sub(h2.get(Field::TotalConnections) + quic_total),
        sum(Metric::Requests).saturating_sub(sum(Metric::StreamRequests)),
        sum(Metric::BytesIn).saturating_sub(sum(Metric::StreamBytesIn)),
        sum(Metric::BytesOut).saturating_sub(sum(Metric::StreamBytesOut)),
        sum(Metric::SplicedUp),
        sum(Metric::SplicedDown),
    ]
}

/// The counters of servers, deleted ones included, less the share of HTTP/2.
fn h1_back(back: &Backend) -> [u64; 8] {
    let mut all = [0; 6];
    let servers = (0..back.servers.slots()).map(|slot| &back.servers[slot]);
    for server in servers {
        let sum = |metric| server.counters.sum(metric);
        let less = |whole, share| sum(whole).saturating_sub(sum(share));
        let made = sum(Metric::Connects);
        let own = [
            u64::from(server.used.current()),
            u64::from(server.sessions.current()),
            made,
            (made + sum(Metric::Reuses)).saturating_sub(sum(Metric::StreamRequests)),
            less(Metric::BytesOut, Metric::StreamBytesOut),
            less(Metric::BytesIn, Metric::StreamBytesIn),
        ];
        all.iter_mut().zip(own).for_each(|(number, own)| *number += own);
    }
    let h2 = |field| back.proxy.h2.back.get(field);
    let [connections, streams, made, total, bytes_in, bytes_out] = all;
    [
        // A stream counts as a connection of its server.
        connections.saturating_sub(h2(Field::OpenStreams)),
        streams.saturating_sub(h2(Field::OpenStreams)),
        made.saturating_sub(h2(Field::TotalConnections)),
        total,
        bytes_in,
        bytes_out,
        back.counters.sum(Metric::SplicedDown),
        back.counters.sum(Metric::SplicedUp),
    ]
}

/// The number begun and not ended.
fn open(counters: &Counters, begun: Metric, ended: Metric) -> u64 {
    counters.since_start(begun).saturating_sub(counters.since_start(ended))
}

/// The quantiles that are shown.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

const LATENCY: [Column; 15] = [
    column("weir_handshake_p50", "MaP", "Microseconds of handshakes of clients, median"),
    column("weir_handshake_p90", "MaP", "Microseconds of handshakes of clients, 90 %"),
    column("weir_handshake_p99", "MaP", "Microseconds of handshakes of clients, 99 %"),
    column("weir_qtime_p50", "MaP", "Microseconds in queues, median"),
    column("weir_qtime_p90", "MaP", "Microseconds in queues, 90 %"),
    column("weir_qtime_p99", "MaP", "Microseconds in queues, 99 %"),
    column("weir_ctime_p50", "MaP", "Microseconds to connect, median"),
    column("weir_ctime_p90", "MaP", "Microseconds to connect, 90 %"),
    column("weir_ctime_p99", "MaP", "Microseconds to connect, 99 %"),
    column("weir_rtime_p50", "MaP", "Microseconds to respond, median"),
    column("weir_rtime_p90", "MaP", "Microseconds to respond, 90 %"),
    column("weir_rtime_p99", "MaP", "Microseconds to respond, 99 %"),
    column("weir_ttime_p50", "MaP", "Microseconds in all, median"),
    column("weir_ttime_p90", "MaP", "Microseconds in all, 90 %"),
    column("weir_ttime_p99", "MaP", "Microseconds in all, 99 %"),
];

/// The spans, in the order of the columns.
const TIMES: [Span; 5] = [Span::Handshake, Span::Queue, Span::Connect, Span::Response, Span::Total];

fn latency(it: &Subject<'_>, values: &mut Vec<Value>) {
    for span in TIMES {
        let Some(summary) = it.times(span) else { return };
        values.extend(SHARES.map(|share| Value::from(summary.quantile(share))));
    }
}

#[cfg(test)]
mod tests {
    use crate::stats::{Clock, Filter, csv, rows, typed};
    use crate::testing;
    use transport::stats::counters::Metric;
    use transport::stats::latency::Span;

    #[test]
    fn modules_stand_behind_the_fixed_columns() {
        let shared = testing::shared();
        let (front, back) = (&shared.proxies[0].front, &shared.proxies[1].back);
        let (front, back) = (front.as_ref().unwrap(), back.as_ref().unwrap());
        front.counters.of(0).add(Metric::TlsSessions, 7);
        front.counters.of(0).add(Metric::StreamRequests, 1);
        front.counters.of(0).add(Metric::Ended, 1);
        (1..=100).for_each(|n| {
            back.servers[0].counters.latencies.record(0, Span::Total, 1, n * 1_000_001)
        });
        let clock = Clock { second: 1_000, of_second: 0, ms: 3_000 };
        let filter = Filter { modules: true, ..Filter::default() };
        let rows = rows(&shared, clock, &filter);
        let mut out = String::new();
        csv::write(&rows, &mut out);
        let mut lines = out.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let lines: Vec<_> = lines.collect();
        assert!(lines.iter().all(|line| line.len() == header.len()), "{out}");
        let at = |name: &str| header.iter().position(|it| *it == name).unwrap();
        let names = "ssl_sess ssl_reused_sess ssl_failed_handshake h2_headers_rcvd \
                     h2_data_rcvd h2_settings_rcvd h2_rst_stream_rcvd h2_goaway_rcvd \
                     h2_detected_conn_protocol_errors h2_detected_strm_protocol_errors h2_rst_stream_resp h2_goaway_resp \
                     h2_open_connections h2_backend_open_streams h2_total_connections h2_backend_total_streams \
                     h1_open_connections h1_open_streams h1_total_connections h1_total_streams \
                     h1_bytes_in h1_bytes_out h1_spliced_bytes_in h1_spliced_bytes_out";
        let first = at("-") + 1;
        let names: Vec<&str> = names.split(' ').collect();
        assert_eq!(header[first..][..names.len()], names);
        let value = |line: usize, name: &str| lines[line][at(name)];
        for name in names {
            assert_ne!(value(0, name), "", "{name}");
        }
        assert_eq!(value(0, "ssl_sess"), "7");
        assert_eq!((value(0, "h1_total_streams"), value(0, "h1_open_streams")), ("2", "1"));
        assert_eq!((value(0, "h2_headers_rcvd"), value(1, "h2_headers_rcvd")), ("0", ""));
        for line in [1, 5] {
            let p99: f64 = value(line, "weir_ttime_p99").parse().unwrap();
            assert!((p99 / 99_000.0 - 1.0).abs() < 0.02, "{p99}");
        }
        assert_eq!((value(5, "h1_total_streams"), value(5, "weir_qtime_p50")), ("3", ""));
        let mut out = String::new();
        typed::write(&rows, true, &mut out);
        let line = "F.2.0.101.ssl_sess.1:MCP:u64:7:\"Total number of ssl sessions established\"\n";
        assert!(out.contains(line), "{out}");
    }
}
