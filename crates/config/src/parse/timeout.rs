//! `timeout` lines of proxies (section 4.2).
use super::proxy::allowed;
use super::values::time_at;
use crate::context::Cx;
use crate::draft::DraftProxy;
use crate::keyword::Places;
use crate::line::{Args, Parsed};
use crate::value::Unit;

/// One timeout.
pub(crate) struct Timeout {
    pub(crate) name: &'static str,
    pub(crate) places: Places,
    pub(crate) doc: &'static str,
    field: fn(&mut DraftProxy) -> &mut Option<u32>,
}

const fn timeout(
    name: &'static str,
    places: Places,
    doc: &'static str,
    field: fn(&mut DraftProxy) -> &mut Option<u32>,
) -> Timeout {
    Timeout { name, places, doc, field }
}

/// All timeouts, alphabetical.
pub(crate) const TIMEOUTS: &[Timeout] = &[
    timeout("check", Places::D_BACK, "Reply to a check, once connected.", |p| {
        &mut p.settings.common.timeouts.check
    }),
    timeout("client", Places::D_FRONT, "Inactivity of the client.", |p| {
        &mut p.settings.common.timeouts.client
    }),
    timeout("client-fin", Places::D_FRONT, "Inactivity of a half-closed client.", |p| {
        &mut p.settings.common.timeouts.client_fin
    }),
    timeout("connect", Places::D_BACK, "Connection to a server.", |p| {
        &mut p.settings.common.timeouts.connect
    }),
    timeout("http-keep-alive", Places::ALL, "Wait for the next request.", |p| {
        &mut p.settings.common.timeouts.http_keep_alive
    }),
    timeout("http-request", Places::ALL, "Arrival of a whole request head.", |p| {
        &mut p.settings.common.timeouts.http_request
    }),
    timeout("queue", Places::D_BACK, "Wait for a free slot.", |p| {
        &mut p.settings.common.timeouts.queue
    }),
    timeout("server", Places::D_BACK, "Inactivity of the server.", |p| {
        &mut p.settings.common.timeouts.server
    }),
    timeout("server-fin", Places::D_BACK, "Inactivity of a half-closed server.", |p| {
        &mut p.settings.common.timeouts.server_fin
    }),
    timeout("tarpit", Places::ALL, "How long tarpitted clients wait.", |p| {
        &mut p.settings.common.timeouts.tarpit
    }),
    timeout("tunnel", Places::D_BACK, "Inactivity of a tunnel.", |p| {
        &mut p.settings.common.timeouts.tunnel
    }),
];

/// The time limit of this many milliseconds; 0 is no limit.
pub(super) fn limit(milliseconds: u64) -> Option<u32> {
    let limit = u32::try_from(milliseconds).unwrap_or(u32::MAX);
    (limit > 0).then_some(limit)
}

/// One `timeout` line.
pub(super) fn parse(proxy: &mut DraftProxy, cx: &mut Cx<'_>, args: Args<'_>) -> Parsed {
    let name = args.text(1);
    let Some(timeout) = TIMEOUTS.iter().find(|timeout| timeout.name == name) else {
        let message = format!(
            "'timeout' supports 'client', 'server', 'connect', 'check', 'queue', 'http-keep-alive', 'http-request', 'tunnel', 'tarpit', 'client-fin' and 'server-fin' (got '{name}')"
        );
        let names = TIMEOUTS.iter().map(|timeout| timeout.name);
        return Err(args.fault(1, message).suggest(crate::suggest::nearest(name, names)));
    };
    let subject = format!("'timeout {name}'");
    let given = args.need(2, format!("{subject} expects an integer value (in milliseconds)"))?;
    if let Some(extra) = args.get(3) {
        let message =
            format!("{subject} : unexpected extra argument '{extra}' after value '{given}'.");
        return Err(args.fault(3, message));
    }
    let value = time_at(args, 2, Unit::Milliseconds, &subject)?;
    if allowed(proxy, cx, args, timeout.places, &format!("timeout {name}"))? {
        // Zero is "no timeout", as if it were not set.
        *(timeout.field)(proxy) = limit(value);
    }
    Ok(())
}
