//! The name servers of `resolvers` sections with their counters.

use super::writer::Json;
use crate::cli::resolvers::counts;
use proxy::Worker;
use settings::StatsPage;

/// All sections.
pub(super) fn write(worker: &Worker, page: &StatsPage) -> String {
    let mut json = Json::default();
    let whole = super::is_whole(page);
    let sections = worker.shared.resolvers.iter().filter(|_| whole);
    json.object(|json| {
        json.key("trusted").plain(whole);
        json.key("rows").array(|json| {
            for section in sections {
                let servers = section.settings.nameservers.iter().zip(&section.counters);
                for (server, counters) in servers {
                    json.object(|json| {
                        json.key("section").text(&section.settings.name);
                        json.key("name").text(&server.name);
                        json.key("address").text(&server.address.to_string());
                        json.key("stream").plain(server.stream);
                        for (name, count) in counts(counters) {
                            json.key(name).plain(count);
                        }
                    });
                }
            }
        });
    });
    json.finish()
}
