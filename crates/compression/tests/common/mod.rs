//! Bodies, segmentations and decoders for the tests of the encoders.
#![allow(dead_code)] // Each test file uses a part.

use brotli::DecompressorWriter;
use compression::{Algorithm, Encoder, Flush, Scratch, Tuning};
use flate2::{Decompress, FlushDecompress};
use std::io::Write;
use zstd_safe::{DCtx, InBuffer, OutBuffer};

pub(crate) const ENCODINGS: [Algorithm; 5] = [
    Algorithm::Gzip,
    Algorithm::Deflate,
    Algorithm::RawDeflate,
    Algorithm::Brotli,
    Algorithm::Zstd,
];

/// A decoder that gets the output in pieces.
pub(crate) enum Decoder {
    Deflate(Decompress),
    Brotli(Box<DecompressorWriter<Vec<u8>>>),
    Zstd(DCtx<'static>),
}

impl Decoder {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Gzip => Self::Deflate(Decompress::new_gzip(15)),
            Algorithm::Deflate => Self::Deflate(Decompress::new(true)),
            Algorithm::RawDeflate => Self::Deflate(Decompress::new(false)),
            Algorithm::Brotli => Self::Brotli(Box::new(DecompressorWriter::new(Vec::new(), 4096))),
            Algorithm::Zstd => Self::Zstd(DCtx::create()),
            Algorithm::Identity => panic!("identity has no decoder"),
        }
    }

    /// Decodes more output and adds the result to `body`.
    pub(crate) fn feed(&mut self, output: &[u8], body: &mut Vec<u8>) {
        match self {
            Self::Deflate(inflate) => feed_deflate(inflate, output, body),
            Self::Brotli(writer) => {
                writer.write_all(output).expect("brotli");
                writer.flush().expect("brotli");
                body.append(writer.get_mut());
            }
            Self::Zstd(context) => feed_zstd(context, output, body),
        }
    }

    /// Whether the stream has ended with a right checksum.
    pub(crate) fn ends(self, algorithm: Algorithm, output: &[u8]) -> bool {
        match self {
            Self::Deflate(mut inflate) => {
                let status = inflate.decompress(&[], &mut [0; 1], FlushDecompress::Finish);
                status.is_ok_and(|status| status == flate2::Status::StreamEnd)
            }
            Self::Brotli(mut writer) => writer.close().is_ok(),
            Self::Zstd(_) => {
                let size = zstd_safe::find_frame_compressed_size(output);
                algorithm == Algorithm::Zstd && size == Ok(output.len())
            }
        }
    }
}

fn feed_deflate(inflate: &mut Decompress, mut output: &[u8], body: &mut Vec<u8>) {
    let mut room = [0; 8192];
    loop {
        let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(output, &mut room, FlushDecompress::None);
        let status = status.expect("deflate");
        let consumed = (inflate.total_in() - before_in) as usize;
        let produced = (inflate.total_out() - before_out) as usize;
        output = &output[consumed..];
        body.extend_from_slice(&room[..produced]);
        if status == flate2::Status::StreamEnd {
            assert!(output.is_empty(), "bytes behind the end");
        }
        if consumed == 0 && produced == 0 || status == flate2::Status::StreamEnd {
            return;
        }
    }
}

fn feed_zstd(context: &mut DCtx<'_>, output: &[u8], body: &mut Vec<u8>) {
    let mut from = InBuffer::around(output);
    loop {
        let mut room = [0; 8192];
        let mut to = OutBuffer::around(&mut room[..]);
        context.decompress_stream(&mut to, &mut from).expect("zstd");
        let produced = to.pos();
        body.extend_from_slice(&room[..produced]);
        if produced < room.len() && from.pos() == output.len() {
            return;
        }
    }
}

/// One call after another: bytes of input, room for output, and the flush.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) input: usize,
    pub(crate) room: usize,
    pub(crate) sync: bool,
    pub(crate) level: Option<u8>,
}

/// Encodes `body` in these steps, repeated, and checks that it decodes to itself, and at each sync
/// to all of the input so far. Returns the output.
pub(crate) fn round_trip(
    algorithm: Algorithm,
    tuning: &Tuning,
    body: &[u8],
    steps: &[Step],
) -> Vec<u8> {
    let mut scratch = Scratch::default();
    let mut encoder = Encoder::new(algorithm, tuning).expect("an encoder");
    let mut decoder = Decoder::new(algorithm);
    let (mut output, mut decoded) = (Vec::new(), Vec::new());
    let mut from = 0;
    for step in steps.iter().cycle() {
        let to = body.len().min(from + step.input);
        let flush = match (to == body.len(), step.sync) {
            (true, _) => Flush::Finish,
            (false, true) => Flush::Sync,
            (false, false) => Flush::None,
        };
        let begin = output.len();
        run(&mut encoder, &body[from..to], step.room, flush, &mut scratch, &mut output);
        decoder.feed(&output[begin..], &mut decoded);
        from = to;
        if flush != Flush::None {
            assert!(decoded == body[..from], "{algorithm:?}: {flush:?} shows other bytes");
        }
        if let Some(level) = step.level {
            encoder.set_level(level);
        }
        if flush == Flush::Finish {
            break;
        }
    }
    assert!(decoder.ends(algorithm, &output), "{algorithm:?}: the end is missing");
    output
}

/// Calls the encoder until it is done; it must make progress whenever it has room.
fn run(
    encoder: &mut Encoder,
    mut input: &[u8],
    room: usize,
    flush: Flush,
    scratch: &mut Scratch,
    output: &mut Vec<u8>,
) {
    let mut buffer = vec![0; room];
    let mut idle = 0;
    let most = output.len() + 2 * input.len() + (1 << 20);
    loop {
        assert!(output.len() < most, "the output has no end");
        let progress = encoder.write(input, &mut buffer, flush, scratch).expect("encodes");
        output.extend_from_slice(&buffer[..progress.produced]);
        input = &input[progress.consumed..];
        if progress.done {
            assert!(input.is_empty());
            return;
        }
        idle = if progress.consumed + progress.produced > 0 { 0 } else { idle + 1 };
        assert!(idle < 3, "the encoder does not go on");
    }
}
