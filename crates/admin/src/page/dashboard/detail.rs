//! All figures of one proxy, or of one of its servers, with percentiles and the last checks.

use super::writer::Json;
use crate::stats::field::{COLUMNS, Field};
use crate::stats::modules::Subject;
use crate::stats::{Clock, Filter, Row, Walk};
use engine::state::runtime::Server;
use proxy::{Shared, Worker};
use settings::StatsPage;
use transport::stats::latency::{SPANS, Span};

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
    Field::AgentStatus,
    Field::Throttle,
    Field::Tracked,
    Field::Algo,
    Field::Cookie,
    Field::Addr,
];

/// Bits of the kinds of rows: frontends, backends and listeners; servers.
const SIDES: u32 = 0b1011;
const SERVERS: u32 = 0b0100;
/// Shares of the percentiles.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

/// The progress of the output.
pub(super) struct Detail {
    filter: Filter,
    /// The name of the server that is wanted; `None` for the proxy itself.
    server: Option<String>,
    shown: bool,
    walk: Walk,
    json: Json,
    begun: bool,
}

impl Detail {
    pub(super) fn new(page: &StatsPage, proxy: String, server: Option<String>) -> Self {
        let shown = page.scope.is_empty() || page.scope.contains(&proxy);
        let kinds = if server.is_some() { SERVERS } else { SIDES };
        let (legends, names) = (page.show_legends || super::is_trusted(page), vec![proxy]);
        let filter = Filter { legends, names, kinds, times: true, ..Filter::default() };
        let (walk, json) = (Walk::default(), Json::default());
        Self { filter, server, shown, walk, json, begun: false }
    }

    /// Appends the next piece; `false`: it was the last one.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let (shared, clock) = (&*worker.shared, Clock::of(worker));
        if !std::mem::replace(&mut self.begun, true) {
            self.choose(shared);
            self.json.onto(out, |json| {
                json.open('{');
                json.key("rows").open('[');
            });
            return true;
        }
        let Self { filter, walk, json, .. } = self;
        let rows = walk.step(shared, clock, filter).filter(|_| self.shown);
        json.onto(out, |json| match &rows {
            Some(rows) => rows.iter().for_each(|row| object(json, walk, (shared, clock), row)),
            None => {
                json.close(']');
                json.close('}');
            }
        });
        rows.is_some()
    }

    /// Finds the number of the server.
    fn choose(&mut self, shared: &Shared) {
        let Some(name) = &self.server else { return };
        let back = self.filter.names.first().and_then(|proxy| shared.backend(proxy));
        let found = back.and_then(|back| {
            let slot = back.servers.slot_of(|server| server.state.name() == *name)?;
            Some(back.servers.get(slot)?.state.id())
        });
        (self.filter.id, self.shown) = (found, self.shown && found.is_some());
    }
}

fn object(json: &mut Json, walk: &Walk, (shared, clock): (&Shared, Clock), row: &Row) {
    let Some(subject) = walk.subject(shared, row) else { return };
    json.object(|json| {
        json.key("kind").plain(row.kind.number());
        json.key("name").text(row.get(Field::Svname).text());
        for field in SHOWN.iter().filter(|field| !row.get(**field).is_empty()) {
            json.key(COLUMNS[*field as usize].name).value(row.get(*field));
        }
        json.key("latency").object(|json| latencies(json, &subject));
        if let Some(server) = subject.server.filter(|server| server.settings.balance.checked) {
            json.key("checks").array(|json| checks(json, server, clock));
        }
    });
}

/// Per span the number of values since the start, and percentiles in microseconds.
fn latencies(json: &mut Json, subject: &Subject<'_>) {
    for span in SPANS {
        let summary = subject.times(span).filter(|summary| summary.count() > 0);
        let Some(summary) = summary else { continue };
        json.key(name(span)).array(|json| {
            json.plain(summary.count());
            SHARES.iter().for_each(|share| json.plain(summary.quantile(*share).unwrap_or(0)));
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
