//! Metrics of frontends, listeners, backends and servers: one block per metric, a line per object.

use super::metric::{
    BACKEND, FRONTEND, LISTENER, Metric, MetricSource, Needs, OUTCOMES, SERVER, SERVER_STATES,
};
use super::query::{MetricQuery, Scope};
use super::{begin, sample};
use crate::stats::field::{Column, Field};
use crate::stats::{Clock, Filter, Kind, Row, States, Walk, modules};
use engine::state::worker::Worker;
use std::ops::Range;

/// Status classes: label and column.
const CLASSES: [(&str, Field); 6] = [
    ("1xx", Field::Hrsp1xx),
    ("2xx", Field::Hrsp2xx),
    ("3xx", Field::Hrsp3xx),
    ("4xx", Field::Hrsp4xx),
    ("5xx", Field::Hrsp5xx),
    ("other", Field::HrspOther),
];

/// Scopes with their metrics, in order.
const SCOPES: [(Scope, Kind, &str, &[Metric]); 4] = [
    (Scope::Frontend, Kind::Frontend, "frontend", FRONTEND),
    (Scope::Listener, Kind::Listener, "listener", LISTENER),
    (Scope::Backend, Kind::Backend, "backend", BACKEND),
    (Scope::Server, Kind::Server, "server", SERVER),
];

/// The largest number of rows in one piece.
const STEP: usize = 128;

/// The cursor in the metrics of rows, which are sent in pieces.
pub(super) struct RowCursor {
    scopes: [bool; SCOPES.len()],
    filter: Filter,
    /// The steps left; nothing is written before all rows are gathered.
    walk: Option<Walk>,
    rows: Vec<Row>,
    /// Scope, metric in it, row.
    place: (usize, usize, usize),
}

impl RowCursor {
    pub(super) fn new(query: &MetricQuery) -> Self {
        let scopes = SCOPES.map(|(scope, ..)| query.wants(scope));
        let states = if query.no_maint { States::NoMaint } else { States::All };
        let walk = scopes.contains(&true).then(Walk::default);
        let filter = Filter { states, modules: query.extra, ..Filter::default() };
        Self { scopes, filter, walk, rows: Vec::new(), place: (0, 0, 0) }
    }

    /// Appends some lines, or gathers some rows; `false`: there are no more.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        if let Some(walk) = &mut self.walk {
            match walk.step(&worker.shared, Clock::of(worker), &self.filter) {
                Some(mut rows) => self.rows.append(&mut rows),
                None => self.walk = None,
            }
            return true;
        }
        let (scope, at, from) = self.place;
        let Some((_, kind, prefix, metrics)) = SCOPES.get(scope) else { return false };
        let there = self.scopes[scope] && self.rows.iter().any(|row| row.kind == *kind);
        let to = (from + STEP).min(self.rows.len());
        let column = at.checked_sub(metrics.len()).filter(|_| self.filter.modules);
        match (metrics.get(at), column.and_then(|n| Some((n, modules::columns().nth(n)?)))) {
            _ if !there => {}
            (Some(metric), _) => block(&self.rows, from..to, (*kind, prefix, metric), out),
            (None, Some((number, column))) => {
                module_block(&self.rows, from..to, (*kind, prefix), (number, column), out);
            }
            (None, None) => {
                self.place = (scope + 1, 0, 0);
                return true;
            }
        }
        if !there {
            self.place = (scope + 1, 0, 0);
            return true;
        }
        self.place = if to < self.rows.len() { (scope, at, to) } else { (scope, at + 1, 0) };
        true
    }
}

/// One metric of the objects of a kind in a range of rows.
fn block(
    rows: &[Row],
    range: Range<usize>,
    (kind, prefix, metric): (Kind, &str, &Metric),
    out: &mut String,
) {
    let name = format!("{prefix}_{}", metric.name);
    if range.start == 0 {
        begin(out, &name, metric.kind, metric.help());
    }
    for at in range {
        let row = &rows[at];
        let servers = if kind == Kind::Backend { before(rows, at) } else { &[] };
        if row.kind == kind && has(row, servers, metric) {
            MetricLine { out, name: &name, row, servers }.write(metric.source);
        }
    }
}

/// One column of the modules, of the objects of a kind in a range of rows.
fn module_block(
    rows: &[Row],
    range: Range<usize>,
    (kind, prefix): (Kind, &str),
    (number, column): (usize, &Column),
    out: &mut String,
) {
    let name = format!("{prefix}_{}", column.name);
    let has = |row: &&Row| {
        row.kind == kind && row.modules().get(number).is_some_and(|value| !value.is_empty())
    };
    if range.start == 0 && rows.iter().any(|row| has(&row)) {
        let is_counter = column.tags.0.as_bytes().get(1) == Some(&b'C');
        begin(out, &name, if is_counter { "counter" } else { "gauge" }, column.doc);
    }
    for row in rows[range].iter().filter(has) {
        MetricLine { out, name: &name, row, servers: &[] }.one(None, &row.modules()[number]);
    }
}

/// Whether an object has a metric: metrics of HTTP, checks or servers are left out, as in HAProxy,
/// if the object has none of these.
fn has(row: &Row, servers: &[Row], metric: &Metric) -> bool {
    match metric.needs() {
        Needs::Nothing => true,
        Needs::Http => row.get(Field::Mode).text() == "http",
        Needs::Checks => !row.get(Field::CheckStatus).is_empty(),
        Needs::Servers => servers.iter().any(|row| row.kind == Kind::Server),
    }
}

/// The rows of a backend's proxy, the last of which it is.
fn before(rows: &[Row], at: usize) -> &[Row] {
    let other = rows[..at].iter().rposition(|row| row.proxy != rows[at].proxy);
    &rows[other.map_or(0, |other| other + 1)..=at]
}

/// The values of one metric for one object.
struct MetricLine<'a> {
    out: &'a mut String,
    name: &'a str,
    row: &'a Row,
    /// All rows of the proxy, for a backend.
    servers: &'a [Row],
}

impl MetricLine<'_> {
    fn write(&mut self, source: MetricSource) {
        match source {
            MetricSource::Number(field) => {
                let value = self.row.get(field);
                match (field, value.is_empty()) {
                    (_, false) => self.one(None, value),
                    // A check of a connection alone.
                    (Field::CheckCode, true) => self.one(None, 0),
                    (_, true) => self.one(None, "NaN"),
                }
            }
            MetricSource::Milliseconds(field) => {
                let seconds = self.row.get(field).number() as f64 / 1_000.0;
                self.one(None, format_args!("{seconds:.6}"));
            }
            MetricSource::Responses => {
                for (code, field) in CLASSES {
                    let count = self.row.get(field).number();
                    self.one(Some(("code", code)), count);
                }
            }
            MetricSource::State(states) => self.states(states, state(self.row)),
            MetricSource::CheckStatus => self.states(OUTCOMES, outcome(self.row)),
            MetricSource::AggregateServers => self.count(SERVER_STATES, state),
            MetricSource::AggregateChecks => self.count(OUTCOMES, outcome),
        }
    }

    /// 1 for the state that it is in, 0 for the others.
    fn states(&mut self, states: &[&str], present: &str) {
        for state in states {
            self.one(Some(("state", state)), u8::from(*state == present));
        }
    }

    /// How many servers are in each state.
    fn count(&mut self, states: &[&str], of: impl Fn(&Row) -> &str) {
        let servers = self.servers;
        for state in states {
            let count = servers.iter().filter(|row| row.kind == Kind::Server && of(row) == *state);
            let count = count.count();
            self.one(Some(("state", state)), count);
        }
    }

    fn one(&mut self, extra: Option<(&str, &str)>, value: impl std::fmt::Display) {
        let proxy = ("proxy", self.row.get(Field::Pxname).text());
        let label = if self.row.kind == Kind::Listener { "listener" } else { "server" };
        let own = (label, self.row.get(Field::Svname).text());
        match (self.row.kind, extra) {
            (Kind::Server | Kind::Listener, None) => {
                sample(self.out, self.name, &[proxy, own], value);
            }
            (Kind::Server | Kind::Listener, Some(extra)) => {
                sample(self.out, self.name, &[proxy, own, extra], value);
            }
            (_, None) => sample(self.out, self.name, &[proxy], value),
            (_, Some(extra)) => sample(self.out, self.name, &[proxy, extra], value),
        }
    }
}

/// The state of a row in the words of the metrics.
fn state(row: &Row) -> &str {
    let text = row.get(Field::Status).text();
    let word = text.split([' ', '(']).next().unwrap_or_default();
    match word {
        _ if row.kind == Kind::Listener => word,
        "OPEN" | "no" => "UP",
        "STOP" | "PAUSED" | "WAITING" => "DOWN",
        "NOLB" | "MAINT" | "DRAIN" | "UP" => word,
        _ => "DOWN",
    }
}

/// The outcome of a server's last check; one that is under way keeps that of the last.
fn outcome(row: &Row) -> &str {
    let text = row.get(Field::CheckStatus).text();
    text.strip_prefix("* ").unwrap_or(text)
}
