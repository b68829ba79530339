//! Tests of local answers over real sockets: which error file, section or `http-error` is sent.

use engine::state::services::{BATCH, batch};
use rules::{ErrorFile, Reply};
use settings::{ErrorReply, Mode};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Arc;
use testing::World;

fn file(text: &str) -> ErrorReply {
    let parsed = Arc::new(ErrorFile::parse(text.as_bytes()).unwrap());
    ErrorReply::File { raw: text.as_bytes().into(), parsed }
}

#[test]
fn a_monitored_path_is_found_in_absolute_uris() {
    let (mut proxy, address) = testing::listen("px", Mode::Http, Vec::new());
    proxy.front.as_mut().unwrap().monitor_uri = Some("/health".into());
    let world = World::new(vec![proxy]);
    for (uri, status) in
        [("/health", "200"), ("http://a/health", "200"), ("/hEalth", "503"), ("/health?", "503")]
    {
        let request = format!("GET {uri} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        let heard = world.play(move || {
            let mut stream = testing::client(address);
            stream.write_all(request.as_bytes()).unwrap();
            let mut heard = String::new();
            stream.read_to_string(&mut heard).unwrap();
            heard
        });
        assert_eq!(heard.split(' ').nth(1), Some(status), "{uri}");
    }
}

/// The responses of a proxy with these rules and replies to a request for each path.
fn answers(lines: &[&str], paths: &[&str], replies: BTreeMap<u16, ErrorReply>) -> Vec<String> {
    let (mut proxy, address) = testing::listen("px", Mode::Http, Vec::new());
    proxy.rules = testing::rules(Mode::Http, lines);
    (proxy.error_replies, proxy.back) = (replies, None);
    let section = BTreeMap::from([(404, file("HTTP/1.1 404 Gone\r\nx: section\r\n\r\n"))]);
    let mut process = testing::process(1);
    process.http_errors.insert("e".into(), section);
    let world = World::with(process, vec![proxy]);
    let ask = |path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        world.play(move || {
            let mut stream = testing::client(address);
            stream.write_all(request.as_bytes()).unwrap();
            let mut heard = String::new();
            stream.read_to_string(&mut heard).unwrap();
            heard
        })
    };
    paths.iter().map(|path| ask(path)).collect()
}

#[test]
fn a_rule_may_name_a_section_or_the_proxys_own() {
    let lines = [
        "http-request deny deny_status 404 errorfiles e if { path /section }",
        "http-request deny deny_status 403 errorfiles e if { path /lacking }",
        "http-request return status 404 default-errorfiles if { path /own }",
        "http-request return status 503 default-errorfiles if { path /away }",
        "http-request deny deny_status 500 if { path /built-in }",
    ];
    let replies = BTreeMap::from([
        (404, file("HTTP/1.1 404 Gone\r\nx: own\r\n\r\n")),
        (503, ErrorReply::location(302, b"/elsewhere").unwrap()),
    ]);
    let paths = ["/section", "/lacking", "/own", "/away", "/built-in"];
    let heard = answers(&lines, &paths, replies);
    let begins = |at: usize, with: &str| assert!(heard[at].starts_with(with), "{}", heard[at]);
    begins(0, "HTTP/1.1 404 Gone\r\nx: section\r\n");
    begins(1, "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n");
    begins(2, "HTTP/1.1 404 Gone\r\nx: own\r\n");
    begins(3, "HTTP/1.1 302 Found\r\ncache-control: no-cache\r\n");
    assert!(heard[3].contains("\r\nlocation: /elsewhere\r\n"), "{}", heard[3]);
    begins(4, "HTTP/1.1 500 ");
}

#[test]
fn http_error_is_evaluated_for_each_error() {
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let mut cx = sample::Parser::new(&shared, &acls, &captures);
    let mut reply = |words: &str| {
        let words: Vec<_> = words.split(' ').collect();
        ErrorReply::Reply(Arc::new(Reply::parse_error(&words, &mut cx).unwrap()))
    };
    let replies = BTreeMap::from([
        (503, reply("status 503 content-type text/plain hdr x-path %[path] lf-string no:%[path]")),
        (403, reply("status 403")),
        (400, reply("status 400 content-type a/b string bad")),
    ]);
    let heard = answers(&["http-request deny if { path /b }"], &["/a", "/b", "/ bad"], replies);
    assert!(heard[0].starts_with("HTTP/1.1 503 "), "{}", heard[0]);
    assert!(heard[0].contains("\r\nx-path: /a\r\n") && heard[0].ends_with("\r\n\r\nno:/a"));
    assert!(heard[1].contains("\r\ncontent-length: 0\r\n"), "{}", heard[1]);
    assert!(heard[2].ends_with("\r\n\r\nbad"), "{}", heard[2]);
}

/// The number of pieces until the batch ends, where `says` gives the size of a piece by its number.
fn made(says: impl Fn(usize) -> usize) -> (usize, bool) {
    let mut count = 0;
    let more = batch(&mut String::new(), &mut |text| {
        count += 1;
        text.extend(std::iter::repeat_n('x', says(count)));
        count < 100
    });
    (count, more)
}

#[test]
fn pieces_are_sent_together_up_to_a_size_or_an_empty_piece() {
    assert_eq!(made(|_| BATCH / 4), (4, true));
    assert_eq!(made(|_| 1), (100, false));
    assert_eq!(made(|_| 0), (1, true));
    assert_eq!(made(|number| usize::from(number == 1)), (2, true));
}
