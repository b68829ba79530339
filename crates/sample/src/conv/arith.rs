//! Arithmetic, bitwise and boolean converters.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args, IntOrVar};
use crate::cast::integer;
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::value::{Type, Value};
use crate::vars::VarName;

const INT: (Type, Type) = (Type::Int, Type::Int);
const TEST: (Type, Type) = (Type::Int, Type::Bool);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("add", "string", INT, "Adds a number or variable.", |a, v, f| with(a, v, f, i64::saturating_add)).prepare(number),
    conv("sub", "string", INT, "Subtracts a number or variable.", |a, v, f| with(a, v, f, i64::saturating_sub)).prepare(number),
    conv("mul", "string", INT, "Multiplies by a number or variable.", |a, v, f| with(a, v, f, i64::saturating_mul)).prepare(number),
    conv("div", "string", INT, "Divides by a number or variable; by zero gives the largest integer.", |a, v, f| with(a, v, f, divide)).prepare(number),
    conv("mod", "string", INT, "The remainder of a division; by zero gives zero.", |a, v, f| with(a, v, f, remainder)).prepare(number),
    conv("and", "string", INT, "Bitwise AND.", |a, v, f| with(a, v, f, |x, y| x & y)).prepare(number),
    conv("or", "string", INT, "Bitwise OR.", |a, v, f| with(a, v, f, |x, y| x | y)).prepare(number),
    conv("xor", "string", INT, "Bitwise exclusive OR.", |a, v, f| with(a, v, f, |x, y| x ^ y)).prepare(number),
    conv("neg", "", INT, "The opposite.", |_, v, _| Some(Value::Int(v.to_int()?.saturating_neg()))),
    conv("cpl", "", INT, "The ones' complement.", |_, v, _| Some(Value::Int(!v.to_int()?))),
    conv("bool", "", TEST, "True unless zero.", |_, v, _| Some(Value::Bool(v.to_int()? != 0))),
    conv("not", "", TEST, "True when zero.", |_, v, _| Some(Value::Bool(v.to_int()? == 0))),
    conv("even", "", TEST, "True when even.", |_, v, _| Some(Value::Bool(v.to_int()? & 1 == 0))),
    conv("odd", "", TEST, "True when odd.", |_, v, _| Some(Value::Bool(v.to_int()? & 1 == 1))),
    conv("iif", "string,string", (Type::Bool, Type::Str), "The first text when true, else the second.", iif),
];

/// A number, else the name of a variable.
fn number(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let text = args.text(0);
    // No text at all is a zero.
    let number = match integer(if text.is_empty() { "0" } else { text }) {
        Some(int) => IntOrVar::Int(int),
        None => IntOrVar::Var(VarName::parse(text).map_err(|_| {
            ArgError::Value(format!("expects an integer or a variable name, got '{text}'"))
        })?),
    };
    args.0[0] = Arg::Number(number);
    Ok(())
}

fn with<'e>(
    args: &'e Args,
    value: Value<'e>,
    facts: &'e dyn Facts,
    apply: fn(i64, i64) -> i64,
) -> Option<Value<'e>> {
    let Arg::Number(number) = args.get(0) else { return None };
    Some(Value::Int(apply(value.to_int()?, number.value(facts)?)))
}

fn divide(left: i64, right: i64) -> i64 {
    if right == 0 { i64::MAX } else { left.saturating_div(right) }
}

fn remainder(left: i64, right: i64) -> i64 {
    if right == 0 { 0 } else { left.wrapping_rem(right) }
}

fn iif<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let chosen = usize::from(value.to_int()? == 0);
    Some(Value::str(args.bytes(chosen)))
}
