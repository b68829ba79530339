//! Converters of protocol buffers and gRPC messages. Never needs a schema: fields go by number.

use super::{Converter, conv};
use crate::args::{Arg, Args};
use crate::facts::Facts;
use crate::parser::Parser;
use crate::value::{Bytes, Type, Value};

const BIN: (Type, Type) = (Type::Bin, Type::Bin);
/// The first argument as keyword listings print it.
const ARGS: &str = "Protocol buffers field number[,string]";

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("protobuf", ARGS, BIN, "A field of a protocol buffers message, raw or as an integer.", protobuf).prepare(path),
    conv("ungrpc", ARGS, BIN, "A field of the first message of a gRPC body.", ungrpc).prepare(path),
];

/// Compression flag and length in front of each gRPC message.
const GRPC_HEADER: usize = 5;

/// How a field's bytes become an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
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

/// The numbers that lead to a field, and its type.
#[derive(Debug)]
pub struct FieldPath {
    numbers: Vec<u64>,
    kind: Option<FieldType>,
}

fn path(args: &mut Args, _: &Parser<'_>) -> Result<(), String> {
    let text = args.text(0);
    let numbers = text.split('.').map(|part| part.parse().ok());
    let numbers: Option<Vec<u64>> = numbers.collect();
    let numbers = numbers.ok_or_else(|| {
        format!("failed to parse '{text}' as type 'Protocol buffers field number' at position 1")
    })?;
    let kind = match args.some_text(1) {
        None => None,
        Some(name) => {
            let hint = || crate::error::hint(name, TYPES.iter().map(|entry| entry.0));
            let found = TYPES.iter().find(|entry| entry.0 == name);
            Some(found.ok_or_else(|| format!("Wrong protocol buffer type '{name}'{}", hint()))?.1)
        }
    };
    args.0 = vec![Arg::Field(FieldPath { numbers, kind })];
    Ok(())
}

/// A field in front of `bytes`: number, wire type, and where its content lies.
struct Field {
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

fn field(bytes: &[u8], mut at: usize) -> Option<Field> {
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
            return (to <= bytes.len()).then_some(Field { number, wire, from: at, to });
        }
        5 => at.checked_add(4)?,
        // Groups are gone from the language.
        _ => return None,
    };
    (to <= bytes.len()).then_some(Field { number, wire, from, to })
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

fn extract<'e>(args: &'e Args, bytes: Bytes<'e>, from: usize, to: usize) -> Option<Value<'e>> {
    let Arg::Field(path) = args.get(0) else { return None };
    let (wire, from, to) = locate(path, &bytes, from, to)?;
    match path.kind {
        None => Some(Value::Bin(bytes.slice(from, to))),
        Some(kind) => integer(kind, wire, &bytes[from..to]).map(Value::Int),
    }
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

fn protobuf<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let bytes = value.to_bin()?;
    let len = bytes.len();
    extract(args, bytes, 0, len)
}

/// Compressed messages cannot be looked into.
fn ungrpc<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let bytes = value.to_bin()?;
    let (flag, len) = bytes.first_chunk::<GRPC_HEADER>()?.split_first()?;
    let len = u32::from_be_bytes(*len.first_chunk()?) as usize;
    let end = GRPC_HEADER.checked_add(len).filter(|end| *flag == 0 && *end <= bytes.len())?;
    extract(args, bytes, GRPC_HEADER, end)
}
