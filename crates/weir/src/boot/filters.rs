//! Conversion of filters and compression to settings of the data plane.

use super::logs;
use compression::{Limits, Tuning};
use config::model::{self, CompressionLimits};
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

/// The compression of a proxy.
pub(super) fn compression(from: &model::Compression) -> settings::Compression {
    settings::Compression {
        algorithms: from.algorithms.clone(),
        types: from.types.iter().map(|word| super::proxies::content(word)).collect(),
        offload: from.offload,
    }
}

/// Limits and levels of the process.
pub(super) fn process(from: &CompressionLimits) -> settings::ProcessCompression {
    let (limits, tuning) = (Limits::default(), Tuning::default());
    settings::ProcessCompression {
        limits: Limits {
            rate: u64::from(from.rate) << 10,
            cpu_percent: from.cpu_percent.unwrap_or(limits.cpu_percent),
            memory: u64::from(from.memory) << 20,
        },
        tuning: Tuning {
            level: from.level.unwrap_or(tuning.level),
            window_bits: from.window_bits.unwrap_or(tuning.window_bits),
            memory_level: from.memory_level.unwrap_or(tuning.memory_level),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_their_units_and_defaults() {
        assert_eq!(process(&CompressionLimits::default()), Default::default());
        let from = CompressionLimits {
            rate: 3,
            cpu_percent: Some(50),
            memory: 2,
            level: Some(9),
            window_bits: Some(8),
            memory_level: Some(1),
        };
        let limits = Limits { rate: 3072, cpu_percent: 50, memory: 2 << 20 };
        let tuning = Tuning { level: 9, window_bits: 8, memory_level: 1 };
        assert_eq!(process(&from), settings::ProcessCompression { limits, tuning });
    }
}
