//! Settings that need HTTP mode, and protocols that a mode does not carry.
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::DraftProxy;
use crate::model::{Balance, ConnectSource, Disguise, LogStyle, Mode, Protocol, Rules};
use rules::{RuleSet, RuleSetKind};

/// Whether a proxy can speak it, to servers or on listeners: one in HTTP mode, one for agents of
/// SPOE, or one for bytes.
pub(crate) fn is_usable(protocol: Protocol, (http, spop): (bool, bool), to_servers: bool) -> bool {
    match protocol {
        Protocol::H1 | Protocol::H2 => http,
        Protocol::None => !http && !spop,
        Protocol::Fcgi => http && to_servers,
        Protocol::Spop => spop && to_servers,
    }
}

/// `mode spop` is for backends: no client speaks the protocol of agents.
fn check_spop(draft: &DraftProxy, cx: &mut Cx<'_>) {
    if draft.settings.is_spop && draft.has_frontend() {
        let message = format!(
            "{} '{}': 'mode spop' is only supported in backend sections.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Alert, &draft.place, message);
    }
}

/// The protocol of a line has to be one that a proxy of this mode supports.
fn check_protocols(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let http = draft.settings.mode == Mode::Http;
    let carried = (http, draft.settings.is_spop);
    let usable = |protocol, to_servers| is_usable(protocol, carried, to_servers);
    let mut wrong = Vec::new();
    for bind in draft.settings.front.binds.iter().filter(|_| draft.has_frontend()) {
        if let Some(protocol) = bind.options.protocol.filter(|it| !usable(*it, false)) {
            wrong.push((protocol.name(), format!("bind {}", bind.written), bind.place.clone()));
        }
        if bind.is_quic && !http {
            wrong.push(("quic", format!("bind {}", bind.written), bind.place.clone()));
        }
    }
    for server in draft.settings.back.servers.iter().filter(|_| draft.has_backend()) {
        if let Some(protocol) = server.options.protocol.filter(|it| !usable(*it, true)) {
            wrong.push((protocol.name(), format!("server {}", server.name), server.place.clone()));
        }
    }
    for (word, line, place) in wrong {
        // As in HAProxy's messages, only a server's name has quotes.
        let line = match line.strip_prefix("server ") {
            Some(name) => format!("server '{name}'"),
            None => format!("'{line}'"),
        };
        let name = &draft.name;
        let message = format!(
            "proxy '{name}' : MUX protocol '{word}' is not usable for {line} at [{place}]."
        );
        cx.about(Severity::Alert, &place, message);
    }
}

/// Warns of settings that need HTTP mode in a proxy without it.
pub(super) fn check_mode(draft: &mut DraftProxy, switches: bool, cx: &mut Cx<'_>) {
    check_spop(draft, cx);
    check_protocols(draft, cx);
    if draft.settings.mode == Mode::Http {
        return;
    }
    let (name, place) = (draft.name.clone(), draft.place.clone());
    let word = draft.word();
    ignored_cookie(draft, cx);
    unheard_cookies(draft, cx);
    if draft.has_backend() && draft.settings.back.balance.needs_http() {
        let message = format!(
            "Layer 7 hash not possible for {word} '{name}' (needs 'mode http'). Falling back to round robin."
        );
        cx.about(Severity::Warning, &place, message);
        draft.settings.back.balance = Balance::RoundRobin;
    }
    if draft.has_frontend() && draft.settings.front.settings.monitor_uri.take().is_some() {
        let message =
            format!("monitor-uri will be ignored for {word} '{name}' (needs 'mode http').");
        cx.about(Severity::Warning, &place, message);
    }
    log_style(draft, cx);
    if switches {
        let servers = draft.has_backend() && !draft.settings.back.servers.is_empty();
        if servers && draft.settings.default_backend.is_none() && draft.rules.switching.is_empty() {
            let message = format!(
                "Proxy '{name}' : 'switch-mode http' configured for a tcp proxy with no backend. Incoming connections upgraded to HTTP cannot be routed to TCP servers"
            );
            cx.about(Severity::Warning, &place, message);
        }
        return;
    }
    let mut ignored = |what: &str, verb: &str| {
        let message = format!("{what} ignored for {word} '{name}' as {verb} HTTP mode.");
        cx.about(Severity::Warning, &place, message);
    };
    if draft.settings.stats.take().is_some() {
        ignored("'stats' statement", "it requires");
    }
    let rules = &draft.rules;
    for set in [&rules.http_request, &rules.http_response, &rules.http_after_response] {
        if !set.is_empty() {
            ignored(&format!("'{}' rules", set.ruleset().keyword()), "they require");
        }
    }
    if !rules.redirect.is_empty() {
        ignored("'redirect' rules", "they require");
    }
    if draft.settings.common.forward_for.take().is_some() {
        ignored("'option forwardfor'", "it requires");
    }
    if draft.settings.common.original_to.take().is_some() {
        ignored("'option originalto'", "it requires");
    }
    if draft.has_frontend() && std::mem::take(&mut draft.settings.front.settings.ignore_probes) {
        ignored("'option http-ignore-probes'", "it requires");
    }
    if std::mem::take(&mut draft.settings.common.buffer_request) {
        ignored("'option http-buffer-request'", "it requires");
    }
    unheard_options(draft, cx);
    unheard_sources(draft, cx);
}

/// A `cookie` line, which only HTTP carries.
fn ignored_cookie(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    let Some(place) = draft.settings.options.cookie_place.take() else { return };
    draft.settings.back.settings.dynamic_cookie = false;
    if draft.settings.back.settings.cookie.take().is_some() && draft.has_backend() {
        let (word, name) = (draft.word(), &draft.name);
        let message = format!("cookie will be ignored for {word} '{name}' (needs 'mode http').");
        cx.about(Severity::Warning, &place, message);
    }
}

/// Cookies and redirects of servers, which only HTTP carries.
fn unheard_cookies(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let mut redirects = draft.settings.back.servers.iter();
    if let Some(server) = redirects.find(|server| server.options.redirect.is_some()) {
        let message = format!(
            "{} '{}' : server cannot have cookie or redirect prefix in non-HTTP mode.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Alert, &server.place, message);
    }
    let servers = draft.settings.back.servers.iter();
    for server in servers.filter(|server| server.options.cookie.is_some()) {
        let message = format!(
            "{} '{}' : ignoring cookie for server '{}' as HTTP mode is disabled.",
            draft.word(),
            draft.name,
            server.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
}

/// Reports options that have an effect in HTTP mode only.
fn unheard_options(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    let (frontend, backend) = (draft.has_frontend(), draft.has_backend());
    let (front, back) = (&mut draft.settings.front, &mut draft.settings.back);
    let take = std::mem::take;
    let violations = "accept-unsafe-violations-in-http";
    let found = [
        ("accept-invalid-http-request", frontend, take(&mut front.accept_invalid_request)),
        (&format!("{violations}-request"), frontend, take(&mut front.accept_unsafe_request)),
        ("disable-h2-upgrade", frontend, take(&mut front.settings.disable_h2_upgrade)),
        ("http-use-proxy-header", frontend, take(&mut front.settings.proxy_header)),
        ("idle-close-on-response", frontend, take(&mut front.settings.idle_close_on_response)),
        ("accept-invalid-http-response", backend, take(&mut back.accept_invalid_response)),
        (&format!("{violations}-response"), backend, take(&mut back.accept_unsafe_response)),
        ("checkcache", backend, take(&mut back.settings.check_cache)),
        ("http-pretend-keepalive", backend, take(&mut back.settings.pretend_keep_alive)),
        ("prefer-last-server", backend, take(&mut back.settings.prefer_last)),
    ];
    let captures = frontend && draft.captured_cookie.take().is_some();
    let options = found.into_iter().filter(|(_, side, given)| *side && *given);
    let options = options.map(|(option, ..)| format!("'option {option}'"));
    let ignored = captures.then(|| "'capture' statement".to_owned()).into_iter().chain(options);
    for what in ignored {
        let message = format!(
            "{what} ignored for {} '{}' as it requires HTTP mode.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
}

/// Addresses of clients that only headers tell.
fn unheard_sources(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let header = |source: &Option<ConnectSource>| match source.as_ref().map(|it| &it.disguise) {
        Some(Disguise::Header(name, _)) => Some(name.clone()),
        _ => None,
    };
    if !draft.has_backend() {
        return;
    }
    let (word, name) = (draft.word(), &draft.name);
    let back = &draft.settings.back;
    if let Some(header) = header(&back.source) {
        let message = format!(
            "{word} '{name}' : ignoring use of header {header} as source IP in non-HTTP mode."
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
    for server in &back.servers {
        let Some(header) = header(&server.options.link.source) else { continue };
        let message = format!(
            "{word} '{name}' : server {} cannot use header {header} as source IP in non-HTTP mode.",
            server.name
        );
        cx.about(Severity::Warning, &server.place, message);
    }
}

/// HTTP log styles fall back to the TCP one.
fn log_style(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    let style = &mut draft.settings.front.log_style;
    let http = [LogStyle::Http, LogStyle::HttpClf, LogStyle::HttpJson, LogStyle::Https];
    if !http.contains(style) {
        return;
    }
    let option = if *style == LogStyle::Https { "httpslog" } else { "httplog" };
    *style = LogStyle::Tcp;
    let place = draft.settings.options.httplog_place.clone();
    if draft.has_frontend() {
        let message = format!(
            "'option {option}' not usable with {} '{}' (needs 'mode http'). Falling back to 'option tcplog'.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, place.as_ref().unwrap_or(&draft.place), message);
    }
}

/// In TCP mode, rules about HTTP messages never run.
pub(super) fn without_http(mut rules: Rules) -> Rules {
    let http =
        [RuleSetKind::HttpRequest, RuleSetKind::HttpResponse, RuleSetKind::HttpAfterResponse];
    for ruleset in http {
        *rules.set_mut(ruleset) = RuleSet::new(ruleset);
    }
    rules.redirect = RuleSet::new(RuleSetKind::HttpRequest);
    rules
}
