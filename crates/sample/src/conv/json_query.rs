//! The `json_query` converter: a value of a JSON text by its path.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args, json_path};
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::value::{Type, Value};

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("json_query", "string[,string]", (Type::Str, Type::Any), "A string, number or boolean of a JSON text by its path, such as $.a.b[0].", query).prepare(path),
];

/// Reads a path and the type of what it leads to.
pub(super) fn path(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    if args.bytes(0).is_empty() {
        return Err(ArgError::Rule("json_path must not be empty"));
    }
    let as_int = match args.text(1) {
        "" => false,
        "int" => true,
        _ => return Err(ArgError::Rule("output_type only supports \"int\" as argument")),
    };
    // A malformed path matches nothing.
    let steps = json_path::parse(args.bytes(0)).map_or(Arg::Omitted, Arg::Path);
    args.0 = vec![steps, Arg::Int(i64::from(as_int))];
    Ok(())
}

fn query<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    find(args, &value.to_str()?)
}

/// The value in `text` at the path that [`path`] has left in the arguments.
pub(super) fn find(args: &Args, text: &[u8]) -> Option<Value<'static>> {
    let Arg::Path(steps) = args.get(0) else { return None };
    json_path::find(steps, args.int(1) == Some(1), text)
}
