//! Fuzzes HTTP/2: operations. Never holds a check: those are in `ordeal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ordeal::h2::operations(data));
