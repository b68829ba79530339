//! The figures of the page in pieces, in each of its formats. Never holds more rows than those of one
//! proxy.

use super::html::{self, View};
use super::query::{Format, Query};
use crate::settings::Settings;
use crate::stats::{Clock, Filter, Row, Walk, csv, field::Field, json, typed};
use proxy::Worker;
use proxy::settings::StatsPage;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rows of HTML that one piece writes at most.
const ROWS: usize = 16;

/// How far a page has come.
pub(super) struct Listing {
    settings: Arc<Settings>,
    page: StatsPage,
    query: Query,
    admin: bool,
    filter: Filter,
    walk: Walk,
    stage: Stage,
    text: String,
}

/// What the next piece is about.
enum Stage {
    /// What stands before all rows.
    Begin,
    /// More rows; those of the same proxy that are gathered so far, for HTML. `first`: no row has
    /// been written.
    Rows { gathered: Vec<Row>, first: bool },
    /// The table of a proxy, from this row on.
    Table { rows: Vec<Row>, at: usize },
}

impl Listing {
    pub(super) fn new(
        settings: &Arc<Settings>,
        page: &StatsPage,
        query: Query,
        (admin, filter): (bool, Filter),
    ) -> Self {
        Self {
            settings: settings.clone(),
            page: page.clone(),
            query,
            admin,
            filter,
            walk: Walk::default(),
            stage: Stage::Begin,
            text: String::new(),
        }
    }

    /// Appends the next piece, or gathers for it; `false`: it was the last one.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut Vec<u8>) -> bool {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        let stage = std::mem::replace(&mut self.stage, Stage::Begin);
        let goes_on = match stage {
            Stage::Begin => self.begin(worker, &mut text),
            Stage::Rows { gathered, first } => self.rows(worker, gathered, first, &mut text),
            Stage::Table { rows, at } => self.table(worker, rows, at, &mut text),
        };
        out.extend_from_slice(text.as_bytes());
        self.text = text;
        match goes_on {
            ControlFlow::Continue(stage) => {
                self.stage = stage;
                true
            }
            ControlFlow::Break(()) => false,
        }
    }

    fn view<'v>(&'v self, worker: &'v Worker) -> View<'v> {
        let Self { settings, page, query, admin, .. } = self;
        View { worker, settings, page, query, admin: *admin }
    }

    fn begin(&self, worker: &Worker, out: &mut String) -> ControlFlow<(), Stage> {
        match self.query.format {
            Format::Html => html::begin(&self.view(worker), out),
            Format::Csv => csv::header(out),
            Format::Json => json::begin(out),
            Format::Typed => {}
        }
        ControlFlow::Continue(Stage::Rows { gathered: Vec::new(), first: true })
    }

    fn rows(
        &mut self,
        worker: &Worker,
        mut gathered: Vec<Row>,
        mut first: bool,
        out: &mut String,
    ) -> ControlFlow<(), Stage> {
        let Some(mut rows) = self.walk.step(&worker.shared, Clock::of(worker), &self.filter) else {
            match self.query.format {
                Format::Html => html::end(&self.view(worker), out),
                Format::Json => json::end(out),
                Format::Csv | Format::Typed => {}
            }
            return ControlFlow::Break(());
        };
        let scope = &self.page.scope;
        rows.retain(|row| {
            scope.is_empty() || scope.contains(&row.get(Field::Pxname).text().into())
        });
        match self.query.format {
            Format::Html => {
                gathered.append(&mut rows);
                if self.walk.is_between() && !gathered.is_empty() {
                    return ControlFlow::Continue(Stage::Table { rows: gathered, at: 0 });
                }
            }
            Format::Csv => csv::lines(&rows, out),
            Format::Typed => typed::write(&rows, false, out),
            Format::Json => {
                rows.iter().for_each(|row| json::object(row, std::mem::take(&mut first), out));
            }
        }
        ControlFlow::Continue(Stage::Rows { gathered, first })
    }

    fn table(
        &self,
        worker: &Worker,
        rows: Vec<Row>,
        at: usize,
        out: &mut String,
    ) -> ControlFlow<(), Stage> {
        let view = self.view(worker);
        if at == 0 {
            html::begin_table(&view, &rows, out);
        }
        let (end, changes) = ((at + ROWS).min(rows.len()), html::changes(&view, &rows));
        html::write_rows(&rows[at..end], changes, out);
        if end < rows.len() {
            return ControlFlow::Continue(Stage::Table { rows, at: end });
        }
        html::end_table(rows.first().map_or(0, |row| row.proxy), changes, out);
        ControlFlow::Continue(Stage::Rows { gathered: Vec::new(), first: false })
    }
}
