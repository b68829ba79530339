//! The programs `gzip` and `zstd`, and zlib in Python, read the output, where they are installed.

mod common;

use common::{Step, round_trip};
use compression::{Algorithm, Tuning};
use std::io::Write;
use std::process::{Command, Stdio};

/// The output of a program with this input; `None` if there is no such program.
fn filter(program: &str, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        println!("skipped: there is no {program}");
        return None;
    };
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().expect("it ends");
    assert!(writer.join().expect("no panic"));
    assert!(output.status.success(), "{program} {arguments:?} fails");
    Some(output.stdout)
}

fn body() -> Vec<u8> {
    let line = |index: u32| format!("<p id=\"{}\">Straße {}</p>\n", index * index, index % 17);
    let noise = (0..20_000_u32).map(|index| (index.wrapping_mul(0x9e37_79b1) >> 24) as u8);
    (0..3000).flat_map(|index| line(index).into_bytes()).chain(noise).collect()
}

fn encoded(algorithm: Algorithm, level: u8, body: &[u8]) -> Vec<u8> {
    let step = Step { input: 14_000, room: 16_384, sync: true, level: None };
    round_trip(algorithm, &Tuning { level, ..Tuning::default() }, body, &[step])
}

#[test]
fn gzip_reads_the_output() {
    let body = body();
    for level in [0, 1, 6] {
        let output = encoded(Algorithm::Gzip, level, &body);
        if let Some(decoded) = filter("gzip", &["-dc"], &output) {
            assert!(decoded == body, "level {level}");
        }
    }
}

#[test]
fn zlib_in_python_reads_the_output() {
    let body = body();
    for (algorithm, window) in
        [(Algorithm::Gzip, "31"), (Algorithm::Deflate, "15"), (Algorithm::RawDeflate, "-15")]
    {
        for level in [0, 1, 6] {
            let output = encoded(algorithm, level, &body);
            let script = format!(
                "import sys, zlib\nd = zlib.decompressobj({window})\n\
                 sys.stdout.buffer.write(d.decompress(sys.stdin.buffer.read()))\n\
                 assert d.eof and not d.unused_data"
            );
            if let Some(decoded) = filter("python3", &["-c", &script], &output) {
                assert!(decoded == body, "{algorithm:?} at level {level}");
            }
        }
    }
}

#[test]
fn the_zstd_program_reads_the_output() {
    let body = body();
    for level in [1, 6] {
        let output = encoded(Algorithm::Zstd, level, &body);
        if let Some(decoded) = filter("zstd", &["-dc"], &output) {
            assert!(decoded == body, "level {level}");
        }
    }
}
