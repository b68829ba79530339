//! Server-state files (section 3.1 `server-state-file`, section 4.2 `load-server-state-from-file`)
//! applied to servers.
//!
//! Lines belong to servers by name. Addresses are taken only for names of hosts, and only where
//! `init-addr` lets them (`last`).
use crate::context::Cx;
use crate::diag::{Diagnostic, Severity};
use crate::draft::DraftProxy;
use crate::model::{Address, Global, LoadState, Server, ServerPort};
use crate::state_file::{self, Broken, Late, Saved, StateLine};
use balance::{Admin, Restored};
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

/// The lines of a state file by server.
type StateLines<'t> = HashMap<&'t str, &'t StateLine<'t>>;

/// Resolves names, applies the state files, and reports addresses that remain unknown.
pub(super) fn load(proxies: &mut [DraftProxy], global: &Global, cx: &mut Cx<'_>) {
    super::names::resolve(proxies, cx);
    let path = global.server_state_file.as_deref();
    // Read even if no proxy loads it: a missing file is warned of in any case.
    let text = path.and_then(|name| {
        let path = place(global, name);
        let told = |what: StateFileFault| match what {
            StateFileFault::Open(error) => {
                format!("config: Can't open global server state file '{path}': {error}")
            }
            StateFileFault::Version => {
                format!("config: Can't get version of the global server state file '{path}'.")
            }
            StateFileFault::Line(line) => {
                format!("config: corrupted global server state file '{path}' at line {line}.")
            }
        };
        read(&path, &told, cx)
    });
    let lines = text.as_ref().map(|text| state_file::lines(text).0).unwrap_or_default();
    for proxy in proxies.iter_mut().filter(|it| it.has_backend()) {
        match proxy.settings.back.load_state {
            LoadState::None => {}
            LoadState::Global if path.is_none() => {
                let message = format!(
                    "backend '{}' configured to load server state file from global section 'server-state-file' directive. Unfortunately, 'server-state-file' is not set!",
                    proxy.name
                );
                cx.diagnostics.push(Diagnostic::general(Severity::Warning, message));
            }
            LoadState::Global => {
                let own = lines.iter().filter(|line| *line.backend() == *proxy.name);
                apply(proxy, &own.map(|line| (line.server(), line)).collect(), cx);
            }
            LoadState::Local => local(proxy, global, cx),
        }
    }
    proxies.iter_mut().for_each(|proxy| tell_unknown(proxy, cx));
}

/// Mistakes in a state file.
enum StateFileFault {
    Open(String),
    Version,
    Line(usize),
}

/// The states of one backend, from a file of its own.
fn local(proxy: &mut DraftProxy, global: &Global, cx: &mut Cx<'_>) {
    let name = proxy.settings.back.state_file.clone().unwrap_or_else(|| proxy.name.to_string());
    let path = place(global, &name);
    let context = format!("Proxy '{}'", proxy.name);
    let told = |what: StateFileFault| match what {
        StateFileFault::Open(error) => {
            format!("{context}: Can't open server state file '{path}': {error}.")
        }
        StateFileFault::Version => {
            format!("{context}: Can't get version of the server state file '{path}'.")
        }
        StateFileFault::Line(line) => {
            format!("{context}: corrupted server state file '{path}' at line {line}.")
        }
    };
    let Some(text) = read(&path, &told, cx) else { return };
    let lines = state_file::lines(&text).0;
    let own = lines.iter().filter(|line| *line.backend() == *proxy.name);
    apply(proxy, &own.map(|line| (line.server(), line)).collect(), cx);
}

/// The path of a file: behind `server-state-base`, unless it is absolute.
fn place(global: &Global, name: &str) -> String {
    match &global.server_state_base {
        Some(base) if !name.starts_with('/') => format!("{base}/{name}"),
        _ => name.to_owned(),
    }
}

/// The text of a file; its faults are warned of.
fn read(path: &str, told: &dyn Fn(StateFileFault) -> String, cx: &mut Cx<'_>) -> Option<String> {
    let mut warn = |what| {
        cx.diagnostics.push(Diagnostic::general(Severity::Warning, told(what)));
    };
    let bytes = match cx.files.read(&PathBuf::from(path)) {
        Ok(bytes) => bytes,
        Err(error) => {
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            warn(StateFileFault::Open(text));
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    for broken in state_file::lines(&text).1 {
        warn(match broken {
            Broken::Version => StateFileFault::Version,
            Broken::Line(line) => StateFileFault::Line(line),
        });
    }
    Some(text)
}

fn apply(proxy: &mut DraftProxy, lines: &StateLines<'_>, cx: &mut Cx<'_>) {
    let backend = proxy.name.clone();
    for server in &mut proxy.settings.back.servers {
        let Some(line) = lines.get(&*server.name) else { continue };
        let said = match line.read() {
            Err(error) => Some(("application failed", error.to_string())),
            Ok(saved) => {
                take_place(server, &saved);
                let partly = take_checks(server, line).err();
                server.restored = Some(restored(server, &saved));
                server.checks_off = saved.check & (CONFIGURED | ENABLED) == CONFIGURED;
                server.agent_off = saved.agent & (CONFIGURED | ENABLED) == CONFIGURED;
                partly.map(|error| ("partially applied", error.to_string()))
            }
        };
        if let Some((what, why)) = said {
            let name = &server.name;
            let message = format!("server-state {what} for server '{backend}/{name}', {why}");
            cx.diagnostics.push(Diagnostic::general(Severity::Warning, message));
        }
    }
}

/// Bits of `srv_check_state` and `srv_agent_state`.
const CONFIGURED: u8 = 2;
const ENABLED: u8 = 4;

fn restored(server: &Server, saved: &Saved) -> Restored {
    let same = saved.initial_weight == server.options.weight;
    Restored {
        op: saved.op,
        admin: saved.admin,
        weight: same.then_some(saved.user_weight),
        since_ms: saved.since * 1_000,
        status: saved.status,
        health: saved.health,
    }
}

/// Address and port, and the name if an operator or a service has given it.
fn take_place(server: &mut Server, saved: &Saved) {
    let service = server.host.as_ref().filter(|host| host.starts_with('_'));
    let served = service.is_some();
    if served && saved.service != server.host {
        return;
    }
    if served {
        server.serves_as.clone_from(&saved.fqdn);
    } else if saved.admin.any(Admin::FQDN_CHANGED) && server.host.is_some() {
        server.host = saved.fqdn.clone().or_else(|| server.host.take());
    }
    let Address::Inet(socket) = &mut server.address.address else { return };
    if let Some(ip) = saved.address.filter(|_| server.host.is_some() && server.last_address) {
        socket.set_ip(ip);
        server.unresolved = false;
    }
    match &mut server.address.port {
        ServerPort::Fixed(port) if saved.port > 0 => {
            socket.set_port(saved.port);
            *port = saved.port;
        }
        // A record has brought it.
        ServerPort::FromClient(_) if served => socket.set_port(saved.port),
        _ => {}
    }
}

/// Why the saved destination of checks does not suit the server.
#[derive(Debug)]
enum SavedCheckError {
    /// The server has no checks.
    Disabled,
    /// The port is no number.
    Port,
    /// The address is no IP address.
    Address(String),
}

impl SavedCheckError {
    fn address(text: &str) -> Self {
        Self::Address(text.to_owned())
    }
}

impl fmt::Display for SavedCheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => f.write_str("health checks are not enabled on this server"),
            Self::Port => f.write_str("provided port is invalid"),
            Self::Address(text) => write!(f, "invalid addr '{text}'"),
        }
    }
}

/// Takes over the saved destination of checks and agents.
fn take_checks(server: &mut Server, line: &StateLine<'_>) -> Result<(), SavedCheckError> {
    let check = &server.options.check;
    let (port, addr) = (line.late(Late::CheckPort), line.late(Late::CheckAddr));
    if !check.enabled {
        let own = [check.port.map(|port| port.to_string()), check.addr.map(|ip| ip.to_string())];
        let new = [port, addr]
            .into_iter()
            .zip(&own)
            .any(|(saved, own)| saved.is_some_and(|saved| Some(saved) != own.as_deref()));
        let refused = Err(SavedCheckError::Disabled);
        return if new { refused } else { Ok(()) };
    }
    if let Some(port) = port {
        server.checked_at.1 = Some(port.parse().map_err(|_| SavedCheckError::Port)?);
    }
    if let Some(addr) = addr {
        server.checked_at.0 = Some(addr.parse().map_err(|_| SavedCheckError::address(addr))?);
    }
    let agent = &mut server.options.check.agent;
    if agent.enabled {
        if let Some(addr) = line.late(Late::AgentAddr) {
            agent.addr = Some(addr.parse().map_err(|_| SavedCheckError::address(addr))?);
        }
        if let Some(port) = line.late(Late::AgentPort) {
            agent.port = Some(port.parse().map_err(|_| SavedCheckError::Port)?);
        }
    }
    Ok(())
}

/// Reports addresses that no method has found, unless a state file has them.
fn tell_unknown(proxy: &mut DraftProxy, cx: &mut Cx<'_>) {
    for unknown in std::mem::take(&mut proxy.unknown_addresses) {
        let Some(servers) = proxy.settings.back.servers.get(unknown.servers) else { continue };
        // A warning is of an address that another method found, unless a file went before it.
        let warns = unknown.diagnostic.severity == Severity::Warning;
        let told = |it: &Server| it.unresolved || (warns && it.restored.is_none());
        if servers.iter().any(told) {
            cx.diagnostics.push(unknown.diagnostic);
        }
    }
}
