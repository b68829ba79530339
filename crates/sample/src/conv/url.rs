//! Converters of URL encoding and of Host values.

use super::{Converter, conv};
use crate::args::{ArgError, Args};
use crate::cast::integer;
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::value::{Bytes, Type, Value};
use htx::target::split_port;

const STR: (Type, Type) = (Type::Str, Type::Str);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("url_dec", "[integer]", STR, "Percent sequences decoded; plus is a space in queries, or everywhere with 1.", url_dec).input_only(),
    conv("url_enc", "[string]", STR, "Percent-encoded for a query.", url_enc).prepare(encoding),
    conv("host_only", "", STR, "A Host value without its port, in lower case.", host_only).input_only(),
    conv("port_only", "", (Type::Str, Type::Int), "The port of a Host value, 0 without one.", port_only),
];

fn hex_digit(byte: Option<&u8>) -> Option<u8> {
    char::from(*byte?).to_digit(16).map(|digit| digit as u8)
}

fn url_dec<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let mut in_query = args.int(0).unwrap_or(0) != 0;
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'+' if in_query => out.push(b' '),
            b'%' => {
                // A broken sequence makes the whole text undefined.
                let high = hex_digit(text.get(at + 1))?;
                let low = hex_digit(text.get(at + 2))?;
                out.push(high << 4 | low);
                at += 2;
            }
            byte => {
                in_query |= byte == b'?';
                out.push(byte);
            }
        }
        at += 1;
    }
    Some(Value::Str(Bytes::Owned(out)))
}

fn encoding(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.text(0) {
        "" | "query" => Ok(()),
        other => Err(ArgError::Value(format!("unexpected encode type '{other}', expects 'query'"))),
    }
}

/// Unreserved characters of RFC 3986 section 2.3 stay; all others are encoded.
fn url_enc<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let mut out = Vec::with_capacity(text.len() + 16);
    for byte in text.iter() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(*byte);
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
    Some(Value::Str(Bytes::Owned(out)))
}

fn host_only<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let host = split_port(&text).0.to_ascii_lowercase();
    Some(Value::Str(Bytes::Owned(host)))
}

fn port_only<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let port = split_port(&text).1.and_then(|port| integer(std::str::from_utf8(port).ok()?));
    Some(Value::Int(port.unwrap_or(0)))
}
