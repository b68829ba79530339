//! Converters that decrypt, and that take tokens apart and verify them.

use super::json_query;
use super::{Converter, conv};
use crate::args::{Arg, ArgError, Args, TokenKey};
use crate::context::ParseContext;
use crate::encoding::{decode_base64, decode_url_base64};
use crate::facts::Facts;
use crate::value::{Bytes, Type, Value};
use crate::vars::VarName;
use crypto::{Algorithm, KeySize, PublicKey, Verdict};
use std::path::Path;

// One keyword per line, for reading as a table.
#[rustfmt::skip]
pub(super) const TABLE: &[Converter] = &[
    conv("aes_gcm_dec", "integer,string,string,string", (Type::Bin, Type::Bin), "Decrypts AES-GCM: bits, nonce, key and tag, each base64 or a variable holding that.", decrypt).prepare(cipher),
    conv("jwt_header_query", "[string,string]", (Type::Bin, Type::Any), "The header of a JSON web token, or a value of it by its path.", |a, v, f| query(a, &v, f, 0)).prepare(path),
    conv("jwt_payload_query", "[string,string]", (Type::Bin, Type::Any), "The payload of a JSON web token, or a value of it by its path.", |a, v, f| query(a, &v, f, 1)).prepare(path),
    conv("jwt_verify", "string,string", (Type::Bin, Type::Int), "1 if a JSON web token is signed by a key, 0 if not, less than 0 for errors.", verify).prepare(keys),
];

fn cipher(args: &mut Args, _: &ParseContext<'_>) -> Result<(), ArgError> {
    let bits = args.int(0).unwrap_or(0);
    if KeySize::of_bits(bits).is_none() {
        return Err(ArgError::Rule("key size must be 128, 192 or 256 (bits)."));
    }
    for (index, what) in [(1, "nonce"), (2, "key"), (3, "aead_tag")] {
        args.0[index] = match VarName::parse(args.text(index)) {
            Ok(name) => Arg::Var(name),
            Err(_) => {
                let decoded = decode_base64(args.bytes(index));
                Arg::Bytes(decoded.map(Into::into).ok_or_else(|| ArgError::Value(format!(
                    "failed to parse {what} : argument needs to be base64 encoded, and can either \
                     be a string or a variable"
                )))?)
            }
        };
    }
    Ok(())
}

fn decrypt<'e>(args: &'e Args, value: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let given = |index| match args.var(index) {
        None => Some(args.bytes(index).to_vec()),
        Some(name) => decode_base64(&facts.var(name)?.to_str()?),
    };
    let size = KeySize::of_bits(args.int(0)?)?;
    let (nonce, key, tag) = (given(1)?, given(2)?, given(3)?);
    let clear = crypto::decrypt_gcm(size, &key, &nonce, &tag, &value.to_bin()?)?;
    Some(Value::Bin(Bytes::Owned(clear)))
}

fn path(args: &mut Args, cx: &ParseContext<'_>) -> Result<(), ArgError> {
    if args.bytes(0).is_empty() {
        args.0.clear();
        return Ok(());
    }
    json_query::path(args, cx)
}

/// A part of a token, decoded, or what a path in it leads to.
fn query<'e>(
    args: &'e Args,
    token: &Value<'e>,
    _: &'e dyn Facts,
    number: usize,
) -> Option<Value<'e>> {
    let token = token.clone().to_bin()?;
    // The signature, and for the header the payload too, need not be there.
    let part = decode_url_base64(token.split(|byte| *byte == b'.').nth(number)?)?;
    match args.get(0) {
        Arg::Path(_) => json_query::find(args, &part),
        _ => Some(Value::Str(Bytes::Owned(part))),
    }
}

fn keys(args: &mut Args, cx: &ParseContext<'_>) -> Result<(), ArgError> {
    let algorithm =
        match VarName::parse(args.text(0)) {
            Ok(name) => {
                args.0[0] = Arg::Var(name);
                None
            }
            Err(_) => Some(Algorithm::by_name(args.bytes(0)).ok_or_else(|| {
                ArgError::Value(format!("unknown JWT algorithm : {}", args.text(0)))
            })?),
        };
    if let Ok(name) = VarName::parse(args.text(1)) {
        let files = cx.shared.keys.clone();
        args.0.push(Arg::TokenKey(TokenKey { text: None, files }));
        args.0[1] = Arg::Var(name);
        return Ok(());
    }
    let text: Box<[u8]> = args.bytes(1).into();
    if text.is_empty() && algorithm != Some(Algorithm::None) {
        return Err(ArgError::Rule("the key must not be empty"));
    }
    let name = String::from_utf8_lossy(&text).into_owned();
    if !algorithm.is_some_and(|it| it.takes_secret() || it == Algorithm::None) {
        let read = (cx.shared.files)(Path::new(&name)).ok().and_then(|it| PublicKey::read(&it));
        match read {
            Some(key) => {
                let mut files = cx.shared.keys.lock();
                files.insert(name.into(), key);
            }
            // A secret, perhaps: the algorithm is not known yet.
            None if algorithm.is_none() => {}
            None => {
                return Err(ArgError::Value(format!("unable to load a public key from '{name}'")));
            }
        }
    }
    let files = cx.shared.keys.clone();
    args.0.push(Arg::TokenKey(TokenKey { text: Some(text), files }));
    Ok(())
}

/// The numbers of the manual.
fn verify<'e>(args: &'e Args, token: Value<'e>, facts: &'e dyn Facts) -> Option<Value<'e>> {
    let token = token.to_bin()?;
    let algorithm = match args.var(0) {
        None => Algorithm::by_name(args.bytes(0)),
        Some(name) => Algorithm::by_name(&facts.var(name)?.to_str()?),
    };
    let Some(algorithm) = algorithm else { return Some(Value::Int(-1)) };
    // Asked for by name only: a token must not choose to have no signature.
    if algorithm == Algorithm::None && args.var(0).is_none() {
        return Some(Value::Int(unsecured(&token)));
    }
    let Arg::TokenKey(key) = args.get(2) else { return None };
    let given;
    let text = match (&key.text, args.var(1)) {
        (Some(text), _) => &**text,
        (None, Some(name)) => {
            given = facts.var(name)?.to_str()?.to_vec();
            &given
        }
        (None, None) => return None,
    };
    Some(Value::Int(judge(algorithm, text, key, &token)))
}

/// Whether a token has no signature, and at least two parts.
fn unsecured(token: &[u8]) -> i64 {
    let mut parts = token.split(|byte| *byte == b'.').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (None, ..) | (.., Some(_)) => -3,
        (_, signature, None) => i64::from(signature.unwrap_or_default().is_empty()),
    }
}

fn judge(algorithm: Algorithm, text: &[u8], key: &TokenKey, token: &[u8]) -> i64 {
    if algorithm == Algorithm::Unmanaged {
        return -2;
    }
    let Some((signed, signature)) = split(token) else { return -3 };
    let public = match algorithm.takes_secret() {
        true => None,
        false => {
            let files = key.files.lock();
            let found = std::str::from_utf8(text).ok().and_then(|name| files.get(name));
            let Some(found) = found else { return -5 };
            Some(found.clone())
        }
    };
    match crypto::verify(algorithm, (text, public.as_ref()), signed, &signature) {
        Verdict::Fine => 1,
        Verdict::Wrong => 0,
        Verdict::Unmanaged => -2,
        Verdict::Malformed => -3,
    }
}

/// The signed part of a token, and its signature.
fn split(token: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let mut dots = memchr::memchr_iter(b'.', token);
    let (_, second, None) = (dots.next()?, dots.next()?, dots.next()) else { return None };
    let signature = decode_url_base64(&token[second + 1..])?;
    (!signature.is_empty()).then_some((&token[..second], signature))
}

#[cfg(test)]
pub(crate) mod tests;
