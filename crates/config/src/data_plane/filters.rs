//! The filters of a proxy.

use super::Builder;
use crate::model::{Filter, SpoeLine};
use std::sync::Arc;

impl Builder<'_> {
    /// The filters of a proxy, in order. Caches are not among them: rules decide when a cache is
    /// used, and it stores the server's response before other filters.
    pub(super) fn filters(&mut self, from: &[Filter]) -> Vec<settings::Filter> {
        from.iter().filter_map(|filter| self.filter(filter)).collect()
    }

    /// The filters of one direction. Events of SPOE do not depend on their order.
    pub(super) fn sequence(&mut self, from: &[Filter]) -> Vec<settings::Filter> {
        let payload = from.iter().filter(|filter| !matches!(filter, Filter::Spoe(_)));
        payload.filter_map(|filter| self.filter(filter)).collect()
    }

    fn filter(&mut self, from: &Filter) -> Option<settings::Filter> {
        match from {
            Filter::Trace(trace) => Some(settings::Filter::Trace(trace.clone())),
            Filter::Compression => Some(settings::Filter::Compression),
            Filter::BandwidthLimit(limit) => Some(settings::Filter::BandwidthLimit(limit.clone())),
            Filter::Script(line) => Some(settings::Filter::Script(line.clone())),
            Filter::Spoe(line) => Some(settings::Filter::Spoe(Arc::new(self.spoe(line)))),
            // A cache stores in front of all filters; the line declares that none changes payload
            // before.
            Filter::Cache(_) | Filter::FcgiApp(_) => None,
        }
    }

    fn spoe(&mut self, line: &SpoeLine) -> settings::SpoeFilter {
        let (number, backend) = line.resolved.get().copied().unwrap_or_default();
        let shared = self.global.logs.iter().filter(|_| line.global_logs);
        let targets: Vec<_> = shared.chain(&line.logs).cloned().collect();
        let logs = self.logs(&targets, None);
        settings::SpoeFilter { number, engine: line.engine.clone(), backend, logs }
    }
}
