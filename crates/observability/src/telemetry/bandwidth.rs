//! The effect of `set-bandwidth-limit` on a transaction.

use engine::state::session::bandwidth_limits::{BandwidthLimits, SharedLimit};
use engine::state::worker::Worker;
use rules::BandwidthLimit;
use rules::BandwidthValues;
use sample::Side;
use std::sync::Arc;
use table::DataType;
use transport::filters::pacer::PaceLimit;

/// The rate in a stick table's entry to which a limit of this direction applies.
pub fn rate_of(side: Side) -> DataType {
    match side {
        Side::Request => DataType::BytesInRate,
        Side::Response => DataType::BytesOutRate,
    }
}

/// Limits the transaction with these values from now on.
pub(super) fn enable(
    worker: &Worker,
    limits: &mut BandwidthLimits,
    filter: &Arc<BandwidthLimit>,
    values: BandwidthValues,
) {
    let min_size = filter.min_size.into();
    match values {
        BandwidthValues::Stream { limit, period } => {
            let limit = PaceLimit { bytes: limit.into(), period_ms: period, min_size };
            limits.of(filter).set(limit);
        }
        BandwidthValues::Shared { limit, table, key } => {
            let Some(found) = worker.shared.tables.get(table) else { return };
            let Some(stored) = found.stored(rate_of(filter.side)) else { return };
            let limit = PaceLimit { bytes: limit.into(), period_ms: stored.period, min_size };
            let entry = found.hold(&key, worker.millis());
            let key = (table, filter.side == Side::Request, Box::from(&key[..]));
            limits.of(filter).share(limit, SharedLimit { key, entry, share: None });
        }
    }
}
