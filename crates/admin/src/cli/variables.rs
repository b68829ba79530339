//! `get var` and `set var` (management.txt 9.3): variables of the process.

use super::call::{Call, Reply};
use sample::args::{SetVar, SetVarError};
use sample::vars::{SharedVars, VarName};
use sample::{
    Captures, Expr, LogFormat, LogStyle, ParseContext, ParseError, Place, Places, Scope, Shared,
    Value,
};
use std::fmt;
use std::io;

/// `get var <name>`.
pub(super) fn get(call: &mut Call<'_>) -> Reply {
    let name = call.word(2);
    if name.is_empty() {
        return Reply::error("Missing process-wide variable identifier.");
    }
    let parsed = VarName::parse(name).ok().filter(|parsed| parsed.scope() == Scope::Proc);
    match parsed.and_then(|parsed| call.shared().vars.get(&parsed)) {
        Some(value) => Reply::Dump(shown(name, &value)),
        None => Reply::error("Variable not found."),
    }
}

fn shown(name: &str, value: &Value<'_>) -> String {
    let printable = |byte: &u8| if (b' '..0x7f).contains(byte) { char::from(*byte) } else { '.' };
    let text = match value {
        Value::Bool(yes) => u8::from(*yes).to_string(),
        Value::Int(number) => number.to_string(),
        Value::Ipv4(address) => address.to_string(),
        Value::Ipv6(address) => address.to_string(),
        Value::Str(bytes) | Value::Bin(bytes) | Value::Meth(bytes) => {
            bytes.iter().map(printable).collect()
        }
    };
    format!("{name}: type={} value=<{text}>", value.kind().name())
}

/// `set var <name> [expr] <expression>`, `set var <name> fmt <format>`.
pub(super) fn set(call: &mut Call<'_>) -> Reply {
    if !call.state.experimental {
        return Reply::error("This command is restricted to experimental mode only.");
    }
    let words: Vec<&str> = call.words.iter().skip(2).map(String::as_str).collect();
    let Some((name, source)) = words.split_first() else {
        return Reply::error("Missing process-wide variable identifier.");
    };
    match assign(&call.shared().vars, name, source) {
        Ok(()) => Reply::Done,
        Err(AssignError::NoExpression) => Reply::error(AssignError::NoExpression.to_string()),
        Err(error) => Reply::error(error.to_string()).bare(),
    }
}

/// Why `set var` changes nothing.
enum AssignError {
    /// The name is not one of a variable.
    Name(SetVarError),
    /// The variable with this name does not belong to the process.
    Scope(String),
    /// The variable line has no expression.
    NoExpression,
    /// The expression or the format is refused.
    Expression(ParseError),
    /// The expression has no value.
    NoValue,
}

impl fmt::Display for AssignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(f),
            Self::Scope(name) => write!(
                f,
                "'set var': cannot set variable '{name}', only scope 'proc' is permitted here."
            ),
            Self::NoExpression => f.write_str("Missing either 'expr', 'fmt' or expression."),
            Self::Expression(error) => error.fmt(f),
            Self::NoValue => f.write_str("the expression has no value here"),
        }
    }
}

fn assign(vars: &SharedVars, name: &str, source: &[&str]) -> Result<(), AssignError> {
    let parsed = VarName::parse(name).map_err(|error| AssignError::Name(error.into()))?;
    if parsed.scope() != Scope::Proc {
        return Err(AssignError::Scope(name.to_owned()));
    }
    let target = SetVar::parse([name].into_iter()).map_err(AssignError::Name)?;
    let value = match source {
        [] => return Err(AssignError::NoExpression),
        ["fmt", format] => formatted(vars, format),
        ["expr", words @ ..] if !words.is_empty() => evaluated(vars, words),
        words => evaluated(vars, words),
    };
    match value.map_err(AssignError::Expression)? {
        Some(value) => target.store(vars, &value),
        None => return Err(AssignError::NoValue),
    };
    Ok(())
}

fn evaluated(vars: &SharedVars, words: &[&str]) -> Result<Option<Value<'static>>, ParseError> {
    let expr = parsing(|parser| Expr::parse(words, &mut 0, parser))?;
    Ok(expr.eval(vars).ok().map(Value::into_shared))
}

fn formatted(vars: &SharedVars, format: &str) -> Result<Option<Value<'static>>, ParseError> {
    let format = parsing(|parser| LogFormat::parse(format, LogStyle::Header, parser))?;
    let mut text = Vec::new();
    format.write(vars, &mut text);
    Ok(Some(Value::str(&text).into_shared()))
}

/// Parses where no file may be read.
fn parsing<T>(parse: impl FnOnce(&ParseContext<'_>) -> T) -> T {
    let files = |_: &std::path::Path| Err(io::ErrorKind::Unsupported.into());
    let shared = Shared::new(&files, &|_| None);
    let captures = Captures::default();
    let places = Places::of(Place::CliParser);
    parse(&ParseContext { places, ..ParseContext::new(&shared, &captures) })
}
