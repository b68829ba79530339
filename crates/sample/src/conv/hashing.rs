//! Converters that hash.

use super::{Converter, conv};
use crate::args::Args;
use crate::facts::Facts;
use crate::hash;
use crate::value::{Type, Value};
use stdx::hash as plain;

const HASH: (Type, Type) = (Type::Bin, Type::Int);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("crc32", "[integer]", HASH, "CRC-32; avalanched if the argument is not 0.", |a, v, _| hash32(a, &v, plain::crc32)),
    conv("crc32c", "[integer]", HASH, "CRC-32C; avalanched if the argument is not 0.", |a, v, _| hash32(a, &v, plain::crc32c)),
    conv("djb2", "[integer]", HASH, "DJB2; avalanched if the argument is not 0.", |a, v, _| hash32(a, &v, plain::djb2)),
    conv("sdbm", "[integer]", HASH, "SDBM; avalanched if the argument is not 0.", |a, v, _| hash32(a, &v, plain::sdbm)),
    conv("wt6", "[integer]", HASH, "WT6; avalanched if the argument is not 0.", |a, v, _| hash32(a, &v, plain::wt6)),
    conv("xxh32", "[integer]", HASH, "XXH32 with a seed.", xxh32),
    conv("xxh64", "[integer]", HASH, "XXH64 with a seed, as a signed integer.", xxh64),
    conv("xxh3", "[integer]", HASH, "XXH3 of 64 bits with a seed, as a signed integer.", xxh3),
];

fn bytes<'v>(value: &'v Value<'_>) -> Option<&'v [u8]> {
    match value {
        Value::Bin(bytes) | Value::Str(bytes) | Value::Meth(bytes) => Some(bytes),
        _ => None,
    }
}

fn hash32(args: &Args, value: &Value<'_>, function: fn(&[u8]) -> u32) -> Option<Value<'static>> {
    let hash = function(bytes(value)?);
    let avalanched = args.int(0).is_some_and(|asked| asked != 0);
    Some(Value::Int(if avalanched { plain::avalanche(hash) } else { hash }.into()))
}

fn seed(args: &Args) -> i64 {
    args.int(0).unwrap_or(0)
}

fn xxh32<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    Some(Value::Int(hash::xxh32(bytes(&value)?, seed(args) as u32).into()))
}

fn xxh64<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    Some(Value::Int(hash::xxh64(bytes(&value)?, seed(args) as u64) as i64))
}

fn xxh3<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let hash = hash::xxh3(bytes(&value)?, seed(args) as u64);
    Some(Value::Int(hash as i64))
}
