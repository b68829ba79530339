//! Fuzzes first messages of TLS clients. Never holds a check: those are in `ordeal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ordeal::tls::hello(data));
