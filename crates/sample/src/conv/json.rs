//! The `json` converter: escapes a text for a JSON string.

use super::{Converter, conv};
use crate::args::{ArgError, Args};
use crate::context::ParseContext;
use crate::facts::Facts;
use crate::value::{Bytes, Type, Value};
use std::io::Write;

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("json", "[string]", (Type::Str, Type::Str), "Escaped for a JSON string; the argument says how to decode the input.", json).prepare(input_code),
];

fn input_code(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.text(0) {
        "" | "ascii" | "utf8" | "utf8s" | "utf8p" | "utf8ps" => Ok(()),
        other => Err(ArgError::Value(format!(
            "unexpected input code type '{other}'. Allowed value are 'ascii', 'utf8', 'utf8s', 'utf8p' and 'utf8ps'"
        ))),
    }
}

/// One decoded step of the input: a character, its length in bytes, and the kind of error, if any.
struct Decoded {
    char: u32,
    len: usize,
    /// Bad sequence or forbidden range.
    bad: bool,
    /// Encoded with more bytes than needed.
    overlong: bool,
}

fn decode(input: &[u8]) -> Decoded {
    let lead = input[0];
    let (needed, bits, least) = match lead {
        0x00..=0x7f => (0, u32::from(lead), 0),
        0xc0..=0xdf => (1, u32::from(lead & 0x1f), 0x80),
        0xe0..=0xef => (2, u32::from(lead & 0x0f), 0x800),
        0xf0..=0xf7 => (3, u32::from(lead & 0x07), 0x1_0000),
        _ => return Decoded { char: 0, len: 1, bad: true, overlong: false },
    };
    let mut char = bits;
    for i in 1..=needed {
        match input.get(i) {
            Some(byte) if byte & 0xc0 == 0x80 => char = char << 6 | u32::from(byte & 0x3f),
            _ => return Decoded { char: 0, len: i, bad: true, overlong: false },
        }
    }
    let bad = (0xd800..0xe000).contains(&char) || char == 0xfffe || char == 0xffff;
    Decoded { char, len: needed + 1, bad, overlong: char < least }
}

fn json<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let text = value.to_str()?;
    let code = args.text(0);
    let utf8 = code.starts_with("utf8");
    let silent = code.ends_with('s') && utf8;
    let permissive = code.contains("utf8p");
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut rest = &text[..];
    while !rest.is_empty() {
        let decoded = if utf8 {
            decode(rest)
        } else {
            Decoded { char: rest[0].into(), len: 1, bad: false, overlong: false }
        };
        rest = &rest[decoded.len..];
        // Four hexadecimal digits are all that a JSON escape has.
        let refused = decoded.bad || (decoded.overlong && !permissive) || decoded.char > 0xffff;
        match (refused, silent) {
            (false, _) => escape(decoded.char, &mut out),
            (true, true) => {}
            (true, false) => return None,
        }
    }
    Some(Value::Str(Bytes::Owned(out)))
}

fn escape(char: u32, out: &mut Vec<u8>) {
    let short = match char {
        0x22 => b'"',
        0x5c => b'\\',
        0x2f => b'/',
        0x08 => b'b',
        0x0c => b'f',
        0x0a => b'n',
        0x0d => b'r',
        0x09 => b't',
        0x20..=0x7e => {
            out.push(char as u8);
            return;
        }
        _ => {
            let _ = write!(out, "\\u{char:04x}");
            return;
        }
    };
    out.extend([b'\\', short]);
}
