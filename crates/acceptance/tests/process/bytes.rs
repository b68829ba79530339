//! Bytes of a configuration that are not UTF-8 (configuration manual, section 2.2) pass through
//! unchanged.

use crate::support::{Origin, Running, Setup, serve_forever};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

const TEXT: &str = r#"
defaults
    mode http
    timeout connect 5s
    timeout client 20s
    timeout server 20s
frontend web
    bind <web>
    option accept-invalid-http-request
    monitor-uri "/up\xe9"
    http-request redirect location /c set-cookie "n=\xe9" if { path /set }
    http-request redirect location /c clear-cookie "n\xe9=" if { path /clear }
    http-request redirect prefix "/p\xff" if { path /prefix }
    http-request return status 200 content-type "t/\xe9" string x if { path /type }
    errorloc 404 "/e\xe9\xc2\x85"
    errorloc303 403 "/e\xff"
    http-request deny deny_status 404 if { path /404 }
    http-request deny if { path /403 }
    use_backend direct if { path /direct }
    default_backend kept
backend kept
    cookie "N\xe9" insert attr "A=\xfe"
    server s <origin> cookie "c\xe9\xff"
backend direct
    server s <origin> redir "http://h/\xe9"
"#;

/// The answer to a request for this path, to the byte.
fn ask(weir: &Running, path: &[u8], more: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(weir.address("web")).expect("it listens");
    let head: [&[u8]; 5] =
        [b"GET ", path, b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", more, b"\r\n"];
    stream.write_all(&head.concat()).expect("it is read");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    answer
}

/// The value of a field of an answer.
fn field<'a>(answer: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut lines = answer.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    lines.find_map(|line| line.strip_prefix(format!("{name}: ").as_bytes()))
}

#[test]
fn bytes_that_are_no_text_are_sent_as_they_are() {
    let origin = Origin::saying("x");
    let weir = Setup::new(TEXT).with("origin", origin.address()).start();
    let cases: [(&[u8], &str, &[u8]); 9] = [
        (b"/set", "set-cookie", b"n=\xe9; path=/;"),
        (b"/clear", "set-cookie", b"n\xe9=; path=/; Max-Age=0;"),
        (b"/prefix", "location", b"/p\xff/prefix"),
        (b"/type", "content-type", b"t/\xe9"),
        (b"/404", "location", b"/e\xe9\xc2\x85"),
        (b"/403", "location", b"/e\xff"),
        (b"/direct", "location", b"http://h/\xe9/direct"),
        (b"/", "set-cookie", b"N\xe9=c\xe9\xff; path=/; A=\xfe"),
        (b"/up\xe9", "content-type", b"text/html"),
    ];
    for (path, name, value) in cases {
        let answer = ask(&weir, path, b"");
        let told = String::from_utf8_lossy(path);
        let found = field(&answer, name).map(<[u8]>::escape_ascii).map(|it| it.to_string());
        assert_eq!(found, Some(value.escape_ascii().to_string()), "{told}");
    }
    assert!(ask(&weir, b"/up\xe9", b"").ends_with(b"Service ready.\n</body></html>\n"));
}

#[test]
fn a_cookie_with_bytes_that_are_no_text_is_recognized() {
    let origin = Origin::new(|peer| {
        serve_forever(peer, |_| b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec())
    });
    let weir = Setup::new(TEXT).with("origin", origin.address()).start();
    let sets = |cookie: &[u8]| field(&ask(&weir, b"/", cookie), "set-cookie").is_some();
    assert!(sets(b"Cookie: N\xe9=c\xe9\r\n"), "that of no server");
    assert!(!sets(b"Cookie: N\xe9=c\xe9\xff\r\n"), "the server's");
}
