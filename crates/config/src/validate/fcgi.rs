//! The FastCGI application of a backend: where it is defined, and the servers that use it.
use super::Shared;
use super::filters::is_about_place;
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::DraftProxy;
use crate::model::{At, Back, BackendApp, Common, Filter, HeaderNames, Mode, Protocol};
use crate::suggest;

/// The application of this name.
pub(super) fn application<'a>(
    named: Option<&At<String>>,
    shared: &Shared<'a>,
) -> Option<&'a BackendApp> {
    let name = &named?.value;
    shared.draft.applications.iter().find(|known| known.app.name == *name)
}

/// Gives a backend its application. Its servers turn header names into parameters, where other
/// characters would be taken for hyphens.
pub(super) fn complete(back: &mut Back, common: &mut Common, shared: &Shared<'_>) {
    back.fcgi = application(back.fcgi_app.as_ref(), shared).cloned();
    if back.fcgi_app.is_some() {
        common.header_names = common.header_names.or(Some(HeaderNames::Delete));
    }
}

/// Reports servers without an application, and an application without servers.
pub(super) fn check(draft: &DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    if !draft.has_backend() {
        return;
    }
    let proxy = &draft.name;
    let is_fcgi = |protocol: Option<Protocol>| protocol == Some(Protocol::Fcgi);
    let mut servers = draft.settings.back.servers.iter();
    let server = servers.find(|server| is_fcgi(server.options.protocol));
    let Some(named) = &draft.settings.back.fcgi_app else {
        if let Some(server) = server {
            let message = format!(
                "proxy '{proxy}': FCGI server '{}' has no FCGI app configured.",
                server.name
            );
            cx.about(Severity::Alert, &server.place, message);
        }
        return;
    };
    if draft.settings.mode != Mode::Http {
        let message = format!("proxy '{proxy}': FCGI application cannot be used in non-HTTP mode.");
        cx.about(Severity::Alert, &named.place, message);
        return;
    }
    if application(Some(named), shared).is_none() {
        let name = &named.value;
        let names = shared.draft.applications.iter().map(|known| &*known.app.name);
        let message = match suggest::nearest(name, names) {
            Some(near) => {
                format!("proxy '{proxy}' : fcgi-app '{name}' not found. Did you mean '{near}'?")
            }
            None => format!("proxy '{proxy}' : fcgi-app '{name}' not found."),
        };
        cx.about(Severity::Alert, &named.place, message);
    }
    if server.is_none() {
        let message = format!("proxy '{proxy}': FCGI app configured but no FCGI server found.");
        cx.about(Severity::Alert, &named.place, message);
    }
    let filters = &draft.settings.common.filters;
    let explicit = filters.contains(&Filter::FcgiApp(named.value.clone()));
    let others = filters.iter().any(|it| !is_about_place(it) && *it != Filter::Compression);
    if others && !explicit {
        let message = format!(
            "proxy '{proxy}': require an explicit filter declaration to use the fcgi-app '{}'.",
            named.value
        );
        cx.about(Severity::Alert, &named.place, message);
    }
}
