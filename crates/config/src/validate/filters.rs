//! The filters of a proxy: those that other lines imply, and where they must be declared.
use super::Shared;
use crate::context::Cx;
use crate::diag::{Diagnostic, Place, Severity};
use crate::draft::DraftProxy;
use crate::model::{At, Filter, Rules};
use ::rules::{BandwidthLimit, BandwidthScope};
use std::sync::Arc;

/// Completes the filters of a section, and resolves the sequences that name them.
pub(super) fn finish(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    complete(draft, cx);
    sequences(draft, cx);
}

/// Adds the filter of `compression` lines, unless a line declares it. A section that declares
/// other filters than caches must declare this one too, as its place among them matters.
fn complete(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    if ignores_requests(draft) {
        let message = format!(
            "{} '{}': 'compression algo-req' has no effect without 'compression direction request' \
             or 'both'.",
            draft.word(),
            draft.name
        );
        cx.about(Severity::Warning, &draft.place, message);
    }
    let common = &mut draft.settings.common;
    let Some(compression) = &common.compression else { return };
    let asked = compression.request.algorithm.is_some();
    if common.filters.contains(&Filter::Compression) {
        return;
    }
    if common.filters.iter().all(is_about_place) {
        if asked || !compression.algorithms.is_empty() {
            common.filters.push(Filter::Compression);
        }
        return;
    }
    let message = format!(
        "{} '{}': require an explicit filter declaration to use HTTP compression",
        draft.word(),
        draft.name
    );
    cx.about(Severity::Alert, &draft.place, message);
}

/// Resolves the names of `filter-sequence` lines, once the filters of the section are complete.
fn sequences(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    for side in 0..draft.filter_sequences.len() {
        let Some(line) = draft.filter_sequences[side].take() else { continue };
        let filters = &draft.settings.common.filters;
        let mut list = Vec::new();
        for name in &line.value {
            let found = filters.iter().filter(|filter| is_named(filter, name));
            let known = list.len();
            list.extend(found.cloned());
            if list.len() == known {
                let message = format!(
                    "{} '{}': 'filter-sequence' : no filter '{name}' is declared.",
                    draft.word(),
                    draft.name
                );
                let mut alert = Diagnostic::about(Severity::Alert, &line.place, message);
                alert.suggestion = crate::suggest::nearest(name, filters.iter().map(word));
                cx.diagnostics.push(alert);
            }
        }
        draft.settings.common.filter_sequences[side] = Some(list);
    }
}

/// The word of a filter behind `filter`.
fn word(filter: &Filter) -> &str {
    match filter {
        Filter::Trace(_) => "trace",
        Filter::Compression => "compression",
        Filter::Cache(_) => "cache",
        Filter::FcgiApp(_) => "fcgi-app",
        Filter::BandwidthLimit(limit) if limit.side == sample::Side::Request => "bwlim-in",
        Filter::BandwidthLimit(_) => "bwlim-out",
        Filter::Spoe(_) => "spoe",
        Filter::Script(line) => &line.name,
    }
}

/// Whether a sequence that has this name means the filter: by its word, or by its own name.
fn is_named(filter: &Filter, name: &str) -> bool {
    let own = match filter {
        Filter::Trace(trace) => trace.name == name,
        Filter::BandwidthLimit(limit) => *limit.name == *name,
        Filter::Cache(own) | Filter::FcgiApp(own) => own == name,
        Filter::Spoe(line) => *line.engine.name == *name,
        Filter::Script(line) => name.strip_prefix(sample::SCRIPT_PREFIX) == Some(&line.name),
        Filter::Compression => false,
    };
    own || word(filter) == name
}

/// Whether requests have an algorithm and are not compressed.
fn ignores_requests(draft: &DraftProxy) -> bool {
    let compression = draft.settings.common.compression.as_ref();
    compression.is_some_and(|it| it.request.algorithm.is_some() && !it.direction.has_requests())
}

/// Whether a line only gives the position of a filter that other lines define.
pub(super) fn is_about_place(filter: &Filter) -> bool {
    matches!(filter, Filter::Cache(_) | Filter::FcgiApp(_))
}

/// The caches that rules and `filter` lines name must be there, and come before compression. A
/// section that declares other filters must declare its caches too, as with [`complete`].
pub(super) fn caches(
    draft: &DraftProxy,
    inherited: Option<&Rules>,
    shared: &Shared<'_>,
    cx: &mut Cx<'_>,
) {
    for cache in used(draft, inherited) {
        if let Some(fault) = fault(draft, &cache.value, shared) {
            let message = format!("{} '{}': {fault}", draft.word(), draft.name);
            cx.about(Severity::Alert, &cache.place, message);
        }
    }
}

/// Each cache of the section once, with the first place that names it.
fn used(draft: &DraftProxy, inherited: Option<&Rules>) -> Vec<At<String>> {
    let mut caches = draft.cache_filters.clone();
    let sets = inherited.into_iter().chain([&draft.rules]).flat_map(Rules::sets);
    for rule in sets.flat_map(|set| set.rules()) {
        let rules::Action::Cache(action) = rule.action() else { continue };
        if caches.iter().all(|cache| cache.value != action.cache()) {
            let (file, line) = rule.place();
            let place = Place { file: file.into(), line };
            caches.push(At { value: action.cache().to_owned(), place });
        }
    }
    caches
}

fn fault(draft: &DraftProxy, name: &str, shared: &Shared<'_>) -> Option<String> {
    if shared.draft.caches.iter().all(|cache| cache.name != name) {
        return Some(format!(
            "unable to find the cache '{name}' referenced by the filter 'cache'."
        ));
    }
    let filters = &draft.settings.common.filters;
    let place = |wanted: &Filter| filters.iter().position(|filter| filter == wanted);
    let (own, compression) = (place(&Filter::Cache(name.to_owned())), place(&Filter::Compression));
    if compression.is_some_and(|at| own.is_none_or(|own| at < own)) {
        return Some(format!("unable to enable the compression filter before the cache '{name}'."));
    }
    let others = filters.iter().any(|filter| !is_about_place(filter));
    (own.is_none() && others)
        .then(|| format!("require an explicit filter declaration to use the cache '{name}'."))
}

/// Gives `set-bandwidth-limit` rules the filters of their section that they name.
pub(super) fn limits(proxy: &str, rules: &Rules, filters: &[Filter], cx: &mut Cx<'_>) {
    let limits = || {
        filters.iter().filter_map(|filter| match filter {
            Filter::BandwidthLimit(limit) => Some(limit),
            _ => None,
        })
    };
    for rule in rules.sets().into_iter().flat_map(|set| set.rules()) {
        let rules::Action::Bandwidth(edit) = rule.action() else { continue };
        let found = limits().find(|limit| *limit.name == *edit.name());
        let message = match found {
            None => Some(format!(
                "Proxy '{proxy}': unable to find bwlim filter '{}' referenced by set-bandwidth-limit rule.",
                edit.name()
            )),
            Some(limit) => {
                edit.resolve(limit);
                misused(limit, edit.given()).map(|what| {
                    format!(
                        "Proxy '{proxy}': set-bandwidth-limit rule cannot define a {what} for a shared bwlim filter."
                    )
                })
            }
        };
        let Some(message) = message else { continue };
        let (file, line) = rule.place();
        let place = Place { file: file.into(), line };
        let mut alert = Diagnostic::about(Severity::Alert, &place, message);
        if found.is_none() {
            let names = limits().map(|limit| &*limit.name);
            alert.suggestion = crate::suggest::nearest(edit.name(), names);
        }
        cx.diagnostics.push(alert);
    }
}

/// The value of a rule that its limit does not take.
fn misused(limit: &Arc<BandwidthLimit>, given: Option<&'static str>) -> Option<&'static str> {
    given.filter(|_| matches!(limit.scope, BandwidthScope::Shared { .. }))
}
