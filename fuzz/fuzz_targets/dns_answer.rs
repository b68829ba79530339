//! Fuzzes answers of name servers. Never holds a check: those are in `ordeal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ordeal::dns::answer(data));
