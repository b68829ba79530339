//! Bodies in the codings of HTTP, and their decoders.

use std::io::Read;

/// A body in one of the algorithms of `compression algo`, decoded.
pub(crate) fn decoded(algorithm: &str, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let read = match algorithm {
        "gzip" => flate2::read::MultiGzDecoder::new(body).read_to_end(&mut out),
        "deflate" => flate2::read::ZlibDecoder::new(body).read_to_end(&mut out),
        "raw-deflate" => flate2::read::DeflateDecoder::new(body).read_to_end(&mut out),
        "br" => brotli::Decompressor::new(body, 4_096).read_to_end(&mut out),
        "zstd" => Ok(zstd(body, &mut out)),
        other => panic!("no decoder of {other}"),
    };
    read.unwrap_or_else(|error| panic!("{algorithm}: {error} after {} bytes", out.len()));
    out
}

fn zstd(body: &[u8], out: &mut Vec<u8>) -> usize {
    let mut decoder = zstd_safe::DCtx::create();
    let mut input = zstd_safe::InBuffer::around(body);
    let mut piece = vec![0; 65_536];
    loop {
        let mut output = zstd_safe::OutBuffer::around(&mut piece[..]);
        let left = decoder.decompress_stream(&mut output, &mut input).expect("a frame");
        out.extend_from_slice(output.as_slice());
        if left == 0 {
            assert_eq!(input.pos(), body.len(), "one frame");
            return out.len();
        }
    }
}

/// As much of the original as a gzip stream that has not ended gives.
pub(crate) fn begun(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(body);
    let mut piece = [0; 4_096];
    while let Ok(count @ 1..) = decoder.read(&mut piece) {
        out.extend_from_slice(&piece[..count]);
    }
    out
}

/// A page of text that compresses well.
pub(crate) fn page() -> String {
    (0..800)
        .map(|n| format!("<p>line {} of a text that repeats itself</p>\n", n * n % 97))
        .collect()
}
