//! Actions that write variables and captures.

use super::header::with_value;
use super::{Action, Input, Outcome, wait_for_answer};
use crate::context::{Context, Family, facts};
use crate::rule_set_kind::RuleSetKind;
use sample::args::SetVar;
use sample::vars::VarName;
use sample::{
    CaptureSlot, Expr, Facts, LogFormat, LogStyle, Missing, NeededCapture, ParseError, Place, Side,
    Value,
};
use std::sync::Arc;

/// A compiled write.
#[derive(Debug)]
pub enum VariableEdit {
    /// `set-var`
    Set(SetVar, Expr),
    /// `set-var-fmt`
    SetFormat(SetVar, LogFormat),
    /// `unset-var`
    Unset(VarName),
    /// `do-resolve`
    Resolve(Resolve),
    /// `capture` into a slot
    Capture(Expr, usize),
}

impl VariableEdit {
    pub(super) fn run<'r>(&'r self, side: Side, cx: &mut dyn Context) -> Outcome<'r> {
        match self {
            VariableEdit::Set(target, expr) => {
                let facts = facts(cx);
                match expr.eval(facts) {
                    Ok(value) => _ = target.store(facts, &value),
                    Err(Missing::NotYet) => return Outcome::Suspend,
                    Err(Missing::Absent) => {}
                }
            }
            VariableEdit::SetFormat(target, format) => {
                return with_value(format, cx, |text, cx| {
                    target.store(facts(cx), &Value::str(text));
                    Outcome::Next
                });
            }
            VariableEdit::Unset(name) => facts(cx).set_var(name, None),
            VariableEdit::Resolve(resolve) => return resolve.run(cx),
            VariableEdit::Capture(expr, slot) => return capture_now(expr, *slot, side, facts(cx)),
        }
        Outcome::Next
    }
}

/// `do-resolve(<var>,<resolvers>[,<options>]) <expr>`
#[derive(Debug)]
pub struct Resolve {
    variable: Arc<VarName>,
    resolvers: Arc<str>,
    family: Family,
    name: Expr,
}

impl Resolve {
    /// The name of the `resolvers` section.
    pub fn resolvers(&self) -> &str {
        &self.resolvers
    }

    /// Asks for the address, which the answer writes into the variable.
    fn run<'r>(&self, cx: &mut dyn Context) -> Outcome<'r> {
        let name = match self.name.eval(facts(cx)) {
            Ok(name) => name.to_str().map(|text| String::from_utf8_lossy(&text).into_owned()),
            Err(Missing::NotYet) => return Outcome::Suspend,
            Err(Missing::Absent) => None,
        };
        let Some(name) = name else { return Outcome::Next };
        cx.resolve(&self.resolvers, (&name, self.family), &self.variable);
        wait_for_answer(cx)
    }
}

pub(super) fn do_resolve(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let word = input.word(0);
    let expected = format!(
        "Can't parse '{word}'. Expects 'do-resolve(<varname>,<resolvers>[,<options>]) <expr>'. Available options are 'ipv4' and 'ipv6'."
    );
    let wrong = || ParseError::new(0, expected.clone());
    let (variable, resolvers, options) = match &*input.parens {
        [variable, resolvers, options @ ..] if !resolvers.is_empty() => {
            (variable, resolvers, options)
        }
        _ => return Err(wrong()),
    };
    let variable = VarName::parse(variable).map_err(|message| ParseError::new(0, message))?.into();
    let mut family = Family::V6;
    for option in options {
        family = match option.as_str() {
            "ipv4" => Family::V4,
            "ipv6" => Family::V6,
            _ => return Err(wrong()),
        };
    }
    let resolvers = resolvers.as_str().into();
    let (mut used, start) = (0, input.at);
    if input.peek().is_none() {
        return Err(wrong());
    }
    let name =
        Expr::parse(input.rest(), &mut used, input.cx).map_err(|error| error.shifted(start))?;
    input.at += used;
    Ok(Action::Variable(VariableEdit::Resolve(Resolve { variable, resolvers, family, name })))
}

fn capture_now<'r>(expr: &Expr, slot: usize, side: Side, facts: &dyn Facts) -> Outcome<'r> {
    match expr.eval(facts) {
        Ok(value) => {
            if let Some(text) = value.to_str() {
                facts.set_capture(side, slot, &text);
            }
            Outcome::Next
        }
        Err(Missing::NotYet) => Outcome::Suspend,
        Err(Missing::Absent) => Outcome::Next,
    }
}

fn target(input: &mut Input<'_, '_, '_>) -> Result<SetVar, ParseError> {
    let target = SetVar::parse(input.parens.iter().map(String::as_str));
    target.map_err(|message| ParseError::new(0, message))
}

pub(super) fn set_var(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let target = target(input)?;
    let mut used = 0;
    let start = input.at;
    let expr =
        Expr::parse(input.rest(), &mut used, input.cx).map_err(|error| error.shifted(start))?;
    input.at += used;
    Ok(Action::Variable(VariableEdit::Set(target, expr)))
}

pub(super) fn set_var_fmt(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let target = target(input)?;
    // At the end of a line it is empty.
    let text = input.rest().first().copied().unwrap_or_default();
    let at = input.at;
    input.at += usize::from(!text.is_empty());
    let format = LogFormat::parse(text, LogStyle::Header, input.cx).map_err(|e| e.shifted(at))?;
    Ok(Action::Variable(VariableEdit::SetFormat(target, format)))
}

pub(super) fn unset_var(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let name = input.parens.first().map_or("", String::as_str);
    let name = VarName::parse(name).map_err(|message| ParseError::new(0, message))?;
    Ok(Action::Variable(VariableEdit::Unset(name)))
}

/// Where the slots of the section itself are meant.
const CLIENT_SIDE: [Place; 4] =
    [Place::FeTcpRequest, Place::FeHttpRequest, Place::FeTcpResponse, Place::FeHttpResponse];

pub(super) fn capture(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    const EXPECTED: &str = "expects 'len' or 'id'";
    let mut used = 0;
    let start = input.at;
    let expr =
        Expr::parse(input.rest(), &mut used, input.cx).map_err(|error| error.shifted(start))?;
    input.at += used;
    let word = input.take(EXPECTED)?;
    let number: usize = match word {
        "len" | "id" => {
            let text = input.take(EXPECTED)?;
            input.leading(word, text).map_err(|_| {
                input.fail(format!("a positive '{word}' value is expected, got '{text}'"))
            })?
        }
        other => return Err(input.fail(format!("{EXPECTED}, found '{other}'"))),
    };
    let slots = match input.ruleset.side() {
        Side::Request => &input.cx.captures.request,
        Side::Response => &input.cx.captures.response,
    };
    if word == "id" {
        // A backend writes into the slots of any frontend; slots that the frontend lacks stay
        // empty.
        let client = CLIENT_SIDE.iter().any(|place| input.cx.places.holds(*place));
        let response = input.ruleset.side() == Side::Response;
        let needed = NeededCapture { response, slot: number };
        if client && !input.cx.captures.has(needed) {
            input.cx.captures.needed.borrow_mut().push(needed);
        }
        return Ok(Action::Variable(VariableEdit::Capture(expr, number)));
    }
    if !matches!(input.ruleset, RuleSetKind::HttpRequest | RuleSetKind::TcpRequest) {
        return Err(
            input.fail("'len' is only possible for requests: declare a capture and name its 'id'")
        );
    }
    if number == 0 {
        return Err(input.fail("a positive 'len' value is expected"));
    }
    let slot = slots.borrow().len();
    slots.borrow_mut().push(CaptureSlot { header: None, len: number });
    Ok(Action::Variable(VariableEdit::Capture(expr, slot)))
}
