//! FastCGI applications of backends: connections to them, and the scripts of paths.

use crate::state::runtime::Backend;
use crate::state::worker::Worker;
use mux::Side;
use mux::fcgi::{FcgiConn, FcgiSettings, ScriptPath};
use rules::FcgiApp;
use settings::BackendApp;

/// Bytes of a buffer that the parameters leave for records around them.
const AROUND: usize = 16;

/// The application of a backend.
pub fn application(backend: &Backend) -> Option<&BackendApp> {
    backend.settings.fcgi.as_deref()
}

/// A connection to the application of a backend, before its first byte.
pub fn connection(worker: &Worker, backend: &Backend) -> Option<FcgiConn> {
    let app = &application(backend)?.app;
    Some(FcgiConn::new(FcgiSettings {
        limits: worker.mux_settings(&backend.proxy, Side::Server).limits,
        keep_conn: app.keep_conn,
        get_values: app.get_values,
        max_reqs: app.requests_per_connection(),
        max_params: u16::try_from(max_params(worker)).unwrap_or(u16::MAX),
    }))
}

/// Bytes of encoded parameters that a request may have: they have to fit in one record and in a
/// buffer.
pub fn max_params(worker: &Worker) -> usize {
    worker.shared.settings.buffer_size.saturating_sub(AROUND).min(u16::MAX.into())
}

/// The script of a decoded path.
pub fn script<'a>(app: &FcgiApp, path: &'a [u8]) -> ScriptPath<'a> {
    let Some(regex) = &app.path_info else { return ScriptPath::Whole(path) };
    let group = |span: Option<(usize, usize)>| span.and_then(|(from, to)| path.get(from..to));
    match regex.first_captures(path).map(|[_, first, second]| (group(first), group(second))) {
        Some((Some(script), path_info)) => ScriptPath::Matched { script, path_info },
        _ => ScriptPath::Unmatched(path),
    }
}
