//! `cargo xtask bench compression`: cost per byte and ratio of the encoders of bodies.
//!
//! Texts of 64 KiB come in pieces of 15 KiB with a sync after each, as a proxy gets them. Each row
//! is one text; `zlib-1` is zlib-rs at level 1 with the same pieces. Files named in
//! `WEIR_BENCH_FILES`, separated by colons, are measured in the place of the generated texts.

use bench::{nanos_per_op, table};
use compression::{Algorithm, Encoder, Flush, Scratch, Tuning};
use stdx::Prng;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush};

const LENGTH: usize = 65_536;
const PIECE: usize = 15_360;
const ROUNDS: u32 = 40;

const ENCODERS: [(&str, Algorithm, u8); 5] = [
    ("gzip", Algorithm::Gzip, 1),
    ("gzip-6", Algorithm::Gzip, 6),
    ("br", Algorithm::Brotli, 1),
    ("br-6", Algorithm::Brotli, 6),
    ("zstd", Algorithm::Zstd, 1),
];

fn main() {
    let mut rows = Vec::new();
    for (name, text) in texts() {
        let mut row = vec![name];
        row.push(cell(&text, |output| zlib(&text, output)));
        let mut scratch = Scratch::default();
        for (_, algorithm, level) in ENCODERS {
            let tuning = Tuning { level, ..Tuning::default() };
            row.push(cell(&text, |output| encode(algorithm, &tuning, &text, output, &mut scratch)));
        }
        rows.push(row);
    }
    let mut head = vec!["ns per byte (ratio)", "zlib-1"];
    head.extend(ENCODERS.iter().map(|(name, ..)| *name));
    print!("{}", table(&head, &rows));
}

fn cell(text: &[u8], mut encode: impl FnMut(&mut Vec<u8>)) -> String {
    let mut output = Vec::new();
    let nanos = nanos_per_op(ROUNDS, text.len() as u64, || {
        output.clear();
        encode(&mut output);
    });
    format!("{nanos:.2} ({:.2})", text.len() as f64 / output.len() as f64)
}

fn encode(
    algorithm: Algorithm,
    tuning: &Tuning,
    text: &[u8],
    output: &mut Vec<u8>,
    scratch: &mut Scratch,
) {
    let mut encoder = Encoder::new(algorithm, tuning).expect("an encoder");
    let mut room = [0; 16_384];
    let mut pieces = text.chunks(PIECE).peekable();
    while let Some(mut piece) = pieces.next() {
        let flush = if pieces.peek().is_some() { Flush::Sync } else { Flush::Finish };
        loop {
            let progress = encoder.write(piece, &mut room, flush, scratch).expect("encodes");
            output.extend_from_slice(&room[..progress.produced]);
            piece = &piece[progress.consumed..];
            if progress.done {
                break;
            }
        }
    }
}

fn zlib(text: &[u8], output: &mut Vec<u8>) {
    // A gzip framing is 16 above the window.
    let config = DeflateConfig { level: 1, window_bits: 31, ..DeflateConfig::default() };
    let mut deflate = Deflate::new_with_config(config);
    let mut room = vec![0; 32_768];
    let mut pieces = text.chunks(PIECE).peekable();
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        let flush = if last { DeflateFlush::Finish } else { DeflateFlush::SyncFlush };
        let before = deflate.total_out();
        deflate.compress(piece, &mut room, flush).expect("encodes");
        output.extend_from_slice(&room[..(deflate.total_out() - before) as usize]);
    }
}

fn texts() -> Vec<(String, Vec<u8>)> {
    if let Ok(files) = std::env::var("WEIR_BENCH_FILES") {
        let read = |path: &str| (path.to_owned(), std::fs::read(path).expect("readable"));
        return files.split(':').map(read).collect();
    }
    let random = Prng::new(11);
    vec![
        ("html".to_owned(), filled(|| html(&random))),
        ("json".to_owned(), filled(|| json(&random))),
        ("noise".to_owned(), filled(|| vec![random.below(256) as u8])),
    ]
}

fn filled(mut part: impl FnMut() -> Vec<u8>) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < LENGTH {
        text.extend(part());
    }
    text.truncate(LENGTH);
    text
}

const WORDS: [&str; 16] = [
    "balance",
    "server",
    "of",
    "the",
    "request",
    "with",
    "timeout",
    "and",
    "client",
    "buffer",
    "a",
    "response",
    "header",
    "in",
    "stream",
    "connection",
];

fn sentence(random: &Prng) -> String {
    let words = (0..8 + random.below(10)).map(|_| WORDS[random.below(16) as usize]);
    words.collect::<Vec<_>>().join(" ")
}

fn html(random: &Prng) -> Vec<u8> {
    let (class, id) = (random.below(9), random.below(100_000));
    let text = sentence(random);
    format!("<div class=\"box-{class}\"><a href=\"/item/{id}\">{text}</a></div>\n").into_bytes()
}

fn json(random: &Prng) -> Vec<u8> {
    let (id, price, active) = (random.below(100_000), random.below(10_000), random.below(2) == 1);
    let name = sentence(random);
    format!("{{\"id\":{id},\"name\":\"{name}\",\"price\":{price},\"active\":{active}}},")
        .into_bytes()
}
