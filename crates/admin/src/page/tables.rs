//! The page in HTML, in pieces.

use super::html::{self, View};
use super::query::PageQuery;
use crate::settings::Settings;
use crate::stats::{Clock, Filter, Row, Walk};
use engine::state::worker::Worker;
use settings::StatsPage;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rows that one piece writes at most.
const ROWS: usize = 16;

/// The cursor in a page of tables that is sent in pieces.
pub(super) struct Tables {
    settings: Arc<Settings>,
    page: StatsPage,
    query: PageQuery,
    admin: bool,
    filter: Filter,
    walk: Walk,
    stage: PageStage,
}

/// The subject of the next piece.
enum PageStage {
    /// The part before all rows.
    Begin,
    /// More rows of a proxy, after those gathered so far.
    Rows(Vec<Row>),
    /// The table of a proxy, from this row on.
    Table { rows: Vec<Row>, at: usize },
}

impl Tables {
    pub(super) fn new(
        settings: &Arc<Settings>,
        page: &StatsPage,
        query: PageQuery,
        (admin, filter): (bool, Filter),
    ) -> Self {
        let (settings, page) = (settings.clone(), page.clone());
        let (walk, stage) = (Walk::default(), PageStage::Begin);
        Self { settings, page, query, admin, filter, walk, stage }
    }

    /// Appends the next piece, or gathers for it; Returns `false` with the last piece.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let goes_on = match std::mem::replace(&mut self.stage, PageStage::Begin) {
            PageStage::Begin => {
                html::begin(&self.view(worker), out);
                ControlFlow::Continue(PageStage::Rows(Vec::new()))
            }
            PageStage::Rows(gathered) => self.rows(worker, gathered, out),
            PageStage::Table { rows, at } => {
                ControlFlow::Continue(self.table(worker, rows, at, out))
            }
        };
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

    fn rows(
        &mut self,
        worker: &Worker,
        mut gathered: Vec<Row>,
        out: &mut String,
    ) -> ControlFlow<(), PageStage> {
        let Some(mut rows) = self.walk.step(&worker.shared, Clock::of(worker), &self.filter) else {
            html::end(&self.view(worker), out);
            return ControlFlow::Break(());
        };
        gathered.append(&mut rows);
        ControlFlow::Continue(match self.walk.is_between() && !gathered.is_empty() {
            true => PageStage::Table { rows: gathered, at: 0 },
            false => PageStage::Rows(gathered),
        })
    }

    fn table(&self, worker: &Worker, rows: Vec<Row>, at: usize, out: &mut String) -> PageStage {
        let view = self.view(worker);
        if at == 0 {
            html::begin_table(&view, &rows, out);
        }
        let (end, changes) = ((at + ROWS).min(rows.len()), html::changes(&view, &rows));
        html::write_rows(&rows[at..end], changes, out);
        if end < rows.len() {
            return PageStage::Table { rows, at: end };
        }
        html::end_table(&view, rows.first().map_or(0, |row| row.proxy), changes, out);
        PageStage::Rows(Vec::new())
    }
}
