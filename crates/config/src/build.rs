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
    validate::http_client::add(&mut draft, &tls, cx);
    let stick_tables = StickTables::take(&mut draft);
    let (mut proxies, hidden) = validate::proxies(&mut draft, advise, cx);
    let finished = Finished { proxies: &proxies, advise };
    SECTIONS.iter().for_each(|kind| (kind.finish)(&mut draft, &finished, cx));
    let tables = validate::references(&mut draft, &mut proxies, stick_tables, cx);
    if cx.diagnostics.failed() {
        return None;
    }
    let mut model = Model {
        variables: Arc::new(std::mem::take(&mut cx.variables)),
        proxies,
        hidden,
        dictionaries: Arc::new(cx.patterns.finish()),
        tables,
        env: std::mem::take(&mut cx.env),
        store: tls.store,
        text: std::mem::take(&mut cx.text),
        ..Model::default()
    };
    SECTIONS.iter().for_each(|kind| (kind.build)(&mut draft, &mut model));
    Some(model)
}
