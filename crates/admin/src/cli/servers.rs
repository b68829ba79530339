//! Commands that change or look at one server.
//!
//! The effects of a change on queues, connections and logs are in [`health::servers::events`].

use super::call::{Call, Reply, Severity, Target};
use super::server_address;
use balance::{Admin, Change, MAX_WEIGHT};
use engine::state::runtime::Agent;
use health::servers::events;
use health::servers::events::Cause;
use std::sync::atomic::Ordering::Relaxed;

const USAGE: &str = "usage: set server <backend>/<server> addr | agent | agent-addr | agent-port | \
                     agent-send | check-addr | check-port | fqdn | health | ssl | state | weight";

pub(super) fn get_weight(call: &mut Call<'_>) -> Reply {
    match call.target(2) {
        Ok(target) => {
            let state = &target.server().state;
            let initial = state.settings().weight.min(MAX_WEIGHT);
            Reply::Dump(format!("{} (initial {initial})\n", state.user_weight()))
        }
        Err(reply) => reply,
    }
}

pub(super) fn set_weight(call: &mut Call<'_>) -> Reply {
    match call.target(2) {
        Ok(target) => change_weight(call, &target, 3),
        Err(reply) => reply,
    }
}

/// `disable server <bk>/<srv>`: as `set server ... state maint`, drain ends too.
pub(super) fn disable(call: &mut Call<'_>) -> Reply {
    match call.target(2) {
        Ok(target) => change_admin(call, &target, Admin::FORCED_MAINT, Admin::FORCED_DRAIN),
        Err(reply) => reply,
    }
}

/// `enable server <bk>/<srv>`: as `set server ... state ready`, drain ends too.
pub(super) fn enable(call: &mut Call<'_>) -> Reply {
    match call.target(2) {
        Ok(target) => change_admin(call, &target, Admin::default(), Admin::FORCED_BY_OPERATOR),
        Err(reply) => reply,
    }
}

/// `disable health <bk>/<srv>`: the state stays as it is.
pub(super) fn disable_health(call: &mut Call<'_>) -> Reply {
    switch_health(call, true)
}

/// `enable health <bk>/<srv>`.
pub(super) fn enable_health(call: &mut Call<'_>) -> Reply {
    switch_health(call, false)
}

fn switch_health(call: &Call<'_>, off: bool) -> Reply {
    match call.target(2) {
        Ok(target) if !off && !target.server().settings.balance.checked => {
            Reply::error("Health check was not configured on this server, cannot enable.")
        }
        Ok(target) => {
            health::servers::track::suspend_checks(call.shared(), target.server(), off);
            Reply::Done
        }
        Err(reply) => reply,
    }
}

/// `disable agent <bk>/<srv>`: its last state stays.
pub(super) fn disable_agent(call: &mut Call<'_>) -> Reply {
    match call.target(2) {
        Ok(target) => {
            if let Some(agent) = &target.server().agent {
                agent.off.store(true, Relaxed);
            }
            Reply::Done
        }
        Err(reply) => reply,
    }
}

/// `enable agent <bk>/<srv>`.
pub(super) fn enable_agent(call: &mut Call<'_>) -> Reply {
    match call.target(2) {
        Ok(target) => match &target.server().agent {
            Some(agent) => {
                agent.off.store(false, Relaxed);
                Reply::Done
            }
            None => Reply::error("Agent was not configured on this server, cannot enable."),
        },
        Err(reply) => reply,
    }
}

/// `set server <bk>/<srv> agent|agent-addr|agent-port|agent-send ...`.
fn change_agent(call: &Call<'_>, target: &Target) -> Reply {
    let (what, given) = (call.word(3), call.word(4));
    match (what, given) {
        ("agent-addr", "") => {
            let text = "set server <b>/<s> agent-addr requires an address and optionally a port.";
            return Reply::error(text);
        }
        ("agent-port", "") => {
            return Reply::error("set server <b>/<s> agent-port requires a port.");
        }
        _ => {}
    }
    let agent = target.server().agent.as_ref().filter(|agent| !agent.off.load(Relaxed));
    let Some(agent) = agent else {
        let text = "agent checks are not enabled on this server";
        return match what {
            "agent" | "agent-send" => Reply::error(format!("{text}.")),
            _ => Reply::Bare(Severity::Warning, text.to_owned()),
        };
    };
    match what {
        "agent" => match given {
            "up" => events::force_agent(call.worker, &target.back, target.slot, true),
            "down" => events::force_agent(call.worker, &target.back, target.slot, false),
            _ => return Reply::error("'set server <srv> agent' expects 'up' or 'down'."),
        },
        "agent-send" => agent.change(|asked| asked.send = given.as_bytes().to_vec()),
        "agent-port" => match agent_port(given) {
            Ok(port) => agent.change(|asked| asked.port = port),
            Err(reply) => return reply,
        },
        _ => return move_agent(call, agent),
    }
    Reply::Done
}

/// `agent-addr <addr> [port <port>]`.
fn move_agent(call: &Call<'_>, agent: &Agent) -> Reply {
    let ip = match server_address::ip(call.word(4)) {
        Ok(ip) => ip,
        Err(reply) => return reply,
    };
    let port = match call.word(5) {
        "port" => match agent_port(call.word(6)) {
            Ok(port) => Some(port),
            Err(reply) => return reply,
        },
        _ => None,
    };
    agent.change(|asked| (asked.ip, asked.port) = (Some(ip), port.unwrap_or(asked.port)));
    Reply::Done
}

/// A port that an agent can be asked at.
fn agent_port(given: &str) -> Result<u16, Reply> {
    match server_address::port(given)? {
        0 => Err(server_address::invalid_port()),
        port => Ok(port),
    }
}

pub(super) fn maxconn(call: &mut Call<'_>) -> Reply {
    let target = match call.target(3) {
        Ok(target) => target,
        Err(reply) => return reply,
    };
    match call.word(4) {
        "" => Reply::error("Require <maxconn>."),
        text => match leading_number(text) {
            None => Reply::error("maxconn string empty or preceded by garbage").bare(),
            Some((limit, "")) => match u32::try_from(limit) {
                Ok(limit) => {
                    target.back.set_maxconn(target.slot, limit);
                    Reply::Done
                }
                Err(_) => Reply::error("Invalid maxconn, an integer of 0 or more is expected."),
            },
            Some(_) => Reply::error("Trailing garbage in maxconn string").bare(),
        },
    }
}

/// The number in front, however long, and what follows. `None`: the text does not begin with a
/// number.
fn leading_number(text: &str) -> Option<(i64, &str)> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let value = digits.bytes().fold(0i64, |value, digit| {
        value.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    });
    let value = if text.starts_with('-') { -value } else { value };
    (!digits.is_empty()).then_some((value, rest))
}

/// `set server <bk>/<srv> ...`.
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    let target = match call.target(2) {
        Ok(target) => target,
        Err(reply) => return reply,
    };
    match call.word(3) {
        "weight" => change_weight(call, &target, 4),
        "state" => change_state(call, &target),
        "health" => change_health(call, &target),
        "fqdn" => server_address::name(call, &target),
        "agent" | "agent-addr" | "agent-port" | "agent-send" => change_agent(call, &target),
        "addr" => server_address::address(call, &target),
        "check-addr" => server_address::check_address(call, &target),
        "check-port" => server_address::check_port(call, &target),
        "ssl" => switch_tls(call, &target),
        _ => Reply::error(USAGE),
    }
}

/// `set server <bk>/<srv> ssl on|off`: for connections that are made from now on.
fn switch_tls(call: &Call<'_>, target: &Target) -> Reply {
    let server = target.server();
    if server.settings.link.encryption.is_none() {
        return Reply::error(
            "'set server <srv> ssl' cannot be set.  default-server should define ssl settings",
        );
    }
    match call.word(4) {
        "on" => server.tls.turn(true),
        "off" => server.tls.turn(false),
        _ => return Reply::error("'set server <srv> ssl' expects 'on' or 'off'."),
    }
    Reply::Message(Severity::Info, "server ssl setting updated.".to_owned())
}

fn change_state(call: &Call<'_>, target: &Target) -> Reply {
    let maintenance = Admin::FORCED_MAINT;
    let (set, clear) = match call.word(4) {
        "ready" => (Admin::default(), Admin::FORCED_BY_OPERATOR),
        "drain" => (Admin::FORCED_DRAIN, maintenance),
        "maint" => (Admin::FORCED_MAINT, Admin::FORCED_DRAIN),
        _ => {
            let text = "'set server <srv> state' expects 'ready', 'drain' and 'maint'.";
            return Reply::error(text);
        }
    };
    change_admin(call, target, set, clear)
}

fn change_admin(call: &Call<'_>, target: &Target, set: Admin, clear: Admin) -> Reply {
    events::set_admin(call.worker, &target.back, target.slot, set, clear, Cause::Silent);
    Reply::Done
}

fn change_health(call: &Call<'_>, target: &Target) -> Reply {
    let change = match call.word(4) {
        "up" => Change::Up,
        "stopping" => Change::Stopping,
        "down" => Change::Down,
        _ => {
            let text = "'set server <srv> health' expects 'up', 'stopping', or 'down'.";
            return Reply::error(text);
        }
    };
    if target.server().settings.balance.track.is_some() {
        return Reply::error("cannot change health on a tracking server.");
    }
    events::force_health(call.worker, &target.back, target.slot, change);
    Reply::Done
}

fn change_weight(call: &Call<'_>, target: &Target, at: usize) -> Reply {
    let initial = target.server().state.settings().weight.min(MAX_WEIGHT);
    match weight(call.word(at), initial) {
        Ok(weight) => {
            if !target.back.balancer.allows_weight(target.slot, weight) {
                let text = "Backend is using a static LB algorithm and only accepts weights \
                            '0%' and '100%'.";
                return Reply::Message(Severity::Error, text.to_owned());
            }
            events::set_weight(call.worker, &target.back, target.slot, weight);
            Reply::Done
        }
        Err(text) if text.contains("weight string") => Reply::error(text).bare(),
        Err(text) => Reply::error(text),
    }
}

/// A weight, or a share in percent of the configured one.
fn weight(text: &str, initial: u32) -> Result<u32, &'static str> {
    if text.is_empty() {
        return Err("Require <weight> or <weight%>.");
    }
    match leading_number(text) {
        None => Err("Empty weight string empty or preceded by garbage"),
        Some((share, "%")) => {
            let share = u64::try_from(share).map_err(|_| "Relative weight must be positive.")?;
            let weight = u64::from(initial).saturating_mul(share) / 100;
            Ok(u32::try_from(weight).unwrap_or(MAX_WEIGHT).min(MAX_WEIGHT))
        }
        Some((weight, "")) => match u32::try_from(weight) {
            Ok(weight) if weight <= MAX_WEIGHT => Ok(weight),
            _ => Err("Absolute weight can only be between 0 and 256 inclusive."),
        },
        Some(_) => Err("Trailing garbage in weight string"),
    }
}

#[cfg(test)]
mod tests {
    use super::weight;

    #[test]
    fn weights_are_absolute_or_relative() {
        assert_eq!(weight("0", 10), Ok(0));
        assert_eq!(weight("256", 10), Ok(256));
        assert_eq!(weight("50%", 10), Ok(5));
        assert_eq!(weight("50%", 1), Ok(0));
        assert_eq!(weight("99999%", 256), Ok(256));
        assert_eq!(weight("99999999999999999999%", 1), Ok(256));
        assert_eq!(weight("+5", 10), Ok(5));
        let absolute = "Absolute weight can only be between 0 and 256 inclusive.";
        let empty = "Empty weight string empty or preceded by garbage";
        let trailing = "Trailing garbage in weight string";
        for (bad, text) in [
            ("", "Require <weight> or <weight%>."),
            ("257", absolute),
            ("-1", absolute),
            ("4294967296", absolute),
            ("99999999999999999999", absolute),
            ("x", empty),
            ("%", empty),
            ("5x", trailing),
            ("1.5", trailing),
            ("5x%", trailing),
            ("5%x", trailing),
            ("-1%", "Relative weight must be positive."),
        ] {
            assert_eq!(weight(bad, 10), Err(text), "{bad}");
        }
    }
}
