//! Converters of cryptographic digests.

use super::{Converter, conv};
use crate::args::digest::{find, hash};
use crate::args::{Arg, ArgError, Args};
use crate::context::ParseContext;
use crate::encoding::decode_base64;
use crate::facts::Facts;
use crate::value::{Bytes, Type, Value};
use crate::vars::VarName;

const BIN: (Type, Type) = (Type::Bin, Type::Bin);

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("digest", "string", BIN, "A digest by its name, such as sha256.", digest).prepare(algorithm),
    conv("hmac", "string,string", BIN, "An HMAC (RFC 2104) by the name of its digest, with a base64 key or a variable holding one.", hmac).prepare(algorithm_and_key),
    conv("sha1", "", BIN, "SHA-1.", |_, v, _| Some(block(hash::<sha1::Sha1>(&v.to_bin()?)))),
    conv("sha2", "[integer]", BIN, "SHA-2 of 224, 256, 384 or 512 bits.", digest).prepare(bits),
    conv("secure_memcmp", "string", (Type::Bin, Type::Bool), "Whether it equals a variable; the time tells nothing but the length.", memcmp).prepare(|args, _| args.make_var(0)),
];

fn algorithm(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    args.0[0] = Arg::Digest(find(args.text(0))?);
    Ok(())
}

fn bits(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let bits = args.int(0).unwrap_or(256);
    if !matches!(bits, 224 | 256 | 384 | 512) {
        return Err(ArgError::Value(format!("Unsupported number of bits: '{bits}'")));
    }
    args.0 = vec![Arg::Digest(find(&format!("sha{bits}"))?)];
    Ok(())
}

fn algorithm_and_key(args: &mut Args, cx: &ParseContext<'_>) -> Result<(), ArgError> {
    algorithm(args, cx)?;
    args.0[1] = match VarName::parse(args.text(1)) {
        Ok(name) => Arg::Var(name),
        Err(_) => {
            Arg::Bytes(decode_base64(args.bytes(1)).map(Into::into).ok_or(ArgError::Rule(
                "failed to parse key : argument needs to be base64 encoded, and can either be a \
             string or a variable",
            ))?)
        }
    };
    Ok(())
}

fn block(bytes: Vec<u8>) -> Value<'static> {
    Value::Bin(Bytes::Owned(bytes))
}

fn digest<'e>(args: &'e Args, value: Value<'e>, _: &'e dyn Facts) -> Option<Value<'e>> {
    let Arg::Digest(algorithm) = args.get(0) else { return None };
    algorithm.digest(&value.to_bin()?).map(block)
}

fn hmac<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let Arg::Digest(algorithm) = args.get(0) else { return None };
    let bytes = value.to_bin()?;
    let mac = match args.var(1) {
        None => algorithm.hmac(args.bytes(1), &bytes),
        Some(name) => {
            let key = facts.var(name)?.to_str()?;
            algorithm.hmac(&decode_base64(&key)?, &bytes)
        }
    };
    mac.map(block)
}

fn memcmp<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let (left, right) = (value.to_bin()?, facts.var(args.var(0)?)?.to_bin()?);
    let differences = left.iter().zip(right.iter()).fold(0, |found, (a, b)| found | (a ^ b));
    // The fold reads all pairs; the barrier keeps it from ending at the first difference.
    let same = left.len() == right.len() && std::hint::black_box(differences) == 0;
    Some(Value::Bool(same))
}
