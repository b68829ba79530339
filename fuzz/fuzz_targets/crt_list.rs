//! Fuzzes lists of certificates. Never holds a check: those are in `ordeal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ordeal::tls::list(data));
