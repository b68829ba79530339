//! The hidden proxy that requests of the process itself go through, from built-in lines.
use super::tls;
use super::tls::TlsContext;
use crate::context::Cx;
use crate::diag::{Place, Severity};
use crate::draft::{Draft, DraftKind, DraftProxy, Settings};
use crate::lex::{self, Surroundings};
use crate::line::Line;
use crate::model::{Bind, HttpClient, Level, ProxyKind};
use crate::parse::proxy;
use std::path::Path;

/// The name of the proxy, and of its server for connections in the clear.
const NAME: &str = "<HTTPCLIENT>";
/// Its server for connections over TLS.
const TLS_NAME: &str = "<HTTPSCLIENT>";
/// The `resolvers` section without `httpclient.resolvers.id`.
const RESOLVERS: &str = "default";
/// The authorities without `httpclient.ssl.ca-file`.
const AUTHORITIES: &str = "@system-ca";
/// Milliseconds for a connection without `httpclient.timeout.connect`.
const CONNECT_MS: u64 = 5_000;
/// Attempts after the first one without `httpclient.retries`.
const RETRIES: u32 = 3;

/// Adds the proxy, if something in the configuration can make requests.
pub(crate) fn add(draft: &mut Draft, context: &TlsContext, cx: &mut Cx<'_>) {
    if !is_wanted(draft) {
        return;
    }
    let client = draft.global.http_client.clone();
    let built_in = Place { file: NAME.into(), line: 0 };
    let kind = DraftKind::Proxy(ProxyKind::Listen);
    let mut hidden = DraftProxy::new(NAME, kind, built_in.clone(), Settings::default());
    let found = |name: &str| draft.resolvers.iter().any(|section| *section.name == *name);
    let mut lines = common(&client, &built_in);
    lines.extend(resolution(&client, found, &built_in));
    lines.extend(servers(&client, cx, &built_in));
    // Operators are shown the patterns of sections only.
    let shown = std::mem::take(&mut cx.patterns);
    for (text, place) in &lines {
        read(&mut hidden, (text, place), cx);
    }
    cx.patterns = shown;
    for (server, name) in hidden.settings.back.servers.iter_mut().zip([NAME, TLS_NAME]) {
        server.name = name.into();
    }
    tls::proxies(std::slice::from_mut(&mut hidden), context, cx);
    draft.hidden.push(hidden);
}

/// Scripts make requests, operators at a runtime socket, and updates of OCSP responses.
fn is_wanted(draft: &Draft) -> bool {
    let global = &draft.global;
    if draft.proxies.iter().flat_map(|it| &it.settings.front.binds).any(updates) {
        return true;
    }
    let operators = global.stats.sockets.iter().any(|bind| bind.options.level == Level::Admin);
    operators || global.lua.loads || global.http_client != HttpClient::default()
}

/// Whether OCSP responses of a line are fetched.
fn updates(bind: &Bind) -> bool {
    let line = &bind.options.tls;
    let listed = line.settings.certificates.iter().map(|listed| &listed.options);
    let preset = line.presets.as_ref().map(|presets| &presets.bind);
    let mut all = listed.chain([&line.settings.options]).chain(preset);
    all.any(|options| options.ocsp_update == Some(true))
}

type BuiltInLines = Vec<(String, Place)>;

/// The lines of both sections. Requests with an unsafe method are sent again only if no server has
/// received them.
fn common(client: &HttpClient, place: &Place) -> BuiltInLines {
    let connect = client.timeout_connect.unwrap_or(CONNECT_MS);
    let retries = client.retries.unwrap_or(RETRIES);
    let lines = [
        "mode http".to_owned(),
        "log global".to_owned(),
        "option httplog".to_owned(),
        "http-reuse never".to_owned(),
        format!("timeout connect {connect}ms"),
        format!("retries {retries}"),
        "retry-on conn-failure empty-response response-timeout".to_owned(),
        "http-request disable-l7-retry if { var(sess.httpclient_once) -m found }".to_owned(),
    ];
    lines.into_iter().map(|line| (line, place.clone())).collect()
}

/// The rules for a server that is given by name.
fn resolution(client: &HttpClient, found: impl Fn(&str) -> bool, built_in: &Place) -> BuiltInLines {
    let named = "{ var(sess.httpclient_host) -m found }";
    let known = "{ var(txn.httpclient_ip) -m found }";
    let (section, place) = match &client.resolvers {
        Some(section) => (section.value.as_str(), &section.place),
        None => (RESOLVERS, built_in),
    };
    let mut lines = Vec::new();
    if !client.resolves_nothing && (client.resolvers.is_some() || found(section)) {
        let family = if client.prefers_ipv4 { "ipv4" } else { "ipv6" };
        let rule = format!(
            "http-request do-resolve(txn.httpclient_ip,{section},{family}) var(sess.httpclient_host) if {named}"
        );
        lines.push((rule, place.clone()));
    }
    let rules = [
        "http-request capture var(txn.httpclient_ip) len 40".to_owned(),
        format!("http-request return status 503 if {named} !{known}"),
        format!("http-request set-dst var(txn.httpclient_ip) if {known}"),
        format!("http-request set-dst-port var(sess.httpclient_port) if {known}"),
        "http-request set-timeout server var(sess.httpclient_timeout) if { var(sess.httpclient_timeout) -m found }".to_owned(),
    ];
    lines.extend(rules.into_iter().map(|rule| (rule, built_in.clone())));
    lines
}

/// The servers, whose address comes from each request. Without authorities there is no server over
/// TLS.
fn servers(client: &HttpClient, cx: &Cx<'_>, built_in: &Place) -> BuiltInLines {
    let encrypted = "{ var(sess.httpclient_name) -m found }";
    let (file, place) = match &client.ca_file {
        Some(file) => (file.value.as_str(), &file.place),
        None => (AUTHORITIES, built_in),
    };
    let trusts = client.trusts_servers;
    let usable = || cx.files.read(Path::new(::tls::SYSTEM_AUTHORITIES)).is_ok();
    let has_tls = trusts || client.ca_file.is_some() || usable();
    let mut lines = vec![
        (format!("use-server {NAME} unless {encrypted}"), built_in.clone()),
        ("server clear 0.0.0.0".to_owned(), built_in.clone()),
    ];
    if !has_tls {
        let rule = format!("http-request return status 503 if {encrypted}");
        lines.push((rule, built_in.clone()));
        return lines;
    }
    let check = match (trusts, &client.ca_file) {
        (true, None) => "verify none".to_owned(),
        (true, Some(_)) => format!("verify none ca-file {}", quoted(file)),
        (false, _) => format!("verify required ca-file {}", quoted(file)),
    };
    lines.push((format!("use-server {TLS_NAME} if {encrypted}"), built_in.clone()));
    let server = format!("server encrypted 0.0.0.0 ssl {check} sni var(sess.httpclient_name)");
    lines.push((server, place.clone()));
    lines
}

/// A word without quotes, escapes or variables.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Reads a built-in line. Mistakes are those of words from `httpclient.*`.
fn read(hidden: &mut DraftProxy, (text, place): (&str, &Place), cx: &mut Cx<'_>) {
    let around =
        Surroundings { env: &cx.env.clone(), file: &place.file, line: place.line, section: NAME };
    match lex::split(text, &around) {
        Ok(words) => {
            let line = Line::new(words, text, place.clone());
            if let Err(fault) = proxy::line(hidden, cx, line.args()) {
                cx.alert(line.args(), fault);
            }
        }
        Err(error) => {
            let message = format!("httpclient : {}", error.message);
            cx.about(Severity::Alert, place, message);
        }
    }
}
