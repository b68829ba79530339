//! Runs all properties on their seeds, on mutations of the seeds and on random bytes.

use parser_properties::PROPERTIES;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::path::{Path, PathBuf};

/// Bytes of syntactic significance, which are inserted at random places.
const SPICES: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\t",
    b"\"",
    b"'",
    b"\\",
    b"\\x",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"%",
    b"%[",
    b"%{+Q}",
    b",",
    b",,",
    b";",
    b":",
    b"::",
    b"/",
    b"#",
    b"$",
    b"${",
    b"${X[*]}",
    b"-",
    b"-1",
    b"!",
    b"<<",
    b"0",
    b"9223372036854775807",
    b"9223372036854775808",
    b"18446744073709551616",
    b"\xff",
    b"\xc3\xa9",
    b"\xf0\x9f\x92\xa9",
    b"-m",
    b"-f list",
    b"if",
    b"(?:",
    b"{1,65535}",
    b"ffffffffffffffff\r\n",
    b"Host: a\r\n",
    b"Content-Length: 2\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\r\n\r\n",
    b"Upgrade: h2c\r\n",
    b"@",
    b"*",
    b"://",
];

/// The committed seeds of one property.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let entries = std::fs::read_dir(&directory).expect("every property has seeds");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> =
        paths.iter().map(|path| std::fs::read(path).expect("readable")).collect();
    assert!(!seeds.is_empty(), "{name} has no seed");
    seeds
}

/// One change of an input; positions are fractions of its length.
#[derive(Debug, Clone)]
enum Change {
    Flip(u16, u8),
    Insert(u16, usize),
    Remove(u16, u16),
    Repeat(u16, u16, u8),
    Swap(u16, u16, u16),
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<u16>;
    prop_oneof![
        2 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        4 => (place(), 0..SPICES.len()).prop_map(|(at, spice)| Change::Insert(at, spice)),
        2 => (place(), 0u16..40).prop_map(|(at, len)| Change::Remove(at, len)),
        1 => (place(), 1u16..40, 2u8..40).prop_map(|(at, len, n)| Change::Repeat(at, len, n)),
        1 => (place(), place(), 1u16..20).prop_map(|(a, b, len)| Change::Swap(a, b, len)),
    ]
}

fn apply(change: &Change, input: &mut Vec<u8>) {
    let scale = |at: u16, len: usize| usize::from(at) * (len + 1) / (usize::from(u16::MAX) + 1);
    let len = input.len();
    let span = |at: u16, count: u16| {
        let from = scale(at, len);
        from..(from + usize::from(count)).min(len)
    };
    match *change {
        Change::Flip(at, byte) => {
            if let Some(found) = input.get_mut(scale(at, len)) {
                *found ^= byte;
            }
        }
        Change::Insert(at, spice) => {
            let at = scale(at, len);
            input.splice(at..at, SPICES[spice].iter().copied());
        }
        Change::Remove(at, count) => {
            input.drain(span(at, count));
        }
        Change::Repeat(at, count, times) => {
            let part = input[span(at, count)].repeat(times.into());
            let at = scale(at, len);
            input.splice(at..at, part);
        }
        Change::Swap(from, to, count) => {
            let part: Vec<u8> = input.drain(span(from, count)).collect();
            let to = scale(to, input.len());
            input.splice(to..to, part);
        }
    }
}

/// Seeds, alone, mutated, or two concatenated; and sometimes random bytes.
fn input(name: &str) -> impl Strategy<Value = Vec<u8>> {
    let seeds = seeds(name);
    let one = prop::sample::select(seeds.clone());
    let changed = (one, prop::collection::vec(change(), 0..8)).prop_map(|(mut input, changes)| {
        changes.iter().for_each(|change| apply(change, &mut input));
        input
    });
    let two = (prop::sample::select(seeds.clone()), prop::sample::select(seeds), any::<u16>());
    let glued = two.prop_map(|(one, other, at)| {
        let at = usize::from(at) * (one.len() + 1) / (usize::from(u16::MAX) + 1);
        [&one[..at], &other[at.min(other.len())..]].concat()
    });
    let noise = prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![8 => changed, 2 => glued, 1 => noise]
}

/// Properties of whole messages and of sequences: many cases are needed, because most mutations of
/// messages are refused.
const MANY: [&str; 4] = ["h1_request", "h1_response", "cache_decisions", "cache_storage"];
const MANY_CASES: u32 = 5_000;

/// Runs one property on many inputs; a failure is minimised and printed.
fn check_property(name: &str) {
    let (_, property) = PROPERTIES.iter().find(|(known, _)| *known == name).expect("a known name");
    seeds(name).iter().for_each(|seed| property(seed));
    let usual = Config { failure_persistence: None, ..Config::default() };
    let cases = if MANY.contains(&name) { usual.cases.max(MANY_CASES) } else { usual.cases };
    let mut runner = TestRunner::new(Config { cases, ..usual });
    let shown = |input: Vec<u8>| {
        property(&input);
        Ok(())
    };
    if let Err(failure) = runner.run(&input(name), shown) {
        panic!("{name}: {failure}");
    }
}

macro_rules! properties {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { check_property(stringify!($name)); })*

        #[test]
        fn every_property_is_tested() {
            let here = [$(stringify!($name)),*];
            for (name, _) in PROPERTIES {
                assert!(here.contains(name), "{name} has no test");
                let target = format!("../../fuzz/fuzz_targets/{name}.rs");
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(target);
                assert!(path.exists(), "{name} has no fuzz target");
            }
            assert_eq!(here.len(), PROPERTIES.len());
        }
    };
}

properties!(
    config_lexer,
    peers,
    config_file,
    expression,
    condition,
    log_format,
    regex,
    acl_file,
    map_file,
    h1_head,
    h1_chunks,
    h1_request,
    h1_response,
    h2_header_block,
    h2_frames,
    h2_operations,
    h3_field_section,
    runtime_line,
    dns_answer,
    dns_resolution,
    hello,
    crt_list,
    cache_decisions,
    cache_storage,
    compression,
    compression_choice,
    fcgi_answers,
    spop,
    tls_records,
);
