//! Emits the events of the `trace` commands (management.txt 9.3).
//!
//! While no trace runs, a trace point is one load of a word that only commands change, and a
//! branch; the code that formats and writes a line is out of line. Sources and their words are in
//! [`engine::state::records::trace`], the trace points in [`points`], and the text of the lines in
//! `text`.

pub mod points;
#[cfg(test)]
mod tests;
mod text;

use crate::logging::log;
use engine::state::records::anon::Anon;
use engine::state::records::trace::place::TracePlace;
use engine::state::records::trace::state::TraceState;
use engine::state::records::trace::words::{Event, Level, Source, Verbosity};
use engine::state::worker::Worker;
use std::fmt::Write as _;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

/// An event of a trace.
struct TraceEvent {
    source: Source,
    event: Event,
    level: Level,
    at: &'static Location<'static>,
}

/// Verbosity and anonymization of a line.
#[derive(Clone, Copy, Debug)]
struct Style {
    verbosity: Verbosity,
    anon: Anon,
}

/// Passes an event to its source, and writes a line if the source reports it.
fn emit(
    worker: &Worker,
    said: &TraceEvent,
    place: &TracePlace,
    write: impl FnOnce(Style, &mut String),
) {
    let traces = &worker.shared.traces;
    if traces.armed.0.load(Relaxed) & said.source.bit() == 0 {
        return;
    }
    let heard = |state: &mut TraceState| {
        let wanted = state.on_event(said.event, said.level, place);
        let style = Style { verbosity: state.verbosity, anon: state.anon };
        (style, state.sink.clone().filter(|_| wanted))
    };
    let (style, Some(sink)) = traces.with(said.source, heard) else { return };
    let mut line = String::new();
    let file = said.at.file();
    let file = file.rsplit_once('/').map_or(file, |(_, name)| name);
    // Writing to a string cannot fail.
    let _ = write!(
        line,
        "[{:02}|{}|{}|{file}:{}] ",
        worker.thread.index,
        said.source.name(),
        said.level as u8,
        said.at.line()
    );
    write(style, &mut line);
    if !log::write_to_sink(worker, &sink, line.as_bytes()) {
        traces.with(said.source, |state| state.dropped += 1);
    }
}
