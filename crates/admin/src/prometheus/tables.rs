//! Metrics of stick tables.

use super::{begin, sample};
use engine::state::runtime::Shared;

type TableFigure = fn(&table::Table) -> u32;

/// Name and value of each metric.
const METRICS: [(&str, &str, TableFigure); 2] = [
    ("sticktable_size", "Entries that the table may hold", |table| table.settings().size),
    ("sticktable_used", "Entries that it holds", |table| table.used()),
];

pub(super) fn write(shared: &Shared, out: &mut String) {
    if shared.tables.is_empty() {
        return;
    }
    for (name, help, value) in METRICS {
        begin(out, name, "gauge", help);
        for table in &shared.tables {
            let labels = [("name", table.name()), ("type", table.kind().name())];
            sample(out, name, &labels, value(table));
        }
    }
}
