//! Tests of check scripts: meanings of lines, and verdicts on answers.

use super::*;
use crate::check::protocol::{Finding, Protocol};
use htx::{Head, Version};
use proptest::prelude::*;
use sample::{AclTable, Captures, Parser, Shared, Side};
use std::cell::RefCell;
use std::io;

/// The input of a check, and its variables.
#[derive(Default)]
struct World {
    bytes: Vec<u8>,
    head: Option<Head>,
    variables: RefCell<sample::Variables>,
}

impl Facts for World {
    fn response(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    fn payload(&self, side: Side) -> Option<&[u8]> {
        (side == Side::Response && self.head.is_none()).then_some(&self.bytes)
    }

    fn body(&self, side: Side) -> Option<&[u8]> {
        (side == Side::Response && self.head.is_some()).then_some(&self.bytes)
    }

    fn var(&self, name: &VarName) -> Option<Value<'static>> {
        self.variables.borrow().get(name)
    }

    fn var_state(&self, name: &VarName) -> sample::vars::VarState {
        self.variables.borrow().state(name)
    }

    fn set_var(&self, name: &VarName, value: Option<Value<'static>>) {
        self.variables.borrow().set(name, value);
    }
}

fn with_parser<T>(f: impl FnOnce(&Parser<'_>) -> T) -> T {
    let files = |_: &std::path::Path| Err(io::ErrorKind::NotFound.into());
    let shared = Shared::new(&files, &|_| None);
    let (acls, captures) = (AclTable::default(), Captures::default());
    f(&Parser::new(&shared, &acls, &captures))
}

fn steps(http: bool, lines: &[&str]) -> Result<Vec<Arc<Step>>, String> {
    with_parser(|cx| {
        let mut steps = Vec::new();
        for line in lines {
            let words: Vec<_> = line.split(' ').map(|word| word.replace('_', " ")).collect();
            let words: Vec<_> = words.iter().map(|word| &**word).collect();
            let parse = if http { parse_http_check } else { parse_tcp_check };
            let step = parse(&words, &steps, cx).map_err(|error| error.message)?;
            steps.push(Arc::new(step));
        }
        Ok(steps)
    })
}

fn expect(http: bool, line: &str) -> Arc<Step> {
    steps(http, &[line]).unwrap().remove(0)
}

/// The judgement of a `tcp-check expect` on some bytes, as text.
fn judged(line: &str, bytes: &[u8], ended: bool) -> String {
    let step = expect(false, line);
    let StepAction::Expect(expect) = &step.action else { panic!("{line}") };
    let world = World { bytes: bytes.to_vec(), ..World::default() };
    let got = Received { bytes, ended, http: false };
    shown(expect.judge(got, 1, &world))
}

fn shown(judgement: ExpectResult) -> String {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    match judgement {
        ExpectResult::More => "more".to_owned(),
        ExpectResult::Passed(info) => format!("ok {}", info.map_or(String::new(), text)),
        ExpectResult::Failed(it) => format!("{:?} {:?} {}", it.status, it.code, text(it.info)),
    }
}

const EMPTY: &str = "log-format string evaluated to an empty string";

#[test]
fn bytes_are_judged() {
    let mismatch = "L7Response None TCPCHK did not match content";
    let unwanted = "L7Response None TCPCHK matched unwanted content";
    for (line, bytes, ended, result) in [
        ("expect string ali", "valid", false, "ok ".to_owned()),
        ("expect string foo", "valid", false, "more".to_owned()),
        ("expect string foo", "valid", true, format!("{mismatch} 'foo' at step 1")),
        ("expect string foo", "", false, "more".to_owned()),
        (
            "expect string foo",
            "",
            true,
            "L7Response None TCPCHK got an empty response at step 1".to_owned(),
        ),
        ("expect rstring ^va", "valid", false, "ok ".to_owned()),
        ("expect rstring ^x", "valid", true, format!("{mismatch} (regex) at step 1")),
        ("expect binary 616C", "valid", false, "ok ".to_owned()),
        ("expect binary 6100", "valid", true, format!("{mismatch} (binary) at step 1")),
        ("expect rbinary ^76616c", "valid", false, "ok ".to_owned()),
        ("expect rbinary ^00", "valid", true, format!("{mismatch} (binary regex) at step 1")),
        ("expect string-lf al%[str(id)]", "valid", false, "ok ".to_owned()),
        (
            "expect string-lf x%[str(id)]",
            "valid",
            true,
            format!("{mismatch} (log-format string) at step 1"),
        ),
        ("expect binary-lf 6%[int(1)]", "valid", false, "ok ".to_owned()),
        (
            "expect binary-lf 6z%[int(1)]",
            "valid",
            false,
            "L7Response None Failed to parse hexastring resulting of eval of a log-format string"
                .to_owned(),
        ),
        // An empty text would be found everywhere.
        ("expect string-lf %[str()]", "valid", false, format!("L7Response None {EMPTY}")),
        ("expect ! string-lf %[str()]", "valid", false, format!("L7Response None {EMPTY}")),
        ("expect binary-lf %[str()]", "valid", false, format!("L7Response None {EMPTY}")),
        ("expect ! string ali", "valid", false, format!("{unwanted} 'ali' at step 1")),
        ("expect !rstring ^va", "valid", false, format!("{unwanted} (regex) at step 1")),
        ("expect ! string foo", "valid", false, "more".to_owned()),
        ("expect ! string foo", "valid", true, "ok ".to_owned()),
        // The least to receive makes a mismatch final.
        ("expect min-recv 5 ! string foo", "valid", false, "ok ".to_owned()),
        ("expect min-recv 6 ! string foo", "valid", false, "more".to_owned()),
        ("expect min-recv 0 string foo", "valid", false, format!("{mismatch} 'foo' at step 1")),
        ("expect min-recv 3 string abcdef", "abxx", false, "more".to_owned()),
        ("expect min-recv -1 string foo", "valid", false, "more".to_owned()),
        (
            "expect error-status L6RSP string foo",
            "valid",
            true,
            "L6Response None TCPCHK did not match content 'foo' at step 1".to_owned(),
        ),
        ("expect on-success good_%[res.len] string va", "valid", false, "ok good 5".to_owned()),
        (
            "expect on-error bad_%[res.payload(0,2)] status-code int(7) string foo",
            "valid",
            true,
            "L7Response Some(7) bad va".to_owned(),
        ),
    ] {
        assert_eq!(judged(line, bytes.as_bytes(), ended), result, "{line} {bytes:?} {ended}");
    }
}

#[test]
fn responses_are_judged() {
    let judged = |line: &str, body: &str, ended: bool| {
        let step = expect(true, line);
        let StepAction::Expect(expect) = &step.action else { panic!("{line}") };
        let mut head = Head::default();
        head.set_response(Version::Http11, 202, b"Accepted");
        head.push(b"x-a", b"one, two");
        let world = World { bytes: body.as_bytes().to_vec(), head: Some(head), ..World::default() };
        let got = Received { bytes: body.as_bytes(), ended, http: true };
        shown(expect.judge(got, 1, &world))
    };
    let wrong = "L7Status None Accepted";
    for (line, result) in [
        ("expect status 200,202-204", "ok "),
        ("expect status 200", wrong),
        ("expect ! status 202", wrong),
        ("expect rstatus ^2", "ok "),
        ("expect rstatus ^5", wrong),
        ("expect hdr name X-A", "ok "),
        ("expect hdr name x-b", wrong),
        ("expect hdr name -m beg X-", "ok "),
        ("expect hdr name -m end -A", "ok "),
        ("expect hdr name -m sub -", "ok "),
        ("expect hdr name -m reg ^X-.$", "ok "),
        ("expect hdr name-lf x-%[str(a)]", "ok "),
        ("expect hdr name x-a value two", "ok "),
        ("expect hdr name x-a value TWO", wrong),
        ("expect hdr name x-a value -m reg ^t.o$", "ok "),
        ("expect hdr name x-a value-lf -m beg t%[str(w)]", "ok "),
        ("expect fhdr name x-a value two", wrong),
        ("expect fhdr name x-a value one,_two", "ok "),
        ("expect string ell", "ok "),
        ("expect string-lf e%[str(l)]", "ok "),
        ("expect rstring ^h.llo$", "ok "),
        ("expect string bye", "L7Response None HTTP content check did not match"),
        ("expect ! string hello", "L7Response None HTTP check matched unwanted content"),
        ("expect on-success %[status]_%[res.body] status 202", "ok 202 hello"),
    ] {
        assert_eq!(judged(line, "hello", true), result, "{line}");
    }
    for line in [
        "expect hdr name-lf %[str()]",
        "expect ! hdr name-lf %[str()]",
        "expect hdr name x-a value-lf %[str()]",
        "expect hdr name x-none value-lf %[str()]",
        "expect string-lf %[str()]",
    ] {
        assert_eq!(judged(line, "hello", true), format!("L7Response None {EMPTY}"), "{line}");
    }
    assert_eq!(judged("expect string bye", "hello", false), "more");
    let none = "L7Response None HTTP content check could not find a response body";
    assert_eq!(judged("expect string x", "", true), none);
}

#[test]
fn requests_are_built() {
    let built = |base: Option<(&RequestLine, bool)>, state: Option<&str>, line: &str| {
        let steps = steps(true, &[line]).unwrap();
        let StepAction::HttpSend(send) = &steps[0].action else { panic!("{line}") };
        String::from_utf8(send.build(base, state, &World::default())).unwrap()
    };
    for (line, request) in [
        ("send", "OPTIONS / HTTP/1.0\r\n\r\n"),
        ("send meth GET uri /x", "GET /x HTTP/1.0\r\n\r\n"),
        ("send uri-lf /%[int(1)] ver HTTP/1.1", "OPTIONS /1 HTTP/1.1\r\nconnection: close\r\n\r\n"),
        ("send uri-lf %[var(check.none)]", "OPTIONS / HTTP/1.0\r\n\r\n"),
        (
            "send hdr X-Y %[int(2)] body abc",
            "OPTIONS / HTTP/1.0\r\nx-y: 2\r\ncontent-length: 3\r\n\r\nabc",
        ),
        (
            "send hdr x %[str()] hdr y %[var(check.none)] hdr z 1",
            "OPTIONS / HTTP/1.0\r\nz: 1\r\n\r\n",
        ),
        (
            "send uri http://a/ ver HTTP/1.1 hdr host %[str()] hdr connection %[str()]",
            "OPTIONS http://a/ HTTP/1.1\r\nconnection: close\r\n\r\n",
        ),
        ("send body-lf %[int(123)]", "OPTIONS / HTTP/1.0\r\ncontent-length: 3\r\n\r\n123"),
        (
            "send ver HTTP/1.1 hdr connection keep-alive hdr content-length 9",
            "OPTIONS / HTTP/1.1\r\n\r\n",
        ),
        (
            "send ver HTTP/1.1 hdr connection upgrade hdr upgrade x",
            "OPTIONS / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        ),
        ("send uri http://a.b/x hdr host c", "OPTIONS http://c/x HTTP/1.0\r\nhost: c\r\n\r\n"),
        // Requests as HAProxy was seen to send them.
        ("send meth DELETE body-lf %[str()]", "DELETE / HTTP/1.0\r\n\r\n"),
        ("send meth PUT", "PUT / HTTP/1.0\r\ncontent-length: 0\r\n\r\n"),
        ("send meth FOO", "FOO / HTTP/1.0\r\ncontent-length: 0\r\n\r\n"),
    ] {
        assert_eq!(built(None, None, line), request, "{line}");
    }
    let base = RequestLine { method: Some("HEAD".into()), ..RequestLine::default() };
    assert_eq!(built(Some((&base, true)), None, "send meth GET"), "HEAD / HTTP/1.0\r\n\r\n");
    assert_eq!(built(Some((&base, false)), None, "send meth GET"), "GET / HTTP/1.0\r\n\r\n");
    let state = "OPTIONS / HTTP/1.0\r\nx-haproxy-server-state: UP\r\n\r\n";
    assert_eq!(built(None, Some("UP"), "send"), state);
}

#[test]
fn bytes_are_sent() {
    for (line, bytes) in [
        ("send PING", Some(&b"PING"[..])),
        ("send-lf a%[int(1)]", Some(b"a1")),
        ("send-binary 4A00", Some(b"J\0")),
        ("send-binary-lf 4%[int(1)]", Some(b"A")),
        ("send-binary-lf 4%[str(x)]", None),
    ] {
        let steps = steps(false, &[line]).unwrap();
        let StepAction::Send(send) = &steps[0].action else { panic!("{line}") };
        assert_eq!(send.build(&World::default()).as_deref(), bytes, "{line}");
    }
}

#[test]
fn variables_and_ports_are_computed() {
    let world = World::default();
    let lines = [
        "set-var(check.p) int(81)",
        "set-var-fmt(check.f) x%[int(1)]",
        "set-var(check.u) int(1)",
        "unset-var(check.u)",
        "connect port var(check.p)",
        "connect port var(check.u)",
        "connect addr 1.2.3.4:7",
        "connect addr ::1 port 9 send-proxy linger",
    ];
    let steps = steps(false, &lines).unwrap();
    let mut ports = Vec::new();
    for step in &steps {
        match &step.action {
            StepAction::Assign(assign) => assign.run(&world),
            StepAction::Connect(connect) => ports.push((connect.address, connect.port(&world))),
            _ => panic!(),
        }
    }
    let (four, six) = ("1.2.3.4".parse().ok(), "::1".parse().ok());
    assert_eq!(ports, [(None, Some(81)), (None, None), (four, Some(7)), (six, Some(9))]);
    let text = world.var(&VarName::parse("check.f").unwrap()).unwrap();
    assert_eq!(text.to_str().unwrap().to_vec(), b"x1");
}

/// As HAProxy 2.6 decides.
#[test]
fn a_step_connect_uses_the_protocol_of_its_check() {
    for name in ["h1", "h2"] {
        assert!(steps(true, &[&format!("connect proto {name}"), "send"]).is_ok());
    }
    assert!(steps(false, &["connect proto none"]).is_ok());
    let error = |http, line: &str| steps(http, &[line]).unwrap_err();
    for (http, line, message) in [
        (true, "connect proto none", "'proto' : invalid MUX protocol 'none' for http-check."),
        (false, "connect proto h1", "'proto' : invalid MUX protocol 'h1' for tcp-check."),
        (true, "connect proto nope", "'proto' : unknown MUX protocol 'nope'."),
        (true, "connect proto", "'proto' expects a MUX protocol as argument."),
    ] {
        let kind = if http { "http" } else { "tcp" };
        assert_eq!(error(http, line), format!("'{kind}-check connect' : {message}"), "{line}");
    }
}

#[test]
fn comments_hold_for_the_next_step_and_over_expectations() {
    let lines = [
        "comment one",
        "connect",
        "expect string a",
        "comment two",
        "expect string b",
        "expect string c",
        "expect string d comment own",
        "send x",
        "expect string e",
    ];
    let script = Script { steps: steps(false, &lines).unwrap(), ..Script::default() };
    let told: Vec<_> = (0..lines.len()).map(|index| script.comment(index)).collect();
    let two = Some("two");
    assert_eq!(told[1..3], [Some("one"), None]);
    assert_eq!(told[4..], [two, two, Some("own"), None, None]);
}

#[test]
fn steps_have_an_order() {
    let error = |http, lines: &[&str]| steps(http, lines).unwrap_err();
    assert_eq!(
        error(true, &["expect status 200", "send uri /x"]),
        "'http-check send' : unable to add http-check send rule at step 2 (missing connect rule)."
    );
    assert!(
        error(true, &["connect", "send", "connect"]).ends_with("step 3 (missing expect rule).")
    );
    assert_eq!(
        error(true, &["send hdr x a hdr x b hdr Host %[int(1)] hdr hOst b"]),
        "'http-check send' : 'hOst' header already defined (previous value is '%[int(1)]')."
    );
    assert!(error(true, &["connect", "expect status 200"]).ends_with("(missing send rule)."));
    let first = "first step MUST also be a 'connect'";
    assert!(error(false, &["send x", "connect"]).contains(first));
    for lines in [&["expect status 200", "connect"][..], &["send", "expect status 200", "connect"]]
    {
        assert!(error(true, lines).contains(first), "{lines:?}");
    }
    assert!(steps(false, &["send x", "send y", "expect string z", "send x"]).is_ok());
    assert!(steps(true, &["connect", "send", "expect status 200", "connect", "send"]).is_ok());
}

#[test]
fn omitted_steps_of_a_script_have_defaults() {
    let kinds = |lines: &[&str]| {
        let script = Script::http(steps(true, lines).unwrap());
        script.steps.iter().map(|step| step.describe()).collect::<Vec<_>>().join("; ")
    };
    let usual = "expect HTTP status codes";
    assert_eq!(kinds(&[]), format!("send; {usual}"));
    assert_eq!(kinds(&["expect string x"]), "send; expect string 'x'");
    assert_eq!(kinds(&["connect"]), format!("connect; send; {usual}"));
    let chain = ["connect", "send", "expect status 1-", "connect", "send"];
    assert!(steps(true, &chain).is_err());
    let chain = ["connect", "send", "expect string x", "connect", "send"];
    let told = format!("connect; send; expect string 'x'; connect; send; {usual}");
    assert_eq!(kinds(&chain), told);
}

#[test]
fn answers_of_protocols_are_judged() {
    let failed = |status, code, info: &str| Finding::Failed { status, code, info: info.into() };
    let passed = |info: &str| Finding::Passed(Some(info.into()));
    let ldap = |text: &[u8]| Protocol::LdapBind.look(text, false);
    assert_eq!(ldap(b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0"), passed("Success"));
    assert_eq!(ldap(b"\x30\x0c\x02\x01\x01"), Finding::More);
    let rfc = "See RFC: http://tools.ietf.org/html/rfc4511#section-4.1.9";
    let refused = ldap(b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x31\x04\0\x04\0");
    assert_eq!(refused, failed(Status::L7Status, Some(49), rfc));
    assert_eq!(ldap(b"HTTP"), failed(Status::L7Response, None, "Not LDAPv3 protocol"));
    let greeting = |text: &[u8]| Protocol::MysqlGreeting.look(text, false);
    assert_eq!(greeting(b"\x08\0\0\0\x0a8.0.19\0"), passed("8.0.19"));
    assert_eq!(greeting(b"\x08\0\0\0\x0a8.0"), Finding::More);
    let blocked = failed(Status::L7Status, Some(1130), "no");
    assert_eq!(greeting(b"\x05\0\0\0\xff\x6a\x04no"), blocked);
    assert_eq!(greeting(b"\x0b\0\0\0\xff\x6a\x04#HY000no"), blocked);
    let result = |text: &[u8]| Protocol::MysqlResult.look(text, false);
    assert_eq!(result(b"\x01\0\0\0x\x01\0\0\x02\0"), Finding::Passed(None));
    assert_eq!(result(b"\x01\0\0\0x\x05\0\0\x02\xff\x6a\x04no"), blocked);
    assert_eq!(result(b"\x01\0\0\0x"), Finding::More);
    let spop = |text: &[u8]| Protocol::SpopHello.look(text, false);
    let hello = b"\0\0\0\x14\x65\0\0\0\x01\0\0\x07version\x08\x032.0";
    assert_eq!(spop(hello), passed("SPOA server is ok"));
    let old = b"\0\0\0\x14\x65\0\0\0\x01\0\0\x07version\x08\x031.0";
    assert_eq!(spop(old), failed(Status::L7Response, None, "unsupported version"));
    let invalid = |info| failed(Status::L7Response, None, info);
    assert_eq!(spop(b"\0\0\0\0"), invalid("invalid frame received"));
    assert_eq!(spop(b"\0\0\0\x07\x65\0\0\0\0\0\0"), invalid("fragmentation not supported"));
}

proptest! {
    #[test]
    fn no_answer_panics(bytes in prop::collection::vec(any::<u8>(), 1..40), ended: bool) {
        for protocol in [
            Protocol::MysqlGreeting, Protocol::MysqlResult, Protocol::LdapBind, Protocol::SpopHello,
        ] {
            let found = protocol.look(&bytes, ended);
            prop_assert!(!ended || found != Finding::More);
        }
    }

    #[test]
    fn no_frame_of_an_agent_panics(tail in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut frame = (tail.len() as u32 + 7).to_be_bytes().to_vec();
        frame.extend_from_slice(&[101, 0, 0, 0, 1, 0, 0]);
        frame.extend_from_slice(&tail);
        let _ = Protocol::SpopHello.look(&frame, true);
    }

    #[test]
    fn no_line_panics(words in prop::collection::vec(prop::sample::select(vec![
        "connect", "send", "send-lf", "send-binary", "expect", "comment", "set-var(check.x)",
        "unset-var(check.x", "port", "addr", "min-recv", "string", "!", "status", "hdr", "name",
        "value", "-m", "reg", "(", "on-error", "%[", "200-1", "-1", "99999999999", "", "é", "1.1.1.1:",
        "[::1]:5", "ver", "uri", "status-code", "int(1)",
    ]), 0..8), http: bool) {
        with_parser(|cx| {
            let parse = if http { parse_http_check } else { parse_tcp_check };
            let _ = parse(&words, &[], cx);
        });
    }
}
