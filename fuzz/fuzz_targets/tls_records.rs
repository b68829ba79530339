//! Fuzzes records of TLS sessions. The properties are in `parser-properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parser_properties::records::session(data));
