//! `defaults`, `frontend`, `backend` and `listen` sections (section 4): names, `from`, inheritance.
use super::{Lines, PLAIN, SectionKind, error_recovery, odd_char, reported};
use crate::context::Cx;
use crate::draft::{Draft, DraftKind, DraftProxy, Settings};
use crate::line::{Args, Parsed};
use crate::model::{Proxy, ProxyKind};
use crate::parse::proxy;
use std::sync::Arc;

pub(super) const DEFAULTS: SectionKind = SectionKind {
    name: "defaults",
    doc: "Settings that the proxies behind it take over.",
    open: open_defaults,
    title: |draft, index| match &*draft.defaults[index].name {
        "" => "defaults",
        name => name,
    },
    lines: Lines::Proxy(|draft, index, cx, args| line(&mut draft.defaults[index], cx, args)),
    ..PLAIN
};

/// The fields that the three kinds of proxies share.
const PROXY: SectionKind = SectionKind {
    title: |draft, index| &draft.proxies[index].name,
    lines: Lines::Proxy(|draft, index, cx, args| line(&mut draft.proxies[index], cx, args)),
    listens: |model| {
        let binds = |it: &Proxy| it.front.as_ref().is_some_and(|front| !front.binds.is_empty());
        model.proxies.iter().any(|proxy| !proxy.disabled && binds(proxy))
    },
    ..PLAIN
};

pub(super) const FRONTEND: SectionKind = SectionKind {
    name: "frontend",
    doc: "Accepts clients.",
    open: |draft, cx, args| open(draft, cx, args, ProxyKind::Frontend),
    ..PROXY
};

pub(super) const BACKEND: SectionKind = SectionKind {
    name: "backend",
    doc: "Servers that clients are sent to.",
    open: |draft, cx, args| open(draft, cx, args, ProxyKind::Backend),
    ..PROXY
};

pub(super) const LISTEN: SectionKind = SectionKind {
    name: "listen",
    doc: "A frontend and a backend in one.",
    open: |draft, cx, args| open(draft, cx, args, ProxyKind::Listen),
    ..PROXY
};

/// Reads a line of a proxy. A wrong line still defines its object, so that references to it are no
/// further errors.
fn line(section: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let parsed = proxy::line(section, cx, args);
    if parsed.is_err() {
        error_recovery::define(section, cx, args);
    }
    parsed
}

fn open_defaults(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> usize {
    let (name, from) = match args.text(1) {
        "from" => ("", 1),
        name => (name, 2),
    };
    let parent =
        reported(cx, args, from_clause(draft, args, from, name, DraftKind::Defaults)).flatten();
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
    draft.defaults.len() - 1
}

fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>, kind: ProxyKind) -> usize {
    // Even a wrong name is what lines call the section by.
    let name = reported(cx, args, name(args)).unwrap_or(args.text(1));
    let from = reported(cx, args, from_clause(draft, args, 2, name, DraftKind::Proxy(kind)));
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
    index
}

/// The name of a proxy.
fn name(args: Args<'_>) -> Parsed<&str> {
    let keyword = args.text(0);
    let name = args.need(1, format!("'{keyword}' expects an <id> argument"))?;
    match odd_char(name) {
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
    let first = [&rules.quic_initial, &rules.tcp_connection, &rules.tcp_session];
    let first = first.iter().any(|set| !set.is_empty());
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
