//! Fuzzes HTTP/3: field section. The properties are in `parser-properties`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| parser_properties::h3::field_section(data));
