//! The stages of a transaction in the manual's order (section 4): what runs, for which proxy, and
//! whether it may wait.
//!
//! A request passes the rows of [`REQUEST`] for its frontend, then for its backend, then those that
//! prepare the choice of a server; a response passes those of [`RESPONSE`].

use crate::filters;
use crate::message::body_buffer;
use crate::stages::body_for_balance::{await_body, wants_body};
use crate::stages::cache_validation;
use crate::stages::fcgi;
use crate::stages::http_rules;
use crate::stages::http_rules::{apply_request_answer, apply_response_answer};
use crate::stages::response;
use crate::stages::route;
use crate::stages::route::{asks_for_statistics, statistics};
use crate::stages::spoe_events as events;
use crate::stages::stage::Run::{Later, Now, Waits};
use crate::stages::stage::{
    Run, Stage, StageFuture, StageOutcome, StageScope, StageSubject, apply_condition_answer,
};
use crate::stages::tcp_content_rules;
use crate::stages::tcp_content_rules::apply_response_answer as apply_content_answer;
use crate::stages::{rdp_cookie, rewrite, sticking};
use engine::state::backend::application::application;
use engine::state::runtime::{Backend, BackendRef, Proxy, ProxyRef, StagePlan};
use engine::state::session::transaction::Transaction;
use engine::state::thread_handle::LocalBackend;
use observability::telemetry::trace::points as trace;
use settings::{Filter, HashKey, HeaderNames, Mode};
use transport::stats::transaction_log::Failure;

const fn stage<P: StageSubject>(
    scope: StageScope,
    name: &'static str,
    applies: fn(&P::Side) -> bool,
    run: Run<P>,
) -> Stage<P> {
    Stage { name, scope, tcp: false, applies, run, trace: None }
}

/// A stage of both modes.
const fn both_modes<P: StageSubject>(stage: Stage<P>) -> Stage<P> {
    Stage { tcp: true, ..stage }
}

/// A stage behind which a trace point is reported.
const fn traced<P: StageSubject>(stage: Stage<P>, point: &'static trace::Point) -> Stage<P> {
    Stage { trace: Some(point), ..stage }
}

fn always<T>(_: &T) -> bool {
    true
}

use StageScope::{Both, Connected, Enter, Frontend, OtherBackend, Response, Server};

/// The stages of a request.
// One stage per line, for reading as a table.
#[rustfmt::skip]
pub(crate) const REQUEST: &[Stage<ProxyRef>] = &[
    traced(both_modes(stage(Enter, "backend", always, Now(route::enter))), &trace::ROUTED),
    both_modes(stage(Frontend, "on-client-session", has_agent,
        Waits(events::client_session, apply_condition_answer))),
    both_modes(stage(Frontend, "on-frontend-tcp-request", has_agent,
        Waits(events::frontend_tcp, apply_condition_answer))),
    both_modes(stage(OtherBackend, "on-backend-tcp-request", has_agent,
        Waits(events::backend_tcp, apply_condition_answer))),
    both_modes(stage(Both, "tcp-request content", |it| it.rules.content, Later(wanted, content))),
    traced(stage(Frontend, "request", always, Now(route::received)), &trace::REQUEST),
    stage(Frontend, "monitor-uri", has_monitor, Waits(route::monitor, apply_condition_answer)),
    stage(Frontend, "on-frontend-http-request", has_agent,
        Waits(events::frontend_http, apply_condition_answer)),
    stage(OtherBackend, "on-backend-http-request", has_agent,
        Waits(events::backend_http, apply_condition_answer)),
    stage(Both, "option http-buffer-request", |it| it.settings.buffer_request, Later(lacks_body, buffer)),
    stage(Both, "http-request", |it| it.rules.request,
        Waits(http_rules::request, apply_request_answer)),
    stage(Both, "stats", |it| it.settings.stats.is_some(), Later(asks_for_statistics, statistics)),
    stage(Both, "redirect", |it| it.rules.redirect,
        Waits(http_rules::redirect, apply_request_answer)),
    stage(Frontend, "unique-id-format", |it| it.settings.unique_id.is_some(), Now(rewrite::name)),
    stage(Both, "option http-restrict-req-hdr-names", restricts, Now(rewrite::restrict_names)),
    both_modes(stage(Frontend, "use_backend", always,
        Waits(route::choose, apply_condition_answer))),
];

/// The stages that prepare the choice of a server, and those behind the connection to it.
#[rustfmt::skip]
pub(crate) const SERVER: &[Stage<BackendRef>] = &[
    stage(Server, "filters: request head", |it| has_filter(&it.proxy), Now(request_head)),
    both_modes(stage(Server, "use-server", selects,
        Waits(http_rules::select, apply_condition_answer))),
    stage(Server, "headers for the server", always, Now(rewrite::request)),
    stage(Server, "cache validation", |it| it.proxy.rules.request, Now(cache_validation::request)),
    both_modes(stage(Server, "persist rdp-cookie", has_rdp_cookie, Now(rdp_cookie::request))),
    both_modes(stage(Server, "stick match", sticks,
        Waits(sticking::request, apply_condition_answer))),
    both_modes(stage(Server, "balance", checks_post, Later(wants_body, await_body))),
    stage(Server, "use-fcgi-app", has_application, Later(wanted, parameters)),
    both_modes(stage(Connected, "on-server-session", asks,
        Waits(events::server_session, apply_condition_answer))),
];

/// The stages of a response.
#[rustfmt::skip]
pub(crate) const RESPONSE: &[Stage<ProxyRef>] = &[
    stage(Response, "cache validation", |it| it.rules.request, Now(cache_validation::response)),
    both_modes(stage(Response, "on-tcp-response", has_agent,
        Waits(events::tcp_response, apply_condition_answer))),
    traced(stage(Response, "response", always, Now(response::received)), &trace::RESPONSE),
    both_modes(stage(Response, "tcp-response content", inspects,
        Waits(tcp_content_rules::response, apply_content_answer))),
    stage(Response, "on-http-response", has_agent,
        Waits(events::http_response, apply_condition_answer)),
    stage(Response, "filters: response begins", has_filter,
        Waits(response::begins, apply_condition_answer)),
    stage(Response, "http-response", |it| it.rules.response,
        Waits(http_rules::response, apply_response_answer)),
    both_modes(stage(Response, "stick store", stores,
        Waits(sticking::response, apply_condition_answer))),
    stage(Response, "cookie", always, Now(response::cookies)),
    stage(Response, "filters: response head", may_change_payload,
        Waits(response::head, apply_condition_answer)),
    stage(Response, "http-after-response", edits_all,
        Waits(http_rules::after_response, apply_response_answer)),
];

/// The number of the stage of `http-request` rules.
pub(crate) const HTTP_REQUEST: usize = number(REQUEST, "http-request");

/// The number of the first stage of a response that a cache has made.
pub(crate) const RECEIVED: usize = number(RESPONSE, "response");

/// The number of the first stage that a response of a cache does not pass.
pub(crate) const STICK_STORE: usize = number(RESPONSE, "stick store");

/// The number of the stage of local responses.
pub(crate) const HTTP_AFTER_RESPONSE: usize = number(RESPONSE, "http-after-response");

/// The number behind the last stage of a response.
pub(crate) const END: usize = RESPONSE.len();

/// The stages that apply to a proxy, computed once.
#[inline]
pub(crate) fn plan(proxy: &Proxy) -> StagePlan {
    *proxy.stages.get_or_init(|| StagePlan {
        request: applying(REQUEST, proxy),
        response: applying(RESPONSE, proxy),
        server: server_rows_of_frontend(proxy),
    })
}

/// The stages of a response that apply, of the frontend or the backend.
#[inline]
pub(crate) fn response_rows(tx: &Transaction) -> u32 {
    let of_backend = tx.backend.as_ref().map_or(0, |back| plan(back).response);
    let rows = plan(&tx.client.proxy).response | of_backend;
    if tx.client.mode == Mode::Tcp { rows & TCP_RESPONSE } else { rows }
}

/// The rows that apply to a proxy or a backend.
fn applying<P: StageSubject>(table: &[Stage<P>], side: &P::Side) -> u32 {
    let bit = |(number, stage): (usize, &Stage<P>)| u32::from((stage.applies)(side)) << number;
    table.iter().enumerate().map(bit).sum()
}

/// The rows of [`SERVER`] that apply because of the filters and rules of the frontend.
fn server_rows_of_frontend(front: &Proxy) -> u32 {
    (u32::from(has_filter(front)) * REQUEST_HEAD)
        | (u32::from(front.rules.request) * CACHE_VALIDATION)
        | (u32::from(has_agent(front)) * CONNECTED)
}

/// A pass of a request over the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pass {
    /// The frontend's stages.
    Frontend,
    /// The frontend's stages behind `tcp-request content`, of a session that those rules have
    /// switched to HTTP mode.
    Switched,
    /// The stages of the backend that was chosen.
    Backend,
    /// The frontend's stage `request`, of a session that its backend has switched to HTTP mode.
    Received,
}

impl Pass {
    /// The rows of the pass that apply.
    #[inline]
    pub(crate) fn rows(self, tx: &Transaction, proxy: &Proxy) -> u32 {
        let front = &tx.client.proxy;
        let (own, of_front) = (plan(proxy).request, plan(front).request);
        let rows = match self {
            Pass::Frontend => own & FRONTEND,
            Pass::Switched => own & FRONTEND & !(CONTENT | BEFORE_CONTENT),
            Pass::Backend if proxy.index != front.index => {
                (own & (ENTER | BACKEND | BOTH)) | (of_front & BACKEND)
            }
            Pass::Backend => own & ENTER,
            Pass::Received => own & REQUEST_RECEIVED,
        };
        if tx.client.mode == Mode::Tcp { rows & TCP } else { rows }
    }
}

/// A pass of a request over the stages around the choice of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServerPass {
    /// Stages that prepare the choice of a server.
    Choose,
    /// Stages behind the connection to it.
    Connected,
}

impl ServerPass {
    /// The rows of the pass that apply.
    #[inline]
    pub(crate) fn rows(self, tx: &Transaction, backend: &LocalBackend) -> u32 {
        let own = *backend.back.stages.get_or_init(|| applying(SERVER, &backend.back));
        let all = own | plan(&tx.client.proxy).server;
        let rows = match self {
            ServerPass::Choose => all & !CONNECTED,
            ServerPass::Connected => all & CONNECTED,
        };
        if tx.client.mode == Mode::Tcp { rows & TCP_SERVER } else { rows }
    }
}

const ENTER: u32 = rows(REQUEST, &[Enter]);
const FRONTEND: u32 = rows(REQUEST, &[Frontend, Both]);
/// Stages of agents: they run for a backend if the frontend has one, too.
const BACKEND: u32 = rows(REQUEST, &[OtherBackend]);
const BOTH: u32 = rows(REQUEST, &[Both]);
const CONNECTED: u32 = rows(SERVER, &[Connected]);
const REQUEST_HEAD: u32 = 1 << number(SERVER, "filters: request head");
const CACHE_VALIDATION: u32 = 1 << number(SERVER, "cache validation");
const REQUEST_RECEIVED: u32 = 1 << number(REQUEST, "request");
const CONTENT: u32 = 1 << number(REQUEST, "tcp-request content");
/// The events that a session has had before its content was inspected.
const BEFORE_CONTENT: u32 =
    (1 << number(REQUEST, "on-client-session")) | (1 << number(REQUEST, "on-frontend-tcp-request"));
const TCP: u32 = tcp_rows(REQUEST);
const TCP_RESPONSE: u32 = tcp_rows(RESPONSE);
const TCP_SERVER: u32 = tcp_rows(SERVER);

/// The rows of a table with one of these scopes.
const fn rows<P: StageSubject>(table: &[Stage<P>], scopes: &[StageScope]) -> u32 {
    let (mut found, mut number) = (0, 0);
    while number < table.len() {
        let mut scope = 0;
        while scope < scopes.len() {
            if scopes[scope] as u8 == table[number].scope as u8 {
                found |= 1 << number;
            }
            scope += 1;
        }
        number += 1;
    }
    found
}

/// The rows of a table that run in TCP mode as well.
const fn tcp_rows<P: StageSubject>(table: &[Stage<P>]) -> u32 {
    let (mut found, mut number) = (0, 0);
    while number < table.len() {
        if table[number].tcp {
            found |= 1 << number;
        }
        number += 1;
    }
    found
}

/// The number of the row with this name, which there is: it is looked up at compile time.
const fn number<P: StageSubject>(table: &[Stage<P>], name: &str) -> usize {
    let mut number = 0;
    while !is_same(table[number].name, name) {
        number += 1;
    }
    number
}

/// Whether two names are the same, at compile time.
pub const fn is_same(one: &str, other: &str) -> bool {
    let (one, other, mut at) = (one.as_bytes(), other.as_bytes(), 0);
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

fn has_agent(proxy: &Proxy) -> bool {
    proxy.settings.filters.iter().any(|filter| matches!(filter, Filter::Spoe(_)))
}

fn asks(backend: &Backend) -> bool {
    has_agent(&backend.proxy)
}

fn has_filter(proxy: &Proxy) -> bool {
    !proxy.settings.filters.is_empty()
}

/// Rules can begin to store a response in a cache, which is done as its payload passes.
fn may_change_payload(proxy: &Proxy) -> bool {
    has_filter(proxy) || proxy.rules.request || proxy.rules.response
}

fn edits_all(proxy: &Proxy) -> bool {
    proxy.rules.after_response
}

fn inspects(proxy: &Proxy) -> bool {
    proxy.rules.answer
}

fn stores(proxy: &Proxy) -> bool {
    proxy.rules.sticking
}

fn selects(backend: &Backend) -> bool {
    backend.proxy.rules.selection
}

fn sticks(backend: &Backend) -> bool {
    backend.proxy.rules.sticking
}

fn has_application(backend: &Backend) -> bool {
    application(backend).is_some()
}

fn has_monitor(proxy: &Proxy) -> bool {
    proxy.rules.monitor
}

fn restricts(proxy: &Proxy) -> bool {
    proxy.settings.header_names != HeaderNames::Preserve
}

fn has_rdp_cookie(backend: &Backend) -> bool {
    backend.settings.rdp_cookie.is_some()
}

fn checks_post(backend: &Backend) -> bool {
    backend
        .settings
        .hashing
        .as_ref()
        .is_some_and(|it| matches!(it.key, HashKey::UrlParam { check_post: true, .. }))
}

fn wanted<P>(_: &Transaction, _: &P) -> bool {
    true
}

fn lacks_body(tx: &Transaction, _: &ProxyRef) -> bool {
    tx.notes.bodies[0].is_none()
}

fn content<'a>(tx: &'a mut Transaction, proxy: &'a ProxyRef) -> StageFuture<'a> {
    Box::pin(tcp_content_rules::request(tx, proxy))
}

fn parameters<'a>(tx: &'a mut Transaction, backend: &'a BackendRef) -> StageFuture<'a> {
    Box::pin(async { fcgi::prepare(tx, backend).await.map(|()| StageOutcome::Next) })
}

fn request_head(tx: &mut Transaction, _: &BackendRef) -> Result<StageOutcome, Failure> {
    filters::request_head(tx)?;
    filters::request_to_server(tx);
    Ok(StageOutcome::Next)
}

fn buffer<'a>(tx: &'a mut Transaction, proxy: &'a ProxyRef) -> StageFuture<'a> {
    Box::pin(async { body_buffer::wait_for_all(tx, proxy).await.map(|()| StageOutcome::Next) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_name_of_its_own_and_a_bit() {
        fn check<P: StageSubject>(table: &[Stage<P>]) {
            assert!(table.len() < 32, "a plan has a bit for each stage");
            for (number, stage) in table.iter().enumerate() {
                assert_eq!(super::number(table, stage.name), number, "{}", stage.name);
            }
        }
        check(REQUEST);
        check(SERVER);
        check(RESPONSE);
    }

    #[test]
    fn a_future_belongs_to_requests() {
        assert!(RESPONSE.iter().all(|stage| !matches!(stage.run, Later(..))));
        assert!(RESPONSE.iter().all(|stage| stage.scope == Response));
    }

    #[test]
    fn the_architecture_names_the_stages_in_their_order() {
        const PAGE: &str = include_str!("../../../../ARCHITECTURE.md");
        let (_, page) = PAGE.split_once("### Stages\n").unwrap();
        let (page, _) = page.split_once("\n### ").unwrap();
        let rows = page.lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ").collect::<Vec<_>>();
            let tcp = *cells.get(cells.len().checked_sub(2)?)?;
            let name = cells.swap_remove(0);
            (!name.starts_with("stage of a ")).then_some((name, tcp == "yes"))
        });
        let server = SERVER.iter().map(|stage| (stage.name, stage.tcp));
        let request = REQUEST.iter().map(|stage| (stage.name, stage.tcp)).chain(server);
        let stages = request.chain(RESPONSE.iter().map(|stage| (stage.name, stage.tcp)));
        assert_eq!(rows.collect::<Vec<_>>(), stages.collect::<Vec<_>>());
    }

    /// Rows without rules of their own.
    #[test]
    fn a_plain_proxy_visits_few_stages() {
        let proxy = testing::backend("px", Mode::Http, Vec::new());
        let world = testing::World::new(vec![proxy]);
        let backend = world.backend("px");
        assert_eq!(names(SERVER, applying(SERVER, backend)), ["headers for the server"]);
        let plan = plan(&world.shared.proxies[0]);
        fn names<P: StageSubject>(table: &[Stage<P>], rows: u32) -> Vec<&'static str> {
            let applies = |(number, _): &(usize, &Stage<P>)| rows & (1 << number) != 0;
            let all = table.iter().enumerate().filter(applies);
            all.map(|(_, stage)| stage.name).collect()
        }
        let request = ["backend", "request", "use_backend"];
        assert_eq!(names(REQUEST, plan.request), request);
        let response = ["response", "cookie"];
        assert_eq!(names(RESPONSE, plan.response), response);
    }
}
