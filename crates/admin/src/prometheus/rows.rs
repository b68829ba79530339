//! Metrics of frontends, listeners, backends and servers: one block per metric, a line per object. Never
//! chooses metrics.

use super::metric::{BACKEND, FRONTEND, LISTENER, Metric, OUTCOMES, SERVER, SERVER_STATES, Source};
use super::query::{Query, Scope};
use super::{begin, sample};
use crate::stats::field::Field;
use crate::stats::{self, Clock, Filter, Kind, Row, States};
use proxy::Worker;

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

pub(super) fn write(worker: &Worker, query: &Query, out: &mut String) {
    if !SCOPES.iter().any(|(scope, ..)| query.wants(*scope)) {
        return;
    }
    let states = if query.no_maint { States::NoMaint } else { States::All };
    let filter = Filter { states, ..Filter::default() };
    let rows = stats::rows(&worker.shared, Clock::of(worker), &filter);
    for (_, kind, prefix, metrics) in SCOPES.iter().filter(|(scope, ..)| query.wants(*scope)) {
        for metric in *metrics {
            block(&rows, *kind, prefix, metric, out);
        }
    }
}

/// One metric of all objects of a kind; nothing if there are none.
fn block(rows: &[Row], kind: Kind, prefix: &str, metric: &Metric, out: &mut String) {
    if !rows.iter().any(|row| row.kind == kind) {
        return;
    }
    let name = format!("{prefix}_{}", metric.name);
    begin(out, &name, metric.kind, metric.help());
    let mut servers: &[Row] = &[];
    for proxy in rows.chunk_by(|one, next| one.proxy == next.proxy) {
        if kind == Kind::Backend {
            servers = proxy;
        }
        for row in proxy.iter().filter(|row| row.kind == kind) {
            Line { out, name: &name, row, servers }.write(metric.source);
        }
    }
}

/// The values of one metric for one object.
struct Line<'a> {
    out: &'a mut String,
    name: &'a str,
    row: &'a Row,
    /// All rows of the proxy, for a backend.
    servers: &'a [Row],
}

impl Line<'_> {
    fn write(&mut self, source: Source) {
        match source {
            Source::Number(field) => {
                let value = self.row.get(field);
                if value.is_empty() { self.one(None, "NaN") } else { self.one(None, value) }
            }
            Source::Milliseconds(field) => {
                let seconds = self.row.get(field).number() as f64 / 1_000.0;
                self.one(None, format_args!("{seconds:.6}"));
            }
            Source::Responses => {
                for (code, field) in CLASSES {
                    let count = self.row.get(field).number();
                    self.one(Some(("code", code)), count);
                }
            }
            Source::State(states) => self.states(states, state(self.row)),
            Source::CheckStatus => self.states(OUTCOMES, outcome(self.row)),
            Source::AggregateServers => self.count(SERVER_STATES, state),
            Source::AggregateChecks => self.count(OUTCOMES, outcome),
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
