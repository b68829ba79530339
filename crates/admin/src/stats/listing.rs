//! Rows of `show stat` in pieces, in each of its formats.

use super::{Clock, Filter, Walk, csv, json, typed};
use engine::state::worker::Worker;

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// A line per row.
    Csv,
    /// Writes a line per value; `describe` appends its description.
    Typed { describe: bool },
    /// Arrays of objects.
    Json,
}

/// The progress of a listing.
pub(crate) struct Listing {
    filter: Filter,
    look: Look,
    walk: Walk,
    begun: bool,
    /// No row has been written.
    first: bool,
}

impl Listing {
    /// The rows that a filter wants.
    pub(crate) fn new(filter: Filter, look: Look) -> Self {
        Self { filter, look, walk: Walk::default(), begun: false, first: true }
    }

    /// Appends the next piece; Returns `false` with the last piece.
    pub(crate) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            match self.look {
                Look::Csv => csv::header(out),
                Look::Json => json::begin(out),
                Look::Typed { .. } => {}
            }
        }
        let Some(rows) = self.walk.step(&worker.shared, Clock::of(worker), &self.filter) else {
            if self.look == Look::Json {
                json::end(out);
            }
            return false;
        };
        match self.look {
            Look::Csv => csv::lines(&rows, out),
            Look::Typed { describe } => typed::write(&rows, describe, out),
            Look::Json => {
                let mut first = || std::mem::take(&mut self.first);
                rows.iter().for_each(|row| json::object(row, first(), out));
            }
        }
        true
    }
}
