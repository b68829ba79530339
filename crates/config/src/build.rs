//! Builds the model from the drafts: the order in which sections and proxies are completed and checked.
use crate::context::Cx;
use crate::draft::Draft;
use crate::model::Model;
use crate::section::{Finished, SECTIONS};
use crate::validate::{self, StickTables};
use std::sync::Arc;

/// The model, unless there are alerts. Mistakes are added to the diagnostics.
pub(crate) fn model(mut draft: Draft, cx: &mut Cx<'_>) -> Option<Model> {
    let tls = validate::prepare(&mut draft, cx);
    SECTIONS.iter().for_each(|kind| (kind.tls)(&mut draft, &tls, cx));
    SECTIONS.iter().for_each(|kind| (kind.complete)(&mut draft, cx));
    let advise = !cx.diagnostics.failed();
    let stick_tables = StickTables::take(&mut draft);
    let mut proxies = validate::proxies(&mut draft, advise, cx);
    let finished = Finished { proxies: &proxies, advise };
    SECTIONS.iter().for_each(|kind| (kind.finish)(&mut draft, &finished, cx));
    let tables = validate::references(&mut draft, &mut proxies, stick_tables, cx);
    (!cx.diagnostics.failed()).then(|| Model {
        global: draft.global,
        http_errors: draft.http_errors,
        resolvers: draft.resolvers,
        log_forwards: draft.log_forwards.into_iter().map(|draft| draft.section).collect(),
        caches: draft.caches,
        programs: draft.programs.into_iter().map(|draft| draft.value).collect(),
        userlists: draft.complete_userlists,
        variables: Arc::new(std::mem::take(&mut cx.variables)),
        proxies,
        dictionaries: Arc::new(cx.patterns.finish()),
        tables,
        env: std::mem::take(&mut cx.env),
        store: tls.store,
    })
}
