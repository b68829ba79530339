//! Checks and completes drafts: references are resolved, numbers given, settings judged together.
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::{Draft, DraftError, DraftErrorFiles, DraftKind, DraftLog, DraftProxy};
use crate::model::{
    At, Balance, Check, ConnectSource, Disguise, ErrorReply, LogStyle, LogTarget, LogTransport,
    MAX_THREADS, Mode, PER_GROUP, Process, Protocol, Proxy, ProxyKind, Rules, SendHostname, Server,
    ServerPort, Threads, Tune,
};
use rules::check::StepPorts;
use rules::{RuleSet, RuleSetKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

mod backends;
mod checks;
mod disabled_proxies;
mod filters;
mod formats;
mod lints;
mod named_objects;
mod names;
mod resolvers;
mod rings;
mod states;
mod tables;
pub(crate) mod tls;
mod track;
mod tracking;

use self::tls::TlsContext;
use rules::BackendName;

/// Completes what needs no other section: numbers, threads, names, states. The certificates of
/// proxies are loaded with it.
pub(crate) fn prepare(draft: &mut Draft, cx: &mut Cx<'_>) -> TlsContext {
    disabled_proxies::forget(draft, cx);
    default_transports(draft);
    number_proxies(draft, cx);
    seat_threads(&mut draft.global.process, cx);
    if let Err(told) = crate::parse::read_header_case(&mut draft.global.header_case, cx) {
        cx.diagnostics.push(Diagnostic::general(Severity::Alert, told));
    }
    check_error_files(&draft.global.tune, cx);
    lints::backends(&draft.proxies, cx);
    states::load(&mut draft.proxies, &draft.global, cx);
    track::resolve(&mut draft.proxies, cx);
    for proxy in draft.proxies.iter().filter(|proxy| !proxy.settings.disabled) {
        checks::external(proxy, &draft.global.process, cx);
    }
    let context = TlsContext::new(&draft.global);
    tls::proxies(&mut draft.proxies, &context, cx);
    context
}

/// Completes the proxies, whose references to other sections are resolved.
pub(crate) fn proxies(draft: &mut Draft, advise: bool, cx: &mut Cx<'_>) -> Vec<Proxy> {
    let inherited = std::mem::take(&mut draft.defaults);
    let names: Vec<Arc<str>> = inherited.iter().map(|draft| draft.name.clone()).collect();
    let inherited = inherited.into_iter().map(|d| shared_rules(d.rules)).collect();
    let proxies = std::mem::take(&mut draft.proxies);
    let shared =
        Shared { inherited, kinds: proxies.iter().map(Summary::of).collect(), draft, advise };
    sections_of_defaults(&names, &shared, cx);
    proxies.into_iter().filter_map(|proxy| finish(proxy, &shared, cx)).collect()
}

/// Stick tables, and what looks up names in all sections. The tables are in order of declaration.
pub(crate) fn references(
    draft: &mut Draft,
    proxies: &mut [Proxy],
    stick_tables: StickTables,
    cx: &mut Cx<'_>,
) -> Vec<table::Settings> {
    if draft.global.process.noreuseport {
        warn_of_shards(proxies, cx);
    }
    warn_of_expressions(cx);
    let tables =
        tables::collect(stick_tables.settings, (&stick_tables.retired, &stick_tables.peers), cx);
    named_objects::mark(proxies, cx);
    named_objects::check(proxies, &draft.complete_userlists, &draft.rings, cx);
    let rings = std::mem::take(&mut draft.rings);
    draft.global.rings = rings::complete(rings, &draft.global.log_send_hostname, cx);
    tables
}

/// The stick tables of all proxies.
pub(crate) struct StickTables {
    settings: Vec<At<table::Settings>>,
    /// Names of sections that are out of service.
    retired: HashSet<Arc<str>>,
    /// Names of `peers` sections.
    peers: HashSet<Arc<str>>,
}

impl StickTables {
    /// Takes them out of the proxies.
    pub(crate) fn take(draft: &mut Draft) -> Self {
        let retired = disabled_proxies::names(draft);
        let settings = draft.proxies.iter_mut().filter_map(|proxy| proxy.stick_table.take());
        let shared = draft.peers.iter_mut().flat_map(|peers| peers.tables.drain(..));
        let settings = settings.chain(shared).collect();
        let peers = draft.peers.iter().map(|peers| peers.section.name.clone()).collect();
        Self { settings, retired, peers }
    }
}

/// Formats have been compiled by now: their regular expressions are known, too.
fn warn_of_expressions(cx: &mut Cx<'_>) {
    for pattern in sample::regex::take_catastrophic() {
        let told = crate::parse::catastrophic(&pattern);
        cx.diagnostics.push(Diagnostic::general(Severity::Warning, told));
    }
}

fn warn_of_shards(proxies: &[Proxy], cx: &mut Cx<'_>) {
    for bind in proxies.iter().flat_map(Proxy::sharded) {
        let text = "'shards' has no effect with 'noreuseport'";
        let message = format!("'bind {}' : {text}", bind.written);
        cx.about(Severity::Warning, &bind.place, message);
    }
}

/// The sections that rules of `defaults` sections of these names name.
fn sections_of_defaults(names: &[Arc<str>], shared: &Shared<'_>, cx: &mut Cx<'_>) {
    for (name, rules) in names.iter().zip(&shared.inherited) {
        let Some(rules) = rules else { continue };
        sections_of_rules(name, rules, shared, cx);
        resolvers::rules(name, rules, shared, cx);
        // A section of defaults has no filters.
        filters::limits(name, rules, &[], cx);
    }
}

/// Bytes of a buffer, and those kept for rewriting, without `tune.*`.
const BUFFER_SIZE: u32 = 16_384;
const MAX_REWRITE: u32 = 1_024;

/// Error replies leave room for `http-after-response` rules (section 4.2 `errorfile`).
fn check_error_files(tune: &Tune, cx: &mut Cx<'_>) {
    let buffer = tune.bufsize.unwrap_or(BUFFER_SIZE);
    let room = buffer - tune.maxrewrite.unwrap_or(MAX_REWRITE).min(buffer / 2);
    for (length, alert) in std::mem::take(&mut cx.error_files) {
        if length > room as usize {
            cx.diagnostics.push(alert);
        }
    }
}

/// The other sections, for the references of one proxy.
struct Shared<'d> {
    /// The rules of each `defaults` section, if it has any.
    inherited: Vec<Option<Arc<Rules>>>,
    kinds: Vec<Summary>,
    /// All other sections.
    draft: &'d Draft,
    /// False after errors: a line that failed must not be reported as missing too.
    advise: bool,
}

struct Summary {
    mode: Mode,
    place: Place,
}

impl Summary {
    fn of(proxy: &DraftProxy) -> Self {
        Self { mode: proxy.settings.mode, place: proxy.place.clone() }
    }
}

impl Cx<'_> {
    pub(crate) fn about(&mut self, severity: Severity, place: &Place, message: String) {
        self.diagnostics.push(Diagnostic::about(severity, place, message));
    }
}

/// Targets without `format` follow `log-send-hostname`.
fn default_transports(draft: &mut Draft) {
    if draft.global.log_send_hostname == SendHostname::No {
        return;
    }
    let own = draft.proxies.iter_mut().flat_map(|p| &mut p.settings.logs);
    let own = own.filter_map(|log| match log {
        DraftLog::Target(target) => Some(target),
        DraftLog::Global => None,
    });
    for target in draft.global.logs.iter_mut().chain(own) {
        if target.default_transport {
            target.transport = LogTransport::Rfc3164;
        }
    }
}

/// The threads of the process and their groups.
fn seat_threads(process: &mut Process, cx: &mut Cx<'_>) {
    let most = process.thread_groups * PER_GROUP;
    let available = u16::try_from(cx.processors).unwrap_or(MAX_THREADS).clamp(1, most);
    let count = process.nbthread.unwrap_or(available);
    match Threads::new(count, process.thread_groups, &process.thread_group) {
        Ok(threads) => process.threads = threads,
        Err(left) => {
            let message = format!(
                "Remaining unassigned threads found ({left}) because all groups are in use. Please increase 'thread-groups', reduce 'nbthreads' or remove or extend 'thread-group' enumerations."
            );
            cx.diagnostics.push(Diagnostic::general(Severity::Alert, message));
        }
    }
}

/// Every listener needs a thread that accepts.
fn check_threads(draft: &DraftProxy, threads: &Threads, cx: &mut Cx<'_>) {
    for bind in &draft.settings.front.binds {
        let set = &bind.options.threads;
        if set.is_empty() || !threads.of(set).is_empty() {
            continue;
        }
        let wrong = match set.group {
            None => "contains threads that belong to no group",
            Some(_) => "only references threads not belonging to the group",
        };
        let message = format!(
            "Proxy '{}': 'thread' directive {wrong} in 'bind {}' at [{}].",
            draft.name, bind.written, bind.place
        );
        cx.diagnostics.push(Diagnostic::general(Severity::Alert, message));
    }
}

/// Explicit numbers must differ; the others take the next free one in order.
fn number_proxies(draft: &mut Draft, cx: &mut Cx<'_>) {
    let mut first: HashMap<u32, usize> = HashMap::new();
    for index in 0..draft.proxies.len() {
        let Some(id) = draft.proxies[index].id.clone() else { continue };
        if let Some(other) = first.get(&id.value) {
            let (one, other) = (&draft.proxies[index], &draft.proxies[*other]);
            let message = format!(
                "{} {} reuses same custom id as {} {} (declared at {}).",
                one.word(),
                one.name,
                other.word(),
                other.name,
                other.place
            );
            cx.about(Severity::Alert, &id.place, message);
        }
        first.entry(id.value).or_insert(index);
    }
    let before_stats = draft.before_stats;
    let mut numbers = ProxyNumbers { next: 1, taken: first.into_keys().collect() };
    for (index, proxy) in draft.proxies.iter_mut().enumerate() {
        if before_stats == Some(index) {
            // Its number may be that of another proxy: this one does not look for a free one.
            numbers.take(false);
        }
        proxy.forced_id = proxy.id.is_some();
        let free = numbers.take(proxy.id.is_none());
        if proxy.id.is_none() {
            proxy.id = Some(At { value: free, place: proxy.place.clone() });
        }
    }
}

/// Automatic numbers of proxies, as HAProxy gives them: those with an explicit one count too, and
/// so does the hidden proxy that the first `stats` line of `global` makes.
struct ProxyNumbers {
    next: u32,
    taken: HashSet<u32>,
}

impl ProxyNumbers {
    /// The number of the next proxy, if it has none of its own.
    fn take(&mut self, automatic: bool) -> u32 {
        while automatic && self.taken.contains(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        self.next - 1
    }
}

/// Zeros become the next free number, in order.
pub(crate) fn number<'a>(ids: impl Iterator<Item = &'a mut u32>) {
    let mut ids: Vec<&mut u32> = ids.collect();
    let taken: HashSet<u32> = ids.iter().map(|id| **id).collect();
    let mut next = 1;
    for id in &mut ids {
        if **id == 0 {
            while taken.contains(&next) {
                next += 1;
            }
            **id = next;
        }
        // One that has its own number uses one up, too.
        next += 1;
    }
}

fn finish(mut draft: DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) -> Option<Proxy> {
    let DraftKind::Proxy(kind) = draft.kind else { return None };
    let inherited_rules = draft.parent.and_then(|at| shared.inherited[at].clone());
    let inherited = inherited_rules.as_deref();
    let switches = draft.rules.may_switch_mode() || inherited.is_some_and(Rules::may_switch_mode);
    if !draft.settings.disabled {
        check_servers(&draft, cx);
        if shared.advise {
            check_mode(&mut draft, switches, cx);
            checks::unused(&draft, cx);
            backends::hasty(&draft, cx);
            backends::shadowed(&draft, cx);
            check_sides(&draft, kind, cx);
            check_logs(&draft, &shared.draft.global.logs, cx);
            check_timeouts(&draft, cx);
            tracking::check(&draft, cx);
            lints::proxy(&draft, cx);
        }
        filters::caches(&draft, inherited, shared, cx);
        filters::complete(&mut draft, cx);
    }
    duplicate_ids(&draft, cx);
    check_page(&draft, cx);
    select_servers(&mut draft, cx);
    if shared.advise {
        check_threads(&draft, &shared.draft.global.process.threads, cx);
    }
    backends::resolve(&mut draft, shared, cx);
    error_replies(&mut draft, shared, cx);
    resolvers::servers(&mut draft, shared, cx);
    named_by_rules(&draft, shared, cx);
    let email_alert = checks::email_alert(&draft, shared, cx);
    let http = draft.settings.mode == Mode::Http;
    let formats = formats::compile(&draft, &shared.draft.global.logs, cx);
    let captured = formats::captured(&mut draft, shared.draft.global.tune.cookie_len, cx);
    let direct = backends::direct(&draft, cx);
    let rules = if http || switches { draft.rules } else { without_http(draft.rules) };
    let settings = draft.settings;
    let mut common = settings.common;
    common.logs = logs(settings.logs, &shared.draft.global.logs);
    common.stats = settings.stats;
    for name in common.stats.iter_mut().flat_map(|page| &mut page.scope).filter(|it| *it == ".") {
        *name = draft.name.to_string();
    }
    common.email_alert = email_alert;
    let mut front = settings.front;
    let mut back = settings.back;
    number(front.binds.iter_mut().map(|bind| &mut bind.id));
    back.servers.iter_mut().for_each(|server| server.forced_id = server.id > 0);
    number(back.servers.iter_mut().map(|server| &mut server.id));
    back.check = checks::health_check(settings.check);
    back.direct = direct;
    Some(Proxy {
        name: draft.name,
        forced_id: draft.forced_id,
        id: draft.id.map_or(0, |id| id.value),
        kind,
        place: draft.place,
        description: draft.description,
        disabled: settings.disabled,
        mode: settings.mode,
        common,
        rules,
        inherited_rules,
        formats,
        captured,
        front: kind.has_frontend().then_some(front),
        back: kind.has_backend().then_some(back),
    })
}

/// The `resolvers` sections and the bandwidth limits that rules name.
fn named_by_rules(draft: &DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    resolvers::rules(&draft.name, &draft.rules, shared, cx);
    filters::limits(&draft.name, &draft.rules, &draft.settings.common.filters, cx);
}

/// Servers that `use-server` rules name.
fn select_servers(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    let word = draft.word();
    let servers = &draft.settings.back.servers;
    for selection in &mut draft.rules.selection {
        let BackendName::Fixed(name) = selection.rule.name() else { continue };
        selection.server = servers.iter().position(|server| *server.name == **name);
        if selection.server.is_none() {
            let (file, line) = selection.rule.place();
            let message = format!(
                "{word} '{}' : unable to find server '{name}' referenced in a 'use-server' rule.",
                draft.name
            );
            let place = Place { file: file.into(), line };
            let mut alert = Diagnostic::about(Severity::Alert, &place, message);
            alert.suggestion = crate::suggest::nearest(name, servers.iter().map(|s| &*s.name));
            cx.diagnostics.push(alert);
        }
    }
}

/// Error replies of a proxy: later lines go before earlier ones, and those of the section before
/// those that it inherits.
fn error_replies(draft: &mut DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    let own = std::mem::take(&mut draft.settings.errors);
    let mut replies = BTreeMap::new();
    let mut level = Some(&own);
    while let Some(errors) = level {
        for line in errors.lines.iter().rev() {
            match line {
                DraftError::Reply(status, reply) => {
                    replies.entry(*status).or_insert_with(|| reply.clone());
                }
                DraftError::Files(line) => error_files(line, draft, shared, cx, &mut replies),
            }
        }
        level = errors.inherited.as_deref();
    }
    // `default-errorfiles` hides what is inherited.
    replies.retain(|_, reply| !matches!(reply, ErrorReply::Reply(reply) if reply.is_default()));
    sections_of_rules(&draft.name, &draft.rules, shared, cx);
    draft.settings.common.error_replies = replies;
}

/// The `http-errors` sections that rules name must be there, and should have what is asked for.
fn sections_of_rules(proxy: &str, rules: &Rules, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    for rule in rules.sets().into_iter().flat_map(|set| set.rules()) {
        let rules::Action::Control(control) = rule.action() else { continue };
        let Some(reply) = control.reply() else { continue };
        let Some(name) = reply.section() else { continue };
        let (file, line) = rule.place();
        let place = Place { file: file.into(), line };
        let status = reply.key();
        match shared.draft.http_errors.iter().find(|section| *section.name == *name) {
            Some(section) if section.files.contains_key(&status) => {}
            Some(_) => {
                let message = format!(
                    "Proxy '{proxy}': status '{status}' referenced by an http reply not declared in http-errors section '{name}'."
                );
                cx.about(Severity::Warning, &place, message);
            }
            None => {
                let message = format!(
                    "Proxy '{proxy}': unable to find required http-errors section '{name}'."
                );
                cx.about(Severity::Alert, &place, message);
            }
        }
    }
}

fn error_files(
    line: &DraftErrorFiles,
    draft: &DraftProxy,
    shared: &Shared<'_>,
    cx: &mut Cx<'_>,
    replies: &mut BTreeMap<u16, ErrorReply>,
) {
    let Some(section) = shared.draft.http_errors.iter().find(|s| *s.name == *line.section) else {
        let message = format!(
            "Proxy '{}': unable to find required http-errors section '{}'.",
            draft.name, line.section
        );
        cx.about(Severity::Alert, &line.place, message);
        return;
    };
    for (status, reply) in &section.files {
        if line.statuses.is_empty() || line.statuses.contains(status) {
            replies.entry(*status).or_insert_with(|| reply.clone());
        }
    }
}

fn shared_rules(rules: Rules) -> Option<Arc<Rules>> {
    (!rules.is_empty()).then(|| Arc::new(rules))
}

/// In TCP mode, rules about HTTP messages never run.
fn without_http(mut rules: Rules) -> Rules {
    let http =
        [RuleSetKind::HttpRequest, RuleSetKind::HttpResponse, RuleSetKind::HttpAfterResponse];
    for ruleset in http {
        *rules.set_mut(ruleset) = RuleSet::new(ruleset);
    }
    rules.redirect = RuleSet::new(RuleSetKind::HttpRequest);
    rules
}

/// `log global` becomes the global targets.
pub(crate) fn logs(own: Vec<DraftLog>, global: &[LogTarget]) -> Vec<LogTarget> {
    let mut logs = Vec::new();
    for log in own {
        match log {
            DraftLog::Global => logs.extend_from_slice(global),
            DraftLog::Target(target) => logs.push(target),
        }
    }
    logs
}

/// Whether a proxy of this mode can speak it.
pub(crate) fn is_usable(protocol: Protocol, http: bool) -> bool {
    match protocol {
        Protocol::H1 | Protocol::H2 => http,
        Protocol::None => !http,
        Protocol::Fcgi => false,
    }
}

/// The protocol of a line has to be one that a proxy of this mode supports.
fn check_protocols(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let http = draft.settings.mode == Mode::Http;
    let usable = |protocol| is_usable(protocol, http);
    let mut wrong = Vec::new();
    for bind in draft.settings.front.binds.iter().filter(|_| draft.has_frontend()) {
        if let Some(protocol) = bind.options.protocol.filter(|it| !usable(*it)) {
            wrong.push((protocol, format!("bind {}", bind.written), bind.place.clone()));
        }
    }
    for server in draft.settings.back.servers.iter().filter(|_| draft.has_backend()) {
        if let Some(protocol) = server.options.protocol.filter(|it| !usable(*it)) {
            wrong.push((protocol, format!("server {}", server.name), server.place.clone()));
        }
    }
    for (protocol, line, place) in wrong {
        // As HAProxy writes it, a server's name alone stands in quotes.
        let line = match line.strip_prefix("server ") {
            Some(name) => format!("server '{name}'"),
            None => format!("'{line}'"),
        };
        let (name, word) = (&draft.name, protocol.name());
        let message = format!(
            "proxy '{name}' : MUX protocol '{word}' is not usable for {line} at [{place}]."
        );
        cx.about(Severity::Alert, &place, message);
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

/// Warns of settings that need HTTP mode in a proxy without it.
fn check_mode(draft: &mut DraftProxy, switches: bool, cx: &mut Cx<'_>) {
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

/// Options that only HTTP gives something to do.
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

fn check_sides(draft: &DraftProxy, kind: ProxyKind, cx: &mut Cx<'_>) {
    if kind.has_frontend() && draft.settings.front.binds.is_empty() {
        let message = format!(
            "{} '{}' has no 'bind' directive. Please declare it as a backend if this was intended.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
}

/// A log format without anywhere to log to.
fn check_logs(draft: &DraftProxy, global: &[LogTarget], cx: &mut Cx<'_>) {
    let settings = &draft.settings;
    let formats = &settings.formats;
    let formats = [&formats.log, &formats.structured_data];
    let chosen = formats.iter().any(|format| format.is_some())
        || settings.front.log_style != LogStyle::default();
    if chosen && draft.has_frontend() && !formats::logs_somewhere(draft, global) {
        let message = format!(
            "log format ignored for {} '{}' since it has no log address.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
}

fn check_timeouts(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let settings = &draft.settings;
    let (front, back) = (&settings.front.timeouts, &settings.back.timeouts);
    let no_client = draft.has_frontend() && front.client.is_none();
    let serves = draft.has_backend() && !settings.back.servers.is_empty();
    if no_client || serves && (back.connect.is_none() || back.server.is_none()) {
        let message = format!(
            "missing timeouts for {} '{}'.\n   | While not properly invalid, you will certainly encounter various problems\n   | with such a configuration. To fix this, please ensure that all following\n   | timeouts are set to a non-zero value: 'client', 'connect', 'server'.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
}

/// The statistics page has either users of its own or rules.
fn check_page(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let Some(page) = &draft.settings.stats else { return };
    if !draft.rules.stats.is_empty() && (page.realm.is_some() || !page.users.is_empty()) {
        let message = format!(
            "proxy '{}': stats 'auth'/'realm' and 'http-request' can't be used at the same time.",
            draft.name
        );
        cx.about(Severity::Alert, &draft.place, message);
    }
}

/// Alerts about servers without a port for their checks.
fn check_servers(draft: &DraftProxy, cx: &mut Cx<'_>) {
    // The records of a service tell addresses and ports.
    let is_host = |server: &&Server| !server.host.as_ref().is_some_and(|it| it.starts_with('_'));
    let ports = checks::ports(&draft.settings.check);
    let http = checks::speaks_http(&draft.settings.check);
    for server in draft.settings.back.servers.iter().filter(is_host) {
        let check = &server.options.check;
        if let Some(wrong) = unspoken_by_checks(check, http) {
            let message =
                format!("{} '{}': server '{}' {wrong}", draft.word(), draft.name, server.name);
            cx.about(Severity::Alert, &server.place, message);
        }
        let follows = matches!(server.address.port, ServerPort::FromClient(_));
        // As measured: one without an address of its own may do without a port too.
        if server.host.is_none() && server.address.is_anywhere() {
            continue;
        }
        if !(check.enabled && check.port.is_none() && follows) {
            continue;
        }
        let Some(wrong) = missing_port(ports) else { continue };
        let message =
            format!("{} '{}': server '{}' {wrong}", draft.word(), draft.name, server.name);
        cx.about(Severity::Alert, &server.place, message);
    }
}

/// The mistake in the protocol of a server's checks; `http` tells whether they are HTTP checks.
pub(crate) fn unspoken_by_checks(check: &Check, http: bool) -> Option<String> {
    let protocol = check.protocol.filter(|_| check.enabled)?;
    let suits = (protocol == Protocol::None) != http;
    match protocol {
        _ if !suits => {
            Some("uses an incompatible MUX protocol for the selected check type".to_owned())
        }
        Protocol::Fcgi => {
            Some(format!("has 'check-proto {}', which is not implemented yet", protocol.name()))
        }
        Protocol::H1 | Protocol::H2 | Protocol::None => None,
    }
}

/// The mistake in the check of a server without a port; `None` if its script has one.
pub(crate) fn missing_port(ports: StepPorts) -> Option<&'static str> {
    match ports {
        StepPorts::Named => None,
        StepPorts::Implied => Some("has neither service port nor check port."),
        StepPorts::FirstMissing => Some(
            "has neither service port nor check port nor tcp_check rule 'connect' with port information.",
        ),
        StepPorts::LaterMissing => Some(
            "has neither service port nor check port, and a tcp_check rule 'connect' with no port information.",
        ),
    }
}

fn duplicate_ids(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let mut first = HashMap::new();
    for server in draft.settings.back.servers.iter().filter(|server| server.id > 0) {
        if let Some((place, name)) = first.get(&server.id) {
            let message = format!(
                "'server {}/{}' : 'id' : custom id {} already used at {place} ('server {name}').",
                draft.name, server.name, server.id
            );
            cx.about(Severity::Alert, &server.place, message);
        }
        first.entry(server.id).or_insert((&server.place, &server.name));
    }
    let mut lines = HashMap::new();
    for bind in draft.settings.front.binds.iter().filter(|bind| bind.id > 0) {
        let first = lines.entry(bind.id).or_insert(&bind.written);
        if !std::ptr::eq(*first, &bind.written) {
            let message = format!(
                "'bind {}' : 'id' : custom id {} already used ('bind {first}').",
                bind.written, bind.id
            );
            cx.about(Severity::Alert, &bind.place, message);
        }
    }
}
