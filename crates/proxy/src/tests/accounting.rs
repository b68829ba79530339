//! Tests of the facts of transactions in log lines.

use settings::Mode;
use std::io::Write;
use testing::*;

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

/// The heads that a client gets with these rules.
fn head_with(lines: &[&str]) -> String {
    let origin = Origin::new(|mut stream, _| {
        read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    let (mut proxy, address) = listen("fe", Mode::Http, vec![server(1, origin.address)]);
    proxy.rules = rules(Mode::Http, lines);
    let world = World::new(vec![proxy]);
    world.play(move || {
        let mut stream = client(address);
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        String::from_utf8(read_head(&mut stream)).unwrap()
    })
}

#[test]
fn rules_about_responses_see_their_status_and_a_transaction_that_lasts() {
    let head = head_with(&[
        "http-request set-header none %ST",
        "http-response set-header a %ST/%tsc/%bc",
        "http-after-response set-header b %ST/%tsc/%bc",
    ]);
    assert!(head.contains("a: 200/----/1\r\n"), "{head}");
    assert!(head.contains("b: 200/----/1\r\n"), "{head}");
    let denied = ["http-request deny", "http-after-response set-header b %ST/%tsc"];
    let head = head_with(&denied);
    assert!(head.contains("b: 403/----\r\n"), "{head}");
}

#[test]
fn logasap_writes_one_line_when_a_tcp_session_reaches_its_server() {
    let origin = Origin::silent();
    let (mut proxy, address) = listen("fe", Mode::Tcp, vec![server(1, origin.address)]);
    proxy.front.as_mut().unwrap().log_asap = true;
    proxy.log_format = Some(log_format("%ft %b/%s %Tw/%Tc/%Tt %B %ts", Mode::Tcp));
    let world = World::new(vec![proxy]);
    let stream = world.play(move || {
        let mut stream = client(address);
        stream.write_all(b"x").unwrap();
        stream
    });
    let line = world.line("fe/s1");
    assert!(line.contains("/+") && line.ends_with(" +0 --"), "{line}");
    drop(stream);
    world.until("the client has left", || world.shared.connections.current() == 0);
    assert_eq!(world.lines().len(), 1, "{:?}", world.lines());
}
