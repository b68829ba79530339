//! Services inside the process that answer in place of a server (`use-service`).

use settings::Mode;
use std::io::{Read, Write};
use std::net::TcpStream;
use testing::*;

/// The response of a world with an echo service to one request.
fn exchange(rules_: &[&str], request: Vec<u8>) -> (String, String) {
    let (mut proxy, address) = listen("px", Mode::Http, Vec::new());
    proxy.rules = rules(Mode::Http, rules_);
    let world = World::new(vec![proxy]);
    let answer = world.play(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut own = stream.try_clone().unwrap();
        let writer = std::thread::spawn(move || drop(own.write_all(&request)));
        let mut answer = Vec::new();
        // A reset ends the answer too.
        let _ = stream.read_to_end(&mut answer);
        writer.join().unwrap();
        String::from_utf8(answer).unwrap()
    });
    (answer, world.line("<PROMEX>"))
}

const SERVICE: &str = "http-request use-service prometheus-exporter";

fn post(fields: &str, body: usize) -> Vec<u8> {
    let head = format!("POST / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{fields}");
    let mut bytes = format!("{head}content-length: {body}\r\n\r\n").into_bytes();
    bytes.resize(bytes.len() + body, b'x');
    bytes
}

#[test]
fn a_service_reads_a_body_that_is_longer_than_any_buffer() {
    let (answer, line) = exchange(&[SERVICE], post("", 300_000));
    assert_eq!(answer.matches('x').count(), 300_000);
    assert!(answer.ends_with("\r\n0\r\n\r\n"), "the service has ended the response");
    assert!(line.contains(" px/<PROMEX> "), "{line}");
}

#[test]
fn responses_of_services_pass_the_rules_about_responses() {
    let rules = [SERVICE, "http-response set-header a 1", "http-after-response set-header b 2"];
    let (answer, _) = exchange(&rules, post("", 3));
    assert!(answer.contains("\r\na: 1\r\n") && answer.contains("\r\nb: 2\r\n"), "{answer}");
    let deny = [SERVICE, "http-response deny deny_status 429"];
    let (answer, _) = exchange(&deny, post("", 3));
    assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
}

#[test]
fn a_service_without_a_response_is_a_bad_gateway() {
    let (answer, line) = exchange(&[SERVICE], post("x-end: never\r\n", 0));
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(line.contains(" 502 "), "{line}");
}

#[test]
fn a_response_that_ends_early_is_truncated() {
    let (answer, _) = exchange(&[SERVICE], post("x-end: early\r\n", 10));
    assert!(answer.contains("\r\ncontent-length: 100\r\n"), "{answer}");
    assert_eq!(answer.matches('x').count(), 10, "{answer}");
}
