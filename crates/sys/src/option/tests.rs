//! Tests of options that show only in traffic. They pass without privileges.

use super::*;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

#[test]
fn vanishing_with_unread_data_sends_no_reset() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    // From the first answer on, the system delays acknowledgements.
    peer.write_all(b"?").unwrap();
    socket.read_exact(&mut [0]).unwrap();
    socket.write_all(b"!").unwrap();
    peer.read_exact(&mut [0]).unwrap();
    let sent = *b"more";
    peer.write_all(&sent).unwrap();
    let mut copy = vec![0; sent.len()];
    while socket.peek(&mut copy).unwrap() < sent.len() {
        std::thread::yield_now();
    }
    silent_drop_on_close(socket.as_raw_fd()).unwrap();
    if get(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_REPAIR).is_ok_and(|on| on == 1) {
        drop(socket);
        // Three times the first retransmission timeout of Linux.
        peer.set_read_timeout(Some(Duration::from_millis(600))).unwrap();
        let error = peer.read(&mut [0]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    }
}
