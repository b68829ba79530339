//! The figures of the dashboard: one object per row of `show stat`, with histograms and the last
//! checks. Never averages: sums and counts since the start leave the window to the browser.

use super::writer::Json;
use crate::settings::Settings;
use crate::stats::field::{COLUMNS, Field};
use crate::stats::{self, Clock, Filter, Kind, Row};
use proxy::counters::Metric;
use proxy::latency::{SPANS, Span};
use proxy::runtime::{Proxy, Server};
use proxy::settings::StatsPage;
use proxy::{Shared, Worker};
use std::sync::atomic::Ordering::Relaxed;

/// The columns shown, under their names in `show stat`.
const SHOWN: &[Field] = &[
    Field::Status,
    Field::Mode,
    Field::Scur,
    Field::Smax,
    Field::Slim,
    Field::Stot,
    Field::Qcur,
    Field::Qmax,
    Field::Bin,
    Field::Bout,
    Field::ReqTot,
    Field::Hrsp1xx,
    Field::Hrsp2xx,
    Field::Hrsp3xx,
    Field::Hrsp4xx,
    Field::Hrsp5xx,
    Field::Dreq,
    Field::Ereq,
    Field::Econ,
    Field::Eresp,
    Field::Wretr,
    Field::Wredis,
    Field::CliAbrt,
    Field::SrvAbrt,
    Field::Weight,
    Field::Uweight,
    Field::Act,
    Field::Bck,
    Field::Lastchg,
    Field::Downtime,
    Field::Chkfail,
    Field::Chkdown,
    Field::CheckStatus,
    Field::CheckCode,
    Field::CheckDesc,
    Field::CheckDuration,
    Field::LastChk,
    Field::Addr,
];

/// Everything, as of now.
pub(super) fn write(worker: &Worker, settings: &Settings, page: &StatsPage) -> String {
    let shared = &worker.shared;
    let clock = Clock::of(worker);
    let mut json = Json::default();
    json.object(|json| {
        process(json, shared, settings, page, clock);
        json.key("proxies").array(|json| proxies(json, shared, page, clock));
        json.key("tables").array(|json| tables(json, shared, page));
    });
    json.finish()
}

fn process(json: &mut Json, shared: &Shared, settings: &Settings, page: &StatsPage, clock: Clock) {
    let version = if page.hide_version { "" } else { settings.version.as_str() };
    let uptime = clock.ms.saturating_sub(shared.started / 1_000_000) / 1_000;
    json.key("ms").plain(clock.ms);
    json.key("version").text(version);
    json.key("node").text(&shared.settings.node);
    json.key("pid").plain(shared.settings.pid);
    json.key("threads").plain(shared.settings.threads);
    json.key("uptime").plain(uptime);
    json.key("histograms").plain(shared.settings.histograms);
    json.key("maxconn").plain(shared.maxconn.load(Relaxed));
    json.key("connections").plain(shared.connections.current());
    json.key("requests").plain(shared.totals.sum(Metric::Requests));
    json.key("connected").plain(shared.totals.sum(Metric::Connections));
}

fn proxies(json: &mut Json, shared: &Shared, page: &StatsPage, clock: Clock) {
    let names = page.scope.clone();
    let filter = Filter { legends: page.show_legends, names, ..Filter::default() };
    let rows = stats::rows(shared, clock, &filter);
    for group in rows.chunk_by(|one, next| one.proxy == next.proxy) {
        let name = group[0].get(Field::Pxname).text();
        let proxy = shared.proxies.iter().find(|proxy| proxy.settings.id == group[0].proxy);
        let Some(proxy) = proxy else { continue };
        json.object(|json| {
            json.key("name").text(name);
            json.key("id").plain(group[0].proxy);
            json.key("rows").array(|json| {
                group.iter().for_each(|row| object(json, proxy, row, clock));
            });
        });
    }
}

fn object(json: &mut Json, proxy: &Proxy, row: &Row, clock: Clock) {
    let server = server_of(proxy, row);
    json.object(|json| {
        json.key("kind").text(row.kind.name());
        json.key("name").text(row.get(Field::Svname).text());
        for field in SHOWN.iter().filter(|field| !row.get(**field).is_empty()) {
            json.key(COLUMNS[*field as usize].name).value(row.get(*field));
        }
        json.key("latency").object(|json| latencies(json, proxy, row.kind, server));
        if let Some(server) = server.filter(|server| server.settings.balance.checked) {
            json.key("checks").array(|json| checks(json, server, clock));
        }
    });
}

fn server_of<'p>(proxy: &'p Proxy, row: &Row) -> Option<&'p Server> {
    let back = proxy.back.as_ref().filter(|_| row.kind == Kind::Server)?;
    back.servers.iter().find(|it| it.settings.balance.id == row.id)
}

/// Per span the buckets that hold anything: lower edge and width in microseconds, and the count.
fn latencies(json: &mut Json, proxy: &Proxy, kind: Kind, server: Option<&Server>) {
    for span in SPANS {
        let summary = stats::times::summary(proxy, kind, server, span);
        let Some(summary) = summary.filter(|summary| summary.count() > 0) else { continue };
        json.key(name(span)).array(|json| {
            for (low, width, count) in summary.buckets() {
                [low, width, count].iter().for_each(|number| json.plain(number));
            }
        });
    }
}

fn name(span: Span) -> &'static str {
    match span {
        Span::Handshake => "handshake",
        Span::Queue => "queue",
        Span::Connect => "connect",
        Span::Response => "response",
        Span::Total => "total",
    }
}

/// The last checks, oldest first: age in seconds, code, whether it passed, how long it took.
fn checks(json: &mut Json, server: &Server, clock: Clock) {
    for past in server.state.check_history() {
        json.array(|json| {
            json.plain(clock.ms.saturating_sub(past.at_ms) / 1_000);
            json.text(past.status.code());
            json.plain(past.status.verdict() != balance::Verdict::Failed);
            json.plain(past.duration_ms);
        });
    }
}

fn tables(json: &mut Json, shared: &Shared, page: &StatsPage) {
    for table in shared.tables.iter().filter(|table| super::shows(page, table.name())) {
        json.object(|json| {
            json.key("name").text(table.name());
            json.key("type").text(table.kind().name());
            json.key("size").plain(table.settings().size);
            json.key("used").plain(table.used());
        });
    }
}
