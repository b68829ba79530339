//! The last failed requests of all threads, each with what `show why` says of it.

use super::gather::Gather;
use super::writer::Json;
use crate::cli::why::{ToldFlight, WhyPage};
use engine::state::records::anon::Anon;
use engine::state::records::flight_recorder::Flight;
use proxy::Worker;
use settings::StatsPage;
use std::sync::atomic::Ordering::Relaxed;

/// Failures in an answer.
const SHOWN: usize = 200;
/// Failures in a piece of it.
const PIECE: usize = 16;

/// The progress of the output.
pub(super) struct Failures {
    page: StatsPage,
    json: Json,
    stage: FailureStage,
}

enum FailureStage {
    Begin,
    Waits(Gather<Vec<Flight>>),
    /// Those that are left, the newest first, each with the number of its thread.
    Rows(std::vec::IntoIter<(usize, Flight)>),
}

impl Failures {
    pub(super) fn new(page: &StatsPage) -> Self {
        Self { page: page.clone(), json: Json::default(), stage: FailureStage::Begin }
    }

    /// Appends the next piece; `false`: it was the last one.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let Self { page, json, stage } = self;
        match stage {
            FailureStage::Begin => {
                let kept = worker.shared.records.load(Relaxed);
                json.onto(out, |json| begin(json, kept, super::is_trusted(page)));
                *stage = match kept && super::is_trusted(page) {
                    true => FailureStage::Waits(Gather::begin(worker, |asked| asked.flights(true))),
                    false => FailureStage::Rows(Vec::new().into_iter()),
                };
            }
            FailureStage::Waits(gather) => {
                if let Some(known) = gather.answers(worker) {
                    *stage = FailureStage::Rows(last(worker, page, known).into_iter());
                }
            }
            FailureStage::Rows(rows) => {
                let some: Vec<_> = rows.take(PIECE).collect();
                let (shared, offset) = (&worker.shared, worker.local_offset());
                let why = WhyPage { shared, anon: Anon::default(), offset };
                json.onto(out, |json| some.iter().for_each(|it| row(json, &why.told(it))));
                if some.len() < PIECE {
                    json.onto(out, end);
                    return false;
                }
            }
        }
        true
    }
}

fn begin(json: &mut Json, kept: bool, trusted: bool) {
    json.open('{');
    json.key("kept").plain(kept);
    json.key("trusted").plain(trusted);
    json.key("rows").open('[');
}

fn end(json: &mut Json) {
    json.close(']');
    json.close('}');
}

/// The last failures of the proxies that the page shows.
fn last(
    worker: &Worker,
    page: &StatsPage,
    known: Vec<Option<Vec<Flight>>>,
) -> Vec<(usize, Flight)> {
    let name = |index: usize| worker.shared.proxy(index).map_or("", |proxy| proxy.name());
    let shown =
        |index: usize| page.scope.is_empty() || page.scope.iter().any(|it| it == name(index));
    let mut all: Vec<(usize, Flight)> = Vec::new();
    for (thread, flights) in known.into_iter().enumerate() {
        let flights = flights.unwrap_or_default().into_iter();
        let flights = flights.filter(|it| shown(it.frontend) || it.backend.is_some_and(shown));
        all.extend(flights.map(|flight| (thread + 1, flight)));
    }
    all.sort_by_key(|(_, flight)| std::cmp::Reverse(flight.wall));
    all.truncate(SHOWN);
    all
}

fn row(json: &mut Json, told: &ToldFlight) {
    json.object(|json| {
        json.key("id").text(&told.id);
        json.key("at").plain(told.wall_ms);
        json.key("client").text(&told.client);
        json.key("request").text(&told.request);
        json.key("frontend").text(&told.frontend);
        json.key("backend").text(&told.backend);
        json.key("server").text(&told.server);
        json.key("status").plain(told.status);
        json.key("state").text(&told.state);
        json.key("took").plain(told.took_us);
        json.key("why").text(&told.ending);
        if let Some((file, line)) = &told.rule {
            json.key("file").text(file);
            json.key("line").plain(line);
        }
        json.key("story").text(&told.story);
    });
}
