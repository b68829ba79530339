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
use crate::stages::http_rules::{heed_request, heed_response};
use crate::stages::response;
use crate::stages::route;
use crate::stages::route::{asks_for_statistics, statistics};
use crate::stages::spoe_events as events;
use crate::stages::stage::Run::{Later, Now, Waits};
use crate::stages::stage::{Run, Stage, StageFuture, StageOutcome, StageScope, heed_condition};
use crate::stages::tcp_content_rules;
use crate::stages::tcp_content_rules::heed_response as heed_content;
use crate::stages::{rdp_cookie, rewrite, sticking};
use engine::state::backend::application::application;
use engine::state::runtime::{Proxy, ProxyRef, StagePlan};
use engine::state::session::transaction::Transaction;
use observability::telemetry::trace::points as trace;
use settings::{Filter, HashKey, HeaderNames, Mode};
use transport::stats::transaction_log::Failure;

const fn stage(
    scope: StageScope,
    name: &'static str,
    applies: fn(&Proxy) -> bool,
    run: Run,
) -> Stage {
    Stage { name, scope, tcp: false, applies, run, trace: None }
}

/// A stage of both modes.
const fn both_modes(stage: Stage) -> Stage {
    Stage { tcp: true, ..stage }
}

/// A stage behind which a trace point is reported.
const fn traced(stage: Stage, point: &'static trace::Point) -> Stage {
    Stage { trace: Some(point), ..stage }
}

fn always(_: &Proxy) -> bool {
    true
}

use StageScope::{Backend, Both, Connected, Enter, Frontend, Response, Server};

/// The stages of a request.
// One stage per line, for reading as a table.
#[rustfmt::skip]
pub(crate) const REQUEST: &[Stage] = &[
    traced(both_modes(stage(Enter, "backend", always, Now(route::enter))), &trace::ROUTED),
    both_modes(stage(Frontend, "on-client-session", has_agent, Waits(events::client_session, heed_condition))),
    both_modes(stage(Frontend, "on-frontend-tcp-request", has_agent, Waits(events::frontend_tcp, heed_condition))),
    both_modes(stage(Backend, "on-backend-tcp-request", has_agent, Waits(events::backend_tcp, heed_condition))),
    both_modes(stage(Both, "tcp-request content", |it| it.rules.content, Later(wanted, content))),
    traced(stage(Frontend, "request", always, Now(route::received)), &trace::REQUEST),
    stage(Frontend, "monitor-uri", has_monitor, Waits(route::monitor, heed_condition)),
    stage(Frontend, "on-frontend-http-request", has_agent, Waits(events::frontend_http, heed_condition)),
    stage(Backend, "on-backend-http-request", has_agent, Waits(events::backend_http, heed_condition)),
    stage(Both, "option http-buffer-request", |it| it.settings.buffer_request, Later(lacks_body, buffer)),
    stage(Both, "http-request", |it| it.rules.request, Waits(http_rules::request, heed_request)),
    stage(Both, "stats", |it| it.settings.stats.is_some(), Later(asks_for_statistics, statistics)),
    stage(Both, "redirect", |it| it.rules.redirect, Waits(http_rules::redirect, heed_request)),
    stage(Frontend, "unique-id-format", |it| it.settings.unique_id.is_some(), Now(rewrite::name)),
    stage(Both, "option http-restrict-req-hdr-names", restricts, Now(rewrite::restrict_names)),
    both_modes(stage(Frontend, "use_backend", always, Waits(route::choose, heed_condition))),
    stage(Server, "filters: request head", has_filter, Now(request_head)),
    both_modes(stage(Server, "use-server", selects, Waits(http_rules::select, heed_condition))),
    stage(Server, "headers for the server", always, Now(rewrite::request)),
    stage(Server, "cache validation", |it| it.rules.request, Now(cache_validation::request)),
    both_modes(stage(Server, "persist rdp-cookie", has_rdp_cookie, Now(rdp_cookie::request))),
    both_modes(stage(Server, "stick match", sticks, Waits(sticking::request, heed_condition))),
    both_modes(stage(Server, "balance", checks_post, Later(wants_body, await_body))),
    stage(Server, "use-fcgi-app", has_application, Later(wanted, parameters)),
    both_modes(stage(Connected, "on-server-session", has_agent, Waits(events::server_session, heed_condition))),
];

/// The stages of a response.
#[rustfmt::skip]
pub(crate) const RESPONSE: &[Stage] = &[
    stage(Response, "cache validation", |it| it.rules.request, Now(cache_validation::response)),
    both_modes(stage(Response, "on-tcp-response", has_agent, Waits(events::tcp_response, heed_condition))),
    traced(stage(Response, "response", always, Now(response::received)), &trace::RESPONSE),
    both_modes(stage(Response, "tcp-response content", inspects, Waits(tcp_content_rules::response, heed_content))),
    stage(Response, "on-http-response", has_agent, Waits(events::http_response, heed_condition)),
    stage(Response, "filters: response begins", has_filter, Waits(response::begins, heed_condition)),
    stage(Response, "http-response", |it| it.rules.response, Waits(http_rules::response, heed_response)),
    both_modes(stage(Response, "stick store", sticks, Waits(sticking::response, heed_condition))),
    stage(Response, "cookie", always, Now(response::cookies)),
    stage(Response, "filters: response head", may_change_payload, Waits(response::head, heed_condition)),
    stage(Response, "http-after-response", edits_all, Waits(http_rules::after_response, heed_response)),
];

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
    *proxy.stages.get_or_init(|| {
        let rows = |table: &[Stage]| {
            let bit =
                |(number, stage): (usize, &Stage)| u32::from((stage.applies)(proxy)) << number;
            table.iter().enumerate().map(bit).sum()
        };
        StagePlan { request: rows(REQUEST), response: rows(RESPONSE) }
    })
}

/// The stages of a response that apply, of the frontend or the backend.
#[inline]
pub(crate) fn response_rows(tx: &Transaction) -> u32 {
    let of_backend = tx.backend.as_ref().map_or(0, |back| plan(back).response);
    let rows = plan(&tx.client.proxy).response | of_backend;
    if tx.client.mode == Mode::Tcp { rows & TCP_RESPONSE } else { rows }
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
    /// Stages that prepare the choice of a server.
    Server,
    /// Stages behind the connection to a server.
    Connected,
}

impl Pass {
    /// The rows of the pass that apply.
    #[inline]
    pub(crate) fn rows(self, tx: &Transaction, proxy: &Proxy) -> u32 {
        let front = &tx.client.proxy;
        let (own, of_front) = (plan(proxy).request, plan(front).request & EITHER);
        let rows = match self {
            Pass::Frontend => own & FRONTEND,
            Pass::Switched => own & FRONTEND & !(CONTENT | BEFORE_CONTENT),
            Pass::Backend if proxy.index != front.index => {
                (own & (ENTER | BACKEND | BOTH)) | (of_front & BACKEND)
            }
            Pass::Backend => own & ENTER,
            Pass::Received => own & REQUEST_RECEIVED,
            Pass::Server => (own | of_front) & SERVER,
            Pass::Connected => (own | of_front) & CONNECTED,
        };
        if tx.client.mode == Mode::Tcp { rows & TCP } else { rows }
    }
}

const ENTER: u32 = rows(&[Enter]);
const FRONTEND: u32 = rows(&[Frontend, Both]);
const BACKEND: u32 = rows(&[Backend]);
const BOTH: u32 = rows(&[Both]);
const SERVER: u32 = rows(&[Server]);
const CONNECTED: u32 = rows(&[Connected]);
/// Stages that run for a backend because of the filters and rules of its frontend, too.
const EITHER: u32 = BACKEND
    | CONNECTED
    | (1 << number(REQUEST, "filters: request head"))
    | (1 << number(REQUEST, "cache validation"));
const REQUEST_RECEIVED: u32 = 1 << number(REQUEST, "request");
const CONTENT: u32 = 1 << number(REQUEST, "tcp-request content");
/// The events that a session has had before its content was inspected.
const BEFORE_CONTENT: u32 =
    (1 << number(REQUEST, "on-client-session")) | (1 << number(REQUEST, "on-frontend-tcp-request"));
const TCP: u32 = tcp_rows(REQUEST);
const TCP_RESPONSE: u32 = tcp_rows(RESPONSE);

/// The rows of a request with one of these scopes.
const fn rows(scopes: &[StageScope]) -> u32 {
    let (mut found, mut number) = (0, 0);
    while number < REQUEST.len() {
        let mut scope = 0;
        while scope < scopes.len() {
            if scopes[scope] as u8 == REQUEST[number].scope as u8 {
                found |= 1 << number;
            }
            scope += 1;
        }
        number += 1;
    }
    found
}

/// The rows of a table that run in TCP mode as well.
const fn tcp_rows(table: &[Stage]) -> u32 {
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
const fn number(table: &[Stage], name: &str) -> usize {
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

fn sticks(proxy: &Proxy) -> bool {
    proxy.rules.sticking
}

fn selects(proxy: &Proxy) -> bool {
    proxy.rules.selection
}

fn has_application(proxy: &Proxy) -> bool {
    application(proxy).is_some()
}

fn has_monitor(proxy: &Proxy) -> bool {
    proxy.settings.front.as_ref().is_some_and(|front| front.monitor_uri.is_some())
}

fn restricts(proxy: &Proxy) -> bool {
    proxy.settings.header_names != HeaderNames::Preserve
}

fn has_rdp_cookie(proxy: &Proxy) -> bool {
    proxy.settings.back.as_ref().is_some_and(|back| back.rdp_cookie.is_some())
}

fn checks_post(proxy: &Proxy) -> bool {
    let hashing = proxy.settings.back.as_ref().and_then(|back| back.hashing.as_ref());
    hashing.is_some_and(|it| matches!(it.key, HashKey::UrlParam { check_post: true, .. }))
}

fn wanted(_: &Transaction, _: &Proxy) -> bool {
    true
}

fn lacks_body(tx: &Transaction, _: &Proxy) -> bool {
    tx.notes.bodies[0].is_none()
}

fn content<'a>(tx: &'a mut Transaction, proxy: &'a ProxyRef) -> StageFuture<'a> {
    Box::pin(tcp_content_rules::request(tx, proxy))
}

fn parameters<'a>(tx: &'a mut Transaction, proxy: &'a ProxyRef) -> StageFuture<'a> {
    Box::pin(async { fcgi::prepare(tx, proxy).await.map(|()| StageOutcome::Next) })
}

fn request_head(tx: &mut Transaction, _: &ProxyRef) -> Result<StageOutcome, Failure> {
    filters::request_head(tx);
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
        for table in [REQUEST, RESPONSE] {
            assert!(table.len() < 32, "a plan has a bit for each stage");
            for (number, stage) in table.iter().enumerate() {
                assert_eq!(super::number(table, stage.name), number, "{}", stage.name);
            }
        }
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
        let stages = REQUEST.iter().chain(RESPONSE).map(|stage| (stage.name, stage.tcp));
        assert_eq!(rows.collect::<Vec<_>>(), stages.collect::<Vec<_>>());
    }

    /// Rows without rules of their own.
    #[test]
    fn a_plain_proxy_visits_few_stages() {
        let proxy = testing::proxy("px", Mode::Http);
        let world = testing::World::new(vec![proxy]);
        let plan = plan(&world.shared.proxies[0]);
        let names = |table: &[Stage], rows: u32| {
            let applies = |(number, _): &(usize, &Stage)| rows & (1 << number) != 0;
            let all = table.iter().enumerate().filter(applies);
            all.map(|(_, stage)| stage.name).collect::<Vec<_>>()
        };
        let request = ["backend", "request", "use_backend", "headers for the server"];
        assert_eq!(names(REQUEST, plan.request), request);
        let response = ["response", "cookie"];
        assert_eq!(names(RESPONSE, plan.response), response);
    }
}
