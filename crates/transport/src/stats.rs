//! Counters of the process, its proxies and servers, and histograms of latencies.

pub mod counters;
pub mod latency;
pub mod tls;
pub mod transaction_log;
