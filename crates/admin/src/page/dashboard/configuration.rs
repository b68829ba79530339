//! The configuration as it was read at the start, line by line, without its secrets.

use super::writer::Json;
use crate::settings::Settings;
use proxy::Worker;
use std::sync::Arc;

/// Lines in a piece.
const PIECE: usize = 200;

/// The progress of the output.
pub(super) struct Configuration {
    settings: Arc<Settings>,
    trusted: bool,
    json: Json,
    next: Option<usize>,
}

impl Configuration {
    pub(super) fn new(settings: &Arc<Settings>, trusted: bool) -> Self {
        Self { settings: settings.clone(), trusted, json: Json::default(), next: None }
    }

    /// Appends the next piece; `false`: it was the last one.
    pub(super) fn next(&mut self, _: &Worker, out: &mut String) -> bool {
        let Self { settings, trusted, json, next } = self;
        let lines = &settings.configuration.lines[..];
        let lines = if *trusted { lines } else { &[] };
        let Some(from) = *next else {
            json.onto(out, |json| {
                json.open('{');
                json.key("trusted").plain(*trusted);
                json.key("left_out").plain(settings.configuration.left_out);
                json.key("rows").open('[');
            });
            *next = Some(0);
            return true;
        };
        let end = (from + PIECE).min(lines.len());
        json.onto(out, |json| {
            for line in &lines[from..end] {
                json.array(|json| {
                    json.text(&line.file);
                    json.plain(line.line);
                    json.text(&line.text);
                    json.plain(u8::from(line.opens));
                });
            }
            if end == lines.len() {
                json.close(']');
                json.close('}');
            }
        });
        *next = Some(end);
        end < lines.len()
    }
}
