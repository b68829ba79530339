//! A field of a protocol buffers message: its path, its type, and how it is found and read.
//!
//! No schema is needed: fields go by number.

use crate::value::{Bytes, Value};
use std::fmt;

/// How a field's bytes become an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldType {
    /// `int32`, `int64`, `uint32`, `uint64`, `bool`, `enum`
    Varint,
    /// `sint32`, `sint64`
    ZigZag,
    /// `fixed64`, `sfixed64`
    Fixed64,
    /// `double`
    Double,
    /// `fixed32`
    Fixed32,
    /// `sfixed32`
    SignedFixed32,
    /// `float`
    Float,
}

const TYPES: &[(&str, FieldType)] = &[
    ("int32", FieldType::Varint),
    ("int64", FieldType::Varint),
    ("uint32", FieldType::Varint),
    ("uint64", FieldType::Varint),
    ("bool", FieldType::Varint),
    ("enum", FieldType::Varint),
    ("sint32", FieldType::ZigZag),
    ("sint64", FieldType::ZigZag),
    ("fixed64", FieldType::Fixed64),
    ("sfixed64", FieldType::Fixed64),
    ("double", FieldType::Double),
    ("fixed32", FieldType::Fixed32),
    ("sfixed32", FieldType::SignedFixed32),
    ("float", FieldType::Float),
];

/// Why the path of a field is refused; the messages are HAProxy's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldPathError {
    /// The text has a part that is no field number.
    Number(String),
    /// No type has this name.
    Type(String),
}

impl fmt::Display for FieldPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) => write!(
                f,
                "failed to parse '{text}' as type 'Protocol buffers field number' at position 1"
            ),
            Self::Type(name) => {
                let hint = crate::error::hint(name, TYPES.iter().map(|entry| entry.0));
                write!(f, "Wrong protocol buffer type '{name}'{hint}")
            }
        }
    }
}

impl std::error::Error for FieldPathError {}

/// The numbers that lead to a field, and its type.
#[derive(Debug)]
pub struct FieldPath {
    numbers: Vec<u64>,
    kind: Option<FieldType>,
}

impl FieldPath {
    /// Reads `numbers`, field numbers with dots between them, and the name of the field's type, if
    /// there is one.
    pub(crate) fn parse(numbers: &str, kind: Option<&str>) -> Result<FieldPath, FieldPathError> {
        let parts = numbers.split('.').map(|part| part.parse().ok());
        let parts: Option<Vec<u64>> = parts.collect();
        let numbers = parts.ok_or_else(|| FieldPathError::Number(numbers.to_owned()))?;
        let typed = |name: &str| {
            let found = TYPES.iter().find(|entry| entry.0 == name);
            found.map(|entry| entry.1).ok_or_else(|| FieldPathError::Type(name.to_owned()))
        };
        Ok(FieldPath { numbers, kind: kind.map(typed).transpose()? })
    }

    /// The field's content in the message that is `bytes[from..to]`: raw, or an integer if the path
    /// has a type.
    pub(crate) fn extract<'e>(
        &self,
        bytes: Bytes<'e>,
        from: usize,
        to: usize,
    ) -> Option<Value<'e>> {
        let (wire, from, to) = locate(self, &bytes, from, to)?;
        match self.kind {
            None => Some(Value::Bin(bytes.slice(from, to))),
            Some(kind) => integer(kind, wire, &bytes[from..to]).map(Value::Int),
        }
    }
}

/// A field in front of `bytes`: number, wire type, and where its content lies.
struct MessageField {
    number: u64,
    wire: u64,
    from: usize,
    to: usize,
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn field(bytes: &[u8], mut at: usize) -> Option<MessageField> {
    let key = varint(bytes, &mut at)?;
    let (number, wire) = (key >> 3, key & 7);
    let from = at;
    let to = match wire {
        0 => {
            varint(bytes, &mut at)?;
            at
        }
        1 => at.checked_add(8)?,
        2 => {
            let len = usize::try_from(varint(bytes, &mut at)?).ok()?;
            let to = at.checked_add(len)?;
            return (to <= bytes.len()).then_some(MessageField { number, wire, from: at, to });
        }
        5 => at.checked_add(4)?,
        // Groups were removed from the language.
        _ => return None,
    };
    (to <= bytes.len()).then_some(MessageField { number, wire, from, to })
}

/// Where the field's content lies in `bytes`, and its wire type.
fn locate(path: &FieldPath, bytes: &[u8], from: usize, to: usize) -> Option<(u64, usize, usize)> {
    let (mut at, mut end) = (from, to);
    let mut wanted = path.numbers.iter().peekable();
    while at < end {
        let found = field(&bytes[..end], at)?;
        at = found.to;
        if wanted.peek() != Some(&&found.number) {
            continue;
        }
        wanted.next();
        if wanted.peek().is_none() {
            return Some((found.wire, found.from, found.to));
        }
        if found.wire != 2 {
            return None;
        }
        (at, end) = (found.from, found.to);
    }
    None
}

fn integer(kind: FieldType, wire: u64, content: &[u8]) -> Option<i64> {
    let fixed32 = || Some(u32::from_le_bytes(content.try_into().ok()?));
    let fixed64 = || Some(u64::from_le_bytes(content.try_into().ok()?));
    match (kind, wire) {
        (FieldType::Varint, 0) => Some(varint(content, &mut 0)? as i64),
        (FieldType::ZigZag, 0) => {
            let number = varint(content, &mut 0)?;
            Some((number >> 1) as i64 ^ -((number & 1) as i64))
        }
        (FieldType::Fixed64, 1) => Some(fixed64()? as i64),
        // A conversion of floats saturates, so nothing overflows.
        (FieldType::Double, 1) => Some(f64::from_bits(fixed64()?) as i64),
        (FieldType::Fixed32, 5) => Some(fixed32()?.into()),
        (FieldType::SignedFixed32, 5) => Some((fixed32()? as i32).into()),
        (FieldType::Float, 5) => Some(f32::from_bits(fixed32()?) as i64),
        _ => None,
    }
}
