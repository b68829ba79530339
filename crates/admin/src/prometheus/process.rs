//! Metrics of the process: the values of `show info`.

use super::{begin, sample};
use crate::settings::Settings;
use crate::stats::info::{self, Item};
use engine::state::worker::Worker;

const GAUGE: &str = "gauge";
const COUNTER: &str = "counter";

/// All metrics in order: name after `process_`, type, value of `show info`.
const METRICS: &[(&str, &str, &str)] = &[
    ("nbthread", GAUGE, "Nbthread"),
    ("nbproc", GAUGE, "Nbproc"),
    ("relative_process_id", GAUGE, "Process_num"),
    ("uptime_seconds", GAUGE, "Uptime_sec"),
    ("pool_failures_total", COUNTER, "PoolFailed"),
    ("max_fds", GAUGE, "Ulimit-n"),
    ("max_sockets", GAUGE, "Maxsock"),
    ("max_connections", GAUGE, "Maxconn"),
    ("hard_max_connections", GAUGE, "Hard_maxconn"),
    ("current_connections", GAUGE, "CurrConns"),
    ("connections_total", COUNTER, "CumConns"),
    ("requests_total", COUNTER, "CumReq"),
    ("max_ssl_connections", GAUGE, "MaxSslConns"),
    ("current_ssl_connections", GAUGE, "CurrSslConns"),
    ("ssl_connections_total", COUNTER, "CumSslConns"),
    ("max_pipes", GAUGE, "Maxpipes"),
    ("pipes_used_total", COUNTER, "PipesUsed"),
    ("pipes_free_total", COUNTER, "PipesFree"),
    ("current_connection_rate", GAUGE, "ConnRate"),
    ("limit_connection_rate", GAUGE, "ConnRateLimit"),
    ("max_connection_rate", GAUGE, "MaxConnRate"),
    ("current_session_rate", GAUGE, "SessRate"),
    ("limit_session_rate", GAUGE, "SessRateLimit"),
    ("max_session_rate", GAUGE, "MaxSessRate"),
    ("current_ssl_rate", GAUGE, "SslRate"),
    ("limit_ssl_rate", GAUGE, "SslRateLimit"),
    ("max_ssl_rate", GAUGE, "MaxSslRate"),
    ("current_frontend_ssl_key_rate", GAUGE, "SslFrontendKeyRate"),
    ("max_frontend_ssl_key_rate", GAUGE, "SslFrontendMaxKeyRate"),
    ("frontend_ssl_reuse", GAUGE, "SslFrontendSessionReuse_pct"),
    ("current_backend_ssl_key_rate", GAUGE, "SslBackendKeyRate"),
    ("max_backend_ssl_key_rate", GAUGE, "SslBackendMaxKeyRate"),
    ("ssl_cache_lookups_total", COUNTER, "SslCacheLookups"),
    ("ssl_cache_misses_total", COUNTER, "SslCacheMisses"),
    ("http_comp_bytes_in_total", COUNTER, "CompressBpsIn"),
    ("http_comp_bytes_out_total", COUNTER, "CompressBpsOut"),
    ("limit_http_comp", GAUGE, "CompressBpsRateLim"),
    ("current_zlib_memory", GAUGE, "ZlibMemUsage"),
    ("max_zlib_memory", GAUGE, "MaxZlibMemUsage"),
    ("current_tasks", GAUGE, "Tasks"),
    ("current_run_queue", GAUGE, "Run_queue"),
    ("idle_time_percent", GAUGE, "Idle_pct"),
    ("stopping", GAUGE, "Stopping"),
    ("jobs", GAUGE, "Jobs"),
    ("unstoppable_jobs", GAUGE, "Unstoppable Jobs"),
    ("listeners", GAUGE, "Listeners"),
    ("active_peers", GAUGE, "ActivePeers"),
    ("connected_peers", GAUGE, "ConnectedPeers"),
    ("dropped_logs_total", COUNTER, "DroppedLogs"),
    ("busy_polling_enabled", GAUGE, "BusyPolling"),
    ("failed_resolutions", COUNTER, "FailedResolutions"),
    ("bytes_out_total", COUNTER, "TotalBytesOut"),
    ("spliced_bytes_out_total", COUNTER, "TotalSplicdedBytesOut"),
    ("bytes_out_rate", GAUGE, "BytesOutRate"),
    ("recv_logs_total", COUNTER, "CumRecvLogs"),
    ("build_info", GAUGE, "Version"),
    ("max_memory_bytes", GAUGE, "Memmax_bytes"),
    ("pool_allocated_bytes", GAUGE, "PoolAlloc_bytes"),
    ("pool_used_bytes", GAUGE, "PoolUsed_bytes"),
    ("start_time_seconds", GAUGE, "Start_time_sec"),
];

pub(super) fn write(worker: &Worker, settings: &Settings, out: &mut String) {
    let items = info::all(worker, settings, false);
    for (name, kind, from) in METRICS {
        let name = format!("process_{name}");
        let item = items.iter().find(|item| item.name == *from);
        begin(out, &name, kind, item.map_or("Not known here", |item| item.doc));
        one(out, &name, item);
    }
}

/// The version is a label; there is no number in it.
fn one(out: &mut String, name: &str, item: Option<&Item>) {
    match item {
        Some(item) if item.name == "Version" => {
            sample(out, name, &[("version", item.value.text())], 1);
        }
        Some(item) if !item.value.is_empty() => sample(out, name, &[], &item.value),
        _ => sample(out, name, &[], "NaN"),
    }
}
