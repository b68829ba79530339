//! Converters of cryptographic digests. Never a cipher, never a signature.

use super::{Converter, conv, decode_base64};
use crate::args::{Arg, Args};
use crate::facts::Facts;
use crate::parser::Parser;
use crate::value::{Bytes, Type, Value};
use crate::vars::VarName;
use hmac::{Mac, SimpleHmac};
use sha2::Digest;
use sha2::digest::common::BlockSizeUser;

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

/// One digest.
#[derive(Debug)]
pub struct Algorithm {
    name: &'static str,
    by: By,
}

/// Who computes it.
#[derive(Debug)]
enum By {
    /// Code of ours, plain and keyed.
    Us(fn(&[u8]) -> Vec<u8>, fn(&[u8], &[u8]) -> Option<Vec<u8>>),
    /// The library, by the name that it knows.
    Library(&'static str),
}

impl Algorithm {
    fn digest(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        match self.by {
            By::Us(digest, _) => Some(digest(bytes)),
            By::Library(name) => crypto::digest(name, bytes),
        }
    }

    fn hmac(&self, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        match self.by {
            By::Us(_, hmac) => hmac(key, bytes),
            By::Library(name) => crypto::hmac(name, key, bytes),
        }
    }
}

const fn algorithm_of<D: Digest + BlockSizeUser + Clone>(name: &'static str) -> Algorithm {
    Algorithm { name, by: By::Us(hash::<D>, keyed::<D>) }
}

const fn library(name: &'static str, known_as: &'static str) -> Algorithm {
    Algorithm { name, by: By::Library(known_as) }
}

/// The digests that exist; names are those of OpenSSL, in any case.
const ALGORITHMS: &[Algorithm] = &[
    algorithm_of::<md5::Md5>("md5"),
    algorithm_of::<sha1::Sha1>("sha1"),
    algorithm_of::<sha1::Sha1>("sha-1"),
    algorithm_of::<sha2::Sha224>("sha224"),
    algorithm_of::<sha2::Sha256>("sha256"),
    algorithm_of::<sha2::Sha384>("sha384"),
    algorithm_of::<sha2::Sha512>("sha512"),
    algorithm_of::<sha2::Sha512_224>("sha512-224"),
    algorithm_of::<sha2::Sha512_256>("sha512-256"),
    algorithm_of::<sha2::Sha224>("sha-224"),
    algorithm_of::<sha2::Sha256>("sha-256"),
    algorithm_of::<sha2::Sha384>("sha-384"),
    algorithm_of::<sha2::Sha512>("sha-512"),
    algorithm_of::<sha2::Sha224>("sha2-224"),
    algorithm_of::<sha2::Sha256>("sha2-256"),
    algorithm_of::<sha2::Sha384>("sha2-384"),
    algorithm_of::<sha2::Sha512>("sha2-512"),
    library("blake2b512", "blake2b512"),
    library("blake2s256", "blake2s256"),
    library("md5-sha1", "md5-sha1"),
    library("ripemd", "ripemd160"),
    library("ripemd160", "ripemd160"),
    library("rmd160", "ripemd160"),
    library("sha3-224", "sha3-224"),
    library("sha3-256", "sha3-256"),
    library("sha3-384", "sha3-384"),
    library("sha3-512", "sha3-512"),
    library("sm3", "sm3"),
];

/// Other digests of OpenSSL.
const ABSENT: &[&str] = &["md4", "shake128", "shake256", "whirlpool"];

fn hash<D: Digest>(bytes: &[u8]) -> Vec<u8> {
    D::digest(bytes).to_vec()
}

fn keyed<D: Digest + BlockSizeUser + Clone>(key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let mut mac = <SimpleHmac<D> as hmac::KeyInit>::new_from_slice(key).ok()?;
    mac.update(bytes);
    Some(mac.finalize().into_bytes().to_vec())
}

fn find(name: &str) -> Result<&'static Algorithm, String> {
    let found = ALGORITHMS.iter().find(|known| known.name.eq_ignore_ascii_case(name));
    if let Some(Algorithm { name, by: By::Library(known_as) }) = found
        && !crypto::has_digest(known_as)
    {
        return Err(format!("the TLS library of this build does not have the digest '{name}'"));
    }
    found.ok_or_else(|| {
        if ABSENT.iter().any(|absent| absent.eq_ignore_ascii_case(name)) {
            return format!("the digest '{name}' is not implemented yet");
        }
        let hint = crate::error::hint(name, ALGORITHMS.iter().map(|known| known.name));
        format!("algorithm must be a valid OpenSSL message digest name{hint}")
    })
}

fn algorithm(args: &mut Args, _: &Parser<'_>) -> Result<(), String> {
    args.0[0] = Arg::Digest(find(args.text(0))?);
    Ok(())
}

fn bits(args: &mut Args, _: &Parser<'_>) -> Result<(), String> {
    let bits = args.int(0).unwrap_or(256);
    if !matches!(bits, 224 | 256 | 384 | 512) {
        return Err(format!("Unsupported number of bits: '{bits}'"));
    }
    args.0 = vec![Arg::Digest(find(&format!("sha{bits}"))?)];
    Ok(())
}

fn algorithm_and_key(args: &mut Args, cx: &Parser<'_>) -> Result<(), String> {
    algorithm(args, cx)?;
    args.0[1] = match VarName::parse(args.text(1)) {
        Ok(name) => Arg::Var(name),
        Err(_) => Arg::Bytes(decode_base64(args.bytes(1)).map(Into::into).ok_or(
            "failed to parse key : argument needs to be base64 encoded, and can either be a \
             string or a variable",
        )?),
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
