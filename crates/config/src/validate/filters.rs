//! The filters of a proxy together: the one that `compression` lines imply, and where it must be declared.
use crate::context::Cx;
use crate::diag::Severity;
use crate::draft::DraftProxy;
use crate::model::Filter;

/// Adds the filter of `compression` lines, unless a line declares it. A section that declares
/// other filters must declare this one too, as its place among them matters.
pub(super) fn complete(draft: &mut DraftProxy, cx: &mut Cx<'_>) {
    let common = &mut draft.settings.common;
    let Some(compression) = &common.compression else { return };
    if common.filters.contains(&Filter::Compression) {
        return;
    }
    if common.filters.is_empty() {
        if !compression.algorithms.is_empty() {
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
