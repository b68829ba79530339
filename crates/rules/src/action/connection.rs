//! Actions on the connection and on how the transaction is treated: addresses, marks, timeouts,
//! priorities.

use super::header::{format, with_value};
use super::{Action, Input, Outcome};
use crate::context::{Context, Limit, facts};
use crate::verdict::Need;
use sample::{Expr, LogFormat, Missing, ParseError, Place, Places, Type, Value};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use stdx::leading_number;

/// A compiled action of this kind.
#[derive(Debug)]
pub enum ConnectionEdit {
    /// `set-src`
    Source(Expr),
    /// `set-src-port`
    SourcePort(Expr),
    /// `set-dst`
    Destination(Expr),
    /// `set-dst-port`
    DestinationPort(Expr),
    /// `expect-proxy`
    ExpectProxy,
    /// `expect-netscaler-cip`
    ExpectNetScaler,
    /// `set-mark`
    Mark(u32),
    /// `set-tos`
    Tos(u8),
    /// `set-timeout`
    Timeout(Limit, Span),
    /// `set-priority-class`
    PriorityClass(Expr),
    /// `set-priority-offset`
    PriorityOffset(Expr),
    /// `early-hint`
    EarlyHint(Box<[u8]>, LogFormat),
    /// `disable-l7-retry`
    DisableRetry,
    /// `wait-for-body`
    WaitForBody(u32, u64),
    /// `wait-for-handshake`
    WaitForHandshake,
}

/// A time in milliseconds, fixed or computed.
#[derive(Debug)]
pub enum Span {
    /// As configured.
    Fixed(u32),
    /// For each transaction.
    Computed(Expr),
}

impl ConnectionEdit {
    pub(super) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        match self {
            Self::Source(expr) => address(expr, cx, |cx, ip| {
                let port = facts(cx).source().map_or(0, |old| old.port());
                cx.set_source(SocketAddr::new(ip, port));
            }),
            Self::Destination(expr) => address(expr, cx, |cx, ip| {
                let port = facts(cx).destination().map_or(0, |old| old.port());
                cx.set_destination(SocketAddr::new(ip, port));
            }),
            Self::SourcePort(expr) => integer(expr, cx, |cx, port| {
                cx.set_source(with_port(facts(cx).source(), port));
            }),
            Self::DestinationPort(expr) => integer(expr, cx, |cx, port| {
                cx.set_destination(with_port(facts(cx).destination(), port));
            }),
            Self::ExpectProxy => {
                cx.expect_proxy();
                Outcome::Next
            }
            Self::ExpectNetScaler => {
                cx.expect_netscaler();
                Outcome::Next
            }
            Self::Mark(mark) => {
                cx.set_mark(*mark);
                Outcome::Next
            }
            Self::Tos(tos) => {
                cx.set_tos(*tos);
                Outcome::Next
            }
            Self::Timeout(limit, Span::Fixed(span)) => {
                cx.set_limit(*limit, *span);
                Outcome::Next
            }
            Self::Timeout(limit, Span::Computed(expr)) => integer(expr, cx, |cx, span| {
                if let Ok(span @ 1..) = u32::try_from(span) {
                    cx.set_limit(*limit, span);
                }
            }),
            Self::PriorityClass(expr) => integer(expr, cx, |cx, class| {
                cx.set_priority_class(class.clamp(-2047, 2047) as i16);
            }),
            Self::PriorityOffset(expr) => integer(expr, cx, |cx, offset| {
                cx.set_priority_offset(offset.clamp(-524_287, 524_287) as i32);
            }),
            Self::EarlyHint(name, format) => with_value(format, cx, |value, cx| {
                cx.early_hint(name, value);
                Outcome::Next
            }),
            Self::DisableRetry => {
                cx.disable_retry();
                Outcome::Next
            }
            Self::WaitForBody(span, at_least) => {
                Outcome::Wait(Need::Body { span: *span, at_least: *at_least })
            }
            Self::WaitForHandshake => Outcome::Wait(Need::Handshake),
        }
    }
}

fn with_port(old: Option<SocketAddr>, port: i64) -> SocketAddr {
    let ip = old.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |old| old.ip());
    SocketAddr::new(ip, port.rem_euclid(65_536) as u16)
}

/// Hands the expression's value on, if it has one.
fn evaluated<'r, T>(
    expr: &Expr,
    to: Type,
    cx: &mut dyn Context,
    pick: impl Fn(Value<'_>) -> Option<T>,
    then: impl FnOnce(&mut dyn Context, T),
) -> Outcome<'r> {
    let found = expr.eval_as(to, facts(cx)).map(pick);
    match found {
        Ok(Some(value)) => {
            then(cx, value);
            Outcome::Next
        }
        Err(Missing::NotYet) => Outcome::Suspend,
        _ => Outcome::Next,
    }
}

fn integer<'r>(
    expr: &Expr,
    cx: &mut dyn Context,
    then: impl FnOnce(&mut dyn Context, i64),
) -> Outcome<'r> {
    let pick = |value: Value<'_>| match value {
        Value::Int(int) => Some(int),
        _ => None,
    };
    evaluated(expr, Type::Int, cx, pick, then)
}

fn address<'r>(
    expr: &Expr,
    cx: &mut dyn Context,
    then: impl FnOnce(&mut dyn Context, IpAddr),
) -> Outcome<'r> {
    let pick = |value: Value<'_>| match value {
        Value::Ipv4(ip) => Some(IpAddr::V4(ip)),
        Value::Ipv6(ip) => Some(IpAddr::V6(ip)),
        _ => None,
    };
    evaluated(expr, Type::Addr, cx, pick, then)
}

fn expr(input: &mut Input<'_, '_, '_>) -> Result<Expr, ParseError> {
    let (start, mut used) = (input.at, 0);
    if input.peek().is_none() {
        return Err(ParseError::new(start.saturating_sub(1), "expects an expression"));
    }
    let expr = Expr::parse(input.rest(), &mut used, input.cx).map_err(|e| e.shifted(start))?;
    input.at += used;
    Ok(expr)
}

/// An address or a port. As measured, the expression may name parts of a request before there is
/// one: they find nothing.
fn endpoint(input: &mut Input<'_, '_, '_>) -> Result<Expr, ParseError> {
    let places = input.cx.places;
    input.cx.places = places.and(Places::of(Place::FeHttpRequest));
    let found = expr(input);
    input.cx.places = places;
    let found = found?;
    if !found.valid_in(places) {
        let (name, place) = (found.keyword(), places.name());
        input.cx.warn(format!("'{name}' never finds anything in a {place}: the rule does nothing"));
    }
    Ok(found)
}

fn edit(edit: ConnectionEdit) -> Result<Action, ParseError> {
    Ok(Action::Connection(edit))
}

/// The layer that a preamble is expected at.
fn layer4(input: &mut Input<'_, '_, '_>, name: &str) -> Result<(), ParseError> {
    let got = input.peek().unwrap_or_default();
    if got != "layer4" {
        let message =
            format!("'tcp-request connection {name}' only supports 'layer4' (got '{got}')");
        return Err(ParseError::new(input.at, message));
    }
    input.at += 1;
    Ok(())
}

pub(super) fn expect_proxy(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    layer4(input, "expect-proxy").and_then(|()| edit(ConnectionEdit::ExpectProxy))
}

pub(super) fn expect_netscaler(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    layer4(input, "expect-netscaler-cip").and_then(|()| edit(ConnectionEdit::ExpectNetScaler))
}

pub(super) fn source(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::Source(endpoint(input)?))
}

pub(super) fn source_port(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::SourcePort(endpoint(input)?))
}

pub(super) fn destination(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::Destination(endpoint(input)?))
}

pub(super) fn destination_port(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::DestinationPort(endpoint(input)?))
}

pub(super) fn priority_class(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::PriorityClass(expr(input)?))
}

pub(super) fn priority_offset(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::PriorityOffset(expr(input)?))
}

/// Decimal, or hexadecimal behind `0x`.
fn number(input: &mut Input<'_, '_, '_>, what: &str) -> Result<u32, ParseError> {
    let text = input.take("expects exactly 1 argument (integer/hex value)")?;
    // A number that is too large or negative is truncated to the width of the mark.
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as u32),
        None => text.parse::<i64>().ok().map(|number| number as u32),
    };
    number
        .ok_or_else(|| input.fail(format!("invalid {what} '{text}' (integer/hex value expected)")))
}

pub(super) fn mark(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::Mark(number(input, "mark")?))
}

pub(super) fn tos(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::Tos(number(input, "TOS")? as u8))
}

/// A time as the manual writes it (section 2.5), in milliseconds, and what there is to warn of.
fn time(text: &str) -> Option<(u32, Option<String>)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let suffix = &text[digits..];
    let (unit, micros) = match leading_number::unit(suffix) {
        Some(unit) => unit,
        None if suffix.is_empty() => ("", 1_000),
        None => return None,
    };
    let span = number.checked_mul(micros)?.div_ceil(1_000);
    let span = u32::try_from(span).ok().filter(|span| *span <= i32::MAX as u32)?;
    Some((span, leading_number::behind_unit(text, &suffix[unit.len()..])))
}

/// The milliseconds of a time, with a warning for odd values.
fn span(input: &Input<'_, '_, '_>, text: &str) -> Option<u32> {
    let (span, odd) = time(text)?;
    odd.into_iter().for_each(|odd| input.cx.warn(odd));
    Some(span)
}

/// A size in bytes, with `k`, `m` or `g` behind it.
fn size(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let shift = match &text[digits..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    text[..digits].parse::<u64>().ok()?.checked_mul(1 << shift)
}

pub(super) fn timeout(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    const EXPECTED: &str = "expects exactly 2 arguments: 'server'/'tunnel' and <timeout> or <expr>";
    let limit = match input.take(EXPECTED)? {
        "server" => Limit::Server,
        "tunnel" => Limit::Tunnel,
        other => {
            let message = format!("'{other}' rule not supported, expects 'server' or 'tunnel'");
            return Err(input.fail(message));
        }
    };
    let word = input.peek().ok_or_else(|| ParseError::new(input.at, EXPECTED))?;
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return edit(ConnectionEdit::Timeout(limit, Span::Computed(expr(input)?)));
    }
    input.at += 1;
    let fixed = span(input, word).filter(|span| *span > 0);
    let span = fixed.ok_or_else(|| input.fail(format!("invalid value '{word}' for timeout")))?;
    edit(ConnectionEdit::Timeout(limit, Span::Fixed(span)))
}

pub(super) fn early_hint(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    const EXPECTED: &str = "expects exactly 2 arguments";
    let name = input.take(EXPECTED)?.to_ascii_lowercase().into_bytes().into();
    edit(ConnectionEdit::EarlyHint(name, format(input, EXPECTED)?))
}

pub(super) fn disable_retry(_: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::DisableRetry)
}

pub(super) fn wait_for_handshake(_: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    edit(ConnectionEdit::WaitForHandshake)
}

pub(super) fn wait_for_body(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let (mut wait, mut at_least) = (None, 0);
    while let Some(word) = input.peek() {
        input.at += 1;
        match word {
            "time" => {
                let text = input.take("missing argument for 'time'")?;
                let value = span(input, text);
                wait = Some(value.ok_or_else(|| input.fail(format!("invalid time '{text}'")))?);
            }
            "at-least" => {
                let text = input.take("missing argument for 'at-least'")?;
                let value = size(text);
                at_least = value.ok_or_else(|| input.fail(format!("invalid size '{text}'")))?;
            }
            other => {
                return Err(input.fail(format!("expects 'time' or 'at-least', got '{other}'")));
            }
        }
    }
    let wait = wait.ok_or_else(|| input.fail("expects a 'time' parameter"))?;
    edit(ConnectionEdit::WaitForBody(wait, at_least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes() {
        let plain = |text| time(text).filter(|(_, odd)| odd.is_none()).map(|(span, _)| span);
        assert_eq!([plain("5"), plain("5s"), plain("1500us")], [Some(5), Some(5_000), Some(2)]);
        assert_eq!([time("5x"), time(""), time("99999999d")], [const { None }; 3]);
        let (span, odd) = time("1h30m").expect("what is behind the unit is ignored");
        assert!(span == 3_600_000 && odd.is_some_and(|odd| odd.contains("'3' after the timer")));
        assert_eq!([size("7"), size("2k"), size("x")], [Some(7), Some(2048), None]);
    }
}
