//! Clients that continue sending after the proxy has closed its side.

use settings::Mode;
use std::io::{ErrorKind, Write};
use testing::World;

/// The preface, SETTINGS, and a CONTINUATION frame without a HEADERS frame.
const BROKEN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\0\x09\0\0\0\0\x01";

/// Bytes that the proxy may read, far more than sockets hold.
const MOST: usize = 32 << 20;

#[test]
fn a_client_that_goes_on_sending_is_cut_off() {
    let (proxy, address) = testing::listen("px", Mode::Http, Vec::new());
    let world = World::new(vec![proxy]);
    let mut peer = testing::client(address);
    peer.write_all(BROKEN).unwrap();
    peer.set_nonblocking(true).unwrap();
    let (waste, mut sent) = (vec![0; 1 << 20], 0);
    world.until("it is cut off", || {
        loop {
            match peer.write(&waste) {
                Ok(count) => sent += count,
                Err(error) => break error.kind() != ErrorKind::WouldBlock,
            }
            assert!(sent < MOST, "it takes what nobody wants");
        }
    });
}
