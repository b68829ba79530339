//! The `resolvers` sections that servers and rules name.
use super::Shared;
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::DraftProxy;
use crate::model::Rules;
use rules::action::VariableEdit;
use std::sync::Arc;

/// The sections that servers name.
pub(super) fn servers(draft: &mut DraftProxy, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    let (word, proxy) = (draft.word(), draft.name.clone());
    for server in &mut draft.settings.back.servers {
        let options = &server.options.resolve;
        let Some(wanted) = &options.resolvers else { continue };
        let found = shared.draft.resolvers.iter().position(|it| *it.name == *wanted.value);
        let Some(resolvers) = found else {
            let message = format!(
                "{word} '{proxy}', server '{}': unable to find required resolvers '{}'",
                server.name, wanted.value
            );
            complain(cx, &wanted.place, message, &wanted.value, shared);
            continue;
        };
        // A server with an address has no name to be resolved until a command gives it one.
        let inet = matches!(server.address.address, crate::model::Address::Inet(_));
        let Some(host) = server.host.as_deref().or(inet.then_some("")) else { continue };
        server.resolve = Some(Arc::new(dns::ResolveSettings {
            resolvers,
            name: host.to_ascii_lowercase(),
            service: host.starts_with('_'),
            family: options.family,
            networks: options.networks.iter().map(|it| (it.address, it.bits)).collect(),
            shares: options.shares,
            keeps_weight: options.keeps_weight,
        }));
    }
}

/// The sections that `do-resolve` rules name.
pub(super) fn rules(proxy: &str, rules: &Rules, shared: &Shared<'_>, cx: &mut Cx<'_>) {
    for rule in rules.sets().into_iter().flat_map(|set| set.rules()) {
        let rules::Action::Variable(VariableEdit::Resolve(resolve)) = rule.action() else {
            continue;
        };
        let name = resolve.resolvers();
        if shared.draft.resolvers.iter().any(|it| *it.name == *name) {
            continue;
        }
        let message = format!(
            "Proxy '{proxy}': Can't find resolvers section '{name}' for do-resolve action."
        );
        let (file, line) = rule.place();
        complain(cx, &Place { file: file.into(), line }, message, name, shared);
    }
}

fn complain(cx: &mut Cx<'_>, place: &Place, message: String, name: &str, shared: &Shared<'_>) {
    let mut alert = Diagnostic::about(Severity::Alert, place, message);
    let names = shared.draft.resolvers.iter().map(|section| &*section.name);
    alert.suggestion = crate::suggest::nearest(name, names);
    cx.diagnostics.push(alert);
}
