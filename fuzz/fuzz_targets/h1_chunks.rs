//! Fuzzes chunked bodies of HTTP/1. The properties are in `parser-properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parser_properties::h1::chunks(data));
