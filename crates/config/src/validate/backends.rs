//! `default_backend` and `use_backend` names into indices.
use super::Shared;
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::DraftProxy;
use crate::model::{Direct, Mode, RetryOn};
use rules::BackendName;
use std::sync::Arc;

/// Resolves all fixed names of a proxy. A name that does not exist or cannot be used is an alert.
pub(super) fn resolve(draft: &mut DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    let wanted = draft.settings.default_backend.take();
    if !draft.has_frontend() || draft.settings.disabled {
        return;
    }
    if let Some(wanted) = wanted {
        let kind = Kind { keyword: "default_backend", role: "as its default backend" };
        draft.settings.front.settings.default_backend =
            find(draft, shared, cx, &wanted.value, &wanted.place, &kind);
    }
    let mut rules = std::mem::take(&mut draft.rules.switching);
    for switching in &mut rules {
        if let BackendName::Fixed(name) = switching.rule.name() {
            let (file, line) = switching.rule.place();
            let place = Place { file: Arc::from(file), line };
            let kind = Kind { keyword: "use_backend", role: "in a 'use_backend' rule" };
            switching.backend = find(draft, shared, cx, name, &place, &kind);
        }
    }
    draft.rules.switching = rules;
}

/// Warns of servers that no request reaches because all requests go elsewhere.
pub(super) fn shadowed(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let both = draft.has_frontend() && draft.has_backend();
    if both && draft.settings.default_backend.is_some() && !draft.settings.back.servers.is_empty() {
        let message = format!(
            "In proxy '{}', the 'default_backend' rule always has precedence over the servers, which will never be used.",
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
}

/// Where requests go that nothing names a server for: with an algorithm, it chooses.
pub(super) fn direct(draft: &DraftProxy, cx: &mut Cx<'_>) -> Option<Direct> {
    let options = &draft.settings.options;
    if !draft.has_backend() || draft.settings.disabled {
        return None;
    }
    if options.balanced && options.transparent {
        let message = format!(
            "{} '{}' cannot use both transparent and balance mode.",
            draft.word(),
            draft.name
        );
        cx.diagnostics.push(Diagnostic::general(Severity::Alert, message));
    }
    match &options.dispatch {
        Some(_) if options.balanced => {
            let (word, name) = (draft.word(), &draft.name);
            let message =
                format!("dispatch address of {word} '{name}' will be ignored in balance mode.");
            cx.diagnostics.push(Diagnostic::general(Severity::Warning, message));
            None
        }
        Some(to) => Some(Direct::To(to.clone())),
        None => options.transparent.then_some(Direct::Destination),
    }
}

/// Data may go to a server with the first packet, and be lost with it (`tfo`).
pub(super) fn hasty(draft: &DraftProxy, cx: &mut Cx<'_>) {
    let back = &draft.settings.back;
    // A request whose early data is lost ends with one of these events, as measured.
    if [RetryOn::EMPTY, RetryOn::TIMEOUT].iter().all(|event| back.settings.retry_on.has(*event)) {
        return;
    }
    for server in back.servers.iter().filter(|server| server.options.link.tfo) {
        let message = format!(
            "'server {}/{}' : server has tfo activated, the backend should be configured with at least 'conn-failure', 'empty-response' and 'response-timeout' or we wouldn't be able to retry the connection on failure.",
            draft.name, server.name
        );
        cx.about(Severity::Warning, &server.place, message);
    }
}

/// How a name is used, for messages.
struct Kind {
    keyword: &'static str,
    role: &'static str,
}

fn find(
    draft: &DraftProxy,
    shared: &Shared<'_>,
    cx: &mut Cx<'_>,
    name: &str,
    place: &Place,
    kind: &Kind,
) -> Option<usize> {
    let Some(index) = shared.draft.backs.get(name).copied() else {
        let message =
            format!("Proxy '{}': unable to find required {}: '{name}'.", draft.name, kind.keyword);
        let mut diagnostic = Diagnostic::about(Severity::Alert, place, message);
        diagnostic.suggestion =
            crate::suggest::nearest(name, shared.draft.backs.keys().map(|name| &**name));
        cx.diagnostics.push(diagnostic);
        return None;
    };
    if draft.has_backend() && *draft.name == *name {
        let message = format!("Proxy '{name}': loop detected for {}: '{name}'.", kind.keyword);
        cx.about(Severity::Alert, place, message);
        return None;
    }
    let target = &shared.kinds[index];
    let http = draft.settings.mode == Mode::Http;
    if target.is_spop || (http && target.mode == Mode::Tcp) {
        let message = format!(
            "{} {} '{}' ({}) tries to use incompatible {} backend '{name}' ({}) {} (see 'mode').",
            if http { "http" } else { "tcp" },
            draft.word(),
            draft.name,
            draft.place,
            if target.is_spop { "spop" } else { "tcp" },
            target.place,
            kind.role
        );
        cx.about(Severity::Alert, place, message);
    }
    Some(index)
}
