//! The starts and reloads of the configuration that this process knows of.

use super::writer::Json;
use crate::settings::Settings;
use proxy::Worker;

/// The whole answer, the newest first.
pub(super) fn write(worker: &Worker, settings: &Settings) -> String {
    let (mut json, shared) = (Json::default(), &worker.shared);
    let age = worker.thread.nanos().saturating_sub(shared.started);
    json.object(|json| {
        json.key("pid").plain(shared.settings.pid);
        json.key("started").plain(worker.thread.wall().saturating_sub(age) / 1_000_000);
        json.key("stopping").plain(shared.is_stopping());
        json.key("rows").array(|json| {
            for reload in settings.reloads.list().iter().rev() {
                json.object(|json| {
                    json.key("at").plain(reload.at * 1_000);
                    json.key("pid").plain(reload.pid);
                    json.key("failed").plain(reload.failed);
                    json.key("text").text(&reload.text);
                });
            }
        });
        json.key("messages").text(&settings.startup_logs);
    });
    json.finish()
}
