//! Converters of protocol buffers and gRPC messages.

use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args, FieldPath};
use crate::context::ParseContext;
use crate::facts::Facts;
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

fn path(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    args.0 = vec![Arg::Field(FieldPath::parse(args.text(0), args.some_text(1))?)];
    Ok(())
}

fn extract<'e>(args: &'e Args, bytes: Bytes<'e>, from: usize, to: usize) -> Option<Value<'e>> {
    let Arg::Field(path) = args.get(0) else { return None };
    path.extract(bytes, from, to)
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
