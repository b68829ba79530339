//! `prometheus-exporter`: the figures of the statistics in Prometheus' text format, version 0.0.4.
//!
//! Metrics have HAProxy's names, types, labels and order, so that rules and dashboards made for it
//! work; the texts after `# HELP` are those of our own tables. A missing value is `NaN`.

mod histograms;
mod metric;
mod process;
mod query;
mod rows;
mod tables;
#[cfg(test)]
mod tests;

use crate::settings::Settings;
use crate::web::response;
use engine::state::services::{Answer, Body};
use engine::state::worker::Worker;
use htx::Head;
use query::{MetricQuery, Scope};
use std::fmt::{Display, Write as _};
use std::sync::Arc;

/// The content type that Prometheus reads.
const CONTENT_TYPE: &str = "text/plain; version=0.0.4";

/// Answers a request for the metrics; unknown parts of its query are ignored, but an unknown scope
/// is answered with status 400.
pub(crate) fn answer(settings: &Arc<Settings>, request: &Head) -> Answer {
    let Some(query) = MetricQuery::parse(request.uri()) else { return bad_request() };
    let head = response(200, "OK", CONTENT_TYPE);
    let mut report = Report::new(settings.clone(), query);
    Answer { head, body: Body::Pieces(Box::new(move |worker, out| report.next(worker, out))) }
}

/// The progress of a report.
struct Report {
    settings: Arc<Settings>,
    query: MetricQuery,
    stage: ExportStage,
}

/// The subject of the next piece.
enum ExportStage {
    Process,
    Rows(Box<rows::RowCursor>),
    Histograms(histograms::HistogramCursor),
    Tables,
}

impl Report {
    fn new(settings: Arc<Settings>, query: MetricQuery) -> Self {
        Self { settings, query, stage: ExportStage::Process }
    }

    /// Appends the next piece, or gathers for it; Returns `false` with the last piece.
    fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let Self { settings, query, stage } = self;
        let following = match stage {
            ExportStage::Process => {
                if query.wants(Scope::Global) {
                    process::write(worker, settings, out);
                }
                Some(ExportStage::Rows(Box::new(rows::RowCursor::new(query))))
            }
            ExportStage::Rows(cursor) => {
                let over = !cursor.next(worker, out);
                over.then(|| ExportStage::Histograms(histograms::HistogramCursor::default()))
            }
            ExportStage::Histograms(cursor) => {
                let over = !query.wants(Scope::Histogram) || !cursor.next(&worker.shared, out);
                over.then_some(ExportStage::Tables)
            }
            ExportStage::Tables => {
                if query.wants(Scope::Sticktable) {
                    tables::write(&worker.shared, out);
                }
                return false;
            }
        };
        if let Some(following) = following {
            *stage = following;
        }
        true
    }
}

fn bad_request() -> Answer {
    let body =
        b"scope: one of global, frontend, listener, backend, server, sticktable, histogram, *\n"
            .to_vec();
    Answer { head: response(400, "Bad Request", "text/plain"), body: Body::Whole(body) }
}

/// Begins a metric.
fn begin(out: &mut String, name: &str, kind: &str, help: &str) {
    begin_as(out, &format!("haproxy_{name}"), kind, help);
}

/// Begins a metric by its whole name.
fn begin_as(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

/// One value with its labels.
fn sample(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    out.push_str("haproxy_");
    labelled(out, name, labels, value);
}

/// One value with its labels, by the metric's whole name.
fn labelled(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    out.push_str(name);
    for (at, (label, text)) in labels.iter().enumerate() {
        let _ = write!(out, "{}{label}=\"", if at == 0 { '{' } else { ',' });
        escape(out, text);
        out.push('"');
    }
    if !labels.is_empty() {
        out.push('}');
    }
    let _ = writeln!(out, " {value}");
}

/// The text of a label: backslashes, quotes and ends of lines are escaped.
fn escape(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
}
