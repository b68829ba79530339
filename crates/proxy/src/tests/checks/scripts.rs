//! Tests of scripted checks over real sockets, against scripted servers: statuses, codes and texts, as
//! HAProxy 2.6 logs them.

use super::{checked, farm, patient_farm};
use balance::CheckStatus;
use rules::check::{Ready, Script, Step, parse_http_check, parse_tcp_check};
use settings::Check;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use testing::{Origin, World};

/// A server's steps on a connection.
#[derive(Clone, Copy)]
enum Say {
    /// Sends these bytes.
    Send(&'static [u8]),
    /// Reads this many bytes.
    Hear(usize),
    /// Reads until the peer has closed.
    Hold,
}
use Say::{Hear, Hold, Send};

/// A server that runs these steps, and the bytes that it received on each connection.
fn server(play: &'static [Say]) -> (Origin, Arc<Mutex<Vec<Vec<u8>>>>) {
    let heard = Arc::<Mutex<Vec<Vec<u8>>>>::default();
    let record = heard.clone();
    let origin = Origin::new(move |mut stream, _| {
        let mut all = Vec::new();
        for say in play {
            act(*say, &mut stream, &mut all);
        }
        record.lock().unwrap().push(all);
    });
    (origin, heard)
}

fn act(say: Say, stream: &mut TcpStream, heard: &mut Vec<u8>) {
    match say {
        Send(bytes) => drop(stream.write_all(bytes)),
        Hear(count) => {
            let mut bytes = vec![0; count];
            if stream.read_exact(&mut bytes).is_ok() {
                heard.extend(bytes);
            }
        }
        Hold => drop(stream.read_to_end(heard)),
    }
}

fn with_parser<T>(f: impl FnOnce(&sample::Parser<'_>) -> T) -> T {
    let files = |_: &std::path::Path| Err(ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    f(&sample::Parser::new(&shared, &acls, &captures))
}

/// The steps of lines whose words hold `~` for a space.
fn steps(http: bool, lines: &str) -> Vec<Arc<Step>> {
    with_parser(|cx| {
        let mut steps = Vec::new();
        for line in lines.split("; ").filter(|line| !line.is_empty()) {
            let words: Vec<_> = line.split(' ').map(|word| word.replace('~', " ")).collect();
            let words: Vec<_> = words.iter().map(|word| &**word).collect();
            let parse = if http { parse_http_check } else { parse_tcp_check };
            steps.push(Arc::new(parse(&words, &steps, cx).unwrap()));
        }
        steps
    })
}

fn tcp(lines: &str) -> Script {
    Script { steps: steps(false, lines), ..Script::default() }
}

fn ready(protocol: Ready<'_>) -> Script {
    with_parser(|cx| protocol.script(cx)).unwrap()
}

/// Status, code and text of the first check.
fn outcome(script: Script, address: std::net::SocketAddr, inter: u32) -> String {
    let check = Check::Script(Arc::new(script));
    let world = World::new(vec![farm(check, vec![checked(1, address, inter)])]);
    let last = || world.backend("be").servers[0].state.check_record().last;
    world.until("a check ends", || last().status != CheckStatus::Initializing);
    assert_eq!(world.workers[0].buffers.in_use(), 0);
    let last = last();
    let code = last.code.map_or(String::new(), |code| format!(" {code}"));
    format!("{}{code} {}", last.status.code(), last.info)
}

fn told(script: Script, play: &'static [Say]) -> String {
    let patience = if matches!(play.last(), Some(Hold)) { 400 } else { 20_000 };
    outcome(script, server(play).0.address, patience)
}

#[test]
fn tcp_checks_end_as_scripted() {
    const VALID: &[Say] = &[Send(b"valid")];
    let cases: &[(&str, &'static [Say], &str)] = &[
        ("", &[Hear(1)], "L4OK "),
        ("connect", &[Hear(1)], "L4OK (tcp-check)"),
        ("send PING", &[Hear(4)], "L7OK 0 (tcp-check)"),
        ("expect string va", VALID, "L7OK 0 (tcp-check)"),
        ("expect ok-status L6OK string va", VALID, "L6OK (tcp-check)"),
        ("expect on-success so~%[res.payload(0,2)] string va", VALID, "L7OK 0 so va"),
        ("expect on-success x string va; expect string l", VALID, "L7OK 0 (tcp-check)"),
        ("expect status-code int(7) string va", VALID, "L7OK 7 (tcp-check)"),
        ("expect string x", VALID, "L7RSP TCPCHK did not match content 'x' at step 1"),
        (
            "comment why; expect string x",
            VALID,
            "L7RSP TCPCHK did not match content 'x' at step 2 comment: why",
        ),
        (
            "expect string x comment c",
            &[],
            "L7RSP TCPCHK got an empty response at step 1 comment: 'c'",
        ),
        ("expect error-status L7STS on-error bad string x", VALID, "L7STS 0 bad"),
        (
            "connect; expect string x comment c",
            &[Send(b"y"), Hold],
            "L7TOUT  at step 2 of tcp-check (expect string 'x') comment: 'c'",
        ),
        (
            "expect tout-status L6TOUT rstring x",
            &[Hold],
            "L6TOUT  at step 1 of tcp-check (expect regex)",
        ),
        // Each `expect` looks at the same bytes, until something is sent.
        ("expect string valid; expect string va", VALID, "L7OK 0 (tcp-check)"),
        (
            "expect string v; send x; expect string v",
            &[Send(b"v"), Hold],
            "L7TOUT  at step 3 of tcp-check (expect string 'v')",
        ),
        (
            "expect string v; set-var(check.a) res.payload(0,1); send-lf %[var(check.a)]; expect string w",
            &[Send(b"v"), Hear(1), Send(b"w")],
            "L7OK 0 (tcp-check)",
        ),
        (
            "send-binary-lf 4%[str(x)]",
            &[Hold],
            "L7RSP tcp-check send : failed to build log-format string at step 1",
        ),
    ];
    for (lines, play, result) in cases {
        assert_eq!(told(tcp(lines), play), *result, "{lines}");
    }
}

#[test]
fn steps_that_cannot_connect_report_their_place() {
    let nobody = testing::nobody();
    let refused = |lines: &str| outcome(tcp(lines), nobody, 20_000);
    let at = |place: &str| format!("L4CON Connection refused at {place}");
    assert_eq!(refused(""), at("initial connection step of tcp-check"));
    assert_eq!(refused("expect string x"), at("initial connection step of tcp-check"));
    assert_eq!(refused("connect comment c"), at("step 1 of tcp-check (connect) comment: 'c'"));
    let (open, _) = server(&[Hold]);
    let lines = format!("connect port {}; connect port {}", open.address.port(), nobody.port());
    let place = format!("step 2 of tcp-check (connect port {})", nobody.port());
    assert_eq!(refused(&lines), at(&place));
    assert_eq!(outcome(ready(Ready::Redis), nobody, 20_000), "L4CON Connection refused");
}

#[test]
fn bytes_that_a_script_sends_arrive() {
    let (origin, heard) = server(&[Send(b"x"), Hold]);
    let port = origin.address.port();
    let lines = format!(
        "set-var(check.p) int({port}); connect port var(check.p) send-proxy linger; send a; \
         send-binary 62; send-lf %[be_name]/%[srv_name]"
    );
    assert_eq!(outcome(tcp(&lines), testing::nobody(), 20_000), "L7OK 0 (tcp-check)");
    while heard.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    let text = String::from_utf8(heard.lock().unwrap()[0].clone()).unwrap();
    let (proxy, rest) = text.split_once("\r\n").unwrap();
    assert!(proxy.starts_with("PROXY TCP4 127.0.0.1 127.0.0.1 "), "{proxy}");
    assert!(proxy.ends_with(&format!(" {port}")), "{proxy}");
    assert_eq!(rest, "abbe/s1");
}

#[test]
fn http_checks_end_as_scripted() {
    const PLAIN: &[u8] = b"HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 5\r\n\r\nhello";
    const CHUNKED: &[u8] =
        b"HTTP/1.1 100 x\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    const TRAILERS: &[u8] =
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\ntr: ab\r\n\r\n";
    const CUT: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello";
    let cases: &[(&str, &'static [u8], &str)] = &[
        ("expect string hello", PLAIN, "L7OK 200 "),
        ("expect rstring ^hello$", CHUNKED, "L7OK 200 "),
        ("expect string hellx", CHUNKED, "L7RSP HTTP content check did not match"),
        ("expect string hello", CUT, "L7OK 200 "),
        ("expect string hello", b"HTTP/1.0 500 x\r\n\r\nhello", "L7OK 500 "),
        ("expect status 200; expect string hello; expect hdr name x-a", PLAIN, "L7OK 200 "),
        ("expect comment c status 201", PLAIN, "L7STS 200 OK comment: c"),
        ("expect on-error %[res.hdr(x-a)] status 201", PLAIN, "L7STS 200 b"),
        ("expect status-code int(9) status 200", PLAIN, "L7OK 9 "),
        // As in HAProxy 2.6, the length is that of the message's parts, and there are no raw bytes.
        ("expect on-success %[res.len]:%[res.payload(0,0)] status 200", PLAIN, "L7OK 200 58:"),
        ("expect on-success %[res.len] string lo", CHUNKED, "L7OK 200 64"),
        ("expect on-success %[res.len] string lo", TRAILERS, "L7OK 200 68"),
        ("expect string x", b"garbage\r\n\r\n", "L7RSP "),
        ("expect string x", b"HTTP/1.0 404 Not Found\r\n\r\nx", "L7OK 404 "),
    ];
    for (lines, answer, result) in cases {
        let origin = Origin::answering(*answer);
        let script = Script::http(steps(true, lines));
        assert_eq!(outcome(script, origin.address, 20_000), *result, "{lines}");
    }
    assert_eq!(told(Script::http(steps(true, "expect string x")), &[Hold]), "L7TOUT ");
}

#[test]
fn a_404_may_ask_for_no_new_sessions() {
    let origin = Origin::answering(b"HTTP/1.1 404 Not Found\r\n\r\n");
    for disable_on_404 in [true, false] {
        let script = Script { disable_on_404, ..Script::http(Vec::new()) };
        let expected = if disable_on_404 { "L7OKC 404 " } else { "L7STS 404 Not Found" };
        assert_eq!(outcome(script, origin.address, 20_000), expected);
    }
}

#[test]
fn http_exchanges_follow_each_other() {
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let record = heads.clone();
    let origin = Origin::new(move |mut stream, number| {
        let head = testing::read_head(&mut stream);
        record.lock().unwrap().push(String::from_utf8(head).unwrap());
        let _ = write!(stream, "HTTP/1.0 200 OK\r\nx-n: {number}\r\ncontent-length: 0\r\n\r\n");
    });
    let lines = "connect; send uri /one; expect hdr name x-n; set-var(check.n) res.hdr(x-n); \
                 connect; send uri-lf /two-%[var(check.n)]";
    let script = Script { send_state: true, ..Script::http(steps(true, lines)) };
    assert_eq!(outcome(script, origin.address, 20_000), "L7OK 200 ");
    let heads = heads.lock().unwrap();
    let state = format!(
        "x-haproxy-server-state: UP 1/3; address=127.0.0.1; port={}; name=be/s1; node=host; \
         weight=1/1; scur=0/0; qcur=0\r\n\r\n",
        origin.address.port()
    );
    assert_eq!(heads[0], format!("OPTIONS /one HTTP/1.0\r\n{state}"));
    assert_eq!(heads[1], format!("OPTIONS /two-0 HTTP/1.0\r\n{state}"));
}

const MYSQL: &[u8] = b"\x08\0\0\0\x0a8.0.19\0";

#[test]
fn well_known_protocols_are_checked() {
    let mysql = || ready(Ready::Mysql(Some(("user", false))));
    let old = || ready(Ready::Mysql(Some(("user", true))));
    let redis = || ready(Ready::Redis);
    let smtp = || ready(Ready::Smtp("HELO localhost"));
    let pgsql = || ready(Ready::Pgsql("postgres"));
    let ldap = || ready(Ready::Ldap);
    let spop = || ready(Ready::Spop);
    let ssl = || ready(Ready::SslHello);
    let rfc = "L7STS 1 See RFC: http://tools.ietf.org/html/rfc4511#section-4.1.9";
    let cases: Vec<(Script, &'static [Say], &str)> = vec![
        (redis(), &[Hear(14), Send(b"+PONG\r\n")], "L7OK 0 Redis server is ok"),
        (redis(), &[Hear(14), Send(b"-Error message\r\n")], "L7STS 0 -Error message"),
        (
            smtp(),
            &[Send(b"220 hi\r\n"), Hear(16), Send(b"250 x\r\n"), Hear(6), Send(b"221 bye\r\n")],
            "L7OK 221 bye",
        ),
        (
            smtp(),
            &[
                Send(b"220 hi\r\n"),
                Hear(16),
                Send(b"250-x\r\n250-y\r\n250 z\r\n"),
                Hear(6),
                Send(b"221 bye\r\n"),
            ],
            "L7OK 221 bye",
        ),
        (smtp(), &[Send(b"421 Try again later\r\n")], "L7STS 421 Try again later"),
        (smtp(), &[Send(b"I'm not a SMTP server\r\n")], "L7RSP I'm not a SMTP server"),
        (smtp(), &[Send(b"220 hi\r\n"), Hear(16), Send(b"512 no\r\n")], "L7STS 512 no"),
        (ready(Ready::Mysql(None)), &[Send(MYSQL)], "L7OK 0 8.0.19"),
        (mysql(), &[Send(MYSQL), Hear(47), Send(b"\x01\0\0\x02\0")], "L7OK 0 8.0.19"),
        (old(), &[Send(MYSQL), Hear(20), Send(b"\x01\0\0\x02\0")], "L7OK 0 8.0.19"),
        (mysql(), &[Send(MYSQL), Hear(47), Send(b"\x05\0\0\x02\xff\xe3\x04no")], "L7STS 1251 no"),
        (pgsql(), &[Hear(23), Send(b"R\0\0\0\x08\0\0\0\0")], "L7OK 0 PostgreSQL server is ok"),
        (pgsql(), &[Hear(23), Send(b"E\0\0\0\x0bSFATAL\0")], "L7RSP FATAL"),
        (pgsql(), &[Hear(23), Send(b"Not a response")], "L7STS 0 PostgreSQL unknown error"),
        (
            ldap(),
            &[Hear(14), Send(b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0")],
            "L7OK 0 Success",
        ),
        (ldap(), &[Hear(14), Send(b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x01\x04\0\x04\0")], rfc),
        (
            spop(),
            &[Hear(82), Send(b"\0\0\0\x14\x65\0\0\0\x01\0\0\x07version\x08\x032.0")],
            "L7OK 0 SPOA server is ok",
        ),
        (spop(), &[Hear(82), Send(b"\0\0\0\0")], "L7RSP invalid frame received"),
        (ssl(), &[Hear(126), Send(b"\x16\x03\0\0\x02\x02\0")], "L6OK "),
        (ssl(), &[Hear(126), Send(b"HTTP/1.0 400 Bad\r\n\r\n")], "L6RSP "),
        (ssl(), &[Hear(126)], "L6RSP TCPCHK got an empty response at step 2"),
    ];
    for (script, play, result) in cases {
        assert_eq!(told(script, play), result);
    }
}

#[test]
fn scripted_checks_repeat_and_leave_nothing_behind() {
    let (origin, heard) = server(&[Hear(4), Send(b"PONG"), Hold]);
    let script = tcp("send PING; expect string PONG");
    let check = Check::Script(Arc::new(script));
    let world = World::new(vec![patient_farm(check, vec![checked(1, origin.address, 5)])]);
    world.until("it is checked again and again", || heard.lock().unwrap().len() > 3);
    assert!(world.backend("be").servers[0].state.check_record().health.is_up());
}
