//! Converters that write variables. `set-var` as a converter: its input is stored and passed on
//! unchanged.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args, SetVar};
use crate::context::ParseContext;
use crate::value::{Type, Value};

const ANY: (Type, Type) = (Type::Any, Type::Any);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("set-var", "string[,string,string,string,string]", ANY, "Kept in a variable, if the conditions hold.", set_var).prepare(target),
    conv("unset-var", "string", ANY, "Unsets a variable.", unset_var).prepare(|args, _| args.make_var(0)),
];

fn target(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let words: Vec<&str> = (0..args.0.len()).map(|i| args.text(i)).collect();
    let set = SetVar::parse(words.into_iter())?;
    args.0 = vec![Arg::SetVar(set)];
    Ok(())
}

fn set_var<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn crate::Facts) -> Option<Value<'e>> {
    let Arg::SetVar(set) = args.get(0) else { return None };
    // If the conditions forbid it, the converter yields no sample.
    set.store(facts, &value).then_some(value)
}

fn unset_var<'e>(
    args: &'e Args,
    value: Value<'e>,
    facts: &'e dyn crate::Facts,
) -> Option<Value<'e>> {
    facts.set_var(args.var(0)?, None);
    Some(value)
}
