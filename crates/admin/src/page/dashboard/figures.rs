//! The figures of the overview: the process, and a row for each proxy, server and listener.
//!
//! Rows are arrays in the order of [`COLUMNS`]. A browser names the answer that it has, and gets
//! the rows that changed since; it compares their number to notice those that are gone.

use super::super::change::identity;
use super::writer::Json;
use crate::row_memory::{Recall, RowMemory};
use crate::settings::Settings;
use crate::stats::field::Field;
use crate::stats::{Clock, Filter, Kind, Row, Value, Walk};
use balance::Admin;
use engine::state::runtime::Server;
use engine::state::services::Role;
use proxy::{Shared, Worker};
use settings::StatsPage;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use transport::stats::counters::Metric;
use transport::stats::latency::Span;

/// The columns of a row, for the script.
const COLUMNS: &[&str] = &[
    "kind", "proxy", "name", "status", "mode", "scur", "slim", "qcur", "req", "bin", "bout",
    "e4xx", "e5xx", "econ", "eresp", "weight", "uweight", "act", "bck", "check", "code", "since",
    "p50", "p99", "flags",
];

/// Columns that are taken from `show stat` as they are, in the order of [`COLUMNS`].
const PLAIN: &[Field] = &[
    Field::Status,
    Field::Mode,
    Field::Scur,
    Field::Slim,
    Field::Qcur,
    Field::ReqTot,
    Field::Bin,
    Field::Bout,
    Field::Hrsp4xx,
    Field::Hrsp5xx,
    Field::Econ,
    Field::Eresp,
    Field::Weight,
    Field::Uweight,
    Field::Act,
    Field::Bck,
    Field::CheckStatus,
    Field::CheckCode,
];

/// The progress of the output.
pub(super) struct Figures {
    settings: Arc<Settings>,
    memory: Arc<RowMemory>,
    page: StatsPage,
    role: Role,
    /// The answer that the browser has, as it names it.
    asked: String,
    /// Number of the last change that the browser has; `None` for none.
    known: Option<u64>,
    filter: Filter,
    walk: Walk,
    json: Json,
    begun: bool,
    rows: u32,
}

impl Figures {
    pub(super) fn new(
        settings: &Arc<Settings>,
        page: &StatsPage,
        (role, asked): (Role, String),
    ) -> Self {
        let filter = Filter { names: page.scope.clone(), times: true, ..Filter::default() };
        Self {
            settings: settings.clone(),
            memory: settings.rows.clone(),
            page: page.clone(),
            role,
            asked,
            known: None,
            filter,
            walk: Walk::default(),
            json: Json::default(),
            begun: false,
            rows: 0,
        }
    }

    /// Appends the next piece; `false`: it was the last one.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(worker, out);
            return true;
        }
        let (shared, clock) = (&*worker.shared, Clock::of(worker));
        let Some(rows) = self.walk.step(shared, clock, &self.filter) else {
            let count = self.rows;
            self.json.onto(out, |json| {
                json.close(']');
                json.key("count").plain(count);
                json.close('}');
            });
            return false;
        };
        let mut json = std::mem::take(&mut self.json);
        json.onto(out, |json| rows.iter().for_each(|row| self.row(json, shared, clock, row)));
        self.json = json;
        true
    }

    fn begin(&mut self, worker: &Worker, out: &mut String) {
        let (shared, clock) = (&*worker.shared, Clock::of(worker));
        let (own, changes) = (identity(shared), self.memory.begin(worker));
        let number = self.asked.strip_prefix(&own).and_then(|rest| rest.strip_prefix('.'));
        self.known = number.and_then(|number| number.parse().ok()).filter(|it| *it <= changes);
        let Self { settings, page, role, known, json, .. } = self;
        json.onto(out, |json| {
            json.open('{');
            process(json, worker, settings, page, clock);
            json.key("role").text(match role {
                Role::Look => "look",
                Role::Drain => "drain",
                Role::All => "all",
            });
            json.key("trusted").plain(super::is_trusted(page));
            json.key("stamp").text(&format!("{own}.{changes}"));
            json.key("full").plain(known.is_none());
            if known.is_none() {
                json.key("columns").array(|json| COLUMNS.iter().for_each(|name| json.text(name)));
            }
            json.key("rows").open('[');
        });
    }

    fn row(&mut self, json: &mut Json, shared: &Shared, clock: Clock, row: &Row) {
        let Some(subject) = self.walk.subject(shared, row) else { return };
        self.rows += 1;
        let key = (row.proxy, row.kind.number(), row.id);
        let text = self.memory.put((key, self.known), clock.ms, |mut recall| {
            let times = subject.times(Span::Total).filter(|_| shared.settings.histograms);
            let percentiles = times.and_then(|times| recall.percentiles(times.into_owned()));
            written(row, &mut recall, percentiles, subject.server.map_or(0, flags))
        });
        if let Some(text) = text {
            json.plain(text);
        }
    }
}

fn written(
    row: &Row,
    recall: &mut Recall<'_>,
    percentiles: Option<[u64; 2]>,
    flags: u32,
) -> String {
    let mut json = Json::default();
    json.array(|json| {
        json.plain(row.kind.number());
        json.text(row.get(Field::Pxname).text());
        json.text(row.get(Field::Svname).text());
        for field in PLAIN {
            let value = row.get(*field);
            // In TCP mode sessions are what is counted.
            let counts = *field == Field::ReqTot && value.is_empty();
            json.value(if counts { row.get(Field::Stot) } else { value });
        }
        match row.get(Field::Lastchg) {
            Value::Empty => json.plain("null"),
            lasted => json.plain(recall.since(lasted.number())),
        }
        match percentiles {
            Some(values) => values.iter().for_each(|value| json.plain(value)),
            None => (0..2).for_each(|_| json.plain("null")),
        }
        json.plain(if row.kind == Kind::Server { flags } else { 0 });
    });
    json.finish()
}

/// Bits of a server that decide which actions are offered: it has a check, an agent; the check, the
/// agent is off; an operator has put it into maintenance, into the drain state; it tracks another.
fn flags(server: &Server) -> u32 {
    let (admin, agent) = (server.state.state().1, server.agent.as_ref());
    let all = [
        server.settings.balance.checked,
        agent.is_some(),
        server.checks_off.load(Relaxed),
        agent.is_some_and(|agent| agent.off.load(Relaxed)),
        admin.any(Admin::FORCED_MAINT),
        admin.any(Admin::FORCED_DRAIN),
        server.settings.balance.track.is_some(),
    ];
    all.iter().enumerate().map(|(bit, is)| u32::from(*is) << bit).sum()
}

fn process(json: &mut Json, worker: &Worker, settings: &Settings, page: &StatsPage, clock: Clock) {
    let shared = &worker.shared;
    let version = if page.hide_version { "" } else { settings.version.as_str() };
    let uptime = clock.ms.saturating_sub(shared.started / 1_000_000) / 1_000;
    json.key("ms").plain(clock.ms);
    json.key("wall").plain(worker.thread.wall() / 1_000_000);
    json.key("version").text(version);
    json.key("node").text(&shared.settings.node);
    json.key("pid").plain(shared.settings.pid);
    json.key("process").text(&identity(shared));
    json.key("threads").plain(shared.settings.threads);
    json.key("uptime").plain(uptime);
    json.key("stopping").plain(shared.is_stopping());
    json.key("histograms").plain(shared.settings.histograms);
    json.key("maxconn").plain(shared.maxconn.load(Relaxed));
    json.key("connections").plain(shared.connections.current());
    json.key("requests").plain(shared.totals.sum(Metric::Requests));
}
