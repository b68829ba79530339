//! The figures of the dashboard: one object per row of `show stat`, with histograms and the last
//! checks.

use super::super::change::identity;
use super::writer::Json;
use crate::settings::Settings;
use crate::stats::field::{COLUMNS, Field};
use crate::stats::modules::Subject;
use crate::stats::{Clock, Filter, Row, Walk};
use engine::state::runtime::Server;
use proxy::{Shared, Worker};
use settings::StatsPage;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::counters::Metric;
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
    Field::Addr,
];

/// The cursor in a list of figures that is sent in pieces.
pub(super) struct Figures {
    settings: Arc<Settings>,
    page: StatsPage,
    filter: Filter,
    walk: Walk,
    json: Json,
    stage: FigureStage,
}

/// The subject of the next piece.
#[derive(Clone, Copy)]
enum FigureStage {
    Process,
    /// More rows; `open`: of a proxy whose object has begun.
    Rows {
        open: bool,
    },
}

impl Figures {
    pub(super) fn new(settings: &Arc<Settings>, page: &StatsPage) -> Self {
        let (legends, names) = (page.show_legends, page.scope.clone());
        Self {
            settings: settings.clone(),
            page: page.clone(),
            filter: Filter { legends, names, times: true, ..Filter::default() },
            walk: Walk::default(),
            json: Json::default(),
            stage: FigureStage::Process,
        }
    }

    /// Appends the next piece; Returns `false` with the last piece.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let Self { settings, page, filter, walk, json, stage } = self;
        let (shared, clock) = (&*worker.shared, Clock::of(worker));
        let following = match *stage {
            FigureStage::Process => {
                json.onto(out, |json| {
                    json.open('{');
                    process(json, shared, settings, page, clock);
                    json.key("proxies").open('[');
                });
                Some(FigureStage::Rows { open: false })
            }
            FigureStage::Rows { open } => walk.step(shared, clock, filter).map(|rows| {
                let part = ProxyRows { shared, walk, clock, rows: &rows };
                let mut open = open;
                json.onto(out, |json| open = part.write(json, open));
                FigureStage::Rows { open }
            }),
        };
        match following {
            Some(following) => *stage = following,
            None => json.onto(out, |json| {
                json.close(']');
                json.key("tables").array(|json| tables(json, shared, page));
                json.close('}');
            }),
        }
        following.is_some()
    }
}

/// Some rows of one proxy.
struct ProxyRows<'a> {
    shared: &'a Shared,
    walk: &'a Walk,
    clock: Clock,
    rows: &'a [Row],
}

impl ProxyRows<'_> {
    /// Writes the figures into the proxy's object; `open`: whether the object has begun. Returns
    /// whether the object is still open.
    fn write(&self, json: &mut Json, mut open: bool) -> bool {
        if let Some(first) = self.rows.first().filter(|_| !open) {
            json.open('{');
            json.key("name").text(first.get(Field::Pxname).text());
            json.key("id").plain(first.proxy);
            json.key("rows").open('[');
            open = true;
        }
        self.rows.iter().for_each(|row| self.object(json, row));
        if open && self.walk.is_between() {
            json.close(']');
            json.close('}');
            open = false;
        }
        open
    }

    fn object(&self, json: &mut Json, row: &Row) {
        let Some(subject) = self.walk.subject(self.shared, row) else { return };
        json.object(|json| {
            json.key("kind").text(row.kind.name());
            json.key("name").text(row.get(Field::Svname).text());
            for field in SHOWN.iter().filter(|field| !row.get(**field).is_empty()) {
                json.key(COLUMNS[*field as usize].name).value(row.get(*field));
            }
            json.key("latency").object(|json| latencies(json, &subject));
            if let Some(server) = subject.server.filter(|server| server.settings.balance.checked) {
                json.key("checks").array(|json| checks(json, server, self.clock));
            }
        });
    }
}

fn process(json: &mut Json, shared: &Shared, settings: &Settings, page: &StatsPage, clock: Clock) {
    let version = if page.hide_version { "" } else { settings.version.as_str() };
    let uptime = clock.ms.saturating_sub(shared.started / 1_000_000) / 1_000;
    json.key("ms").plain(clock.ms);
    json.key("version").text(version);
    json.key("node").text(&shared.settings.node);
    json.key("pid").plain(shared.settings.pid);
    json.key("process").text(&identity(shared));
    json.key("threads").plain(shared.settings.threads);
    json.key("uptime").plain(uptime);
    json.key("histograms").plain(shared.settings.histograms);
    json.key("maxconn").plain(shared.maxconn.load(Relaxed));
    json.key("connections").plain(shared.connections.current());
    json.key("requests").plain(shared.totals.sum(Metric::Requests));
    json.key("connected").plain(shared.totals.sum(Metric::Connections));
}

/// Per span the buckets that hold anything: lower edge and width in microseconds, and the count.
fn latencies(json: &mut Json, subject: &Subject<'_>) {
    for span in SPANS {
        let summary = subject.times(span).filter(|summary| summary.count() > 0);
        let Some(summary) = summary else { continue };
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
