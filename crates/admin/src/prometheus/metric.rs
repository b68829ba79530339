//! Metrics of proxies, listeners and servers: which there are, and how each is made of a row of
//! `show stat`.

use crate::stats::field::Field;
use Field::*;
use MetricSource::{
    AggregateChecks, AggregateServers, CheckStatus, Milliseconds, Number, Responses, State,
};

/// How the values of a metric are made.
#[derive(Clone, Copy, Debug)]
pub(super) enum MetricSource {
    /// The number in a column.
    Number(Field),
    /// A duration in seconds; the column has milliseconds.
    Milliseconds(Field),
    /// One value per status class, label `code`.
    Responses,
    /// One value per state, label `state`: 1 for the present one.
    State(&'static [&'static str]),
    /// One sample for each outcome of the last check.
    CheckStatus,
    /// How many servers of a backend are in each state.
    AggregateServers,
    /// How many servers of a backend have had each outcome of the last check.
    AggregateChecks,
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    /// Its name after the scope.
    pub(super) name: &'static str,
    /// Its type.
    pub(super) kind: &'static str,
    /// Its values.
    pub(super) source: MetricSource,
}

/// The property that an object needs for a metric to apply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Needs {
    Nothing,
    /// The mode of the proxy is HTTP.
    Http,
    /// The row is a server that is checked.
    Checks,
    /// The row is a backend with servers.
    Servers,
}

impl Metric {
    /// The property that it needs.
    pub(super) fn needs(&self) -> Needs {
        match self.source {
            Responses | Number(Intercepted) => Needs::Http,
            _ if self.name.starts_with("http_") => Needs::Http,
            CheckStatus | Number(CheckCode) | Milliseconds(CheckDuration) => Needs::Checks,
            AggregateServers | AggregateChecks => Needs::Servers,
            Number(_) | Milliseconds(_) | State(_) => Needs::Nothing,
        }
    }

    /// Its description.
    pub(super) fn help(&self) -> &'static str {
        match self.source {
            Number(field) | Milliseconds(field) => field.column().doc,
            Responses => "Responses by class of their status",
            State(_) => "State: 1 for the present one",
            CheckStatus => "Outcome of the last check: 1 for it",
            AggregateServers => "Servers in each state",
            AggregateChecks => "Servers by the outcome of their last check",
        }
    }
}

/// States of a proxy's side.
const SIDE: MetricSource = State(&["DOWN", "UP"]);
/// States of a listener.
pub(super) const LISTENER_STATES: &[&str] = &["WAITING", "OPEN", "FULL"];
/// States of a server.
pub(super) const SERVER_STATES: &[&str] = &["DOWN", "UP", "MAINT", "DRAIN", "NOLB"];
/// Outcomes of checks, in HAProxy's order.
pub(super) const OUTCOMES: &[&str] = &[
    "HANA", "SOCKERR", "L4OK", "L4TOUT", "L4CON", "L6OK", "L6TOUT", "L6RSP", "L7TOUT", "L7RSP",
    "L7OK", "L7OKC", "L7STS", "PROCERR", "PROCTOUT", "PROCOK",
];

const fn gauge(name: &'static str, source: MetricSource) -> Metric {
    Metric { name, kind: "gauge", source }
}

const fn counter(name: &'static str, source: MetricSource) -> Metric {
    Metric { name, kind: "counter", source }
}

/// Metrics of frontends.
pub(super) const FRONTEND: &[Metric] = &[
    gauge("current_sessions", Number(Scur)),
    gauge("max_sessions", Number(Smax)),
    gauge("limit_sessions", Number(Slim)),
    counter("sessions_total", Number(Stot)),
    counter("bytes_in_total", Number(Bin)),
    counter("bytes_out_total", Number(Bout)),
    counter("requests_denied_total", Number(Dreq)),
    counter("responses_denied_total", Number(Dresp)),
    counter("request_errors_total", Number(Ereq)),
    gauge("status", SIDE),
    gauge("limit_session_rate", Number(RateLim)),
    gauge("max_session_rate", Number(RateMax)),
    counter("http_responses_total", Responses),
    gauge("http_requests_rate_max", Number(ReqRateMax)),
    counter("http_requests_total", Number(ReqTot)),
    counter("http_comp_bytes_in_total", Number(CompIn)),
    counter("http_comp_bytes_out_total", Number(CompOut)),
    counter("http_comp_bytes_bypassed_total", Number(CompByp)),
    counter("http_comp_responses_total", Number(CompRsp)),
    gauge("connections_rate_max", Number(ConnRateMax)),
    counter("connections_total", Number(ConnTot)),
    counter("intercepted_requests_total", Number(Intercepted)),
    counter("denied_connections_total", Number(Dcon)),
    counter("denied_sessions_total", Number(Dses)),
    counter("failed_header_rewriting_total", Number(Wrew)),
    counter("http_cache_lookups_total", Number(CacheLookups)),
    counter("http_cache_hits_total", Number(CacheHits)),
    counter("internal_errors_total", Number(Eint)),
];

/// Metrics of listeners.
pub(super) const LISTENER: &[Metric] = &[
    gauge("current_sessions", Number(Scur)),
    gauge("max_sessions", Number(Smax)),
    gauge("limit_sessions", Number(Slim)),
    counter("sessions_total", Number(Stot)),
    counter("bytes_in_total", Number(Bin)),
    counter("bytes_out_total", Number(Bout)),
    counter("requests_denied_total", Number(Dreq)),
    counter("responses_denied_total", Number(Dresp)),
    counter("request_errors_total", Number(Ereq)),
    gauge("status", State(LISTENER_STATES)),
    counter("denied_connections_total", Number(Dcon)),
    counter("denied_sessions_total", Number(Dses)),
    counter("failed_header_rewriting_total", Number(Wrew)),
    counter("internal_errors_total", Number(Eint)),
];

/// Metrics of backends.
pub(super) const BACKEND: &[Metric] = &[
    gauge("current_queue", Number(Qcur)),
    gauge("max_queue", Number(Qmax)),
    gauge("current_sessions", Number(Scur)),
    gauge("max_sessions", Number(Smax)),
    gauge("limit_sessions", Number(Slim)),
    counter("sessions_total", Number(Stot)),
    counter("bytes_in_total", Number(Bin)),
    counter("bytes_out_total", Number(Bout)),
    counter("requests_denied_total", Number(Dreq)),
    counter("responses_denied_total", Number(Dresp)),
    counter("connection_errors_total", Number(Econ)),
    counter("response_errors_total", Number(Eresp)),
    counter("retry_warnings_total", Number(Wretr)),
    counter("redispatch_warnings_total", Number(Wredis)),
    gauge("status", SIDE),
    gauge("weight", Number(Weight)),
    gauge("active_servers", Number(Act)),
    gauge("backup_servers", Number(Bck)),
    counter("check_up_down_total", Number(Chkdown)),
    gauge("check_last_change_seconds", Number(Lastchg)),
    counter("downtime_seconds_total", Number(Downtime)),
    counter("loadbalanced_total", Number(Lbtot)),
    gauge("max_session_rate", Number(RateMax)),
    counter("http_responses_total", Responses),
    counter("http_requests_total", Number(ReqTot)),
    counter("client_aborts_total", Number(CliAbrt)),
    counter("server_aborts_total", Number(SrvAbrt)),
    counter("http_comp_bytes_in_total", Number(CompIn)),
    counter("http_comp_bytes_out_total", Number(CompOut)),
    counter("http_comp_bytes_bypassed_total", Number(CompByp)),
    counter("http_comp_responses_total", Number(CompRsp)),
    gauge("last_session_seconds", Number(Lastsess)),
    gauge("queue_time_average_seconds", Milliseconds(Qtime)),
    gauge("connect_time_average_seconds", Milliseconds(Ctime)),
    gauge("response_time_average_seconds", Milliseconds(Rtime)),
    gauge("total_time_average_seconds", Milliseconds(Ttime)),
    counter("failed_header_rewriting_total", Number(Wrew)),
    counter("connection_attempts_total", Number(Connect)),
    counter("connection_reuses_total", Number(Reuse)),
    counter("http_cache_lookups_total", Number(CacheLookups)),
    counter("http_cache_hits_total", Number(CacheHits)),
    gauge("max_queue_time_seconds", Milliseconds(QtimeMax)),
    gauge("max_connect_time_seconds", Milliseconds(CtimeMax)),
    gauge("max_response_time_seconds", Milliseconds(RtimeMax)),
    gauge("max_total_time_seconds", Milliseconds(TtimeMax)),
    counter("internal_errors_total", Number(Eint)),
    gauge("uweight", Number(Uweight)),
    gauge("agg_server_status", AggregateServers),
    gauge("agg_server_check_status", AggregateServers),
    gauge("agg_check_status", AggregateChecks),
];

/// Metrics of servers.
pub(super) const SERVER: &[Metric] = &[
    gauge("current_queue", Number(Qcur)),
    gauge("max_queue", Number(Qmax)),
    gauge("current_sessions", Number(Scur)),
    gauge("max_sessions", Number(Smax)),
    gauge("limit_sessions", Number(Slim)),
    counter("sessions_total", Number(Stot)),
    counter("bytes_in_total", Number(Bin)),
    counter("bytes_out_total", Number(Bout)),
    counter("responses_denied_total", Number(Dresp)),
    counter("connection_errors_total", Number(Econ)),
    counter("response_errors_total", Number(Eresp)),
    counter("retry_warnings_total", Number(Wretr)),
    counter("redispatch_warnings_total", Number(Wredis)),
    gauge("status", State(SERVER_STATES)),
    gauge("weight", Number(Weight)),
    counter("check_failures_total", Number(Chkfail)),
    counter("check_up_down_total", Number(Chkdown)),
    gauge("check_last_change_seconds", Number(Lastchg)),
    counter("downtime_seconds_total", Number(Downtime)),
    gauge("queue_limit", Number(Qlimit)),
    gauge("current_throttle", Number(Throttle)),
    counter("loadbalanced_total", Number(Lbtot)),
    gauge("max_session_rate", Number(RateMax)),
    gauge("check_status", CheckStatus),
    gauge("check_code", Number(CheckCode)),
    gauge("check_duration_seconds", Milliseconds(CheckDuration)),
    counter("http_responses_total", Responses),
    counter("client_aborts_total", Number(CliAbrt)),
    counter("server_aborts_total", Number(SrvAbrt)),
    gauge("last_session_seconds", Number(Lastsess)),
    gauge("queue_time_average_seconds", Milliseconds(Qtime)),
    gauge("connect_time_average_seconds", Milliseconds(Ctime)),
    gauge("response_time_average_seconds", Milliseconds(Rtime)),
    gauge("total_time_average_seconds", Milliseconds(Ttime)),
    counter("failed_header_rewriting_total", Number(Wrew)),
    counter("connection_attempts_total", Number(Connect)),
    counter("connection_reuses_total", Number(Reuse)),
    gauge("idle_connections_current", Number(SrvIcur)),
    gauge("idle_connections_limit", Number(SrcIlim)),
    gauge("max_queue_time_seconds", Milliseconds(QtimeMax)),
    gauge("max_connect_time_seconds", Milliseconds(CtimeMax)),
    gauge("max_response_time_seconds", Milliseconds(RtimeMax)),
    gauge("max_total_time_seconds", Milliseconds(TtimeMax)),
    counter("internal_errors_total", Number(Eint)),
    gauge("unsafe_idle_connections_current", Number(IdleConnCur)),
    gauge("safe_idle_connections_current", Number(SafeConnCur)),
    gauge("used_connections_current", Number(UsedConnCur)),
    gauge("need_connections_current", Number(NeedConnEst)),
    gauge("uweight", Number(Uweight)),
];
