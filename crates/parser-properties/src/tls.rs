//! Properties of the ClientHello parser and of certificate lists.

use crate::world::World;
use sample::{Expr, Missing, ParseContext, Shared};
use std::io;

/// Sample fetches on a ClientHello in passthrough mode.
const FETCHES: [&str; 6] = [
    "req.ssl_hello_type",
    "req.ssl_sni",
    "req.ssl_ver",
    "req.ssl_alpn",
    "req.ssl_ec_ext",
    "req.ssl_st_ext",
];

/// The longest host name (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// Parses the bytes as a ClientHello in passthrough mode, and as a server name extension.
pub fn hello(data: &[u8]) {
    if let Some(name) = tls::server_name(data) {
        assert!((1..=LONGEST_NAME).contains(&name.len()) && !name.contains(&0));
        assert!(!name.iter().any(u8::is_ascii_uppercase), "names are compared in lower case");
        let inside = |part: &[u8]| part.eq_ignore_ascii_case(&name);
        assert!(data.windows(name.len()).any(inside), "a name that nobody has sent");
    }
    let files = |_: &std::path::Path| Err(io::ErrorKind::NotFound.into());
    let env = |_: &str| None;
    let shared = Shared::new(&files, &env);
    let captures = sample::Captures::default();
    let parser = ParseContext { proxy: "p", ..ParseContext::new(&shared, &captures) };
    let world = World::new(data);
    for fetch in FETCHES {
        let expr = Expr::parse(&[fetch], &mut 0, &parser).expect("a known fetch");
        match expr.eval(&world) {
            Ok(_) | Err(Missing::Absent | Missing::NotYet) => {}
        }
    }
}

/// Parses a list of certificates: an error names its line.
pub fn list(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match tls::parse_crt_list("list", &text) {
        Ok(lines) => assert!(lines.len() <= text.lines().count()),
        Err(error) => assert!(error.line <= text.lines().count(), "{error}"),
    }
}
