//! Converters of dates.

use super::{Converter, conv};
use crate::args::{ArgError, Args};
use crate::calendar::Date;
use crate::cast::write_int;
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::value::{Bytes, Type, Value};

const TIME: (Type, Type) = (Type::Int, Type::Str);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("ltime", "string[,integer]", TIME, "A date in local time by strftime(3), with an offset in seconds.", ltime),
    conv("utime", "string[,integer]", TIME, "A date in UTC by strftime(3), with an offset in seconds.", utime),
    conv("http_date", "[integer,string]", TIME, "A date as HTTP headers carry it, with an offset and a unit (s, ms, us).", http_date).prepare(unit),
];

fn format<'e>(args: &Args, secs: i64, offset: i32) -> Option<Value<'e>> {
    let mut out = Vec::with_capacity(32);
    Date::new(secs, offset).write_strftime(args.text(0), &mut out);
    Some(Value::Str(Bytes::Owned(out)))
}

fn ltime<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let secs = value.to_int()?.saturating_add(args.int(1).unwrap_or(0));
    format(args, secs, facts.local_offset(secs))
}

fn utime<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    format(args, value.to_int()?.saturating_add(args.int(1).unwrap_or(0)), 0)
}

fn unit(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.text(1) {
        "" | "s" | "ms" | "us" => Ok(()),
        other => {
            Err(ArgError::Value(format!("'{other}': invalid time unit, expects 's', 'ms' or 'us'")))
        }
    }
}

fn http_date<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let time = value.to_int()?.saturating_add(args.int(0).unwrap_or(0));
    let unit = match args.text(1) {
        "ms" => 1000,
        "us" => 1_000_000,
        _ => 1,
    };
    let mut out = Vec::with_capacity(36);
    Date::new(time.div_euclid(unit), 0).write_http(&mut out);
    if unit > 1 {
        // The rest below a second follows as a plain number.
        out.truncate(out.len() - " GMT".len());
        out.push(b'.');
        write_int(&mut out, time.rem_euclid(unit));
        out.extend_from_slice(b" GMT");
    }
    Some(Value::Str(Bytes::Owned(out)))
}
