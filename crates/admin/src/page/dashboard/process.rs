//! Threads and memory of the process, and every value of `show info`.

use super::writer::Json;
use crate::settings::Settings;
use crate::stats::info;
use proxy::{Shared, Worker};
use settings::StatsPage;
use std::sync::Arc;
use transport::stats::counters::Metric;

/// Fields of `show info` that name the version.
const VERSION: [&str; 2] = ["Version", "Release_date"];

/// The whole answer.
pub(super) fn write(worker: &Worker, settings: &Arc<Settings>, page: &StatsPage) -> String {
    let (mut json, shared) = (Json::default(), &*worker.shared);
    json.object(|json| {
        json.key("ms").plain(worker.millis());
        json.key("threads").array(|json| {
            (0..shared.settings.threads).for_each(|number| thread(json, shared, number));
        });
        json.key("memory").object(|json| memory(json, shared, settings));
        json.key("info").array(|json| {
            let items = info::all(worker, settings, false).into_iter();
            let shown = |name: &str| !page.hide_version || !VERSION.contains(&name);
            for item in items.filter(|item| shown(item.name) && !item.value.is_empty()) {
                json.array(|json| {
                    json.text(item.name);
                    json.value(&item.value);
                    json.text(item.doc);
                });
            }
        });
    });
    json.finish()
}

fn thread(json: &mut Json, shared: &Shared, number: usize) {
    let Some(heartbeat) = shared.heartbeat(number) else { return };
    let activity = heartbeat.activity();
    json.object(|json| {
        json.key("thread").plain(number + 1);
        json.key("cpu").plain(heartbeat.cpu_nanos());
        json.key("clients").plain(shared.loads.of(number));
        json.key("accepted").plain(shared.totals.of_thread(number, Metric::Connections));
        json.key("requests").plain(shared.totals.of_thread(number, Metric::Requests));
        json.key("tasks").plain(activity.tasks.get());
        json.key("timers").plain(activity.timers.get());
        json.key("loops").plain(activity.loops.get());
        json.key("long").plain(activity.long_rounds.get());
        json.key("panicked").plain(activity.panicked.get());
    });
}

/// Bytes, and the share of a budget.
fn memory(json: &mut Json, shared: &Shared, settings: &Settings) {
    let (allocated, used) = shared.buffer_bytes();
    json.key("limit").plain(shared.memory.limit());
    json.key("used").plain(shared.memory.used());
    json.key("buffers").plain(allocated);
    json.key("buffers_used").plain(used);
    json.key("address_space").plain(settings.max_memory);
}
