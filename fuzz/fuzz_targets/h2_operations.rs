//! Fuzzes HTTP/2: operations. The properties are in `parser-properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parser_properties::h2::operations(data));
