//! Log lines as JSON: `%{+json}o`, then items with names, `%(name)tag` or
//! `%(name:type)[expression]`.
//!
//! The syntax is that of HAProxy 3.0, where an item without a name, and text between items, is left
//! out. Numbers are numbers, an absent value is `null`, and all others are strings.

use super::Piece;
use super::encode::Flags;
use crate::cast::write_int;
use crate::facts::Facts;
use crate::value::Value;
use std::fmt;
use std::io::Write as _;

/// Tags with numeric values.
const NUMBERS: &[&str] = &[
    "B", "ST", "Ta", "Tc", "Td", "Th", "Ti", "Tq", "TR", "Tr", "Ts", "Tt", "Tu", "Tw", "U", "ac",
    "bc", "bp", "bq", "cp", "fc", "fp", "lc", "ms", "pid", "rc", "rt", "sc", "sp", "sq",
];

/// The JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonKind {
    /// The type of the sample.
    Own,
    Text,
    Number,
    Bool,
}

/// A named item.
#[derive(Debug)]
pub(super) struct Member {
    /// Its name as a string of JSON, with the colon.
    key: Box<str>,
    kind: JsonKind,
    piece: Piece,
}

/// A word that is no type of a JSON item.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownJsonType<'t>(&'t str);

impl fmt::Display for UnknownJsonType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unexpected type '{}', expects 'str', 'sint' or 'bool'", self.0)
    }
}

/// Name and type from the text in parentheses behind a percent sign.
pub(super) fn name(text: &str) -> Result<(&str, JsonKind), UnknownJsonType<'_>> {
    let (name, kind) = text.split_once(':').unwrap_or((text, ""));
    let kind = match kind {
        "" => JsonKind::Own,
        "str" => JsonKind::Text,
        "sint" => JsonKind::Number,
        "bool" => JsonKind::Bool,
        other => return Err(UnknownJsonType(other)),
    };
    Ok((name, kind))
}

impl Member {
    pub(super) fn new(name: &str, kind: JsonKind, piece: Piece) -> Self {
        let key = format!("{}: ", stdx::json::quoted(name)).into();
        let kind = match (kind, &piece) {
            (JsonKind::Own, Piece::Tag(tag, _)) if NUMBERS.contains(&tag.name) => JsonKind::Number,
            (kind, _) => kind,
        };
        Self { key, kind, piece }
    }

    fn write(&self, facts: &dyn Facts, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_bytes());
        let start = out.len();
        let mut kind = self.kind;
        match &self.piece {
            Piece::Tag(tag, _) => (tag.write)(facts, Flags::JSON, out),
            Piece::Expr(expr, _) => match expr.eval(facts) {
                Err(_) => {}
                Ok(value) => {
                    match value {
                        Value::Int(_) if kind == JsonKind::Own => kind = JsonKind::Number,
                        Value::Bool(_) if kind == JsonKind::Own => kind = JsonKind::Bool,
                        _ => {}
                    }
                    value.write_text(out);
                }
            },
            Piece::Text(_) | Piece::Space => {}
        }
        match kind {
            _ if out.len() == start => out.extend_from_slice(b"null"),
            JsonKind::Own | JsonKind::Text => quote(start, out),
            JsonKind::Number => match number(&out[start..]) {
                Some(number) => {
                    out.truncate(start);
                    write_int(out, number);
                }
                None => {
                    out.truncate(start);
                    out.extend_from_slice(b"null");
                }
            },
            JsonKind::Bool => {
                let holds = number(&out[start..]).map_or(&out[start..] == b"true", |it| it != 0);
                out.truncate(start);
                out.extend_from_slice(if holds { b"true" } else { b"false" });
            }
        }
    }
}

/// Appends an object with all members.
pub(super) fn write(members: &[Member], facts: &dyn Facts, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, member) in members.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        member.write(facts, out);
    }
    out.push(b'}');
}

/// A number as tags write it: a plus says that it was taken early, or that something happened.
fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Turns the bytes from `start` on into a string. Bytes that are not UTF-8 are taken for single
/// characters.
fn quote(start: usize, out: &mut Vec<u8>) {
    let special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f | 0x7f);
    let clean = std::str::from_utf8(&out[start..]).is_ok() && !out[start..].iter().any(special);
    if clean {
        out.insert(start, b'"');
        out.push(b'"');
        return;
    }
    let text = out.split_off(start);
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        for letter in chunk.valid().chars() {
            // Writing to a vector cannot fail.
            let _ = match letter {
                '"' | '\\' => write!(out, "\\{letter}"),
                letter if letter.is_ascii_control() => write!(out, "\\u{:04x}", u32::from(letter)),
                letter => write!(out, "{letter}"),
            };
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\u{byte:04x}");
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_strings_of_json() {
        let quoted = |text: &[u8]| {
            let mut out = b"x".to_vec();
            out.extend_from_slice(text);
            quote(1, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(quoted(b"plain"), "x\"plain\"");
        assert_eq!(quoted("\u{e9}".as_bytes()), "x\"\u{e9}\"");
        assert_eq!(quoted(b"a\"\\\n\x7f\xff"), "x\"a\\\"\\\\\\u000a\\u007f\\u00ff\"");
        assert_eq!(name("a:sint"), Ok(("a", JsonKind::Number)));
        assert!(name("a:float").is_err());
    }
}
