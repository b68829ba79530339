//! Lists of what is configured and the state it is in.

use super::call::{Call, Later, Reply};
use engine::state::records::anon::Anon;
use engine::state::runtime::{Backend, Proxy, Server};
use reactor::Address;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The columns of `show servers state`, format 1 (management.txt 9.3).
const STATE_HEADER: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state \
    srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status \
    srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id \
    srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr \
    srv_agent_addr srv_agent_port\n";

/// Servers in one piece of a listing.
const STEP: usize = 32;

pub(super) fn backends(call: &mut Call<'_>) -> Reply {
    let mut out = "# name\n".to_owned();
    for back in call.shared().backends() {
        out.push_str(&call.state.anon.word(back.proxy.name()));
        out.push('\n');
    }
    Reply::Dump(out)
}

pub(super) fn sockets(call: &mut Call<'_>) -> Reply {
    let mut out = "# socket lvl processes\n".to_owned();
    for socket in &call.settings.sockets {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{} {} all", socket.address, socket.level.name());
    }
    Reply::Dump(out)
}

pub(super) fn environment(call: &mut Call<'_>) -> Reply {
    let all = &call.settings.environment;
    let line =
        |(name, value): &(String, String)| format!("{name}={}\n", value.replace(['\n', '\r'], " "));
    match call.word(2) {
        "" => Reply::Dump(all.iter().map(line).collect()),
        wanted => match all.iter().find(|(name, _)| name == wanted) {
            Some(found) => Reply::Dump(line(found)),
            None => Reply::error("Variable not found"),
        },
    }
}

/// The backends that a command is about: the one named at this position, or all.
fn wanted(call: &Call<'_>, at: usize) -> Result<Vec<Arc<Backend>>, Reply> {
    match call.word(at) {
        "" => Ok(call.shared().backends().cloned().collect()),
        name => match call.backend(name) {
            Some(back) => Ok(vec![back]),
            None => Err(Reply::error("Can't find backend.")),
        },
    }
}

pub(super) fn servers_state(call: &mut Call<'_>) -> Reply {
    let backends = match wanted(call, 3) {
        Ok(backends) => backends,
        Err(reply) => return reply,
    };
    let (anon, mut header) = (call.state.anon, Some(STATE_HEADER));
    let (mut at, mut slot) = (0, 0);
    Reply::Pieces(Box::new(move |worker, out| {
        out.extend(header.take());
        let Some(back) = backends.get(at) else { return false };
        let end = (slot + STEP).min(back.servers.slots());
        for server in (slot..end).filter_map(|slot| back.servers.get(slot)) {
            state_line(&back.proxy, server, (worker.millis(), anon), out);
        }
        (at, slot) = if end < back.servers.slots() { (at, end) } else { (at + 1, 0) };
        true
    }))
}

fn state_line(proxy: &Proxy, server: &Server, (now_ms, anon): (u64, Anon), out: &mut String) {
    let (state, settings) = (&server.state, &server.settings);
    let (op, admin) = state.state();
    let record = state.check_record();
    let now = server.location.now();
    let (address, port) = place(server, &now.address, anon);
    let address = if now.known { address } else { "-".to_owned() };
    let host = anon.word(now.host.as_deref().unwrap_or("-"));
    let service = settings.resolve.as_ref().filter(|it| it.service).map(|it| &*it.name);
    let service = anon.word(service.unwrap_or("-"));
    let since = now_ms.saturating_sub(state.changed_ms()) / 1_000;
    let _ = write!(out, "{} {} ", proxy.settings.id, anon.word(proxy.name()));
    let _ = write!(out, "{} {} {address} ", state.id(), anon.word(&state.name()));
    let _ = write!(out, "{} {} {} ", op as u8, admin.0, state.user_weight());
    let _ = write!(out, "{} {since} ", state.settings().weight);
    let (status, verdict) = (record.last.status, record.last.status.verdict());
    let _ = write!(out, "{} {} {} ", status as u8, verdict as u8, record.health.value());
    let (check, agent) = (check_state(server), agent_state(server));
    let forced = [proxy.settings.forced_id, settings.forced_id].map(u8::from);
    let _ = write!(out, "{check} {agent} {} {} {host} {port} {service} ", forced[0], forced[1]);
    let _ = write!(out, "{} ", server.tls.number());
    let check_port = now.check_port.unwrap_or(0);
    let _ = write!(out, "{check_port} {} ", shown(now.check_ip, anon));
    let (agent_ip, agent_port) = agent_place(server);
    let _ = writeln!(out, "{} {agent_port}", shown(agent_ip, anon));
}

fn shown(ip: Option<IpAddr>, anon: Anon) -> String {
    ip.map_or_else(|| "-".to_owned(), |ip| anon.ip(ip))
}

/// Where an agent is asked, or would be: `addr` and `port` hold for it too.
fn agent_place(server: &Server) -> (Option<IpAddr>, u16) {
    match &server.agent {
        Some(agent) => {
            let asked = agent.asked();
            (asked.ip, asked.port)
        }
        None => (server.settings.check_ip, server.settings.check_port.unwrap_or(0)),
    }
}

/// The mask of `srv_agent_state`: an agent 16, configured 2, enabled 4.
fn agent_state(server: &Server) -> u8 {
    let Some(agent) = &server.agent else { return 0 };
    let enabled = if agent.off.load(Relaxed) { 0 } else { 4 };
    16 | 2 | enabled | u8::from(agent.runs.load(Relaxed))
}

/// The mask of `srv_check_state`: under way 1, configured 2, enabled 4, paused by maintenance 8. As
/// measured, a server without checks counts as paused permanently if the configuration disabled it.
fn check_state(server: &Server) -> u8 {
    let state = &server.state;
    let enabled = if server.checks_off.load(Relaxed) { 0 } else { 4 };
    let runs = u8::from(server.check_runs.load(Relaxed));
    match (state.settings().checked, state.settings().disabled) {
        (true, _) if server.paused.load(Relaxed) => 2 | enabled | runs | 8,
        (true, _) => 2 | enabled | runs,
        (false, true) => 8,
        (false, false) => 0,
    }
}

/// Address and port of a server, `-` and 0 for a path. For a port relative to the client's, the
/// offset; 0 if the offset is negative, because readers expect a port.
fn place(server: &Server, address: &Address, anon: Anon) -> (String, u16) {
    let offset = server.settings.link.follows.port;
    let offset = offset.map(|offset| u16::try_from(offset).unwrap_or(0));
    match address.inet() {
        Some(address) => (anon.ip(address.ip()), offset.unwrap_or(address.port())),
        None => ("-".to_owned(), 0),
    }
}

pub(super) fn servers_conn(call: &mut Call<'_>) -> Reply {
    match wanted(call, 3) {
        Ok(proxies) => Reply::Later(Later::ServersConn(proxies, call.state.anon)),
        Err(reply) => reply,
    }
}

/// Idle connections of one thread, by backend and slot.
pub(super) type Idle = Vec<Vec<usize>>;

/// The whole answer, from the idle connections of all threads.
pub(super) fn connections(backends: &[Arc<Backend>], idle: &[Idle], anon: Anon) -> String {
    let mut out = format!(
        "# bkname/svname bkid/svid addr port - purge_delay used_cur used_max need_est unsafe_nb \
         safe_nb idle_lim idle_cur idle_per_thr[{}]\n",
        idle.len()
    );
    for back in backends {
        let proxy = &back.proxy;
        for server in &back.servers {
            connections_line(proxy, server, anon, &mut out);
            for thread in idle {
                let own = thread.get(proxy.index).and_then(|it| it.get(server.state.slot()));
                let _ = write!(out, " {}", own.copied().unwrap_or(0));
            }
            out.push('\n');
        }
    }
    out
}

fn connections_line(proxy: &Proxy, server: &Server, anon: Anon, out: &mut String) {
    let settings = &server.settings;
    let now = server.location.now();
    let (address, port) = place(server, &now.address, anon);
    let address = if now.known { address } else { "-".to_owned() };
    let idle = server.idle();
    let used = server.in_use();
    let ((peak, need), safe) = (server.demand(), server.idle_proven());
    let unsafe_idle = idle.saturating_sub(safe);
    let limit = settings.pool_max.map_or(-1, i64::from);
    let name = server.state.name();
    let (backend, name) = (anon.word(proxy.name()), anon.word(&name));
    let _ = write!(out, "{backend}/{name} ");
    let _ = write!(out, "{}/{} {address} {port} - ", proxy.settings.id, server.state.id());
    let _ = write!(out, "{} {used} {peak} {need} ", settings.pool_purge);
    let _ = write!(out, "{unsafe_idle} {safe} {limit} {idle}");
}
