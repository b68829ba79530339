//! The lines that open sections (sections 3 and 4): names, `from`, inheritance. Never parses what is inside.
use crate::cx::Cx;
use crate::draft::{Draft, DraftKind, DraftProxy, Settings};
use crate::known;
use crate::line::{Args, Parsed};
use crate::model::ProxyKind;
use std::sync::Arc;

/// The section in which lines stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Before the first one.
    Outside,
    /// `global`.
    Global,
    /// `defaults`, by index.
    Defaults(usize),
    /// A proxy, by index.
    Proxy(usize),
    /// One that is not implemented yet: its lines are not judged.
    Skipped,
}

/// Whether a character may be in the name of a proxy, a server or an ACL (section 4).
pub(super) fn name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

/// Opens the section that the line names; `None` if it names none. Faults do not keep the section from opening, so
/// that its lines are judged too.
pub(super) fn open(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>) -> Option<Section> {
    let kind = match args.text(0) {
        "global" => {
            if let Err(fault) = args.no_more_than(0) {
                cx.alert(args, fault);
            }
            return Some(Section::Global);
        }
        "defaults" => return Some(defaults(draft, cx, args)),
        "frontend" => ProxyKind::Frontend,
        "backend" => ProxyKind::Backend,
        "listen" => ProxyKind::Listen,
        other if known::contains("section", other) => {
            let message = format!("section '{other}' is not implemented yet");
            cx.alert(args, args.fault(0, message));
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
    let settings = parent.map_or_else(Settings::default, |at| inherit(&draft.defaults[at]));
    let place = args.place().clone();
    draft.defaults.push(DraftProxy::new(name, DraftKind::Defaults, place, settings));
    Section::Defaults(draft.defaults.len() - 1)
}

fn proxy(draft: &mut Draft, cx: &mut Cx<'_>, args: Args<'_>, kind: ProxyKind) -> Section {
    let keyword = args.text(0);
    let name = told(cx, args, name(args)).unwrap_or("");
    let parent =
        told(cx, args, from_clause(draft, args, 2, name, DraftKind::Proxy(kind))).flatten();
    let parent = parent.or(draft.defaults.len().checked_sub(1));
    let settings = parent.map_or_else(Settings::default, |at| inherit(&draft.defaults[at]));
    let place = args.place().clone();
    let index = draft.proxies.len();
    draft.proxies.push(DraftProxy::new(name, DraftKind::Proxy(kind), place, settings));
    if !name.is_empty() {
        claim_name(draft, cx, args, kind, index);
    }
    debug_assert!(!keyword.is_empty());
    Section::Proxy(index)
}

/// The error becomes an alert.
fn told<T>(cx: &mut Cx<'_>, args: Args<'_>, parsed: Parsed<T>) -> Option<T> {
    parsed.map_err(|fault| cx.alert(args, fault)).ok()
}

/// The name of a proxy.
fn name(args: Args<'_>) -> Parsed<&str> {
    let keyword = args.text(0);
    let name = args.need(1, format!("'{keyword}' expects an <id> argument"))?;
    match name.char_indices().find(|(_, c)| !name_char(*c)) {
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

/// A copy of the settings of a `defaults` section.
fn inherit(parent: &DraftProxy) -> Settings {
    let mut settings = parent.settings.clone();
    settings.check.inherited = true;
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
