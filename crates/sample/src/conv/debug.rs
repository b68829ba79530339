//! `debug`: copies its input to a sink.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args};
use crate::cast::write_int;
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::name_reference::{NameReference, ReferenceTarget};
use crate::value::{Type, Value};

/// Where lines go that name no sink.
const USUAL: &str = "buf0";

/// Sinks that are there without a `ring` section.
pub const SINKS: [&str; 3] = ["stdout", "stderr", USUAL];

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("debug", "[string,string]", (Type::Any, Type::Any), "Told to a sink: a prefix, the type, the value.", debug).prepare(sink),
];

fn sink(args: &mut Args, cx: &ParseContext<'_>) -> Result<(), ArgError> {
    let name = match args.text(1) {
        "" => USUAL,
        name => name,
    };
    if !SINKS.contains(&name) {
        let mention = NameReference {
            wanted: ReferenceTarget::Sink(name.into()),
            number: 2,
            keyword: "debug",
        };
        cx.shared.mentions.borrow_mut().push(mention);
    }
    args.0 = vec![Arg::Text(args.text(0).into()), Arg::Text(name.into())];
    Ok(())
}

fn debug<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let mut line = b"[debug] ".to_vec();
    line.extend_from_slice(args.bytes(0));
    line.extend_from_slice(b": type=");
    line.extend_from_slice(value.kind().name().as_bytes());
    line.extend_from_slice(b" <");
    write(&value, &mut line);
    line.push(b'>');
    facts.write_to_sink(args.text(1), &line);
    Some(value)
}

/// The value as a text on one line.
fn write(value: &Value<'_>, line: &mut Vec<u8>) {
    match value {
        Value::Bool(truth) => write_int(line, (*truth).into()),
        Value::Str(bytes) | Value::Bin(bytes) | Value::Meth(bytes) => {
            let shown = |byte: &u8| if matches!(byte, b' '..=b'~') { *byte } else { b'.' };
            line.extend(bytes.iter().map(shown));
        }
        other => other.write_text(line),
    }
}
