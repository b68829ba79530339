//! Tests that datagrams arrive one by one, whole and in order, sent in trains or not.

use super::{DatagramQueue, MAX_BYTES};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

fn receiver(address: &str) -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind(address).expect("a free port");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

fn take(socket: &UdpSocket, count: usize) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 65_536];
    let mut one = |_| {
        let len = socket.recv(&mut buffer).expect("a datagram");
        buffer[..len].to_vec()
    };
    (0..count).map(&mut one).collect()
}

/// Lines of many lengths, some of them neighbours of equal length.
fn lines(count: usize) -> Vec<Vec<u8>> {
    let line = |i: usize| format!("{i:05} {}\n", "x".repeat([90, 90, 90, 91, 90, 7][i % 6]));
    (0..count).map(|i| line(i).into_bytes()).collect()
}

#[test]
fn lines_arrive_as_they_were_sent() {
    let (socket, to) = receiver("127.0.0.1:0");
    let (other, elsewhere) = receiver("127.0.0.1:0");
    for trains in [true, false] {
        let datagrams = DatagramQueue::new(true);
        datagrams.trains.set(trains);
        let sent = lines(100);
        for (i, line) in sent.iter().enumerate() {
            assert!(datagrams.push(to, line).is_ok());
            if i % 7 == 0 {
                assert!(datagrams.push(elsewhere, line).is_ok());
            }
        }
        datagrams.flush();
        assert_eq!(take(&socket, 100), sent);
        assert_eq!(take(&other, 15), sent.iter().step_by(7).cloned().collect::<Vec<_>>());
        assert_eq!(datagrams.lost.get(), 0);
    }
}

#[test]
fn queued_datagrams_are_bounded_and_sent_on_drop() {
    let (socket, to) = receiver("127.0.0.1:0");
    let datagrams = DatagramQueue::new(true);
    let line = vec![b'l'; MAX_BYTES / 3];
    for _ in 0..4 {
        assert!(datagrams.push(to, &line).is_ok());
    }
    assert_eq!(take(&socket, 3), vec![line.clone(); 3], "sent when the fourth came");
    assert_eq!(datagrams.waiting.borrow().list.len(), 1);
    drop(datagrams);
    assert_eq!(take(&socket, 1), vec![line]);
}

#[test]
fn a_lost_datagram_is_reported_later_and_affects_no_other() {
    let (socket, to) = receiver("127.0.0.1:0");
    let datagrams = DatagramQueue::new(true);
    // No datagram is that long.
    let endless = vec![0; MAX_BYTES + 20_000];
    let taken = [&b"one"[..], &endless, b"two", b"six"].map(|it| datagrams.push(to, it).is_ok());
    assert_eq!(taken, [true, true, false, true], "told when the next one made it go");
    datagrams.flush();
    assert_eq!(take(&socket, 3), [b"one", b"two", b"six"]);
}

#[test]
fn addresses_of_the_other_family() {
    let Ok(probe) = UdpSocket::bind("[::1]:0") else { return };
    drop(probe);
    let (socket, to) = receiver("[::1]:0");
    let datagrams = DatagramQueue::new(false);
    let sent = lines(12);
    sent.iter().for_each(|line| assert!(datagrams.push(to, line).is_ok()));
    datagrams.flush();
    assert_eq!(take(&socket, 12), sent);
}
