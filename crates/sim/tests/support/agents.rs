//! FastCGI applications and agents of SPOE, as the settings of scenarios name them.

use rules::{FcgiApp, Rules, SpoeAgent, SpoeEngine, SpoeEvent, SpoeMessage, SpoeVariables};
use sample::Expr;
use sample::vars::VarName;
use settings::{BackendApp, Filter, Logs, SpoeFilter};
use std::sync::Arc;

/// The ways in which requests share the connections to an application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FcgiOptions {
    pub(crate) keep_conn: bool,
    pub(crate) multiplexes: bool,
    pub(crate) get_values: bool,
}

pub(crate) fn application(options: FcgiOptions) -> Arc<BackendApp> {
    let app = FcgiApp {
        name: "app".into(),
        docroot: b"/srv".to_vec(),
        index: Vec::new(),
        path_info: None,
        pass_headers: Vec::new(),
        set_params: Vec::new(),
        get_values: options.get_values,
        keep_conn: options.keep_conn,
        multiplexes: options.multiplexes,
        max_reqs: 10,
    };
    let logs = Arc::new(Logs::default());
    Arc::new(BackendApp { app: Arc::new(app), logs, software: b"weir".to_vec() })
}

/// The options of an engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpoeOptions {
    /// Number of the listener whose backend has the agent.
    pub(crate) backend: usize,
    pub(crate) pipelining: bool,
    pub(crate) fragments: bool,
    pub(crate) continues: bool,
    /// 0 for that of a buffer.
    pub(crate) max_frame_size: u32,
}

/// A filter whose agent gets the number of each request at the request and at the response, and
/// rules that replace the number of the request by what the agent has answered.
pub(crate) fn engine(options: SpoeOptions, number: usize) -> (Filter, Rules) {
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let mut cx = sample::Parser::new(&shared, &acls, &captures);
    let message = |expr: &str, cx: &sample::Parser<'_>| {
        // A second argument makes some payloads longer than a small frame.
        let filler = Expr::parse_word("req.hdr(user-agent)", cx).unwrap();
        let id = Expr::parse_word(expr, cx).unwrap();
        let arguments = vec![("id".into(), id), ("agent".into(), filler)];
        Arc::new(SpoeMessage { name: "m".into(), arguments, condition: None })
    };
    let mut events: [Vec<Arc<SpoeMessage>>; 8] = Default::default();
    events[SpoeEvent::FrontendHttpRequest as usize].push(message("req.hdr(x-id)", &cx));
    events[SpoeEvent::HttpResponse as usize].push(message("res.hdr(x-id)", &cx));
    let mut rules = Rules::default();
    for words in [
        &["set-header", "x-id", "%[var(txn.e.id)]", "if", "{", "var(txn.e.id) -m found", "}"][..],
        &["del-header", "user-agent"],
    ] {
        let words: Vec<&str> = words.iter().flat_map(|word| word.split(' ')).collect();
        rules.http_request.push(rules::parse_http_request(&words, &mut cx).unwrap());
    }
    let variable = VarName::parse("txn.e.id").unwrap();
    let variables = SpoeVariables {
        prefix: "e".into(),
        known: [(b"id"[..].into(), variable)].into(),
        ..SpoeVariables::default()
    };
    let agent = SpoeAgent {
        name: "agent".into(),
        backend: "agents".into(),
        hello: Some(300),
        idle: Some(5_000),
        processing: Some(400),
        max_frame_size: options.max_frame_size,
        max_waiting: 10,
        pipelining: options.pipelining,
        fragments: options.fragments,
        continues: options.continues,
        logs_errors_only: true,
        variables,
        ..SpoeAgent::default()
    };
    let engine = SpoeEngine { name: "e".into(), agent, events, groups: Vec::new() };
    let engine = Arc::new(engine);
    let logs = Arc::new(Logs::default());
    let filter = SpoeFilter { number, engine, backend: options.backend, logs };
    (Filter::Spoe(Arc::new(filter)), rules)
}
