//! Tests of receive windows of client connections with read and unread streams.

use super::{Pair, read_all};
use crate::BodyKind;
use crate::Ready;
use crate::h2::{H2ConnSettings, Key, settings};
use std::io::IoSlice;

/// Settings of a listener: stream windows of 64 KiB, and an initial connection window of the same
/// size.
fn listener() -> H2ConnSettings {
    let window = settings::window_of(100, 65_536);
    let mut listener = H2ConnSettings { window, first_window: 65_535, ..H2ConnSettings::default() };
    listener.announced.initial_window_size = 65_536;
    listener
}

fn pair() -> Pair {
    Pair::new(H2ConnSettings::default(), listener())
}

/// Begins uploads; returns the client's keys and the server's.
fn uploads(pair: &mut Pair, count: usize) -> Vec<(Key, Key)> {
    let begin = |_| pair.request(b"POST", BodyKind::Chunked);
    (0..count).map(begin).map(|(up, down, _)| (up, down)).collect()
}

/// Sends as much as the windows allow, a frame per stream in turn.
fn send_all(pair: &mut Pair, uploads: &[(Key, Key)], most: usize) -> usize {
    let (piece, mut sent) = ([b'x'; 16_384], 0);
    loop {
        let before = sent;
        for (up, _) in uploads {
            if sent < most {
                sent += pair.client.send(*up, &[IoSlice::new(&piece)]).unwrap_or(0);
                pair.talk();
            }
        }
        if sent == before || sent >= most {
            return sent;
        }
    }
}

/// A queued request waits only for a reset by its client.
fn wait_in_queue(pair: &mut Pair, uploads: &[(Key, Key)]) {
    for (_, down) in uploads {
        assert!(!pair.server.want(*down, Ready::RESET, 1));
    }
    pair.talk();
}

/// Reads a stream until nothing is left, then waits for more.
fn read(pair: &mut Pair, down: Key) -> usize {
    let count = read_all(&mut pair.server, down).len();
    pair.server.want(down, Ready::READ, 2);
    pair.talk();
    count
}

#[test]
fn queued_uploads_hold_the_first_window() {
    let mut pair = pair();
    let uploads = uploads(&mut pair, 100);
    wait_in_queue(&mut pair, &uploads);
    assert_eq!(send_all(&mut pair, &uploads, usize::MAX), 65_535);
}

#[test]
fn upload_that_is_read_passes_queued_ones() {
    let mut pair = pair();
    let uploads = uploads(&mut pair, 100);
    let (served, queued) = uploads.split_first().unwrap();
    wait_in_queue(&mut pair, queued);
    read(&mut pair, served.1);
    let (mut passed, mut sent) = (0, 0);
    for _ in 0..100 {
        sent += send_all(&mut pair, &uploads, usize::MAX);
        passed += read(&mut pair, served.1);
    }
    assert!(passed >= 4 << 20, "{passed} bytes beside queued uploads");
    assert!(sent - passed <= 200_000, "{} bytes are held", sent - passed);
    // Streams leave the queue one by one, and then get window.
    for (up, down) in queued {
        let mut passed = read(&mut pair, *down);
        for _ in 0..4 {
            send_all(&mut pair, &[(*up, *down)], 65_536);
            passed += read(&mut pair, *down);
        }
        assert!(passed >= 1 << 17, "{passed} bytes out of the queue");
    }
}

/// Payload arrives when all streams wait already, some for payload and some in a queue.
#[test]
fn queued_uploads_that_come_later_do_not_block_a_reader() {
    let mut pair = pair();
    let uploads = uploads(&mut pair, 10);
    wait_in_queue(&mut pair, &uploads[1..]);
    read(&mut pair, uploads[0].1);
    assert!(send_all(&mut pair, &uploads[1..], usize::MAX) <= 65_535);
    assert!(send_all(&mut pair, &uploads[..1], 16_384) >= 16_384);
}

#[test]
fn streams_have_their_window_back_when_nothing_is_held() {
    let mut pair = pair();
    let first = uploads(&mut pair, 10);
    wait_in_queue(&mut pair, &first[1..]);
    read(&mut pair, first[0].1);
    send_all(&mut pair, &first, usize::MAX);
    read(&mut pair, first[0].1);
    assert_eq!(pair.server.stream_window, 0, "window is left to the stream that is read");
    for (up, down) in first {
        read(&mut pair, down);
        pair.server.release(down);
        pair.client.release(up);
        pair.talk();
    }
    assert_eq!((pair.server.stream_window, pair.server.unacknowledged), (65_536, 0));
    // Later streams send before the test reads from them, as the first ones did.
    let later = uploads(&mut pair, 1);
    assert!(send_all(&mut pair, &later, usize::MAX) >= 65_535);
}

/// Streams of a client that does not acknowledge SETTINGS share the first window.
#[test]
fn client_that_acknowledges_nothing_gets_no_more_window() {
    let mut pair = pair();
    let uploads = uploads(&mut pair, 100);
    wait_in_queue(&mut pair, &uploads[1..]);
    read(&mut pair, uploads[0].1);
    let (mut sent, mut passed) = (0, 0);
    for _ in 0..20 {
        let piece = [b'x'; 16_384];
        for (up, _) in &uploads {
            sent += pair.client.send(*up, &[IoSlice::new(&piece)]).unwrap_or(0);
            let bytes = pair.client.output().to_vec();
            let taken = pair.server.handle_input(&bytes, 0).unwrap();
            pair.client.advance_output(taken);
        }
        passed += read_all(&mut pair.server, uploads[0].1).len();
        pair.server.want(uploads[0].1, Ready::READ, 2);
        // Window updates arrive, SETTINGS do not.
        let updates: Vec<u8> = super::drain(&mut pair.server)
            .into_iter()
            .filter(|(header, _)| header.kind == wire::h2::FrameType::WindowUpdate)
            .flat_map(|(header, payload)| [&header.bytes()[..], &payload].concat())
            .collect();
        pair.client.handle_input(&updates, 0).unwrap();
    }
    assert!(sent - passed <= 140_000, "{} bytes are held", sent - passed);
}

#[test]
fn uploads_that_are_read_get_all_of_the_window() {
    let mut pair = pair();
    let uploads = uploads(&mut pair, 100);
    for _ in 0..10 {
        send_all(&mut pair, &uploads, 8 << 20);
        for (_, down) in &uploads {
            read(&mut pair, *down);
        }
    }
    assert_eq!(pair.server.stream_window, 65_536, "no stream was squeezed");
    let sent = send_all(&mut pair, &uploads, usize::MAX);
    assert!(sent > 6_000_000, "{sent} bytes at once");
}

/// New streams of clients are refused, those to servers are not.
#[test]
fn streams_of_clients_are_refused_while_memory_is_short() {
    let mut pair = pair();
    let spares = crate::h2::FreeList::default();
    pair.server = crate::h2::H2Conn::new(crate::Side::Client, listener()).with_free_list(&spares);
    pair.client = crate::h2::H2Conn::new(crate::Side::Server, H2ConnSettings::default())
        .with_free_list(&spares);
    pair.talk();
    spares.set_short(true);
    let key = pair.client.open().expect("servers take it");
    let mut head = htx::Head::default();
    head.set_request(b"GET", b"/", htx::Version::Http11);
    pair.client.encode_head(key, &mut head, BodyKind::None, b"http");
    pair.talk();
    assert!(pair.client.is_refused(key) && pair.server.poll_opened().is_none());
    let counters = pair.server.take_counters();
    assert_eq!((counters.memory_refused, counters.glitches), (1, 0), "no fault of the client");
    spares.set_short(false);
    pair.client.release(key);
    pair.client = crate::h2::H2Conn::new(crate::Side::Server, H2ConnSettings::default());
    pair.server = crate::h2::H2Conn::new(crate::Side::Client, listener()).with_free_list(&spares);
    pair.talk();
    pair.request(b"GET", BodyKind::None);
}

/// Padding is dropped at once, but returns no window to a stream that is not read.
#[test]
fn padding_opens_no_window_of_squeezed_streams() {
    let mut pair = pair();
    let uploads = uploads(&mut pair, 20);
    wait_in_queue(&mut pair, &uploads[1..]);
    read(&mut pair, uploads[0].1);
    send_all(&mut pair, &uploads, usize::MAX);
    read(&mut pair, uploads[0].1);
    let id = pair.server.id(uploads[19].1);
    let before = pair.server.output().len();
    let padded = super::frame(wire::h2::FrameType::Data, 8, id, &[9; 10]);
    // The stream has no window, so the frame exceeds it.
    let _ = pair.server.handle_input(&padded, 0);
    let said = super::drain(&mut pair.server);
    let updates = said.iter().filter(|(it, _)| it.kind == wire::h2::FrameType::WindowUpdate);
    assert!(updates.clone().all(|(it, _)| it.stream != id), "{before}: {said:?}");
}
