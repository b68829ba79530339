//! Converters between bytes and their printable forms: hexadecimal, base64, decimal groups.

use super::{Converter, conv};
use crate::args::{ArgError, Args};
use crate::cast::write_int;
use crate::context::ParseContext;
use crate::encoding::{base64, decode_base64, decode_url_base64, hex, url_base64};
use crate::facts::Facts;
use crate::value::{Bytes, Type, Value};

const BIN_STR: (Type, Type) = (Type::Bin, Type::Str);
const STR_BIN: (Type, Type) = (Type::Str, Type::Bin);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("hex", "", BIN_STR, "Two hexadecimal digits per byte.", |_, v, _| text(hex(&v.to_bin()?, b"", usize::MAX))),
    conv("hex2i", "", (Type::Str, Type::Int), "The integer that hexadecimal digits mean.", hex2i),
    conv("base64", "", BIN_STR, "Base64 with padding.", |_, v, _| text(base64(&v.to_bin()?))),
    conv("b64dec", "", STR_BIN, "Bytes of base64.", |_, v, _| decode_base64(&v.to_str()?).map(bytes)),
    conv("ub64enc", "", BIN_STR, "URL-safe base64 without padding.", |_, v, _| text(url_base64(&v.to_bin()?))),
    conv("ub64dec", "", STR_BIN, "Bytes of URL-safe base64.", |_, v, _| decode_url_base64(&v.to_str()?).map(bytes)),
    conv("be2dec", "string[,integer,integer]", BIN_STR, "Groups of bytes as decimal numbers.", be2dec).prepare(dec_chunks),
    conv("be2hex", "[string,integer,integer]", BIN_STR, "Groups of bytes in hexadecimal.", be2hex).prepare(hex_chunks),
    conv("htonl", "", (Type::Int, Type::Bin), "The low 32 bits, big-endian.", htonl),
];

fn text(bytes: Vec<u8>) -> Option<Value<'static>> {
    Some(Value::Str(Bytes::Owned(bytes)))
}

fn bytes(bytes: Vec<u8>) -> Value<'static> {
    Value::Bin(Bytes::Owned(bytes))
}

fn htonl<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    Some(bytes((value.to_int()? as u32).to_be_bytes().to_vec()))
}

/// Undefined when the text is no hexadecimal number.
fn hex2i<'e>(_: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(i64::from);
    // Of more than 16 digits the last ones count.
    let number = value.to_str()?.iter().try_fold(0, |sum, byte| Some(sum << 4 | digit(byte)?));
    number.map(Value::Int)
}

fn dec_chunks(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    match args.int(1) {
        None | Some(1..=8) => Ok(()),
        Some(size) => {
            Err(ArgError::Value(format!("chunk_size value must be between 1 and 8, got {size}")))
        }
    }
}

fn hex_chunks(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    if args.int(1).is_some_and(|size| size < 0) {
        return Err(ArgError::Rule("chunk_size value cannot be negative"));
    }
    Ok(())
}

/// Length of the input once a last incomplete group is cut off, if asked for.
fn usable(len: usize, chunk: usize, args: &Args) -> usize {
    if args.int(2).unwrap_or(0) != 0 { len - len % chunk.max(1) } else { len }
}

fn be2dec<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let bytes = value.to_bin()?;
    let chunk = args.int(1).unwrap_or(1) as usize;
    let mut out = Vec::new();
    for (i, group) in bytes[..usable(bytes.len(), chunk, args)].chunks(chunk).enumerate() {
        if i > 0 {
            out.extend_from_slice(args.bytes(0));
        }
        let number = group.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        match i64::try_from(number) {
            Ok(number) => write_int(&mut out, number),
            Err(_) => out.extend_from_slice(number.to_string().as_bytes()),
        }
    }
    text(out)
}

fn be2hex<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let bytes = value.to_bin()?;
    let chunk = args.int(1).unwrap_or(0) as usize;
    let end = usable(bytes.len(), chunk, args);
    let chunk = if chunk == 0 { usize::MAX } else { chunk };
    text(hex(&bytes[..end], args.bytes(0), chunk))
}
