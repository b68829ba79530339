//! Tokens and ciphers as expressions see them. The cryptography has tests of its own.

use crate::testing::{World, parse_error};
use crate::value::Value;

/// Signed by `secret`.
const TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibiI6N30.61BTzBJgighVBUnVzHmAvCOGjjZ8BkTdid7Uf1MYL1A";

/// Expressions and their expected results.
#[rustfmt::skip]
pub(crate) const CASES: &[(&str, &str)] = &[
    ("bin(00),aes_gcm_dec(128,txn.none,AAAA,AAAA)", "undefined"),
    ("var(txn.token),jwt_header_query('$.alg')", "HS256"),
    ("var(txn.token),jwt_header_query", "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"),
    ("var(txn.token),jwt_payload_query('$.sub')", "1234567890"),
    ("var(txn.token),jwt_payload_query('$.n','int')", "7"),
    ("var(txn.token),jwt_payload_query('$.none')", "undefined"),
    ("str(a.b),jwt_payload_query", "undefined"),
    ("str(eyJhbGciOiJIUzI1NiJ9),jwt_header_query('$.alg')", "HS256"),
    ("str(eyJhbGciOiJIUzI1NiJ9),jwt_payload_query('$.alg')", "undefined"),
    ("str(eyJhbGciOiJIUzI1NiJ9.eyJuIjo3fQ),jwt_header_query('$.alg')", "HS256"),
    ("str(eyJhbGciOiJIUzI1NiJ9.eyJuIjo3fQ),jwt_payload_query('$.n','int')", "7"),
    ("str(eyJhbGciOiJIUzI1NiJ9.eyJuIjo3fQ),jwt_payload_query", "{\"n\":7}"),
    ("str(!.eyJuIjo3fQ),jwt_payload_query('$.n','int')", "7"),
    ("str(eyJhbGciOiJIUzI1NiJ9.!),jwt_payload_query('$.n','int')", "undefined"),
    ("str(!.b.c),jwt_header_query", "undefined"),
    ("var(txn.token),jwt_verify(HS256,secret)", "1"),
    ("var(txn.token),jwt_verify(txn.alg,secret)", "1"),
    ("var(txn.token),jwt_verify(txn.alg,txn.secret)", "1"),
    ("var(txn.token),jwt_verify(HS256,other)", "0"),
    ("var(txn.token),jwt_verify(HS512,secret)", "0"),
    ("var(txn.token),jwt_verify(txn.s,secret)", "-1"),
    ("var(txn.token),jwt_verify(PS256,txn.secret)", "-2"),
    ("str(a.b),jwt_verify(HS256,secret)", "-3"),
    ("str(a.b.c.d),jwt_verify(HS256,secret)", "-3"),
    ("str(a.b.),jwt_verify(HS256,secret)", "-3"),
    ("var(txn.token),jwt_verify(RS256,txn.secret)", "-5"),
];

fn world() -> World {
    let world = World::full();
    world.set("txn.token", Value::str(TOKEN.as_bytes()));
    world.set("txn.alg", Value::str(b"HS256"));
    world.set("txn.secret", Value::str(b"secret"));
    world
}

#[test]
fn tokens_are_taken_apart_and_verified() {
    let world = world();
    for (text, expected) in CASES {
        assert_eq!(world.eval(text), *expected, "{text}");
    }
    for (text, expected) in [
        ("str(a),jwt_verify(XS1,k)", "unknown JWT algorithm : XS1"),
        ("str(a),jwt_verify(RS256,list)", "unable to load a public key from 'list'"),
        ("str(a),aes_gcm_dec(64,AAAA,AAAA,AAAA)", "key size must be 128, 192 or 256 (bits)."),
        ("str(a),aes_gcm_dec(128,A,AAAA,AAAA)", "failed to parse nonce"),
    ] {
        let error = parse_error(text);
        assert!(error.message.contains(expected), "{text}: {}", error.message);
    }
}

/// Case 3 of the specification of GCM that its authors handed in to NIST.
#[test]
fn ciphers_are_undone() {
    let world = world();
    let cipher = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
                  21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985";
    let base64 = |digits: &str| world.eval(&format!("bin({digits}),base64"));
    let (nonce, key) =
        (base64("cafebabefacedbaddecaf888"), base64("feffe9928665731c6d6a8f9467308308"));
    let tag = base64("4d5c2af327cd64a62cf35abd2ba6fab4");
    world.set("txn.tag", Value::str(tag.as_bytes()));
    let open =
        |tag: &str| world.eval(&format!("bin({cipher}),aes_gcm_dec(128,{nonce},{key},{tag}),hex"));
    assert!(open(&tag).starts_with("D9313225F88406E5A55909C5AFF5269A"), "{}", open(&tag));
    assert_eq!(open("txn.tag"), open(&tag));
    assert_eq!(open("AAAAAAAAAAAAAAAAAAAAAA=="), "undefined");
}
