//! Fetches about connections: addresses, ports, errors.

use super::Source::{Call, Flag, Number as Num, Text as Txt};
use super::{CLIENT, Fetch, INTERNAL, SERVER_CONN, SESSION, fetch};
use crate::args::{ArgError, Args};
use crate::context::ParseContext;
use crate::facts::{Facts, Number, TcpState, Text};
use crate::value::{Missing, Outcome, Type, Value};
use std::net::SocketAddr;

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("src", "", Type::Ipv4, CLIENT, "The client's address.", Call(src)),
    fetch("src_port", "", Type::Int, CLIENT, "The client's port.", Call(src_port)),
    fetch("src_is_local", "", Type::Bool, CLIENT, "Whether the client is on this machine.", Call(src_is_local)),
    fetch("dst", "", Type::Ipv4, CLIENT, "The address the client connected to.", Call(dst)),
    fetch("dst_port", "", Type::Int, CLIENT, "The port the client connected to.", Call(dst_port)),
    fetch("dst_is_local", "", Type::Bool, CLIENT, "Whether that address is this machine's.", Call(dst_is_local)),
    fetch("dst_conn", "", Type::Int, SESSION, "Connections on the same bind line.", Num(Number::ListenerConnections)),
    fetch("fc_src", "", Type::Ipv4, CLIENT, "The client's address at the transport level.", Call(fc_src)),
    fetch("fc_src_port", "", Type::Int, CLIENT, "The client's port at the transport level.", Call(fc_src_port)),
    fetch("fc_src_is_local", "", Type::Bool, CLIENT, "Whether that client is on this machine.", Call(fc_src_is_local)),
    fetch("fc_dst", "", Type::Ipv4, CLIENT, "The destination at the transport level.", Call(fc_dst)),
    fetch("fc_dst_port", "", Type::Int, CLIENT, "Its port.", Call(fc_dst_port)),
    fetch("fc_dst_is_local", "", Type::Bool, CLIENT, "Whether it is this machine's.", Call(fc_dst_is_local)),
    fetch("fc_err", "", Type::Int, CLIENT, "Error code of the client connection, 0 without one.", Num(Number::ClientError)),
    fetch("fc_err_str", "", Type::Str, CLIENT, "The same in words.", Txt(Text::ClientError)),
    fetch("fc_glitches", "", Type::Int, CLIENT, "Breaches of the protocol on the client connection.", Num(Number::ClientGlitches)),
    fetch("bc_glitches", "", Type::Int, SERVER_CONN, "Breaches of the protocol on the server connection.", Num(Number::ServerGlitches)),
    fetch("fc_http_major", "", Type::Int, CLIENT, "Major HTTP version of the client connection.", Num(Number::ClientHttpMajor)),
    fetch("bc_http_major", "", Type::Int, SERVER_CONN, "Major HTTP version of the server connection.", Num(Number::ServerHttpMajor)),
    fetch("bc_src", "", Type::Ipv4, SERVER_CONN, "Our address of the server connection.", Call(bc_src)),
    fetch("bc_src_port", "", Type::Int, SERVER_CONN, "Our port of it.", Call(bc_src_port)),
    fetch("bc_dst", "", Type::Ipv4, SERVER_CONN, "The server's address of it.", Call(bc_dst)),
    fetch("bc_dst_port", "", Type::Int, SERVER_CONN, "The server's port of it.", Call(bc_dst_port)),
    fetch("bc_err", "", Type::Int, SERVER_CONN, "Error code of the server connection, 0 without one.", Num(Number::ServerError)),
    fetch("bc_err_str", "", Type::Str, SERVER_CONN, "The same in words.", Txt(Text::ServerError)),
    fetch("fc_rtt", "[string]", Type::Int, CLIENT, "Round trip time of the client connection, in ms or us.", Call(fc_rtt)).prepare(time_unit),
    fetch("fc_rttvar", "[string]", Type::Int, CLIENT, "Its variance.", Call(fc_rttvar)).prepare(time_unit),
    fetch("fc_unacked", "[string]", Type::Int, CLIENT, "Segments not acknowledged on the client connection.", Call(fc_unacked)),
    fetch("fc_sacked", "[string]", Type::Int, CLIENT, "Segments acknowledged selectively.", Call(fc_sacked)),
    fetch("fc_lost", "[string]", Type::Int, CLIENT, "Segments lost.", Call(fc_lost)),
    fetch("fc_retrans", "[string]", Type::Int, CLIENT, "Segments sent again.", Call(fc_retrans)),
    fetch("fc_fackets", "[string]", Type::Int, CLIENT, "Segments between the first not acknowledged and the last that was.", Call(fc_fackets)),
    fetch("fc_reordering", "[string]", Type::Int, CLIENT, "Segments that the system expects out of order.", Call(fc_reordering)),
    fetch("fc_rcvd_proxy", "", Type::Bool, CLIENT, "Whether the client connection began with a PROXY header.", Flag(Number::ReceivedProxy)),
    fetch("fc_pp_authority", "", Type::Str, CLIENT, "Authority from the PROXY header.", Txt(Text::ProxyAuthority)),
    fetch("fc_pp_unique_id", "", Type::Str, CLIENT, "Unique id from the PROXY header.", Txt(Text::ProxyUniqueId)),
    fetch("wait_end", "", Type::Bool, INTERNAL, "True once nothing more will arrive before a decision.", Call(wait_end)),
];

fn ip(address: Option<SocketAddr>) -> Outcome<'static> {
    address.map(|address| Value::from(address.ip())).ok_or(Missing::Absent)
}

fn port(address: Option<SocketAddr>) -> Outcome<'static> {
    address.map(|address| Value::Int(address.port().into())).ok_or(Missing::Absent)
}

fn local<'e>(address: Option<SocketAddr>, facts: &'e dyn Facts) -> Outcome<'e> {
    address.map(|address| Value::Bool(facts.is_local(address))).ok_or(Missing::Absent)
}

fn src<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    ip(facts.source())
}

fn src_port<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    port(facts.source())
}

fn src_is_local<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    local(facts.source(), facts)
}

fn dst<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    ip(facts.destination())
}

fn dst_port<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    port(facts.destination())
}

fn dst_is_local<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    local(facts.destination(), facts)
}

fn fc_src<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    ip(facts.transport_source())
}

fn fc_src_port<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    port(facts.transport_source())
}

fn fc_src_is_local<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    local(facts.transport_source(), facts)
}

fn fc_dst<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    ip(facts.transport_destination())
}

fn fc_dst_port<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    port(facts.transport_destination())
}

fn fc_dst_is_local<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    local(facts.transport_destination(), facts)
}

fn wait_end<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    if facts.is_final() { Ok(Value::Bool(true)) } else { Err(Missing::NotYet) }
}

fn bc_src<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    ip(facts.server_source())
}

fn bc_src_port<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    port(facts.server_source())
}

fn bc_dst<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    ip(facts.server_destination())
}

fn bc_dst_port<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    port(facts.server_destination())
}

fn time_unit(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.text(0) {
        "" | "ms" | "us" => Ok(()),
        other => {
            Err(ArgError::Value(format!("'{other}': invalid time unit, expects 'ms' or 'us'")))
        }
    }
}

/// Milliseconds unless microseconds were asked for.
fn time<'e>(args: &'e Args, facts: &'e dyn Facts, pick: fn(&TcpState) -> i64) -> Outcome<'e> {
    let micros = facts.tcp_state().as_ref().map(pick).ok_or(Missing::Absent)?;
    Ok(Value::Int(if args.text(0) == "us" { micros } else { micros / 1000 }))
}

fn segments<'e>(facts: &'e dyn Facts, pick: fn(&TcpState) -> i64) -> Outcome<'e> {
    facts.tcp_state().as_ref().map(pick).map(Value::Int).ok_or(Missing::Absent)
}

fn fc_rtt<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    time(args, facts, |tcp| tcp.rtt)
}

fn fc_rttvar<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    time(args, facts, |tcp| tcp.rttvar)
}

fn fc_unacked<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    segments(facts, |tcp| tcp.unacked)
}

fn fc_sacked<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    segments(facts, |tcp| tcp.sacked)
}

fn fc_lost<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    segments(facts, |tcp| tcp.lost)
}

fn fc_retrans<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    segments(facts, |tcp| tcp.retrans)
}

fn fc_fackets<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    segments(facts, |tcp| tcp.fackets)
}

fn fc_reordering<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    segments(facts, |tcp| tcp.reordering)
}
