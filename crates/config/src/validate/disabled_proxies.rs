//! Disabled proxies: as with HAProxy, references and rules in them are not checked once everything is read.
use crate::context::Cx;
use crate::draft::{Draft, DraftError, DraftFormats, DraftMail};
use crate::model::Rules;
use std::collections::HashSet;
use std::sync::Arc;

/// Removes disabled proxies and reports the mistakes of the others.
pub(super) fn forget(draft: &mut Draft, cx: &mut Cx<'_>) {
    for proxy in &mut draft.proxies {
        let late = std::mem::take(&mut proxy.late);
        if !proxy.settings.disabled {
            late.into_iter().for_each(|diagnostic| cx.diagnostics.push(diagnostic));
            continue;
        }
        proxy.rules = Rules::default();
        let settings = &mut proxy.settings;
        settings.formats = DraftFormats::default();
        settings.mail = DraftMail::default();
        settings.errors.lines.retain(|line| matches!(line, DraftError::Reply(..)));
        for server in &mut settings.back.servers {
            server.options.track = None;
            server.options.resolve.resolvers = None;
        }
    }
    let retired = names(draft);
    cx.mentions.retain(|mentioned| !retired.contains(&mentioned.proxy));
}

/// Names of sections that are out of service, and of none that is not.
pub(super) fn names(draft: &Draft) -> HashSet<Arc<str>> {
    let of = |disabled: bool| {
        let proxies = draft.proxies.iter().filter(move |proxy| proxy.settings.disabled == disabled);
        proxies.map(|proxy| Arc::clone(&proxy.name))
    };
    let used: HashSet<Arc<str>> = of(false).collect();
    of(true).filter(|name| !used.contains(name)).collect()
}
