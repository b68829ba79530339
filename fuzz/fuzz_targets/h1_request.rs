//! Fuzzes whole requests of HTTP/1. Never holds a check: those are in `ordeal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ordeal::messages::request(data));
