//! Properties of compression: bodies decode to themselves, and no field values confuse the choice.

use compression::{
    Algorithm, Body, Choice, Encoder, Flush, RequestFacts, ResponseFacts, Scratch, Tuning, decide,
};
use std::io::Read;

const ENCODINGS: [Algorithm; 5] = [
    Algorithm::Gzip,
    Algorithm::Deflate,
    Algorithm::RawDeflate,
    Algorithm::Brotli,
    Algorithm::Zstd,
];

/// Most input of one call of an encoder.
const MOST_INPUT: usize = 3_000;

/// Encodes a body in calls whose sizes come from the data, too: six bytes of settings, then the
/// body. The output decodes to the body, every call continues, and the encoder without history is
/// bounded.
pub fn encoders(data: &[u8]) {
    let Some((&[which, level, window, memory, repeat, seed], part)) = data.split_first_chunk()
    else {
        return;
    };
    let algorithm = ENCODINGS[usize::from(which) % ENCODINGS.len()];
    let tuned =
        Tuning { level: level % 10, window_bits: 8 + window % 8, memory_level: 1 + memory % 9 };
    let tuning = if which < 128 { Tuning::default() } else { tuned };
    let body = part.repeat(1 + usize::from(repeat % 8));
    let (output, syncs) = encode(algorithm, &tuning, &body, u32::from(seed));
    assert!(
        decoded(algorithm, &output, body.len()) == body,
        "{algorithm:?} decodes to something else"
    );
    if algorithm.framing().is_some() && tuning.is_stateless() {
        let most = body.len() * 9 / 8 + 7 * syncs + 24;
        assert!(output.len() <= most, "{} bytes of {}", output.len(), body.len());
    }
}

/// Returns the output and the number of flushes.
fn encode(algorithm: Algorithm, tuning: &Tuning, body: &[u8], seed: u32) -> (Vec<u8>, usize) {
    let mut encoder = Encoder::new(algorithm, tuning).expect("an encoding");
    let mut scratch = Scratch::default();
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b1) | 1);
    let mut buffer = [0; 2_048];
    let (mut output, mut syncs, mut rest) = (Vec::new(), 0, body);
    loop {
        let (mut piece, after) = rest.split_at(rest.len().min(chance.below(MOST_INPUT)));
        rest = after;
        let flush = match (rest.is_empty(), chance.below(3)) {
            (true, _) => Flush::Finish,
            (false, 0) => Flush::None,
            (false, _) => Flush::Sync,
        };
        syncs += 1;
        let mut idle = 0;
        loop {
            let room = 1 + chance.below(buffer.len());
            let progress = encoder.write(piece, &mut buffer[..room], flush, &mut scratch);
            let progress = progress.expect("encodes");
            output.extend_from_slice(&buffer[..progress.produced]);
            piece = &piece[progress.consumed..];
            if progress.done {
                break;
            }
            idle = if progress.consumed + progress.produced > 0 { 0 } else { idle + 1 };
            assert!(idle < 3, "the encoder does not go on");
            assert!(output.len() < 2 * body.len() + 4_096 + 64 * syncs, "the output has no end");
        }
        if flush == Flush::Finish {
            return (output, syncs);
        }
        if chance.below(8) == 0 {
            encoder.set_level(chance.below(10) as u8);
        }
    }
}

fn decoded(algorithm: Algorithm, output: &[u8], length: usize) -> Vec<u8> {
    let mut body = Vec::new();
    match algorithm {
        Algorithm::Gzip => flate2::read::GzDecoder::new(output).read_to_end(&mut body),
        Algorithm::Deflate => flate2::read::ZlibDecoder::new(output).read_to_end(&mut body),
        Algorithm::RawDeflate => flate2::read::DeflateDecoder::new(output).read_to_end(&mut body),
        Algorithm::Brotli => brotli::Decompressor::new(output, 4_096).read_to_end(&mut body),
        Algorithm::Zstd => return decoded_zstd(output, length),
        Algorithm::Identity => return output.to_vec(),
    }
    .expect("decodes");
    body
}

fn decoded_zstd(output: &[u8], length: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(length);
    zstd_safe::decompress(&mut body, output).expect("decodes");
    body
}

/// Random numbers of a run.
struct Chance(u32);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % bound
    }
}

/// Lines are values of `accept-encoding` and fields of a response. The choice is a configured
/// algorithm, and the same for one value with commas as for several values.
pub fn choice(data: &[u8]) {
    let configured = [
        Algorithm::Identity,
        Algorithm::Gzip,
        Algorithm::RawDeflate,
        Algorithm::Deflate,
        Algorithm::Brotli,
        Algorithm::Zstd,
    ];
    let (count, values) = data.split_first().map_or((0, data), |(first, rest)| (*first, rest));
    let configured = &configured[..usize::from(count) % (configured.len() + 1)];
    let choose = |values: &mut dyn Iterator<Item = &[u8]>| {
        let mut choice = Choice::new(configured);
        values.for_each(|value| choice.value(value));
        choice.algorithm()
    };
    let apart = choose(&mut values.split(|byte| *byte == b'\n'));
    assert!(apart.is_none_or(|algorithm| configured.contains(&algorithm)));
    if !values.contains(&b'"') {
        let joined: Vec<u8> =
            values.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }).collect();
        assert_eq!(choose(&mut std::iter::once(&joined[..])), apart);
    }
    heads(configured, values);
}

fn heads(configured: &[Algorithm], lines: &[u8]) {
    let mut request = RequestFacts::new(true, false, configured);
    let mut response = ResponseFacts::new(200, true, Body::Delimited);
    for line in lines.split(|byte| *byte == b'\n') {
        let at = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(at);
        request.field(name, value.get(1..).unwrap_or_default());
        response.field(name, value.get(1..).unwrap_or_default());
    }
    let Ok(algorithm) = request.algorithm() else { return };
    if let Ok(plan) = decide(algorithm, &response, &[b"text/"]) {
        assert!(plan.edits().count() >= 2);
    }
}
