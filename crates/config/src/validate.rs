//! Checks and completes drafts: references are resolved, numbers given, settings judged together.
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::{Draft, DraftKind, DraftProxy};
use crate::model::{At, Common, Mode, Proxy, ProxyKind, Rules};
use std::collections::HashSet;
use std::sync::Arc;

mod backends;
mod checks;
mod disabled_proxies;
mod error_replies;
mod fcgi;
mod filters;
mod formats;
pub(crate) mod http_client;
mod lints;
mod logs;
mod mode;
mod named_objects;
mod names;
mod numbers;
mod resolvers;
mod rings;
mod servers;
mod spoe;
mod states;
mod tables;
mod threads;
pub(crate) mod tls;
mod track;
mod tracking;

use self::tls::TlsContext;
pub(crate) use logs::logs;
pub(crate) use mode::is_usable;
pub(crate) use numbers::number;
pub(crate) use servers::{missing_port, unspoken_by_checks};

/// Completes what needs no other section: numbers, threads, names, states. The certificates of
/// proxies are loaded with it.
pub(crate) fn prepare(draft: &mut Draft, cx: &mut Cx<'_>) -> TlsContext {
    disabled_proxies::forget(draft, cx);
    logs::default_transports(draft);
    numbers::number_proxies(draft, cx);
    threads::seat_threads(&mut draft.global.process, cx);
    if let Err(told) = crate::parse::read_header_case(&mut draft.global.header_case, cx) {
        cx.diagnostics.push(Diagnostic::general(Severity::Alert, told.to_string()));
    }
    error_replies::check_error_files(&draft.global.settings, cx);
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

/// Completes the proxies, whose references to other sections are resolved, and the hidden proxies.
pub(crate) fn proxies(
    draft: &mut Draft,
    advise: bool,
    cx: &mut Cx<'_>,
) -> (Vec<Proxy>, Vec<Proxy>) {
    let inherited = std::mem::take(&mut draft.defaults);
    let names: Vec<Arc<str>> = inherited.iter().map(|draft| draft.name.clone()).collect();
    let inherited = inherited.into_iter().map(|d| shared_rules(d.rules)).collect();
    let proxies = std::mem::take(&mut draft.proxies);
    let hidden = std::mem::take(&mut draft.hidden);
    let mut shared =
        Shared { inherited, kinds: proxies.iter().map(Summary::of).collect(), draft, advise };
    sections_of_defaults(&names, &shared, cx);
    let proxies = proxies.into_iter().filter_map(|proxy| finish(proxy, &shared, cx)).collect();
    // Built-in lines are not judged.
    shared.advise = false;
    let hidden = hidden.into_iter().filter_map(|proxy| finish(proxy, &shared, cx)).collect();
    (proxies, hidden)
}

/// Stick tables, and keywords that refer to names of other sections. The tables are in order of
/// declaration.
pub(crate) fn references(
    draft: &mut Draft,
    proxies: &mut [Proxy],
    stick_tables: StickTables,
    cx: &mut Cx<'_>,
) -> Vec<table::Settings> {
    if draft.global.process.noreuseport {
        threads::warn_of_shards(proxies, cx);
    }
    warn_of_expressions(cx);
    let tables =
        tables::collect(stick_tables.settings, (&stick_tables.retired, &stick_tables.peers), cx);
    named_objects::mark(proxies, cx);
    spoe::resolve(proxies, draft.global.settings.buffer_size, cx);
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

/// The sections that rules of `defaults` sections of these names name.
fn sections_of_defaults(names: &[Arc<str>], shared: &Shared<'_>, cx: &mut Cx<'_>) {
    for (name, rules) in names.iter().zip(&shared.inherited) {
        let Some(rules) = rules else { continue };
        error_replies::sections_of_rules(name, rules, shared, cx);
        resolvers::rules(name, rules, shared, cx);
        // A section of defaults has no filters.
        filters::limits(name, rules, &[], cx);
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
    is_spop: bool,
    place: Place,
}

impl Summary {
    fn of(proxy: &DraftProxy) -> Self {
        let settings = &proxy.settings;
        Self { mode: settings.mode, is_spop: settings.is_spop, place: proxy.place.clone() }
    }
}

impl Cx<'_> {
    pub(crate) fn about(&mut self, severity: Severity, place: &Place, message: String) {
        self.diagnostics.push(Diagnostic::about(severity, place, message));
    }
}

fn finish(mut draft: DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) -> Option<Proxy> {
    let DraftKind::Proxy(kind) = draft.kind else { return None };
    let inherited_rules = draft.parent.and_then(|at| shared.inherited[at].clone());
    let inherited = inherited_rules.as_deref();
    let switches = draft.rules.may_switch_mode() || inherited.is_some_and(Rules::may_switch_mode);
    if !draft.settings.disabled {
        servers::check_servers(&draft, cx);
        if shared.advise {
            mode::check_mode(&mut draft, switches, cx);
            checks::unused(&draft, cx);
            backends::hasty(&draft, cx);
            backends::shadowed(&draft, cx);
            check_sides(&draft, kind, cx);
            logs::check_logs(&draft, &shared.draft.global.logs, cx);
            check_timeouts(&draft, cx);
            tracking::check(&draft, cx);
            lints::proxy(&draft, cx);
        }
        filters::caches(&draft, inherited, shared, cx);
        filters::finish(&mut draft, cx);
    }
    numbers::duplicate_ids(&draft, cx);
    check_page(&draft, cx);
    servers::select_servers(&mut draft, cx);
    if shared.advise {
        threads::check_threads(&draft, &shared.draft.global.process.threads, cx);
    }
    backends::resolve(&mut draft, shared, cx);
    error_replies::error_replies(&mut draft, shared, cx);
    resolvers::servers(&mut draft, shared, cx);
    named_by_rules(&draft, shared, cx);
    let email_alert = checks::email_alert(&draft, shared, cx);
    let http = draft.settings.mode == Mode::Http;
    let formats = formats::compile(&draft, &shared.draft.global.logs, cx);
    let captured = formats::captured(&mut draft, shared.draft.global.tune.cookie_len, cx);
    let direct = backends::direct(&draft, cx);
    let rules = if http || switches { draft.rules } else { mode::without_http(draft.rules) };
    let settings = draft.settings;
    let mut common = settings.common;
    common.logs = logs(settings.logs, &shared.draft.global.logs);
    common.stats = settings.stats;
    name_in_scope(&mut common, &draft.name);
    common.email_alert = email_alert;
    common.timeouts = common.timeouts.of_sides(kind.has_frontend(), kind.has_backend());
    let (mut front, mut back) = (settings.front, settings.back);
    number(front.binds.iter_mut().map(|bind| &mut bind.id));
    back.servers.iter_mut().for_each(|server| server.forced_id = server.id > 0);
    number(back.servers.iter_mut().map(|server| &mut server.id));
    back.check = checks::health_check(settings.check);
    fcgi::complete(&mut back, &mut common, shared);
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
        is_spop: settings.is_spop,
        common,
        rules,
        inherited_rules,
        formats,
        captured,
        front: kind.has_frontend().then_some(front),
        back: kind.has_backend().then_some(back),
    })
}

/// The proxy's own name for `stats scope .`.
fn name_in_scope(common: &mut Common, own: &str) {
    let scope = common.stats.iter_mut().flat_map(|page| &mut page.scope);
    scope.filter(|name| *name == ".").for_each(|name| own.clone_into(name));
}

/// The `resolvers` sections and the bandwidth limits that rules name, and the FastCGI application.
fn named_by_rules(draft: &DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    fcgi::check(draft, shared, cx);
    resolvers::rules(&draft.name, &draft.rules, shared, cx);
    filters::limits(&draft.name, &draft.rules, &draft.settings.common.filters, cx);
}

fn shared_rules(rules: Rules) -> Option<Arc<Rules>> {
    (!rules.is_empty()).then(|| Arc::new(rules))
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

fn check_timeouts(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let settings = &draft.settings;
    let timeouts = &settings.common.timeouts;
    let no_client = draft.has_frontend() && timeouts.client.is_none();
    let serves = draft.has_backend() && !settings.back.servers.is_empty();
    if no_client || serves && (timeouts.connect.is_none() || timeouts.server.is_none()) {
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
