//! The certificates that are in use, with their names and the end of their time.

use super::writer::Json;
use crate::settings::Settings;
use proxy::Worker;
use std::sync::Arc;

/// Certificates in an answer; it notes how many there are.
const SHOWN: usize = 5_000;
/// Certificates in a piece of it.
const PIECE: usize = 8;

/// The progress of the output.
pub(super) struct Certificates {
    settings: Arc<Settings>,
    trusted: bool,
    names: Option<std::vec::IntoIter<String>>,
    json: Json,
}

impl Certificates {
    pub(super) fn new(settings: &Arc<Settings>, trusted: bool) -> Self {
        Self { settings: settings.clone(), trusted, names: None, json: Json::default() }
    }

    /// Appends the next piece; `false`: it was the last one.
    pub(super) fn next(&mut self, worker: &Worker, out: &mut String) -> bool {
        let Self { settings, trusted, names, json } = self;
        let Some(left) = names else {
            let mut all = settings.tls.certificates();
            json.onto(out, |json| {
                json.open('{');
                json.key("trusted").plain(*trusted);
                json.key("now").plain(worker.thread.wall() / 1_000_000);
                json.key("total").plain(if *trusted { all.len() } else { 0 });
                json.key("rows").open('[');
            });
            all.truncate(if *trusted { SHOWN } else { 0 });
            *names = Some(all.into_iter());
            return true;
        };
        let some: Vec<String> = left.take(PIECE).collect();
        let more = some.len() == PIECE;
        json.onto(out, |json| {
            some.iter().for_each(|name| row(json, settings, name));
            if !more {
                json.close(']');
                json.close('}');
            }
        });
        more
    }
}

fn row(json: &mut Json, settings: &Settings, name: &str) {
    let Some(shown) = settings.tls.certificate(name) else { return };
    json.object(|json| {
        json.key("file").text(name);
        json.key("status").text(shown.status.name());
        json.key("stapled").plain(shown.staple.is_some());
        if let Some(details) = &shown.certificate {
            let (start, end) = &details.period;
            json.key("subject").text(&details.names.subject);
            json.key("issuer").text(&details.names.issuer);
            json.key("names").text(&details.alternative);
            json.key("start").text(start);
            json.key("end").text(end);
            json.key("algorithm").text(&details.algorithm);
            json.key("serial").text(&details.serial);
        }
    });
}
