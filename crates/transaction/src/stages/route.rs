//! Stages that route a request: the choice of the backend, and what is answered without one.

use crate::filters;
use crate::local_response;
use crate::message::body_buffer;
use crate::stages::http_rules;
use crate::stages::http_rules::SwitchingResult;
use crate::stages::stage::{Respond, StageFuture, StageOutcome};
use engine::state::runtime::{Proxy, ProxyRef};
use engine::state::services::{Role, Visit};
use engine::state::session::transaction::{Progress, Transaction};
use htx::Method;
use observability::telemetry::accounting;
use rules::Need;
use sample::Side;
use settings::Mode;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The name of the statistics page in logs, in place of a server's.
const STATISTICS: &str = "<STATS>";

/// The head of a request is there: it is counted, and recorded for logs.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn received(tx: &mut Transaction, _: &ProxyRef) -> Result<StageOutcome, Failure> {
    accounting::request_received(tx);
    accounting::log_at_start(tx);
    Ok(StageOutcome::Next)
}

/// The failure of a request without a backend, or with a disabled one. As measured, such a request
/// has no times.
fn unserved(tx: &mut Transaction) -> Failure {
    tx.notes.journal.request = 0;
    match tx.client.mode {
        Mode::Http => Failure::error(503, Cause::ServerAbort, Phase::Connect),
        Mode::Tcp => Failure::close(Cause::ServerAbort, Phase::Connect),
    }
}

/// Enters the backend that was chosen.
///
/// # Errors
/// The backend is disabled, or its mode is TCP.
pub(crate) fn enter(tx: &mut Transaction, backend: &ProxyRef) -> Result<StageOutcome, Failure> {
    filters::backend_chosen(tx);
    if backend.settings.disabled {
        return Err(unserved(tx));
    }
    // A client reaches a backend of another protocol by a name that a rule has computed only.
    match tx.client.mode {
        Mode::Http if backend.settings.mode == Mode::Tcp => {
            Err(Failure::error(500, Cause::Internal, Phase::Request))
        }
        Mode::Tcp if backend.settings.is_spop => {
            Err(Failure::close(Cause::Internal, Phase::Request))
        }
        _ => Ok(StageOutcome::Next),
    }
}

/// The backend: by the rules, from `at` on, by default, or the proxy itself in a `listen` section.
///
/// # Errors
/// There is none.
pub(crate) fn choose(
    tx: &mut Transaction,
    front: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    let chosen = match http_rules::switch(tx, front, at) {
        SwitchingResult::Waits => return Ok(StageOutcome::Wait(Need::Answer)),
        SwitchingResult::Chosen(chosen) => chosen,
        SwitchingResult::Default => None,
    };
    if tx.client.mode == Mode::Http {
        http_rules::afford(tx, Phase::Request)?;
    }
    let front = &tx.client.proxy;
    let default = || {
        let index = front.front.settings.default_backend?;
        tx.worker.backend_at(index).cloned()
    };
    let itself = || front.itself.clone();
    match chosen.or_else(default).or_else(itself) {
        Some(backend) => Ok(StageOutcome::Forward(backend)),
        None => Err(unserved(tx)),
    }
}

/// `monitor-uri`: an answer that is neither logged nor counted as a request to a backend.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn monitor(
    tx: &mut Transaction,
    front: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    if !is_monitored(tx) {
        return Ok(StageOutcome::Next);
    }
    tx.notes.journal.silent = true;
    tx.notes.journal.end(Cause::Local, Phase::Request);
    let Some(fails) = http_rules::monitor_fails(tx, front, &mut at.place.section) else {
        return Ok(StageOutcome::Wait(Need::Answer));
    };
    local_response::prepare_error(tx, if fails { 503 } else { 200 });
    Ok(StageOutcome::Respond(Respond::Now))
}

/// Whether the request is for `monitor-uri`.
fn is_monitored(tx: &Transaction) -> bool {
    let uri = tx.client.proxy.front.settings.monitor_uri.as_deref();
    let Some(uri) = uri else { return false };
    let request = &tx.space.request;
    // A path is looked for in URIs in absolute form too.
    request.uri() == uri || request.target().path_and_query() == Some(uri)
}

/// Whether the request is for the statistics page of this proxy. Other methods than those of the
/// page are treated like any other request, as in HAProxy.
pub(crate) fn asks_for_statistics(tx: &Transaction, proxy: &ProxyRef) -> bool {
    let Some(page) = proxy.settings.stats.as_ref() else { return false };
    let request = &tx.space.request;
    request.path_and_query().starts_with(page.uri.as_bytes())
        && matches!(request.method_id(), Method::Get | Method::Head | Method::Post)
}

/// The statistics page of this proxy, if its rules let the request have it.
pub(crate) fn statistics<'a>(tx: &'a mut Transaction, proxy: &'a ProxyRef) -> StageFuture<'a> {
    Box::pin(async {
        if let decided @ StageOutcome::Respond(_) = http_rules::statistics(tx, proxy).await? {
            accounting::by_applet(tx, STATISTICS, false);
            return Ok(decided);
        }
        let role = http_rules::role(tx, proxy).await?;
        let changes = role > Role::Look && tx.space.request.method_id() == Method::Post;
        if changes {
            body_buffer::wait_for_all(tx, proxy).await?;
        }
        let whole = changes && body_buffer::is_whole(tx);
        let shown = show_statistics(tx, proxy, role, whole);
        Ok(if shown { StageOutcome::Respond(Respond::Now) } else { StageOutcome::Next })
    })
}

/// Has the page answer; `whole` tells that the body of the request has been read.
fn show_statistics(tx: &mut Transaction, proxy: &Proxy, role: Role, whole: bool) -> bool {
    let form = tx.notes.bodies[Side::Request as usize].as_deref().filter(|_| whole);
    let (worker, request) = (&*tx.worker, &tx.space.request);
    let visit = Visit { worker, proxy, request, role, form };
    let Some(answer) = worker.services.statistics(&visit) else { return false };
    local_response::answered(tx, Phase::Request);
    let whole = answer.head.status() != 401;
    local_response::prepare_answer(tx, answer);
    accounting::by_applet(tx, STATISTICS, whole);
    if whole {
        accounting::response_received(tx);
        let body = local_response::body_kind(tx);
        filters::head_of_page(tx, body);
    }
    true
}
