//! `set server <srv> addr`, `fqdn`, `check-addr` and `check-port` (management.txt 9.3).

use super::call::{Call, Reply, Severity, Target};
use health::servers::events;
use reactor::Address;
use std::net::{IpAddr, SocketAddr};

/// Why the port of a server cannot become one relative to the client's: a check needs one port.
const NO_MAP: &str = ", can't change <port> to port map because it is incompatible with current \
                      health check port configuration (use 'port' statement from the 'server' \
                      directive.";
/// Bytes of the longest name of a host (RFC 1035 2.3.4).
const LONGEST_NAME: usize = 255;

/// `addr <ip> [port <port>]`: changes the address and answers with the change.
pub(super) fn address(call: &Call<'_>, target: &Target) -> Reply {
    let (given, by) = (call.word(4), origin(call));
    if given.is_empty() {
        return Reply::error("set server <b>/<s> addr requires an address and optionally a port.");
    }
    let Some(now) = target.server().location.now().address.inet() else {
        return message(&format!(
            "Update for the current server address family is only supported through configuration file {by}"
        ));
    };
    let Ok(ip) = given.parse::<IpAddr>() else {
        return message(&format!("Invalid addr '{given}' {by}"));
    };
    let mut said = match ip == now.ip() {
        true => "no need to change the addr".to_owned(),
        false => format!("IP changed from '{}' to '{ip}'", now.ip()),
    };
    let port = match call.word(5) {
        "port" => wanted_port(target, call.word(6), now.port(), &mut said),
        _ => now.port(),
    };
    let next = SocketAddr::new(ip, port);
    if next != now {
        move_to(call, target, now, next);
    }
    message(&format!("{said} {by}"))
}

/// The new port; its change is appended to `said`.
fn wanted_port(target: &Target, given: &str, now: u16, said: &mut String) -> u16 {
    let relative = target.server().settings.link.follows.port.is_some();
    match (given.parse::<i32>(), given.starts_with(['+', '-'])) {
        (Err(_), _) => said.push_str(&format!(", problem converting port '{given}' to an int")),
        (Ok(_), true) if target.server().location.now().check_port.is_none() => {
            said.push_str(NO_MAP)
        }
        (Ok(_), to) if to || relative => {
            said.push_str(", ports relative to the client's do not change while it runs")
        }
        (Ok(port), _) if port == i32::from(now) => said.push_str(", no need to change the port"),
        (Ok(port), _) => match u16::try_from(port) {
            Ok(port) => {
                said.push_str(&format!(", port changed from '{now}' to '{port}'"));
                return port;
            }
            Err(_) => said.push_str(&format!(", problem converting port '{given}' to an int")),
        },
    }
    now
}

/// The origin of a change, as messages name it.
fn origin(call: &Call<'_>) -> String {
    format!("by '{}'", call.state.origin)
}

fn move_to(call: &Call<'_>, target: &Target, now: SocketAddr, next: SocketAddr) {
    events::relocate(call.worker, &target.back, target.slot, |place| {
        place.address = Address::Inet(next);
        place.known = !next.ip().is_unspecified();
    });
    if target.server().location.now().known {
        events::resolves(call.worker, &target.back, target.slot, false);
    }
    if now.ip() != next.ip() {
        let name = format!("{}/{}", target.back.proxy.name(), target.server().state.name());
        let text = format!(
            "{name} changed its IP from {} to {} by {}",
            now.ip(),
            next.ip(),
            call.state.origin
        );
        events::notify_operators(call.worker, &target.back, &text);
    }
}

/// `fqdn <name>`: answers with the change, which the task that resolves the server's name makes.
pub(super) fn name(call: &Call<'_>, target: &Target) -> Reply {
    let (given, by) = (call.word(4), origin(call));
    if given.is_empty() {
        return Reply::error("set server <b>/<s> fqdn requires a FQDN.");
    }
    let refused = |what| Reply::error(format!("set server <b>/<s> fqdn failed because {what}."));
    match &target.server().settings.resolve {
        None => return refused("no resolution is configured"),
        Some(resolve) if resolve.service => return refused("SRV resolution is configured"),
        Some(_) => {}
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if !given.bytes().all(fits) || given.len() > LONGEST_NAME {
        return message(&format!("invalid fqdn '{given}' {by}"));
    }
    let now = target.server().location.now();
    let now = now.host.as_deref().unwrap_or("(null)");
    if now.eq_ignore_ascii_case(given) {
        return message(&format!("no need to change the FDQN {by}"));
    }
    let name = format!("{}/{}", target.back.proxy.name(), target.server().state.name());
    match health::discovery::rename(call.shared(), target.back.proxy.index, target.slot, given) {
        true => message(&format!("{name} changed its FQDN from {now} to {given} {by}")),
        false => message(&format!("could not update {name} FQDN {by}")),
    }
}

/// `check-addr <ip> [port <port>]`
pub(super) fn check_address(call: &Call<'_>, target: &Target) -> Reply {
    if call.word(4).is_empty() {
        let text = "set server <b>/<s> check-addr requires an address and optionally a port.";
        return Reply::error(text);
    }
    if let Some(reply) = unchecked(target) {
        return reply;
    }
    let ip = match ip(call.word(4)) {
        Ok(ip) => ip,
        Err(reply) => return reply,
    };
    let port = match (call.word(5), port(call.word(6))) {
        ("port", Ok(port)) => Some(port),
        ("port", Err(reply)) => return reply,
        _ => None,
    };
    events::relocate(call.worker, &target.back, target.slot, |place| {
        place.check_ip = Some(ip);
        place.check_port = port.or(place.check_port);
    });
    Reply::Done
}

/// `check-port <port>`
pub(super) fn check_port(call: &Call<'_>, target: &Target) -> Reply {
    if call.word(4).is_empty() {
        return Reply::error("set server <b>/<s> check-port requires a port.");
    }
    if let Some(reply) = unchecked(target) {
        return reply;
    }
    match port(call.word(4)) {
        Ok(port) => {
            let change = |place: &mut engine::state::backend::server_address::AddressSnapshot| {
                place.check_port = Some(port)
            };
            events::relocate(call.worker, &target.back, target.slot, change);
            Reply::Done
        }
        Err(reply) => reply,
    }
}

fn unchecked(target: &Target) -> Option<Reply> {
    let checked = target.server().settings.balance.checked;
    (!checked).then(|| refusal("health checks are not enabled on this server"))
}

/// The address that a command gives.
pub(super) fn ip(given: &str) -> Result<IpAddr, Reply> {
    given.parse().map_err(|_| refusal(format!("invalid addr '{given}'")))
}

/// The port that a command gives.
pub(super) fn port(given: &str) -> Result<u16, Reply> {
    match given.parse::<i64>() {
        Ok(port) => u16::try_from(port).map_err(|_| invalid_port()),
        Err(_) => Err(refusal("provided port is not an integer")),
    }
}

pub(super) fn invalid_port() -> Reply {
    refusal("provided port is invalid")
}

/// A refusal as HAProxy gives it here: a warning, and no empty line of its own.
fn refusal(text: impl Into<String>) -> Reply {
    Reply::Bare(Severity::Warning, text.into())
}

fn message(text: &str) -> Reply {
    Reply::Message(Severity::Warning, text.to_owned())
}
