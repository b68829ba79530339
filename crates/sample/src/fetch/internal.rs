//! Fetches of proxies, servers and their counters, and of the rules themselves. `Facts` knows.

use super::Source::{Call, Count as Counted, Name as Named, Number as Num, Server, ServerFlag};
use super::{BACKEND, Fetch, INTERNAL, SERVER, SESSION, fetch};
use crate::args::Args;
use crate::facts::{Count, Facts, Name, Number, ServerCount};
use crate::value::{Missing, Outcome, Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("fe_name", "", Type::Str, SESSION, "The frontend's name.", Named(Name::Frontend)),
    fetch("fe_id", "", Type::Int, SESSION, "The frontend's number.", Num(Number::FrontendId)),
    fetch("fe_defbe", "", Type::Str, SESSION, "The frontend's default backend.", Named(Name::DefaultBackend)),
    fetch("fe_client_timeout", "", Type::Int, SESSION, "The frontend's client timeout in ms.", Num(Number::ClientTimeout)),
    fetch("be_name", "", Type::Str, BACKEND, "The backend's name.", Named(Name::Backend)),
    fetch("be_id", "", Type::Int, BACKEND, "The backend's number.", Num(Number::BackendId)),
    fetch("be_server_timeout", "", Type::Int, BACKEND, "The backend's server timeout in ms.", Num(Number::BackendServerTimeout)),
    fetch("be_tunnel_timeout", "", Type::Int, BACKEND, "The backend's tunnel timeout in ms.", Num(Number::BackendTunnelTimeout)),
    fetch("cur_server_timeout", "", Type::Int, BACKEND, "The server timeout in effect in ms.", Num(Number::CurrentServerTimeout)),
    fetch("cur_tunnel_timeout", "", Type::Int, BACKEND, "The tunnel timeout in effect in ms.", Num(Number::CurrentTunnelTimeout)),
    fetch("fcgi.docroot", "", Type::Str, BACKEND, "The document root of the backend's FastCGI application.", Named(Name::FcgiDocroot)),
    fetch("fcgi.index", "", Type::Str, BACKEND, "The index script of the backend's FastCGI application.", Named(Name::FcgiIndex)),
    fetch("srv_name", "", Type::Str, SERVER, "The server's name.", Named(Name::Server)),
    fetch("srv_id", "", Type::Int, SERVER, "The server's number.", Num(Number::ServerId)),
    fetch("so_name", "", Type::Str, SESSION, "The bind line's name.", Named(Name::Listener)),
    fetch("so_id", "", Type::Int, SESSION, "The bind line's number.", Num(Number::ListenerId)),
    fetch("prio_class", "", Type::Int, INTERNAL, "The request's priority class.", Num(Number::PriorityClass)),
    fetch("prio_offset", "", Type::Int, INTERNAL, "The request's priority offset.", Num(Number::PriorityOffset)),
    fetch("be_conn", "backend", Type::Int, INTERNAL, "Current connections of a backend.", Counted(Count::BackendConnections)),
    fetch("be_conn_free", "backend", Type::Int, INTERNAL, "Free connections over a backend's servers.", Counted(Count::BackendFree)),
    fetch("be_sess_rate", "backend", Type::Int, INTERNAL, "New sessions per second of a backend.", Counted(Count::BackendSessionRate)),
    fetch("nbsrv", "backend", Type::Int, INTERNAL, "Usable servers of a backend.", Counted(Count::UsableServers)),
    fetch("queue", "backend", Type::Int, INTERNAL, "Requests queued in a backend.", Counted(Count::Queue)),
    fetch("avg_queue", "backend", Type::Int, INTERNAL, "Queued requests per usable server.", Counted(Count::AverageQueue)),
    fetch("connslots", "backend", Type::Int, INTERNAL, "Free connection and queue slots of a backend.", Counted(Count::ConnectionSlots)),
    fetch("fe_conn", "frontend", Type::Int, INTERNAL, "Current connections of a frontend.", Counted(Count::FrontendConnections)),
    fetch("fe_req_rate", "frontend", Type::Int, INTERNAL, "Requests per second of a frontend.", Counted(Count::FrontendRequestRate)),
    fetch("fe_sess_rate", "frontend", Type::Int, INTERNAL, "New sessions per second of a frontend.", Counted(Count::FrontendSessionRate)),
    fetch("srv_conn", "server", Type::Int, INTERNAL, "Current connections of a server.", Server(ServerCount::Connections)),
    fetch("srv_conn_free", "server", Type::Int, INTERNAL, "Free connections of a server.", Server(ServerCount::Free)),
    fetch("srv_is_up", "server", Type::Bool, INTERNAL, "Whether a server is up.", ServerFlag(ServerCount::Up)),
    fetch("srv_queue", "server", Type::Int, INTERNAL, "Requests queued for a server.", Server(ServerCount::Queue)),
    fetch("srv_sess_rate", "server", Type::Int, INTERNAL, "New sessions per second of a server.", Server(ServerCount::SessionRate)),
    fetch("srv_weight", "server", Type::Int, INTERNAL, "Weight of a server in effect.", Server(ServerCount::Weight)),
    fetch("srv_iweight", "server", Type::Int, INTERNAL, "Weight of a server at start.", Server(ServerCount::InitialWeight)),
    fetch("srv_uweight", "server", Type::Int, INTERNAL, "Weight of a server as last set.", Server(ServerCount::UserWeight)),
    fetch("cpu_calls", "", Type::Int, INTERNAL, "Turns of the task that serves the request.", Num(Number::Turns)),
    fetch("cpu_ns_avg", "", Type::Int, INTERNAL, "Nanoseconds of an average turn, while tasks are profiled.", Call(|_, facts| average(facts, Number::TurnTime))),
    fetch("cpu_ns_tot", "", Type::Int, INTERNAL, "Nanoseconds of all turns, while tasks are profiled.", Num(Number::TurnTime)),
    fetch("lat_ns_avg", "", Type::Int, INTERNAL, "Nanoseconds that an average turn was waited for, while tasks are profiled.", Call(|_, facts| average(facts, Number::TurnLatency))),
    fetch("lat_ns_tot", "", Type::Int, INTERNAL, "Nanoseconds that all turns were waited for, while tasks are profiled.", Num(Number::TurnLatency)),
    fetch("last_rule_file", "", Type::Str, INTERNAL, "File of the rule that decided last.", Call(rule_file)),
    fetch("last_rule_line", "", Type::Int, INTERNAL, "Line of the rule that decided last.", Call(rule_line)),
];

fn rule_file<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.last_rule().map(|(file, _)| Value::str(file.as_bytes())).ok_or(Missing::Absent)
}

fn rule_line<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.last_rule().map(|(_, line)| Value::Int(line.into())).ok_or(Missing::Absent)
}

/// A sum over all turns by their number.
fn average(facts: &dyn Facts, sum: Number) -> Outcome<'_> {
    let number = |number| facts.number(number).ok_or(Missing::Absent);
    Ok(Value::Int(number(sum)?.checked_div(number(Number::Turns)?).unwrap_or(0)))
}
