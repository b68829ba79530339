//! Every body decodes to itself, however input and output are split.

mod common;

use common::{ENCODINGS, Step, round_trip};
use compression::{Algorithm, Tuning};
use proptest::prelude::*;

/// A part of a body.
#[derive(Clone, Debug)]
enum Part {
    Text(Vec<u8>),
    Noise(Vec<u8>),
    Run(u8, usize),
    /// Repeats earlier bytes: distance and length.
    Again(usize, usize),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        proptest::collection::vec(prop_oneof![Just(b' '), b'a'..=b'h'], 0..400)
            .prop_map(Part::Text),
        proptest::collection::vec(any::<u8>(), 0..700).prop_map(Part::Noise),
        (any::<u8>(), 0_usize..600).prop_map(|(byte, count)| Part::Run(byte, count)),
        (1_usize..40_000, 0_usize..600).prop_map(|(distance, count)| Part::Again(distance, count)),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(part(), 0..12).prop_map(|parts| {
        let mut body = Vec::new();
        for part in parts {
            match part {
                Part::Text(bytes) | Part::Noise(bytes) => body.extend(bytes),
                Part::Run(byte, count) => body.extend(std::iter::repeat_n(byte, count)),
                Part::Again(distance, count) => {
                    for _ in 0..count {
                        let from = body.len().saturating_sub(distance);
                        body.push(body.get(from).copied().unwrap_or(b'x'));
                    }
                }
            }
        }
        body
    })
}

fn step() -> impl Strategy<Value = Step> {
    let input = prop_oneof![0_usize..20, 0_usize..2000, Just(100_000)];
    let room = prop_oneof![1_usize..4, 1_usize..100, 64_usize..700, Just(16_384)];
    (input, room, any::<bool>(), proptest::option::of(0_u8..10))
        .prop_map(|(input, room, sync, level)| Step { input, room, sync, level })
}

/// Steps of which at least one has input, so that they terminate.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let last = (step(), 1_usize..3000);
    (proptest::collection::vec(step(), 0..6), last).prop_map(|(mut steps, (last, input))| {
        steps.push(Step { input, ..last });
        steps
    })
}

fn tuning() -> impl Strategy<Value = Tuning> {
    prop_oneof![
        Just(Tuning::default()),
        (0_u8..10, 8_u8..16, 1_u8..10).prop_map(|(level, window_bits, memory_level)| Tuning {
            level,
            window_bits,
            memory_level
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_encoder_without_history_makes_streams_that_decode(
        body in body(),
        steps in steps(),
        which in 0_usize..3,
    ) {
        round_trip(ENCODINGS[which], &Tuning::default(), &body, &steps);
    }

    #[test]
    fn every_encoder_makes_streams_that_decode(
        body in body(),
        steps in steps(),
        which in 0..ENCODINGS.len(),
        tuning in tuning(),
    ) {
        round_trip(ENCODINGS[which], &tuning, &body, &steps);
    }
}

fn whole(algorithm: Algorithm, body: &[u8]) -> Vec<u8> {
    let step = Step { input: 100_000, room: 16_384, sync: true, level: None };
    round_trip(algorithm, &Tuning::default(), body, &[step])
}

#[test]
fn short_bodies_decode() {
    for algorithm in ENCODINGS {
        for length in 0..40 {
            whole(algorithm, &b"aaaaaaaabaaaaaaaabcaaaaaaaabcaaaaaaaaaa\xff"[..length]);
            whole(algorithm, &[0xff; 40][..length]);
        }
    }
}

#[test]
fn an_empty_body_has_a_header_and_an_end() {
    let gzip = b"\x1f\x8b\x08\0\0\0\0\0\x04\x03\x03\0\0\0\0\0\0\0\0\0";
    assert_eq!(whole(Algorithm::Gzip, b""), gzip);
    assert_eq!(whole(Algorithm::Deflate, b""), b"\x78\x01\x03\0\0\0\0\x01");
    assert_eq!(whole(Algorithm::RawDeflate, b""), b"\x03\0");
}

#[test]
fn repeated_text_becomes_short() {
    let text = b"The quick brown fox jumps over the lazy dog. 0123456789\n".repeat(3000);
    let output = whole(Algorithm::Gzip, &text);
    assert!(output.len() < 2595, "{} bytes; HAProxy makes 2595", output.len());
}
