//! Routes a request: rules of the frontend, choice of the backend, rules of the backend.

use crate::transaction::body_buffer;
use crate::transaction::filters;
use crate::transaction::http_rules;
use crate::transaction::http_rules::{Line, Ruling, SwitchingResult};
use crate::transaction::local_response;
use crate::transaction::response_rules;
use crate::transaction::stages::rewrite;
use crate::transaction::tcp_content_rules;
use crate::transaction::wait;
use engine::state::runtime::{Proxy, ProxyRef};
use engine::state::services::{Service, Visit};
use engine::state::session::transaction::{Pause, ResponseStage, Transaction};
use htx::Method;
use observability::telemetry::accounting;
use rules::SpoeEvent;
use sample::Side;
use settings::Mode;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// The name of the statistics page in logs, in place of a server's.
const STATISTICS: &str = "<STATS>";

/// The next step of a request.
#[derive(Debug)]
pub(crate) enum Route {
    /// The answer is in the workspace.
    Answer,
    /// The answer is in the workspace, and is delayed.
    Tarpit,
    /// The answer of a cache is in the workspace; response rules have not been applied.
    Stored,
    /// A service answers in place of a server.
    Service(Service),
    /// It goes to a server of its backend.
    Forward,
}

impl From<Ruling> for Option<Route> {
    fn from(ruling: Ruling) -> Self {
        match ruling {
            Ruling::Pass | Ruling::Allow | Ruling::Wait(..) => None,
            Ruling::Answer => Some(Route::Answer),
            Ruling::Stored => Some(Route::Stored),
            Ruling::Service(service) => Some(Route::Service(service)),
            Ruling::Tarpit => Some(Route::Tarpit),
        }
    }
}

/// Routes a request.
///
/// # Errors
/// The request is refused, or there is no backend for it.
pub(crate) async fn decide(tx: &mut Transaction) -> Result<Route, Failure> {
    let front = tx.client.proxy.clone();
    if is_monitored(tx, &front) {
        monitor(tx, &front).await?;
        return Ok(Route::Answer);
    }
    if filters::spoe::wants(tx, SpoeEvent::FrontendHttpRequest) {
        Box::pin(filters::spoe::pass(tx, SpoeEvent::FrontendHttpRequest)).await?;
    }
    if http_rules::looks_at_requests(&front)
        && let Some(route) = http_rules::request(tx, &front).await?.into()
    {
        return Ok(route);
    }
    if asks_for_statistics(tx, &front)
        && let Some(route) = Box::pin(statistics(tx, &front)).await?
    {
        return Ok(route);
    }
    if front.rules.redirect
        && let Some(route) = http_rules::redirect(tx, &front).await?.into()
    {
        return Ok(route);
    }
    rewrite::name(tx);
    rewrite::restrict_names(tx, &front)?;
    let mut line = Line::default();
    let chosen = match choose(tx, &front, &mut line) {
        Some(chosen) => chosen,
        None => Box::pin(choose_later(tx, &front, line)).await?,
    };
    http_rules::afford(tx, Phase::Request)?;
    let Some(backend) = chosen else {
        return Err(unserved(tx, Ending::Error(503)));
    };
    enter(tx, backend).await
}

/// There is no backend for it, or one that is out of service. As measured, the times of such a
/// request say nothing.
pub(crate) fn unserved(tx: &mut Transaction, ending: Ending) -> Failure {
    tx.notes.journal.request = 0;
    Failure::new(ending, Cause::ServerAbort, Phase::Connect)
}

/// The rules of the backend that was chosen.
///
/// # Errors
/// As [`decide`].
pub(crate) async fn enter(tx: &mut Transaction, backend: ProxyRef) -> Result<Route, Failure> {
    let front = tx.client.proxy.clone();
    accounting::enter_backend(tx, backend.clone());
    if backend.settings.disabled {
        return Err(unserved(tx, Ending::Error(503)));
    }
    if backend.settings.mode == Mode::Tcp {
        // Messages cannot become bytes: only a name that was made up here leads there.
        return Err(Failure::error(500, Cause::Internal, Phase::Request));
    }
    if backend.index != front.index {
        if filters::has_any(tx) {
            Box::pin(filters::spoe::pass(tx, SpoeEvent::BackendTcpRequest)).await?;
        }
        if backend.rules.content {
            Box::pin(tcp_content_rules::request(tx, &backend)).await?;
        }
        if filters::has_any(tx) {
            Box::pin(filters::spoe::pass(tx, SpoeEvent::BackendHttpRequest)).await?;
        }
        if http_rules::looks_at_requests(&backend)
            && let Some(route) = http_rules::request(tx, &backend).await?.into()
        {
            return Ok(route);
        }
        if asks_for_statistics(tx, &backend)
            && let Some(route) = Box::pin(statistics(tx, &backend)).await?
        {
            return Ok(route);
        }
        if backend.rules.redirect
            && let Some(route) = http_rules::redirect(tx, &backend).await?.into()
        {
            return Ok(route);
        }
        rewrite::restrict_names(tx, &backend)?;
    }
    Ok(Route::Forward)
}

/// The rules about responses, applied to what a cache has answered in place of a server. Its body
/// is made as it is sent, so rules that wait for it go on without it.
///
/// # Errors
/// A rule refuses or replaces the answer.
pub(crate) async fn pass_stored(tx: &mut Transaction) -> Result<(), Failure> {
    accounting::response_received(tx);
    let mut at = response_rules::begin(ResponseStage::TcpContent, local_response::body_kind(tx));
    if let Some(need) = response_rules::advance(tx, &mut at, ResponseStage::Sticking)? {
        let pause = Pause { at, need };
        Box::pin(response_rules::resume(tx, pause, ResponseStage::Sticking)).await?;
    }
    Ok(())
}

/// The backend: by the rules, from `at` on, by default, or the proxy itself in a `listen` section.
/// `None`: a rule waits for an answer.
fn choose(tx: &mut Transaction, front: &ProxyRef, at: &mut Line) -> Option<Option<ProxyRef>> {
    match http_rules::switch(tx, front, at) {
        SwitchingResult::Waits => None,
        SwitchingResult::Chosen(Some(chosen)) => Some(Some(chosen)),
        SwitchingResult::Chosen(None) | SwitchingResult::Default => {
            let settings = front.settings.front.as_ref();
            let default = settings.and_then(|settings| settings.default_backend);
            let default = default.and_then(|index| tx.worker.proxies.get(index)).cloned();
            Some(default.or_else(|| front.back.is_some().then(|| front.clone())))
        }
    }
}

/// The backend, once the answers are there that rules wait for.
///
/// # Errors
/// An answer does not come.
pub(crate) async fn choose_later(
    tx: &mut Transaction,
    front: &ProxyRef,
    mut at: Line,
) -> Result<Option<ProxyRef>, Failure> {
    loop {
        if let Some(chosen) = choose(tx, front, &mut at) {
            return Ok(chosen);
        }
        wait::for_condition(tx).await?;
    }
}

/// Whether the request is for `monitor-uri`.
fn is_monitored(tx: &Transaction, front: &ProxyRef) -> bool {
    let uri = front.settings.front.as_ref().and_then(|settings| settings.monitor_uri.as_ref());
    let Some(uri) = uri.map(Vec::as_slice) else { return false };
    let request = &tx.space.request;
    // A path is looked for in URIs in absolute form too.
    request.uri() == uri || request.target().path_and_query() == Some(uri)
}

/// `monitor-uri`: an answer that is neither logged nor counted as a request to a backend.
async fn monitor(tx: &mut Transaction, front: &ProxyRef) -> Result<(), Failure> {
    tx.notes.journal.silent = true;
    tx.notes.journal.end(Cause::Local, Phase::Request);
    let fails = http_rules::monitor_fails(tx, front).await?;
    local_response::prepare_error(tx, if fails { 503 } else { 200 });
    Ok(())
}

/// Whether the request is for the statistics page of this proxy. Other methods than those of the
/// page have no meaning there: they are requests like any other, as in HAProxy.
fn asks_for_statistics(tx: &Transaction, proxy: &Proxy) -> bool {
    let Some(page) = proxy.settings.stats.as_ref() else { return false };
    let request = &tx.space.request;
    request.path_and_query().starts_with(page.uri.as_bytes())
        && matches!(request.method_id(), Method::Get | Method::Head | Method::Post)
}

/// The statistics page of this proxy, if its rules let the request have it.
async fn statistics(tx: &mut Transaction, proxy: &ProxyRef) -> Result<Option<Route>, Failure> {
    if let Some(route) = http_rules::statistics(tx, proxy).await?.into() {
        accounting::by_applet(tx, STATISTICS, false);
        return Ok(Some(route));
    }
    let admin = http_rules::administers(tx, proxy).await?;
    let changes = admin && tx.space.request.method_id() == Method::Post;
    if changes {
        body_buffer::wait_for_all(tx, proxy).await?;
    }
    let whole = changes && body_buffer::is_whole(tx);
    Ok(show_statistics(tx, proxy, admin, whole).then_some(Route::Answer))
}

/// Has the page answer; `whole` tells that the body of the request has been read.
fn show_statistics(tx: &mut Transaction, proxy: &Proxy, admin: bool, whole: bool) -> bool {
    let form = tx.notes.bodies[Side::Request as usize].as_deref().filter(|_| whole);
    let (worker, request) = (&*tx.worker, &tx.space.request);
    let visit = Visit { worker, proxy, request, admin, form };
    let Some(answer) = worker.services.statistics(&visit) else { return false };
    http_rules::answered(tx, Phase::Request);
    let whole = answer.head.status() != 401;
    http_rules::prepare(tx, answer);
    accounting::by_applet(tx, STATISTICS, whole);
    if whole {
        accounting::response_received(tx);
        filters::request_head(tx);
        filters::response_begins(tx, local_response::body_kind(tx));
    }
    true
}
