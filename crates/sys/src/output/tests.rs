//! Tests of output to readers that do not read.

use super::*;
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

/// Writes numbered lines until there is no room; returns their number.
fn fill(output: &PreparedOutput, length: usize) -> usize {
    for number in 0.. {
        match output.write(&line(number, length)) {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
                return number;
            }
        }
    }
    unreachable!("nothing holds that much");
}

fn line(number: usize, length: usize) -> Vec<u8> {
    format!("{number:0width$}\n", width = length - 1).into_bytes()
}

/// Reads what is available, writes another line, and expects all lines whole.
fn expect_whole_lines(
    output: &PreparedOutput,
    reader: &mut impl io::Read,
    taken: usize,
    length: usize,
) {
    let mut heard = vec![0; taken * length];
    // The kernel may have the last line in part: the next write completes it.
    let there = heard.len() - output.rest.lock().len();
    reader.read_exact(&mut heard[..there]).unwrap();
    output.write(&line(taken, length)).unwrap();
    reader.read_exact(&mut heard[there..]).unwrap();
    let mut next = vec![0; length];
    reader.read_exact(&mut next).unwrap();
    for (number, text) in heard.chunks(length).enumerate() {
        assert_eq!(text, line(number, length));
    }
    assert_eq!(next, line(taken, length));
}

#[test]
fn a_full_pipe_refuses_lines_and_keeps_them_whole() {
    for length in [100, 5_000] {
        let (mut reader, writer) = io::pipe().unwrap();
        let output = PreparedOutput::open(writer.as_raw_fd(), true).unwrap();
        assert!(matches!(output.kind, WriteMethod::Own(_)));
        let taken = fill(&output, length);
        // Pages of a pipe that long lines leave half empty count as full.
        assert!(taken * length >= 32_000, "{taken}");
        expect_whole_lines(&output, &mut reader, taken, length);
        let flags = fs::fcntl_getfl(&writer).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK), "others use the description, too");
    }
}

#[test]
fn a_pipe_without_a_reader_is_broken() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let output = PreparedOutput::open(writer.as_raw_fd(), true).unwrap();
    assert_eq!(output.write(b"x\n").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn a_full_socket_refuses_lines() {
    let (mut reader, writer) = UnixStream::pair().unwrap();
    let output = PreparedOutput::open(writer.as_raw_fd(), true).unwrap();
    let taken = fill(&output, 1_000);
    expect_whole_lines(&output, &mut reader, taken, 1_000);
}

#[test]
fn a_stopped_terminal_refuses_lines() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let own = PreparedOutput::open(slave.as_raw_fd(), true).unwrap();
    assert!(matches!(own.kind, WriteMethod::Own(_)));
    assert!(fill(&own, 100) > 0);
    let kind = WriteMethod::Terminal;
    let asked = PreparedOutput { number: slave.as_raw_fd(), kind, rest: stdx::Mutex::default() };
    assert_eq!(fill(&asked, 100), 0, "it is full already");
    drop(asked);
}

#[test]
fn a_file_is_written_by_a_separate_thread() {
    let path = std::env::temp_dir().join(format!("weir-output-{}", std::process::id()));
    let file: OwnedFd = std::fs::File::create(&path).unwrap().into();
    let output = PreparedOutput::open(file.as_raw_fd(), true).unwrap();
    let WriteMethod::File(spool) = &output.kind else { panic!("{output:?}") };
    for number in 0..1_000 {
        output.write(&line(number, 10)).unwrap();
    }
    spool.await_written(Duration::from_secs(15));
    let mut text = Vec::new();
    std::fs::File::open(&path).unwrap().read_to_end(&mut text).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(text, (0..1_000).flat_map(|number| line(number, 10)).collect::<Vec<_>>());
}

#[test]
fn a_failed_file_write_is_reported_with_the_next_line() {
    let path = std::env::temp_dir().join(format!("weir-unwritten-{}", std::process::id()));
    std::fs::write(&path, "").unwrap();
    let file: OwnedFd = std::fs::File::open(&path).unwrap().into();
    let output = PreparedOutput::open(file.as_raw_fd(), true).unwrap();
    let WriteMethod::File(spool) = &output.kind else { panic!("{output:?}") };
    output.write(b"one\n").unwrap();
    spool.await_written(Duration::from_secs(15));
    assert!(output.write(b"two\n").is_err());
    std::fs::remove_file(&path).unwrap();
}
