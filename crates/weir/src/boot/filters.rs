//! Conversion of filters to settings of the data plane.

use super::logs;
use config::model;
use std::sync::Arc;

/// The filters of a proxy, in order. Caches are not among them: rules decide when a cache is used,
/// and it stores the server's response before other filters.
pub(super) fn filters(from: &[model::Filter], global: &model::Global) -> Vec<settings::Filter> {
    let one = |filter: &model::Filter| match filter {
        model::Filter::Trace(trace) => Some(settings::Filter::Trace(trace.clone())),
        model::Filter::Compression => Some(settings::Filter::Compression),
        model::Filter::BandwidthLimit(limit) => {
            Some(settings::Filter::BandwidthLimit(limit.clone()))
        }
        model::Filter::Spoe(line) => Some(settings::Filter::Spoe(Arc::new(spoe(line, global)))),
        // A cache stores in front of all filters; the line declares that none changes payload
        // before.
        model::Filter::Cache(_) | model::Filter::FcgiApp(_) => None,
    };
    from.iter().filter_map(one).collect()
}

fn spoe(line: &model::SpoeLine, global: &model::Global) -> settings::SpoeFilter {
    let (number, backend) = line.resolved.get().copied().unwrap_or_default();
    let shared = global.logs.iter().filter(|_| line.global_logs);
    let targets: Vec<_> = shared.chain(&line.logs).cloned().collect();
    let logs = logs::logs(&targets, None, global);
    settings::SpoeFilter { number, engine: line.engine.clone(), backend, logs }
}
