//! Actions that end a rule set or tune the transaction.

use super::{Action, Input, Outcome};
use crate::context::{Context, LogLevel, facts};
use crate::redirect::Redirect;
use crate::reply::Reply;
use crate::service::Service;
use crate::verdict::{Spoken, Verdict};
use sample::{ParseError, Place, SCRIPT_PREFIX};

/// A compiled action of this kind.
#[derive(Debug)]
pub enum Control {
    /// `allow`, `accept`
    Allow,
    /// `reject`
    Reject,
    /// `close`
    Close,
    /// `silent-drop`, `dgram-drop`
    SilentDrop,
    /// `send-retry`
    SendRetry,
    /// `switch-mode http`, with the protocol if the rule names one
    SwitchMode(Option<Spoken>),
    /// `deny`
    Deny(Reply),
    /// `tarpit`
    Tarpit(Reply),
    /// `return`
    Return(Reply),
    /// `use-service`
    Service(Service),
    /// `strict-mode`
    StrictMode(bool),
    /// `set-log-level`
    SetLogLevel(LogLevel),
    /// `set-nice`
    SetNice(i32),
}

impl Control {
    pub(super) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        Outcome::Final(match self {
            Control::Allow => Verdict::Allow,
            Control::Reject => Verdict::Reject,
            Control::Close => Verdict::Close,
            Control::SilentDrop => Verdict::SilentDrop,
            Control::SendRetry => Verdict::SendRetry,
            Control::SwitchMode(spoken) => Verdict::SwitchMode(*spoken),
            Control::Deny(reply) => Verdict::Deny(reply),
            Control::Tarpit(reply) => Verdict::Tarpit(reply),
            Control::Return(reply) => Verdict::Return(reply),
            Control::Service(service) => Verdict::Service(*service),
            Control::StrictMode(on) => return Outcome::Strict(*on),
            Control::SetLogLevel(level) => {
                cx.set_log_level(*level);
                return Outcome::Next;
            }
            Control::SetNice(nice) => {
                cx.set_nice(*nice);
                return Outcome::Next;
            }
        })
    }

    /// The response that the action sends, if it sends one.
    pub fn reply(&self) -> Option<&Reply> {
        match self {
            Control::Deny(reply) | Control::Tarpit(reply) | Control::Return(reply) => Some(reply),
            _ => None,
        }
    }

    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Control::StrictMode(_) | Control::SetLogLevel(_) | Control::SetNice(_))
    }
}

pub(super) fn redirect<'r>(redirect: &'r Redirect, cx: &mut dyn Context) -> Outcome<'r> {
    if redirect.may_be_skipped() {
        let mut scratch = cx.take_scratch();
        let skipped = redirect.skipped(facts(cx), &mut scratch);
        cx.give_scratch(scratch);
        if skipped {
            return Outcome::Next;
        }
    }
    Outcome::Final(Verdict::Redirect(redirect))
}

pub(super) fn allow(_: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Control(Control::Allow))
}

pub(super) fn reject(_: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Control(Control::Reject))
}

pub(super) fn close(_: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Control(Control::Close))
}

pub(super) fn silent_drop(_: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Control(Control::SilentDrop))
}

pub(super) fn send_retry(_: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Control(Control::SendRetry))
}

pub(super) fn switch_mode(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    if !input.cx.places.holds(Place::FeTcpRequest) {
        let message =
            format!("not allowed because backend '{}' has no frontend capability", input.cx.proxy);
        return Err(input.fail(message));
    }
    match input.take("expects a mode as argument.")? {
        "http" => {}
        other => return Err(input.fail(format!("expects a valid mode (got '{other}')."))),
    }
    if input.peek() != Some("proto") {
        return Ok(Action::Control(Control::SwitchMode(None)));
    }
    input.at += 1;
    let spoken = match input.take("'proto' expects a protocol as argument.")? {
        "h1" => Spoken::H1,
        "h2" => Spoken::H2,
        name @ ("none" | "fcgi") => {
            let message =
                format!("MUX protocol '{name}' is not compatible with the selected mode.");
            return Err(input.fail(message));
        }
        other => {
            let message =
                format!("'proto' expects a valid MUX protocol, if specified (got '{other}')");
            return Err(input.fail(message));
        }
    };
    Ok(Action::Control(Control::SwitchMode(Some(spoken))))
}

fn reply(input: &mut Input<'_, '_, '_>, default: u16) -> Result<Reply, ParseError> {
    let start = input.at;
    let (reply, used) =
        Reply::parse(input.rest(), default, input.cx).map_err(|error| error.shifted(start))?;
    input.at += used;
    Ok(reply)
}

pub(super) fn deny(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    // A denied response becomes 502: the server's answer was not acceptable.
    let default = if input.ruleset == crate::RuleSetKind::HttpResponse { 502 } else { 403 };
    Ok(Action::Control(Control::Deny(reply(input, default)?)))
}

pub(super) fn tarpit(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Control(Control::Tarpit(reply(input, 500)?)))
}

pub(super) fn return_(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    Ok(Action::Control(Control::Return(reply(input, 200)?)))
}

pub(super) fn use_service(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let name = input.take("missing service name")?;
    let script = name.strip_prefix(SCRIPT_PREFIX).unwrap_or_default();
    let http = input.ruleset == crate::RuleSetKind::HttpRequest;
    let registered = |http| input.cx.shared.scripts.and_then(|it| it.service(script, http));
    if let Some(per_thread) = registered(http) {
        if !http && input.cx.http {
            return Err(input.fail("Lua TCP services cannot be used on HTTP proxies"));
        }
        return Ok(Action::Control(Control::Service(Service::of_script(script, per_thread))));
    }
    let named = Service::named(name);
    if !http && (named.is_some() || registered(true).is_some()) {
        return Err(input.fail("HTTP applets are forbidden from 'tcp-request' rulesets"));
    }
    match named {
        Some(service) => Ok(Action::Control(Control::Service(service))),
        None if name.starts_with("lua.") => {
            Err(input.fail(format!("'{name}' unknown service name: no script has registered it")))
        }
        None => Err(input.fail(format!("'{name}' unknown service name."))),
    }
}

pub(super) fn parse_redirect(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let start = input.at;
    let (redirect, used) =
        Redirect::parse(input.rest(), true, input.cx).map_err(|error| error.shifted(start))?;
    input.at += used;
    if input.ruleset == crate::RuleSetKind::HttpResponse && !redirect.names_location() {
        let message = "response only supports redirect type 'location'.";
        return Err(ParseError::new(start, message));
    }
    Ok(Action::Redirect(redirect))
}

pub(super) fn auth(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let default = input.cx.realm;
    let mut realm = if default.is_empty() { input.cx.proxy } else { default }.to_owned();
    match input.peek() {
        Some("realm") => {
            input.at += 1;
            realm = input.take("missing realm value")?.to_owned();
        }
        Some(other) => {
            let message =
                format!("expects 'realm', or 'if' or 'unless' and a condition, got '{other}'");
            input.at += 1;
            return Err(input.fail(message));
        }
        None => {}
    }
    Ok(Action::Control(Control::Return(Reply::challenge(&realm))))
}

pub(super) fn strict_mode(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let word = input.take("expects 'on' or 'off'")?;
    let on = word.eq_ignore_ascii_case("on");
    if !on && !word.eq_ignore_ascii_case("off") {
        let message = format!("Unexpected value '{word}'. Only 'on' and 'off' are supported");
        return Err(input.fail(message));
    }
    Ok(Action::Control(Control::StrictMode(on)))
}

pub(super) fn log_level(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let word = input.take("expects exactly 1 argument (log level name or 'silent')")?;
    let level = LogLevel::TABLE.iter().find(|(name, _)| *name == word);
    let level = level.ok_or_else(|| {
        let hint = sample::closest(word, LogLevel::TABLE.iter().map(|(name, _)| *name))
            .map_or_else(String::new, |found| format!(". Did you mean '{found}' ?"));
        input.fail(format!(
            "expects exactly 1 argument (log level name or 'silent'), got '{word}'{hint}"
        ))
    })?;
    Ok(Action::Control(Control::SetLogLevel(level.1)))
}

pub(super) fn nice(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let word = input.take("expects exactly 1 argument (integer value)")?;
    let nice: i32 = input.leading("set-nice", word)?;
    Ok(Action::Control(Control::SetNice(nice.clamp(-1024, 1024))))
}
