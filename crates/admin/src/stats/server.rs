//! The row of a server.

use super::field::Field;
use super::front::{RESPONSES, sums};
use super::{Clock, Kind, Row, Value, is_http, mode};
use balance::{CheckStatus, notice};
use engine::state::backend::server_cookie;
use engine::state::runtime::{Backend, Server};
use reactor::Address;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use transport::stats::counters::{Counters, Event, Metric, Timing};

/// Counters that servers and backends share.
pub(super) const SHARED: &[(Field, Metric)] = &[
    (Field::Stot, Metric::Sessions),
    (Field::Bin, Metric::BytesIn),
    (Field::Bout, Metric::BytesOut),
    (Field::Dresp, Metric::DeniedResponses),
    (Field::Econ, Metric::FailedConnections),
    (Field::Eresp, Metric::FailedResponses),
    (Field::Wretr, Metric::Retries),
    (Field::Wredis, Metric::Redispatches),
    (Field::Lbtot, Metric::Balanced),
    (Field::CliAbrt, Metric::ClientAborts),
    (Field::SrvAbrt, Metric::ServerAborts),
    (Field::Wrew, Metric::FailedRewrites),
    (Field::Connect, Metric::Connects),
    (Field::Reuse, Metric::Reuses),
    (Field::Eint, Metric::InternalErrors),
];

pub(super) fn times(row: &mut Row, counters: &Counters) {
    let fields = [
        (Timing::Queue, Field::Qtime, Field::QtimeMax),
        (Timing::Connect, Field::Ctime, Field::CtimeMax),
        (Timing::Response, Field::Rtime, Field::RtimeMax),
        (Timing::Total, Field::Ttime, Field::TtimeMax),
    ];
    for (timing, average, maximum) in fields {
        row.set(average, u32::try_from(counters.average(timing)).unwrap_or(u32::MAX));
        row.set(maximum, counters.maximum(timing));
    }
}

pub(super) fn row(back: &Backend, server: &Server, clock: Clock, legends: bool) -> Row {
    let (proxy, settings) = (&back.proxy, &server.settings);
    let mut row = Row::new(Kind::Server, proxy, server.state.id(), &server.state.name());
    let counters = &server.counters;
    row.set(Field::Qcur, server.queue.len());
    row.set(Field::Qmax, server.queue.length.peak());
    row.set(Field::Scur, server.sessions.current());
    row.set(Field::Smax, server.sessions.peak());
    row.set(Field::Slim, Some(server.state.load().maxconn()).filter(|limit| *limit != 0));
    row.set(Field::Qlimit, Some(settings.max_queue).filter(|limit| *limit != 0));
    sums(&mut row, counters, SHARED);
    times(&mut row, counters);
    row.set(Field::Rate, clock.rate(counters, Event::Session));
    row.set(Field::RateMax, counters.peak(Event::Session));
    row.set(Field::Lastsess, clock.last_session(counters));
    row.set(Field::Mode, mode(proxy));
    if is_http(proxy) {
        sums(&mut row, counters, RESPONSES);
        row.set(Field::ReqTot, counters.sum(Metric::Requests));
    }
    state(&mut row, server, clock);
    checks(&mut row, server, clock);
    agent(&mut row, server);
    connections(&mut row, server);
    if legends {
        let place = server.location.now();
        row.set(Field::Addr, place.known.then(|| own_address(server, &place.address)));
        let cookie = server_cookie::value(back, server);
        row.set(Field::Cookie, cookie.map(|it| String::from_utf8_lossy(&it).into_owned()));
    }
    row
}

fn state(row: &mut Row, server: &Server, clock: Clock) {
    let (state, settings) = (&server.state, &server.settings.balance);
    row.set(Field::Status, status(server));
    row.set(Field::Weight, state.shown_weight());
    row.set(Field::Uweight, state.user_weight());
    row.set(Field::Act, u32::from(!settings.backup));
    row.set(Field::Bck, u32::from(settings.backup));
    row.set(Field::Lastchg, clock.seconds_since(state.changed_ms()));
    row.set(Field::Throttle, state.throttle_percent());
    let tracked = settings.track.as_ref().map(|by| format!("{}/{}", by.backend, by.server));
    row.set(Field::Tracked, tracked);
}

/// The state in HAProxy's words: a server that is up and whose checks are suspended counts as not
/// checked, and an agent that is asked is named.
fn status(server: &Server) -> String {
    let status = notice::status(&server.state);
    let asked = server.agent.as_ref().is_some_and(|agent| !agent.off.load(Relaxed));
    match status.as_str() {
        up if server.checks_off.load(Relaxed) && up.starts_with("UP") => "no check".to_owned(),
        "DRAIN" if asked => "DRAIN (agent)".to_owned(),
        "DOWN (agent)" if !asked => "DOWN".to_owned(),
        _ => status,
    }
}

/// The results of checks; their last outcome is not shown during maintenance.
fn checks(row: &mut Row, server: &Server, clock: Clock) {
    let state = &server.state;
    row.set(Field::Hanafail, state.is_observed().then(|| state.alarms()));
    if !state.settings().checked || server.checks_off.load(Relaxed) {
        return;
    }
    let record = state.check_record();
    row.set(Field::Chkfail, record.failed);
    row.set(Field::Chkdown, record.went_down);
    let downtime = state.downtime_ms(clock.ms) / 1_000;
    row.set(Field::Downtime, u32::try_from(downtime).unwrap_or(u32::MAX));
    if state.state().1.in_maint() {
        return;
    }
    let last = &record.last;
    row.set(Field::CheckStatus, outcome(last.status, &server.check_runs));
    row.set(Field::CheckDesc, last.status.description());
    row.set(Field::CheckCode, last.code.map(code));
    row.set(Field::CheckRise, record.health.rise());
    row.set(Field::CheckFall, record.health.fall());
    row.set(Field::CheckHealth, record.health.value());
    if !matches!(last.status, CheckStatus::Unknown | CheckStatus::Initializing) {
        row.set(Field::CheckDuration, last.took_ms());
        row.set(Field::LastChk, last.info.as_str());
    }
}

fn agent(row: &mut Row, server: &Server) {
    let agent = server.agent.as_ref().filter(|agent| !agent.off.load(Relaxed));
    let Some(agent) = agent else { return };
    let record = server.state.agent_record();
    let last = &record.last;
    row.set(Field::AgentStatus, outcome(last.status, &agent.runs));
    row.set(Field::AgentDesc, last.status.description());
    row.set(Field::AgentCode, last.code.map(code));
    row.set(Field::AgentRise, record.health.rise());
    row.set(Field::AgentFall, record.health.fall());
    row.set(Field::AgentHealth, record.health.value());
    if last.status != CheckStatus::Initializing {
        row.set(Field::AgentDuration, last.duration_ms);
        row.set(Field::LastAgt, last.info.as_str());
    }
}

/// The outcome of the last check, marked while the next one is under way.
fn outcome(last: CheckStatus, runs: &AtomicBool) -> String {
    let mark = if runs.load(Relaxed) { "* " } else { "" };
    format!("{mark}{}", last.code())
}

/// A code of a protocol, or of a program that a signal has ended.
fn code(code: i32) -> Value {
    u32::try_from(code).map_or(Value::S32(code), Value::U32)
}

fn connections(row: &mut Row, server: &Server) {
    let idle = server.idle();
    let used = server.in_use();
    row.set(Field::SrvIcur, idle);
    row.set(Field::SrcIlim, server.settings.pool_max);
    let safe = server.idle_proven();
    row.set(Field::IdleConnCur, idle.saturating_sub(safe));
    row.set(Field::SafeConnCur, safe);
    row.set(Field::UsedConnCur, used);
    row.set(Field::NeedConnEst, server.demand().1);
}

/// The address of a server, with what is added to the client's port if its own is relative.
fn own_address(server: &Server, own: &Address) -> Value {
    match (server.settings.link.follows.port, own.inet()) {
        (Some(offset), Some(own)) if own.is_ipv6() => format!("[{}]:{offset}", own.ip()).into(),
        (Some(offset), Some(own)) => format!("{}:{offset}", own.ip()).into(),
        _ => address(own),
    }
}

pub(super) fn address(address: &Address) -> Value {
    match address {
        Address::Inet(address) => address.to_string().into(),
        Address::Unix(_) | Address::Pair(_) => "unix".into(),
    }
}
