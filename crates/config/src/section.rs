//! The lines that open sections (sections 3 and 4): names, `from`, inheritance. Never parses what is inside.
use crate::cx::Cx;
use crate::draft::{Draft, DraftKind, DraftLogForward, DraftProxy, DraftUserList, Settings};
use crate::line::{Args, Parsed};
use crate::model::{
    At, HttpErrors, LogForward, LogTransport, Mailers, Program, ProxyKind, Resolvers, Ring,
};
use crate::value::is_name_char;
use std::sync::Arc;
use stdx::is_ignored;

pub(crate) mod error_recovery;
pub(crate) mod log_forward;
pub(crate) mod mailers;
pub(crate) mod program;
pub(crate) mod resolvers;
pub(crate) mod ring;
pub(crate) mod userlist;

pub(crate) use resolvers::parse_system;
pub(crate) use userlist::resolve as resolve_userlist;

/// The section in which lines stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Before the first one.
    Outside,
    /// `global`.
    Global,
    /// `defaults`, by index.
    Defaults(usize),
    /// `http-errors`, by index.
    HttpErrors(usize),
    /// `userlist`, by index.
    UserList(usize),
    /// `mailers`, by index.
    Mailers(usize),
    /// `resolvers`, by index.
    Resolvers(usize),
    /// `ring`, by index.
    Ring(usize),
    /// `log-forward`, by index.
    LogForward(usize),
    /// `program`, by index.
    Program(usize),
    /// `namespace_list`.
    Namespaces,
    /// A proxy, by index.
    Proxy(usize),
    /// One that is not implemented yet: its lines are not judged.
    Skipped,
}

/// Sections of HAProxy 2.7 that are not implemented yet.
const OTHERS: [&str; 3] = ["cache", "fcgi-app", "peers"];

/// Opens the section that the line names; `None` if it names none. Faults do not keep the section
/// from opening, so that its lines are judged too.
pub(crate) fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Option<Section> {
    let kind = match args.text(0) {
        name if is_ignored("section", name) => return Some(Section::Skipped),
        "global" => {
            if let Err(fault) = args.no_more_than(0) {
                cx.alert(args, fault);
            }
            return Some(Section::Global);
        }
        "defaults" => return Some(defaults(draft, cx, args)),
        "http-errors" => return Some(http_errors(draft, cx, args)),
        "userlist" => return Some(userlist(draft, cx, args)),
        "mailers" => return Some(mailers(draft, cx, args)),
        "resolvers" => return Some(resolvers(draft, cx, args)),
        "ring" => return Some(ring(draft, cx, args)),
        "log-forward" => return Some(log_forward(draft, cx, args)),
        "program" => return Some(program(draft, cx, args)),
        "namespace_list" => return Some(Section::Namespaces),
        "frontend" => ProxyKind::Frontend,
        "backend" => ProxyKind::Backend,
        "listen" => ProxyKind::Listen,
        other if OTHERS.contains(&other) => {
            let message = format!("section '{other}' is not implemented yet");
            let area = crate::area::area("section", other);
            cx.alert(args, args.fault(0, message).in_area(area));
            return Some(Section::Skipped);
        }
        _ => return None,
    };
    Some(proxy(draft, cx, args, kind))
}

fn defaults(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let (name, from) = match args.text(1) {
        "from" => ("", 1),
        name => (name, 2),
    };
    let parent =
        told(cx, args, from_clause(draft, args, from, name, DraftKind::Defaults)).flatten();
    if let Some(parent) = parent.map(|at| &draft.defaults[at])
        && !parent.rules.is_empty()
    {
        let message = format!(
            "a defaults section cannot inherit from a defaults section defining TCP/HTTP rules (defaults section at {}).",
            parent.place
        );
        cx.alert(args, args.fault(0, message));
    }
    let settings = parent.map_or_else(Settings::default, |at| inherit(&draft.defaults[at]));
    let place = args.place().clone();
    draft.defaults.push(DraftProxy::new(name, DraftKind::Defaults, place, settings));
    Section::Defaults(draft.defaults.len() - 1)
}

fn http_errors(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let name = only_name(cx, args, "missing name for http-errors section.");
    if let Some(first) = draft.http_errors.iter().find(|first| *first.name == *name) {
        let message =
            format!("http-errors section '{name}' already exists (declared at {}).", first.place);
        cx.alert(args, args.fault(1, message));
    }
    let place = args.place().clone();
    let files = Default::default();
    draft.http_errors.push(HttpErrors { name: name.into(), place, files });
    Section::HttpErrors(draft.http_errors.len() - 1)
}

fn userlist(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let name = only_name(cx, args, "'userlist' expects <name> as arguments.");
    if let Some(at) = draft.userlists.iter().position(|first| first.name == name) {
        cx.warn(args, 1, format!("ignoring duplicated userlist '{name}'."));
        return Section::UserList(at);
    }
    let place = args.place().clone();
    let list = Default::default();
    draft.userlists.push(DraftUserList { name: name.into(), place, list, groups: Vec::new() });
    Section::UserList(draft.userlists.len() - 1)
}

fn mailers(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let name = only_name(cx, args, "missing name for mailers section.");
    if let Some(first) = draft.mailers.iter().find(|first| *first.name == *name) {
        let message = format!(
            "mailers section '{name}' has the same name as another mailers section declared at {}.",
            first.place
        );
        cx.alert(args, args.fault(1, message));
    }
    let place = args.place().clone();
    let section = Mailers { name: name.into(), place, timeout: 10_000, mailers: Vec::new() };
    draft.mailers.push(section);
    Section::Mailers(draft.mailers.len() - 1)
}

fn resolvers(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let name = only_name(cx, args, "missing name for resolvers section.");
    if let Some((at, c)) = name.char_indices().find(|(_, c)| !is_name_char(*c)) {
        let message = format!("character '{c}' is not permitted in 'resolvers' name '{name}'.");
        cx.alert(args, args.fault_at(1, at, message));
    }
    if let Some(first) = draft.resolvers.iter().find(|first| *first.name == *name) {
        let message = format!(
            "resolvers '{name}' has same name as another resolvers (declared at {}).",
            first.place
        );
        cx.alert(args, args.fault(1, message));
    }
    let (place, dns) = (args.place().clone(), dns::Settings::default());
    draft.resolvers.push(Resolvers { name: name.into(), place, nameservers: Vec::new(), dns });
    Section::Resolvers(draft.resolvers.len() - 1)
}

fn program(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let name = args.need(1, "'program' expects a name.");
    let name = told(cx, args, name.and_then(|name| args.no_more_than(1).map(|()| name)));
    let name = name.unwrap_or("");
    if draft.programs.iter().any(|first| *first.value.name == *name) {
        let message = format!("program section '{name}' already exists.");
        cx.alert(args, args.fault(1, message));
    }
    let (command, place) = (Vec::new(), args.place().clone());
    let value = Program { name: name.into(), command, uid: None, gid: None, restarts: true };
    draft.programs.push(At { value, place });
    Section::Program(draft.programs.len() - 1)
}

fn ring(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let name = told(cx, args, args.need(1, "missing ring name.")).unwrap_or("");
    if let Some((at, c)) = name.char_indices().find(|(_, c)| !is_name_char(*c)) {
        let message = format!("invalid ring name '{name}' (character '{c}' is not permitted).");
        cx.alert(args, args.fault_at(1, at, message));
    }
    let built_in = ["stdout", "stderr", "buf0"].contains(&name);
    if built_in || draft.rings.iter().any(|first| *first.name == *name) {
        cx.alert(args, args.fault(1, format!("sink named '{name}' already exists.")));
    }
    draft.rings.push(Ring {
        name: name.into(),
        place: args.place().clone(),
        description: name.to_owned(),
        format: LogTransport::Local,
        max_len: Ring::MAX_LEN,
        size: Ring::SIZE,
        backing_file: None,
        servers: Vec::new(),
        connect: None,
        server: None,
        default_format: true,
    });
    Section::Ring(draft.rings.len() - 1)
}

/// Connections at once of a `log-forward` section unless told.
const LOG_CLIENTS: u32 = 10;

fn log_forward(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Section {
    let name = only_name(cx, args, "missing name for log-forward section.");
    if let Some((at, c)) = name.char_indices().find(|(_, c)| !is_name_char(*c)) {
        let message = format!("character '{c}' is not permitted in 'log-forward' name '{name}'.");
        cx.alert(args, args.fault_at(1, at, message));
    }
    let mut known = draft.log_forwards.iter().map(|first| &first.section);
    if let Some(first) = known.find(|first| *first.name == *name) {
        let message = format!(
            "log-forward section '{name}' has the same name as another log-forward section declared at {}.",
            first.place
        );
        cx.alert(args, args.fault(1, message));
    }
    let section = LogForward {
        name: name.into(),
        place: args.place().clone(),
        binds: Vec::new(),
        datagrams: Vec::new(),
        logs: Vec::new(),
        maxconn: LOG_CLIENTS,
        backlog: 0,
        client: None,
    };
    draft.log_forwards.push(DraftLogForward { section, logs: Vec::new() });
    Section::LogForward(draft.log_forwards.len() - 1)
}

fn proxy(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>, kind: ProxyKind) -> Section {
    // Even a wrong name is what lines call the section by.
    let name = told(cx, args, name(args)).unwrap_or(args.text(1));
    let from = told(cx, args, from_clause(draft, args, 2, name, DraftKind::Proxy(kind)));
    let lost = from.is_none();
    let parent = from.flatten();
    let explicit = parent.is_some();
    let parent = parent.or(draft.defaults.len().checked_sub(1));
    let settings = parent.map_or_else(Settings::default, |at| inherit(&draft.defaults[at]));
    let place = args.place().clone();
    let index = draft.proxies.len();
    let mut proxy = DraftProxy::new(name, DraftKind::Proxy(kind), place, settings);
    proxy.parent = parent;
    if let Some(parent) = parent.filter(|_| kind.has_frontend()) {
        inherit_captures(&draft.defaults[parent], &proxy);
    }
    draft.proxies.push(proxy);
    if let Some(parent) = parent.filter(|_| !lost) {
        inherit_rules(&mut draft.defaults[parent], cx, args, kind, explicit);
    }
    if !name.is_empty() {
        claim_name(draft, cx, args, kind, index);
    }
    Section::Proxy(index)
}

/// The error becomes an alert.
fn told<T>(cx: &mut Cx<'_>, args: Args<'_>, parsed: Parsed<T>) -> Option<T> {
    parsed.map_err(|fault| cx.alert(args, fault)).ok()
}

/// The name of a section that has nothing else on its line; what there is too much leaves it its
/// name.
fn only_name<'l>(cx: &mut Cx<'_>, args: Args<'l>, missing: &str) -> &'l str {
    let name = told(cx, args, args.need(1, missing)).unwrap_or("");
    told(cx, args, args.no_more_than(1));
    name
}

/// The name of a proxy.
fn name(args: Args<'_>) -> Parsed<&str> {
    let keyword = args.text(0);
    let name = args.need(1, format!("'{keyword}' expects an <id> argument"))?;
    match name.char_indices().find(|(_, c)| !is_name_char(*c)) {
        None => Ok(name),
        Some((at, c)) => Err(args.fault_at(
            1,
            at,
            format!("character '{c}' is not permitted in '{keyword}' name '{name}'."),
        )),
    }
}

/// `from <defaults>` at argument `n`: the index of that section.
fn from_clause(
    draft: &Draft,
    args: Args<'_>,
    n: usize,
    name: &str,
    kind: DraftKind,
) -> Parsed<Option<usize>> {
    let keyword = args.text(0);
    match args.get(n) {
        None => return Ok(None),
        Some("from") => {}
        Some(_) if kind != DraftKind::Defaults => {
            return Err(args.fault(n, "please use the 'bind' keyword for listening addresses."));
        }
        Some(extra) => {
            let message = format!("'{keyword}' cannot handle unexpected argument '{extra}'.");
            return Err(args.fault(n, message));
        }
    }
    let wanted = args.need(
        n + 1,
        format!("'from' expects the name of a defaults section for {keyword} '{name}'."),
    )?;
    if let Some(extra) = args.get(n + 2) {
        let message = format!("'{keyword}' cannot handle unexpected argument '{extra}'.");
        return Err(args.fault(n + 2, message));
    }
    let mut found = draft.defaults.iter().enumerate().filter(|(_, d)| *d.name == *wanted);
    let Some((index, first)) = found.next() else {
        let message = format!("defaults section '{wanted}' not found for {keyword} '{name}'.");
        let names: Vec<Arc<str>> = draft.defaults.iter().map(|d| Arc::clone(&d.name)).collect();
        let nearest = crate::suggest::nearest(wanted, names.iter().map(|n| &**n));
        return Err(args.fault(n + 1, message).suggest(nearest));
    };
    if let Some((_, second)) = found.next() {
        let message = format!(
            "ambiguous defaults section name '{wanted}' referenced by {keyword} '{name}' exists at least at {} and {}.",
            first.place, second.place
        );
        return Err(args.fault(n + 1, message));
    }
    Ok(Some(index))
}

/// The slots that inherited rules fill go before those of the section.
fn inherit_captures(parent: &DraftProxy, proxy: &DraftProxy) {
    let (from, to) = (&parent.captures, &proxy.captures);
    to.request.borrow_mut().clone_from(&from.request.borrow());
    to.response.borrow_mut().clone_from(&from.response.borrow());
}

/// Whether a section of this kind may take its settings from `parent`: rules run on one side only.
fn inherit_rules(
    parent: &mut DraftProxy,
    cx: &mut Cx<'_>,
    args: Args<'_>,
    kind: ProxyKind,
    explicit: bool,
) {
    let at = parent.place.clone();
    let heirs = &mut parent.heirs;
    if !explicit && heirs.explicit && !heirs.warned {
        heirs.warned = true;
        let message = format!(
            "defaults section '{}' (declared at {at}) is explicitly referenced by another proxy and implicitly used here. To avoid any ambiguity don't mix both usage. Add a last defaults section not explicitly used or always use explicit references.",
            parent.name
        );
        cx.warn(args, 0, message);
    }
    heirs.explicit |= explicit;
    heirs.front |= kind.has_frontend();
    heirs.back |= kind.has_backend();
    if let Some(message) = conflict(parent, kind) {
        let message = format!("{message} (defaults section at {at}).");
        cx.alert(args, args.fault(0, message));
    }
}

/// Why this heir cannot have these rules.
fn conflict(parent: &DraftProxy, kind: ProxyKind) -> Option<&'static str> {
    let (rules, heirs) = (&parent.rules, parent.heirs);
    let first = !rules.tcp_connection.is_empty() || !rules.tcp_session.is_empty();
    if rules.is_empty() {
        None
    } else if kind == ProxyKind::Listen {
        Some("a listen section cannot inherit from a defaults section defining TCP/HTTP rules")
    } else if kind == ProxyKind::Backend && first {
        Some(
            "a backend section cannot inherit from a defaults section defining 'tcp-request connection' or 'tcp-request session' rules",
        )
    } else if kind == ProxyKind::Frontend && !rules.tcp_response.is_empty() {
        Some(
            "a frontend section cannot inherit from a defaults section defining 'tcp-response content' rules",
        )
    } else if heirs.front && heirs.back {
        Some(
            "frontends and backends cannot inherit from the same defaults section if it defines TCP/HTTP rules",
        )
    } else {
        None
    }
}

/// A copy of the settings of a `defaults` section.
fn inherit(parent: &DraftProxy) -> Settings {
    let mut settings = parent.settings.clone();
    settings.check.inherited = true;
    settings.inherits_stats = true;
    settings.options.log_chosen_by = None;
    let errors = std::mem::take(&mut settings.errors);
    settings.errors.inherited =
        if errors.lines.is_empty() { errors.inherited } else { Some(Arc::new(errors)) };
    settings
}

/// Names are unique per side: a frontend and a backend may share one.
fn claim_name(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>, kind: ProxyKind, index: usize) {
    let name = Arc::clone(&draft.proxies[index].name);
    let taken = |side: &std::collections::HashMap<Arc<str>, usize>| side.get(&name).copied();
    let front = taken(&draft.fronts).filter(|_| kind.has_frontend());
    let back = taken(&draft.backs).filter(|_| kind.has_backend());
    if let Some(first) = front.into_iter().chain(back).min() {
        let first = &draft.proxies[first];
        let message = format!(
            "{} '{name}' has the same name as {} '{name}' declared at {}.",
            kind.word(),
            first.word(),
            first.place
        );
        cx.alert(args, args.fault(1, message));
    }
    if kind.has_frontend() {
        draft.fronts.entry(Arc::clone(&name)).or_insert(index);
    }
    if kind.has_backend() {
        draft.backs.entry(name).or_insert(index);
    }
}
