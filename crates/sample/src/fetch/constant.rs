//! Fetches of constants, of the environment, of time and randomness.

use super::Source::{Call, Flag, Name as Named, Number as Num};
use super::{ANY, Fetch, INTERNAL, fetch};
use crate::args::{Arg, ArgError, Args};
use crate::context::ParseContext;
use crate::facts::{Facts, Name, Number};
use crate::value::{Bytes, Missing, Outcome, Type, Value};
use std::io::Write;

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Fetch] = &[
    fetch("always_true", "", Type::Bool, ANY, "True.", Call(always_true)),
    fetch("always_false", "", Type::Bool, ANY, "False.", Call(always_false)),
    fetch("bool", "string", Type::Bool, ANY, "The boolean given.", Call(constant)).prepare(boolean),
    fetch("int", "integer", Type::Int, ANY, "The integer given.", Call(constant)),
    fetch("str", "string", Type::Str, ANY, "The text given.", Call(constant)),
    fetch("bin", "string", Type::Bin, ANY, "The bytes given in hexadecimal.", Call(bin)).prepare(hexadecimal),
    fetch("ipv4", "IPv4 address", Type::Ipv4, ANY, "The address given.", Call(constant)),
    fetch("ipv6", "IPv6 address", Type::Ipv6, ANY, "The address given.", Call(constant)),
    fetch("meth", "string", Type::Meth, ANY, "The method given.", Call(meth)),
    fetch("env", "string", Type::Str, ANY, "An environment variable, read at start.", Call(env)).prepare(environment),
    fetch("var", "string[,string]", Type::Any, ANY, "A variable, or the default.", Call(var)).prepare(variable),
    fetch("date", "[integer,string]", Type::Int, ANY, "Seconds since the epoch, with an offset and a unit (s, ms, us).", Call(date)).prepare(unit),
    fetch("date_us", "", Type::Int, ANY, "The microseconds of the current second.", Call(date_us)),
    fetch("rand", "[integer]", Type::Int, ANY, "A random integer below the given one (2^32).", Call(rand)),
    fetch("uuid", "[integer]", Type::Str, ANY, "A random UUID, version 4.", Call(uuid)).prepare(uuid_version),
    fetch("hostname", "", Type::Str, ANY, "The machine's host name.", Named(Name::Hostname)),
    fetch("nbproc", "", Type::Int, ANY, "Number of processes: always 1.", Call(one)),
    fetch("proc", "", Type::Int, ANY, "Number of this process: always 1.", Call(one)),
    fetch("thread", "", Type::Int, ANY, "Number of this thread, from 0.", Num(Number::Thread)),
    fetch("stopping", "", Type::Bool, INTERNAL, "Whether the process is stopping.", Flag(Number::Stopping)),
    fetch("unique-id", "", Type::Str, ANY, "The transaction's unique id.", Call(unique_id)),
];

fn always_true<'e>(_: &'e Args, _: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(true))
}

fn always_false<'e>(_: &'e Args, _: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Bool(false))
}

fn constant<'e>(args: &'e Args, _: &'e dyn Facts) -> Outcome<'e> {
    Ok(match args.get(0) {
        Arg::Text(_) | Arg::Bytes(_) => Value::str(args.bytes(0)),
        Arg::Int(int) => Value::Int(*int),
        Arg::Number(crate::args::IntOrVar::Int(int)) => Value::Bool(*int != 0),
        Arg::V4(address) => Value::Ipv4(*address),
        Arg::V6(address) => Value::Ipv6(*address),
        _ => return Err(Missing::Absent),
    })
}

fn boolean(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let text = args.text(0);
    let value = match text.to_ascii_lowercase().as_str() {
        "true" | "1" => 1,
        "false" | "0" => 0,
        _ => return Err(ArgError::Value(format!("bool: '{text}' is neither 'true' nor 'false'"))),
    };
    args.0[0] = Arg::Number(crate::args::IntOrVar::Int(value));
    Ok(())
}

fn hexadecimal(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match crate::encoding::from_hex(args.bytes(0)) {
        Some(bytes) if !bytes.is_empty() => {
            args.0[0] = Arg::Bytes(bytes.into());
            Ok(())
        }
        _ => Err(ArgError::Value(format!(
            "'{}' is not an even number of hexadecimal digits",
            args.text(0)
        ))),
    }
}

fn bin<'e>(args: &'e Args, _: &'e dyn Facts) -> Outcome<'e> {
    match args.get(0) {
        Arg::Bytes(bytes) => Ok(Value::bin(bytes)),
        _ => Err(Missing::Absent),
    }
}

fn meth<'e>(args: &'e Args, _: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Meth(Bytes::Borrowed(args.bytes(0))))
}

/// The environment does not change while the process runs, so the value is looked up once.
fn environment(args: &mut Args, cx: &ParseContext<'_>) -> Result<(), ArgError> {
    args.0[0] = match (cx.shared.env)(args.text(0)) {
        Some(value) => Arg::Text(value.into()),
        None => Arg::Omitted,
    };
    Ok(())
}

fn env<'e>(args: &'e Args, _: &'e dyn Facts) -> Outcome<'e> {
    match args.get(0) {
        Arg::Text(text) => Ok(Value::str(text.as_bytes())),
        _ => Err(Missing::Absent),
    }
}

fn variable(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    if args.text(0).is_empty() {
        return Err(ArgError::Rule("missing variable name"));
    }
    args.make_var(0)
}

fn var<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let found = args.var(0).and_then(|name| facts.var(name));
    match (found, args.get(1)) {
        (Some(value), _) => Ok(value),
        (None, Arg::Text(_) | Arg::Bytes(_)) => Ok(Value::str(args.bytes(1))),
        (None, _) => Err(Missing::Absent),
    }
}

fn unit(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.text(1) {
        "" | "s" | "ms" | "us" => Ok(()),
        other => {
            Err(ArgError::Value(format!("'{other}': invalid time unit, expects 's', 'ms' or 'us'")))
        }
    }
}

fn date<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let wall = facts.wall();
    let now = match args.text(1) {
        "ms" => wall.secs.saturating_mul(1000).saturating_add(i64::from(wall.micros / 1000)),
        "us" => wall.secs.saturating_mul(1_000_000).saturating_add(i64::from(wall.micros)),
        _ => wall.secs,
    };
    Ok(Value::Int(now.saturating_add(args.int(0).unwrap_or(0))))
}

fn date_us<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Int(i64::from(facts.wall().micros)))
}

fn rand<'e>(args: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    let random = facts.random() >> 32;
    let value = match args.int(0) {
        Some(range) if range > 0 => ((u128::from(random) * range as u128) >> 32) as i64,
        Some(_) => 0,
        None => random as i64,
    };
    Ok(Value::Int(value))
}

fn uuid_version(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.int(0) {
        None | Some(4) => Ok(()),
        Some(_) => Err(ArgError::Rule("unsupported version (only version 4 is)")),
    }
}

fn uuid<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    // RFC 9562 section 5.4: 4 bits of version, 2 of variant, the rest random.
    let (high, low) = (facts.random(), facts.random());
    let high = high & !0xf000 | 0x4000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    let mut text = Vec::with_capacity(36);
    let _ = write!(
        text,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    );
    Ok(Value::Str(Bytes::Owned(text)))
}

fn one<'e>(_: &'e Args, _: &'e dyn Facts) -> Outcome<'e> {
    Ok(Value::Int(1))
}

fn unique_id<'e>(_: &'e Args, facts: &'e dyn Facts) -> Outcome<'e> {
    facts.unique_id().map(Value::Str).ok_or(Missing::Absent)
}
