//! Tests of what logs learn of transactions. Never part of the product.

use crate::settings::Mode;
use crate::testing::*;
use std::io::Write;

#[test]
fn logasap_writes_one_line_when_the_head_is_known() {
    let origin = Origin::new(|mut stream, _| {
        read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        // The body never follows: a line without a fault cannot have waited for it.
    });
    let (mut proxy, address) = listen("fe", Mode::Http, vec![server(1, origin.address)]);
    proxy.front.as_mut().unwrap().log_asap = true;
    let world = World::new(vec![proxy]);
    let stream = world.play(move || {
        let mut stream = client(address);
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        read_head(&mut stream);
        stream
    });
    let line = world.line("fe/s1");
    assert!(line.contains("/+") && line.contains(" 200 +") && line.contains(" ---- "), "{line}");
    drop(stream);
    world.until("the client has left", || world.shared.connections.current() == 0);
    assert_eq!(world.lines().len(), 1, "{:?}", world.lines());
}
