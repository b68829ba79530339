//! The history of the charts as JSON, a proxy per piece.

use super::writer::Json;
use proxy::{Shared, Worker};
use settings::StatsPage;

/// A chart of the page: its name in the script, and the columns that it draws.
type Chart = (&'static str, std::ops::Range<usize>);

/// Charts of the process that every page shows.
const PROCESS: [Chart; 2] = [("requests", 0..1), ("connections", 1..2)];
/// Charts of all frontends together, for pages that show all proxies.
const FRONTENDS: [Chart; 2] = [("traffic", 2..4), ("errors", 4..6)];
/// Charts of a proxy.
const PROXY: [Chart; 4] = [("rate", 0..1), ("latency", 1..4), ("load", 4..6), ("errors", 6..10)];

/// The progress of the history's output.
pub(super) struct History {
    scope: Vec<String>,
    json: Json,
    begun: bool,
    /// The next of the sampled proxies.
    next: usize,
}

impl History {
    pub(super) fn new(page: &StatsPage) -> Self {
        Self { scope: page.scope.clone(), json: Json::default(), begun: false, next: 0 }
    }

    /// Appends the next piece; Returns `false` with the last piece.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let Self { scope, json, begun, next } = self;
        let shared = &*worker.shared;
        let mut more = true;
        json.onto(out, |json| {
            if !std::mem::replace(begun, true) {
                begin(json, shared, (worker.millis(), scope.is_empty()));
                return;
            }
            let Some(track) = shared.history.tracks.get(*next) else {
                json.close(']');
                json.close('}');
                more = false;
                return;
            };
            *next += 1;
            let name = shared.proxies[track.proxy].name();
            if scope.is_empty() || scope.iter().any(|it| it == name) {
                json.object(|json| {
                    json.key("name").text(name);
                    let points = track.series.points();
                    json.key("charts").object(|json| charts(json, &PROXY, &points));
                });
            }
        });
        more
    }
}

fn begin(json: &mut Json, shared: &Shared, (now, all): (u64, bool)) {
    json.open('{');
    json.key("pid").plain(shared.settings.pid);
    json.key("seconds").plain(shared.history.seconds);
    json.key("ms").plain(now);
    let points = shared.history.process.points();
    json.key("charts").object(|json| {
        charts(json, &PROCESS, &points);
        if all {
            charts(json, &FRONTENDS, &points);
        }
    });
    json.key("proxies").open('[');
}

/// Per chart a list for each of its lines.
fn charts<const N: usize>(json: &mut Json, charts: &[Chart], points: &[[f32; N]]) {
    for (name, columns) in charts {
        json.key(name).array(|json| {
            for column in columns.clone() {
                json.array(|json| points.iter().for_each(|point| number(json, point[column])));
            }
        });
    }
}

fn number(json: &mut Json, value: f32) {
    if value.is_nan() { json.plain("null") } else { json.plain(value) }
}
