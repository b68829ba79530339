//! Tests of the encoder without history.

use super::*;

fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| byte()).collect()
}

/// Encodes with a sync after each piece; returns the output and the number of pieces.
fn encode(body: &[u8], piece: usize, room: usize, sync: Flush) -> (Vec<u8>, usize) {
    let mut stateless = Stateless::new(Framing::Gzip);
    let mut scratch = Scratch::default();
    let mut output = Vec::new();
    let mut buffer = vec![0; room];
    let pieces = body.chunks(piece).chain([&[][..]]);
    let count = pieces.clone().count();
    for (index, mut input) in pieces.enumerate() {
        let flush = if index + 1 == count { Flush::Finish } else { sync };
        loop {
            let progress = stateless.write(input, &mut buffer, flush, &mut scratch);
            output.extend_from_slice(&buffer[..progress.produced]);
            input = &input[progress.consumed..];
            if progress.done {
                break;
            }
        }
    }
    (output, count)
}

#[test]
fn a_stream_is_small() {
    assert!(size_of::<Stateless>() <= 80, "{}", size_of::<Stateless>());
}

#[test]
fn a_body_that_does_not_compress_grows_by_a_thousandth() {
    let body = noise(1 << 20);
    for room in [16_384, 15_000, 4096] {
        let (output, _) = encode(&body, 1 << 20, room, Flush::None);
        let bound = body.len() + body.len() / 1024 * 2 + 20;
        assert!(output.len() <= bound, "{} of {} with {room}", output.len(), body.len());
    }
}

#[test]
fn the_bound_on_growth_holds_with_syncs() {
    // Runs of nine-bit literals with a short match behind each: the worst that was found.
    let runs = noise(40_000);
    let hard = runs.chunks(50).flat_map(|run| run.iter().map(|byte| byte | 0x90).chain(*b"abcd"));
    for body in [noise(40_000), hard.collect()] {
        for piece in [1, 7, 100, 1460, 8192, 40_000] {
            let (output, pieces) = encode(&body, piece, 16_384, Flush::Sync);
            let bound = body.len() + body.len() / 1024 + 14 * pieces + 20;
            assert!(output.len() <= bound, "{} > {bound} with {piece}", output.len());
        }
    }
}

#[test]
fn tiny_outputs_cost_an_eighth_at_most() {
    let body = noise(4000);
    for room in 1..72 {
        let (output, _) = encode(&body, 4000, room, Flush::None);
        assert!(output.len() <= body.len() * 9 / 8 + 24, "{} with {room}", output.len());
    }
}

#[test]
fn a_second_sync_writes_nothing() {
    let mut stateless = Stateless::new(Framing::Raw);
    let mut scratch = Scratch::default();
    let mut buffer = [0; 100];
    let first = stateless.write(b"abc", &mut buffer, Flush::Sync, &mut scratch);
    assert!(first.done && first.produced > 0);
    let second = stateless.write(b"", &mut buffer, Flush::Sync, &mut scratch);
    assert_eq!(second, Progress { consumed: 0, produced: 0, done: true });
}

#[test]
fn a_finished_stream_takes_and_writes_nothing() {
    let mut stateless = Stateless::new(Framing::Gzip);
    let mut scratch = Scratch::default();
    let mut buffer = [0; 100];
    assert!(stateless.write(b"abc", &mut buffer, Flush::Finish, &mut scratch).done);
    let again = stateless.write(b"", &mut buffer, Flush::Finish, &mut scratch);
    assert_eq!(again, Progress { consumed: 0, produced: 0, done: true });
    let late = stateless.write(b"late", &mut buffer, Flush::Finish, &mut scratch);
    assert_eq!(late, Progress { consumed: 0, produced: 0, done: false });
}

#[test]
fn an_output_without_room_takes_nothing() {
    let mut stateless = Stateless::new(Framing::Raw);
    let progress = stateless.write(b"abc", &mut [], Flush::Finish, &mut Scratch::default());
    assert_eq!(progress, Progress::default());
}

#[test]
fn the_length_in_the_trailer_wraps_at_four_gigabytes() {
    let mut checksum = Checksum::Gzip { crc: 0, length: u32::MAX - 1 };
    checksum.update(b"abcd");
    let (trailer, length) = checksum.trailer();
    assert_eq!((&trailer[4..], length), (&[2, 0, 0, 0][..], 8));
}

#[test]
fn a_scratch_that_has_served_four_gigabytes_is_cleared() {
    let text = b"abcdefgh".repeat(100);
    let mut scratch = Scratch::default();
    scratch.exhaust();
    for _ in 0..3 {
        let mut stateless = Stateless::new(Framing::Raw);
        let mut buffer = [0; 2000];
        let progress = stateless.write(&text, &mut buffer, Flush::Finish, &mut scratch);
        assert!(progress.done && progress.produced < 30, "{progress:?}");
    }
}
