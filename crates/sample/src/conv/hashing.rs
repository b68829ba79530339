//! Converters that hash. Never for security: digests live with the cryptography.

use super::{Converter, conv};
use crate::args::Args;
use crate::hash;
use crate::value::{Type, Value};

const HASH: (Type, Type) = (Type::Bin, Type::Int);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("crc32", "[integer]", HASH, "CRC-32; with 1, followed by an avalanche.", |a, v, _| hash32(a, &v, hash::crc32)),
    conv("crc32c", "[integer]", HASH, "CRC-32C; with 1, followed by an avalanche.", |a, v, _| hash32(a, &v, hash::crc32c)),
    conv("djb2", "[integer]", HASH, "DJB2; with 1, followed by an avalanche.", |a, v, _| hash32(a, &v, hash::djb2)),
    conv("sdbm", "[integer]", HASH, "SDBM; with 1, followed by an avalanche.", |a, v, _| hash32(a, &v, hash::sdbm)),
    conv("xxh32", "[integer]", HASH, "XXH32 with a seed.", |a, v, _| Some(Value::Int(hash::xxh32(bytes(&v)?, a.int(0).unwrap_or(0) as u32).into()))),
    conv("xxh64", "[integer]", HASH, "XXH64 with a seed, as a signed integer.", |a, v, _| Some(Value::Int(hash::xxh64(bytes(&v)?, a.int(0).unwrap_or(0) as u64) as i64))),
];

fn bytes<'v>(value: &'v Value<'_>) -> Option<&'v [u8]> {
    match value {
        Value::Bin(bytes) | Value::Str(bytes) | Value::Meth(bytes) => Some(bytes),
        _ => None,
    }
}

fn hash32(args: &Args, value: &Value<'_>, function: fn(&[u8]) -> u32) -> Option<Value<'static>> {
    let hash = function(bytes(value)?);
    let hash = if args.int(0) == Some(1) { hash::avalanche(hash) } else { hash };
    Some(Value::Int(hash.into()))
}
