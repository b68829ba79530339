//! Fuzzes whole requests of HTTP/1. The properties are in `parser-properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parser_properties::messages::request(data));
