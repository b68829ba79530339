//! The stick tables that a page shows, with how full they are.

use super::writer::Json;
use proxy::{Shared, Worker};
use settings::StatsPage;

/// Tables in an answer; it notes how many there are.
const SHOWN: usize = 1_000;

/// The whole answer.
pub(super) fn write(worker: &Worker, page: &StatsPage) -> String {
    let (mut json, shared): (_, &Shared) = (Json::default(), &worker.shared);
    let shown = || shared.tables.iter().filter(|table| super::shows(page, table.name()));
    json.object(|json| {
        json.key("trusted").plain(super::is_trusted(page));
        json.key("total").plain(shown().count());
        json.key("rows").array(|json| {
            for table in shown().take(SHOWN) {
                json.object(|json| {
                    json.key("name").text(table.name());
                    json.key("type").text(table.kind().name());
                    json.key("size").plain(table.settings().size);
                    json.key("used").plain(table.used());
                });
            }
        });
    });
    json.finish()
}
