//! QUIC in the `global` section (section 3), with the names of HAProxy 2.7 and those of 3.x.
use super::values::{integer, on_off, time};
use crate::keyword::{Fill, Keyword, global as entry};
use crate::line::{Args, Parsed};
use crate::model::Global;
use crate::value;
use settings::Quic;

type QuicGlobalKeyword = Keyword<Fill<Global>>;

/// A size, at least as large as a datagram.
const MIN_SIZE: u32 = 1_500;

/// Keywords of `global`, alphabetical.
pub(crate) const KEYWORDS: &[QuicGlobalKeyword] = &[
    entry("cluster-secret", "<secret>", "Secret of QUIC tokens and resets.", |g, cx, a| {
        a.no_more_than(1)?;
        let secret = a.need(1, "'cluster-secret' expects an ASCII string argument.")?;
        match g.settings.quic.secret.is_empty() {
            true => g.settings.quic.secret = secret.into(),
            false => cx.warn(a, 0, "'cluster-secret' already specified. Continuing."),
        }
        Ok(())
    }),
    entry("tune.quic.fe.cc.max-win-size", "<size>", "Largest congestion window.", |g, _, a| {
        size(a).map(|n| g.settings.quic.max_window = n.into())
    }),
    entry("tune.quic.fe.max-idle-timeout", "<timeout>", IDLE, |g, _, a| {
        idle(&mut g.settings.quic, a)
    }),
    entry(
        "tune.quic.fe.sec.glitches-threshold",
        "<number>",
        "Glitches that end a QUIC connection.",
        |g, _, a| integer(a, 0..=i32::MAX as u32).map(|n| g.settings.quic.glitches_threshold = n),
    ),
    entry("tune.quic.fe.sec.retry-threshold", "<number>", RETRY, |g, _, a| {
        retry(&mut g.settings.quic, a)
    }),
    entry("tune.quic.fe.stream.max-concurrent", "<number>", STREAMS, |g, _, a| {
        streams(&mut g.settings.quic, a)
    }),
    entry(
        "tune.quic.fe.stream.max-total",
        "<number>",
        "Requests before a graceful end of a QUIC connection.",
        |g, _, a| integer(a, 0..=i32::MAX as u32).map(|n| g.settings.quic.max_total_streams = n),
    ),
    entry("tune.quic.fe.stream.rxbuf", "<size>", "Unread data of a QUIC stream.", |g, _, a| {
        size(a).map(|n| g.settings.quic.stream_window = n)
    }),
    entry("tune.quic.fe.tx.pacing", "{ on | off }", "Spreads packets of QUIC.", |_, _, a| {
        match on_off(a)? {
            true => Ok(()),
            false => Err(a.fault(1, format!("'{}' : pacing cannot be switched off", a.text(0)))),
        }
    }),
    entry(
        "tune.quic.fe.tx.udp-gso",
        "{ on | off }",
        "Sends many QUIC packets in one call.",
        |g, _, a| on_off(a).map(|on| g.settings.quic.segments = on),
    ),
    entry(
        "tune.quic.frontend.conn-tx-buffers.limit",
        "<number>",
        "Unacknowledged data of a QUIC connection.",
        |g, _, a| integer(a, 1..=i32::MAX as u32).map(|n| g.settings.quic.tx_buffers = n),
    ),
    entry("tune.quic.frontend.max-idle-timeout", "<timeout>", IDLE, |g, _, a| {
        idle(&mut g.settings.quic, a)
    }),
    entry("tune.quic.frontend.max-streams-bidi", "<number>", STREAMS, |g, _, a| {
        streams(&mut g.settings.quic, a)
    }),
    entry("tune.quic.listen", "{ on | off }", "Opens QUIC listeners, or not.", |g, _, a| {
        on_off(a).map(|on| g.settings.quic.is_off = !on)
    }),
    entry("tune.quic.retry-threshold", "<number>", RETRY, |g, _, a| retry(&mut g.settings.quic, a)),
];

const IDLE: &str = "Idle time of QUIC connections.";
const STREAMS: &str = "Requests at a time of a QUIC connection.";
const RETRY: &str = "QUIC handshakes from which clients retry.";

fn idle(quic: &mut Quic, args: Args<'_>) -> Parsed {
    let span = time(args, "argument to <timeout>.")?;
    quic.idle_ms = u32::try_from(span).unwrap_or(u32::MAX);
    Ok(())
}

fn streams(quic: &mut Quic, args: Args<'_>) -> Parsed {
    integer(args, 1..=65_535).map(|number| quic.streams = number)
}

fn retry(quic: &mut Quic, args: Args<'_>) -> Parsed {
    integer(args, 0..=i32::MAX as u32).map(|number| quic.retry_threshold = number)
}

fn size(args: Args<'_>) -> Parsed<u32> {
    args.no_more_than(1)?;
    let bytes = value::size(args.text(1)).ok().filter(|bytes| *bytes >= MIN_SIZE);
    let expected = || format!("'{}' expects a size of at least {MIN_SIZE} bytes.", args.text(0));
    bytes.ok_or_else(|| args.fault(1, expected()))
}
