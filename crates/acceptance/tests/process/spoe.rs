//! `filter spoe`: agents set variables, events are sent in order, and errors have their status, log
//! line and message.

use crate::support::master::Master;
use crate::support::{
    Client, Directory, LogReceiver, Moment, Origin, PATIENCE, Running, Setup, eventually, nobody,
    run,
};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

/// A string with its length, which is below 240.
fn text(bytes: &str) -> Vec<u8> {
    [&[bytes.len() as u8], bytes.as_bytes()].concat()
}

fn frame(kind: u8, ids: &[u8], payload: &[u8]) -> Vec<u8> {
    let frame = [&[kind, 0, 0, 0, 1], ids, payload].concat();
    [&(frame.len() as u32).to_be_bytes()[..], &frame].concat()
}

/// AGENT-HELLO with a frame size of 16,380 and these capabilities.
fn hello(capabilities: &str) -> Vec<u8> {
    let pairs = [
        text("version"),
        [vec![8], text("2.0")].concat(),
        text("max-frame-size"),
        vec![3, 0xfc, 0xf0, 0x06],
        text("capabilities"),
        [vec![8], text(capabilities)].concat(),
    ];
    frame(101, &[0, 0], &pairs.concat())
}

/// `set-var` in the scope of the transaction.
fn set_var(name: &str, value: &str) -> Vec<u8> {
    [vec![1, 3, 2], text(name), vec![8], text(value)].concat()
}

/// Type, ids and payload of the next frame.
fn read_frame(client: &mut Client) -> Option<(u8, Vec<u8>, Vec<u8>)> {
    let head = client.try_take(4)?;
    let length = u32::from_be_bytes(head.try_into().expect("four bytes"));
    let frame = client.try_take(length as usize)?;
    // Each id has more bytes as long as the top bit is set, if the first one is 240 or more.
    let mut at = 5;
    for _ in 0..2 {
        let mut more = frame[at] >= 240;
        at += 1;
        while more {
            more = frame[at] >= 128;
            at += 1;
        }
    }
    Some((frame[0], frame[5..at].to_vec(), frame[at..].to_vec()))
}

/// An agent that answers each NOTIFY with the actions that `answer` makes of the name of its first
/// message; `None` ends the connection.
fn agent(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> Origin {
    Origin::new(move |mut peer| {
        while let Some((kind, ids, payload)) = read_frame(&mut peer.client) {
            match kind {
                1 => peer.send(hello("pipelining")),
                3 => {
                    let name = &payload[1..=usize::from(payload[0])];
                    let name = String::from_utf8_lossy(name).into_owned();
                    let Some(actions) = answer(&name) else { return };
                    peer.send(frame(103, &ids, &actions));
                }
                _ => return,
            }
        }
    })
}

const AGENT: &str = "spoe-agent ag\n    log global\n    option var-prefix p\n    option set-on-error err\n    \
    timeout hello 2s\n    timeout idle 10s\n    timeout processing 1s\n    use-backend agents\n";

/// A frontend with an engine whose file has these lines behind the agent's.
fn start(front: &str, back: &str, file: &str, agent: &Origin, log: &LogReceiver) -> Running {
    let front = format!("    filter spoe engine e config <dir>/spoe.cfg\n{front}");
    let back = format!("{back}\nbackend agents\n    mode tcp\n    server a <agent>\n");
    Setup::http(&front, &back)
        .file("spoe.cfg", &format!("[other]\nspoe-agent x\n[e]\n{AGENT}{file}"))
        .global("log <log> format raw local0")
        .with("agent", agent.address())
        .with("log", log.address())
        .start()
}

#[test]
fn a_rule_sees_the_variable_that_an_agent_has_set_for_the_request() {
    let agent = agent(|name| Some(set_var("score", &format!("from-{name}"))));
    let file = "    messages check\nspoe-message check\n    args path ip=src\n    \
                event on-frontend-http-request if { path_beg /checked }\n";
    let front = "    http-request return status 200 hdr x-score \"%[var(txn.p.score)]\"";
    let log = LogReceiver::new();
    let weir = start(front, "    server s 127.0.0.1:9", file, &agent, &log);
    let mut client = weir.web();
    assert_eq!(client.get("/checked").header("x-score"), Some("from-check"));
    assert_eq!(client.get("/other").header("x-score"), None, "the condition does not hold");
    assert_eq!(client.get("/checked").header("x-score"), Some("from-check"));
    assert_eq!(agent.connections(), 1);
    let line = log.find("SPOE");
    assert!(line.contains("SPOE: [ag] <EVENT:on-frontend-http-request> sid="), "{line}");
    assert!(line.contains(" st=0 ") && line.ends_with(" 0/1"), "{line}");
}

#[test]
fn each_event_of_a_request_is_sent_once_and_in_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    let agent = agent(move |name| {
        list.lock().unwrap().push(name.to_owned());
        Some(Vec::new())
    });
    let events = [
        "on-client-session",
        "on-frontend-tcp-request",
        "on-frontend-http-request",
        "on-backend-tcp-request",
        "on-backend-http-request",
        "on-server-session",
        "on-tcp-response",
        "on-http-response",
    ];
    let mut file = format!("    messages {}\n", events.join(" "));
    for event in events {
        file += &format!("spoe-message {event}\n    event {event}\n");
    }
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let server = format!("    server s {}", origin.address());
    let weir = start("", &server, &file, &agent, &log);
    assert_eq!(weir.web().get("/").text(), "ok");
    assert_eq!(*seen.lock().unwrap(), events);
}

#[test]
fn rules_send_groups_in_requests_and_responses() {
    let agent = agent(|name| Some(set_var(name, "set")));
    let file = "    groups one two\nspoe-message first\n    args method\n\
                spoe-message second\n    args status\n\
                spoe-group one\n    messages first\nspoe-group two\n    messages second\n";
    let front = "    http-request send-spoe-group e one if { path /a }\n    \
                 http-request set-header x-first %[var(txn.p.first)]\n    \
                 http-response send-spoe-group e two\n    \
                 http-response set-header x-second %[var(txn.p.second)]";
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let server = format!("    server s {}", origin.address());
    let weir = start(front, &server, file, &agent, &log);
    let mut client = weir.web();
    assert_eq!(client.get("/a").header("x-second"), Some("set"));
    assert_eq!(origin.request(0).header("x-first"), Some("set"));
    assert_eq!(client.get("/b").header("x-second"), Some("set"));
    assert_eq!(origin.request(1).header("x-first"), Some(""));
    let line = log.find("GROUP");
    assert!(line.contains("SPOE: [ag] <GROUP:one> "), "{line}");
}

#[test]
fn an_agent_that_closes_sets_the_error_and_ends_the_events_of_the_request() {
    let agent = agent(|_| None);
    let file = "    messages first second\nspoe-message first\n    event on-client-session\n\
                spoe-message second\n    event on-frontend-http-request\n";
    let front = "    http-request return status 200 hdr x-error \"%[var(txn.p.err)]\"";
    let log = LogReceiver::new();
    let weir = start(front, "    server s 127.0.0.1:9", file, &agent, &log);
    assert_eq!(weir.web().get("/").header("x-error"), Some("257"));
    let line = log.find("SPOE");
    assert!(line.contains("<EVENT:on-client-session>") && line.contains(" st=257 "), "{line}");
    assert!(line.ends_with(" 1/1"), "{line}");
    assert_eq!(weir.web().get("/").header("x-error"), Some("257"), "the next one asks anew");
    assert_eq!(agent.connections(), 2);
}

#[test]
fn a_session_in_tcp_mode_waits_for_its_agent() {
    let agent = agent(|_| Some(set_var("verdict", "bad")));
    let file = format!(
        "{AGENT}    messages m\nspoe-message m\n    args src\n    event on-client-session\n"
    );
    let text = "global\n    nbthread 1\ndefaults\n    mode tcp\n    timeout connect 5s\n    \
                timeout client 20s\n    timeout server 20s\nlisten by\n    bind <by>\n    \
                filter spoe config <dir>/spoe.cfg\n    \
                tcp-request content reject if { var(txn.p.verdict) bad }\n    server s <origin>\n\
                backend agents\n    server a <agent>\n";
    let origin = Origin::saying("ok");
    let file = file.replace("    log global\n", "");
    let setup = Setup::new(text).file("spoe.cfg", &file);
    let setup = setup.with("agent", agent.address()).with("origin", origin.address());
    let weir = setup.start();
    weir.connect("by").expect_end();
    assert_eq!(origin.connections(), 0);
}

#[test]
fn agents_may_be_in_a_backend_of_spop_mode() {
    let agent = agent(|_| Some(set_var("score", "7")));
    let log = LogReceiver::new();
    let file =
        format!("{AGENT}    messages m\nspoe-message m\n    event on-frontend-http-request\n");
    let back = "    server s 127.0.0.1:9\nbackend agents\n    mode spop\n    balance leastconn\n    \
                option spop-check\n    server a <agent> check inter 100ms proto spop";
    let front = "    filter spoe config <dir>/spoe.cfg\n    \
                 http-request return status 200 hdr x-score \"%[var(txn.p.score)]\" unless { path /in }\n    \
                 use_backend %[str(agents)]";
    let setup = Setup::http(front, back).file("spoe.cfg", &file);
    let setup = setup.with("agent", agent.address()).with("log", log.address());
    let weir = setup.global("log <log> format raw local0").start();
    assert_eq!(weir.web().get("/").header("x-score"), Some("7"));
    assert_eq!(weir.stat("agents", "a", "mode"), "spop");
    assert_eq!(weir.stat("agents", "a", "stot"), "1");
    assert_eq!(weir.web().get("/in").status(), 500, "no client gets into it by a computed name");
    eventually("a check", || (weir.stat("agents", "a", "check_status") == "L7OK").then_some(()));
}

/// The errors of a configuration whose `listen` section has these lines, with this file.
fn refusal(lines: &str, file: &str) -> Option<String> {
    let directory = Directory::new();
    let spoe = directory.write("s.cfg", file).display().to_string();
    let lines = lines.replace("<file>", &spoe);
    let text = format!(
        "defaults\n    mode http\n    timeout client 1s\n    timeout connect 1s\n    timeout server 1s\n\
         listen l\n{lines}\n    bind 127.0.0.1:9999\n    server s 127.0.0.1:9\n\
         backend agents\n    mode tcp\n    server a 127.0.0.1:9\n\
         backend web\n    server a 127.0.0.1:9\n"
    );
    let path = directory.write("a.cfg", &text).display().to_string();
    let output = run(&["-c", "-f", &path]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code() != Some(0)).then_some(text)
}

#[test]
fn faulty_files_are_refused_with_their_line() {
    let line = "    filter spoe config <file>";
    let message = "spoe-message m\n    args src\n    event on-client-session\n";
    for (file, said) in [
        (
            "    max-frame-size 255\n",
            "'max-frame-size' expects a positive integer argument in the range",
        ),
        (
            "    max-frame-size 16381\n",
            "'max-frame-size' expects a positive integer argument in the range [256, 16380].",
        ),
        ("    max-waiting-frames 0\n", "'max-waiting-frames' expects a positive integer argument."),
        ("    option set-on-error\n", "'option set-on-error' expects a value."),
        (
            "    option set-on-error a-b\n",
            "'option set-on-error' only supports [a-zA-Z0-9_.] chars.",
        ),
        ("    option foo\n", "option 'foo' is not supported."),
        ("    no option var-prefix\n", "negation is not supported for option 'var-prefix'."),
        ("    option continue-on-error foo\n", "'option' cannot handle unexpected argument 'foo'."),
        (
            "    register-var-names a b-c\n",
            "failed to register variable p.b-c (invalid syntax at char '-c')",
        ),
        ("    groups g\n", "SPOE agent 'ag' try to use undefined SPOE group 'g' at "),
        ("    messages zz\n", "SPOE agent 'ag' try to use undefined SPOE message 'zz' at "),
        ("    messages m m\n", "spoe-message 'm' already used."),
        ("    timeout foo 1s\n", "'timeout' supports 'hello', 'idle' or 'processing' (got foo)."),
        ("    pipelining\n", "unknown keyword 'pipelining' in spoe-agent section."),
        ("    use-backend zz\n", "unknown backend 'zz' used by SPOE agent 'ag' declared at "),
        ("    use-backend web\n", "backend 'web' used by SPOE agent 'ag' declared at "),
        ("spoe-agent b\n", "another spoe-agent section previously defined."),
        ("spoe-message n\n    event foo\n", "unknown event 'foo'."),
        ("spoe-message n\n    args nope\n", "'args': unknown fetch method 'nope'."),
        ("spoe-message n\n    event on-client-session if x\n", "no such ACL : 'x'"),
        ("spoe-message n\n    foo\n", "unknown keyword 'foo' in spoe-message section."),
        (
            "    messages n\nspoe-message n\n    args status\n    event on-client-session\n",
            "Ignore SPOE message 'n' at ",
        ),
    ] {
        let said_all = refusal(line, &format!("{AGENT}{file}{message}"));
        let said_all = said_all.unwrap_or_else(|| panic!("{file} is accepted"));
        assert!(said_all.contains(said), "{file}: {said_all}");
    }
    for (lines, file, said) in [
        ("    filter spoe", "", "'filter' : ''spoe' : missing config file'"),
        ("    filter spoe engine", "", "'spoe' : 'engine' option without value'"),
        ("    filter spoe foo config <file>", "", "'filter' : 'unknown keyword 'foo''"),
        ("    filter spoe config /nope", "", "Could not open configuration file /nope"),
        ("    filter spoe engine e config <file>", "", "No SPOE agent found in file "),
        ("    filter spoe config <file>", "[e]\nspoe-agent a\n", "No SPOE agent found in file "),
        (
            "    filter spoe config <file>",
            "    messages x\n",
            "unknown keyword 'messages' out of section.",
        ),
        (
            "    filter spoe config <file>",
            "[e!]\n",
            "character '!' is not permitted in a scope name.",
        ),
        (
            "    http-request send-spoe-group z g",
            "",
            "Proxy 'l': unable to find SPOE engine 'z' used by the send-spoe-group 'g'.",
        ),
    ] {
        let said_all = refusal(lines, file).unwrap_or_else(|| panic!("{lines} is accepted"));
        assert!(said_all.contains(said), "{lines}: {said_all}");
    }
    let fine = format!("{AGENT}    messages m\n{message}");
    assert_eq!(refusal(line, &fine), None);
}

/// An engine with a message at each of two events, and the variables of the agent in the answer.
fn answer_with(variables: &str, file: &str, agent: &Origin, log: &LogReceiver) -> Running {
    let file = format!(
        "    messages first second\n{file}spoe-message first\n    event on-client-session\n\
         spoe-message second\n    acl root path /\n    event on-frontend-http-request if root\n"
    );
    let front = format!("    http-request return status 200 hdr x-said \"said {variables}\"");
    start(&front, "    server s 127.0.0.1:9", &file, agent, log)
}

#[test]
fn continue_on_error_goes_on_with_the_next_event() {
    let agent = agent(|name| (name == "second").then(|| set_var("a", "set")));
    let log = LogReceiver::new();
    let variables = "%[var(txn.p.err)] %[var(txn.p.a)]";
    let weir = answer_with(variables, "    option continue-on-error\n", &agent, &log);
    assert_eq!(weir.web().get("/").header("x-said"), Some("said 257 set"));
}

#[test]
fn times_of_events_are_variables_and_good_events_need_no_line() {
    let agent = agent(|name| (name == "first").then(Vec::new));
    let log = LogReceiver::new();
    let file = "    option set-process-time pt\n    option set-total-time tt\n    \
                option dontlog-normal\n";
    let variables = "%[var(txn.p.pt),add(1)] %[var(txn.p.tt),add(1)]";
    let weir = answer_with(variables, file, &agent, &log);
    let answer = weir.web().get("/");
    let said = answer.header("x-said").expect("the rule answers");
    let times: Vec<u32> = said.split(' ').skip(1).map(|it| it.parse().expect("a time")).collect();
    assert!(times.len() == 2 && times.iter().all(|time| *time > 0), "{said}");
    let line = log.find("SPOE");
    assert!(line.contains("<EVENT:on-frontend-http-request>"), "the first line: {line}");
}

#[test]
fn time_outs_of_an_agent_are_errors() {
    let silent = Origin::new(|mut peer| {
        let _ = peer.client.rest();
    });
    let log = LogReceiver::new();
    let file = "    timeout hello 50ms\n    timeout processing 5s\n";
    let weir = answer_with("%[var(txn.p.err)]", file, &silent, &log);
    assert_eq!(weir.web().get("/").header("x-said"), Some("said 258"), "timeout hello");
    let file = "    timeout hello 5s\n    timeout processing 50ms\n";
    let weir = answer_with("%[var(txn.p.err)]", file, &silent, &log);
    assert_eq!(weir.web().get("/").header("x-said"), Some("said 1"), "timeout processing");
    let open = Arc::new(AtomicUsize::new(0));
    let ended = open.clone();
    let idle = Origin::new(move |mut peer| {
        while let Some((kind, ids, _)) = read_frame(&mut peer.client) {
            match kind {
                1 => peer.send(hello("")),
                3 => peer.send(frame(103, &ids, &[])),
                _ => break,
            }
        }
        ended.fetch_add(1, Relaxed);
    });
    let weir = answer_with("%[var(txn.p.err)]", "    timeout idle 50ms\n", &idle, &log);
    assert_eq!(weir.web().get("/").header("x-said"), Some("said"));
    eventually("timeout idle ends the connection", || (open.load(Relaxed) == 1).then_some(()));
}

#[test]
fn options_of_an_agent_are_in_its_hello() {
    // A number of 32 bits, as a varint.
    let size = [text("max-frame-size"), vec![3, 0xf0, 0x01]].concat();
    let capabilities = |list| [text("capabilities"), vec![8], text(list)].concat();
    for (file, expected) in [
        ("", capabilities("pipelining,async")),
        ("    no option async\n", capabilities("pipelining")),
        ("    no option pipelining\n", capabilities("async")),
        ("    max-frame-size 256\n", size),
    ] {
        let (sender, hellos) = channel();
        let sender = Mutex::new(sender);
        let agent = Origin::new(move |mut peer| {
            if let Some((1, _, payload)) = read_frame(&mut peer.client) {
                let _ = sender.lock().unwrap().send(payload);
            }
        });
        let log = LogReceiver::new();
        let weir = answer_with("", file, &agent, &log);
        let _ = weir.web().get("/");
        let payload = hellos.recv().expect("a HELLO");
        assert!(payload.windows(expected.len()).any(|it| it == expected), "{file}: {payload:?}");
    }
}

#[test]
fn payloads_stay_whole_without_send_frag_payload() {
    let small = hello("fragmentation");
    let at = small.windows(4).position(|it| it == [3, 0xfc, 0xf0, 0x06]).expect("the size");
    let mut small = [&small[..at], &[3, 0xf0, 0x01], &small[at + 4..]].concat();
    small[3] -= 1;
    let agent = Origin::new(move |mut peer| {
        while let Some((kind, ids, _)) = read_frame(&mut peer.client) {
            peer.send(if kind == 1 { small.clone() } else { frame(103, &ids, &[]) });
        }
    });
    let log = LogReceiver::new();
    let file = "    max-frame-size 256\n    no option send-frag-payload\n    messages large\n\
                spoe-message large\n    args req.hdr(x-large)\n    event on-frontend-http-request\n";
    let front = "    http-request return status 200 hdr x-said \"said %[var(txn.p.err)]\"";
    let weir = start(front, "    server s 127.0.0.1:9", file, &agent, &log);
    let large = "a".repeat(300);
    let request = format!("GET / HTTP/1.1\r\nhost: x\r\nx-large: {large}\r\n\r\n");
    assert_eq!(weir.web().ask(request).header("x-said"), Some("said 3"));
    let request = "GET / HTTP/1.1\r\nhost: x\r\nx-large: a\r\n\r\n";
    assert_eq!(weir.web().ask(request).header("x-said"), Some("said"));
}

#[test]
fn max_waiting_frames_limits_the_payloads_of_a_connection() {
    let barrier = Arc::new(std::sync::Barrier::new(2));
    let agent = agent(move |name| {
        if name == "second" {
            barrier.wait();
        }
        Some(Vec::new())
    });
    let log = LogReceiver::new();
    let file = "    max-waiting-frames 1\n    timeout processing 10s\n";
    let weir = answer_with("%[var(txn.p.err)]", file, &agent, &log);
    std::thread::scope(|scope| {
        let ask = || assert_eq!(weir.web().get("/").header("x-said"), Some("said"));
        let all = [scope.spawn(ask), scope.spawn(ask)];
        all.into_iter().for_each(|it| it.join().expect("both agents answer"));
    });
    assert_eq!(agent.connections(), 2);
}

#[test]
fn force_set_var_lets_an_agent_set_any_variable() {
    for (file, found) in [("", false), ("    option force-set-var\n", true)] {
        let agent = agent(|_| Some([&[1, 3, 0][..], &text("new"), &[8], &text("v1")].concat()));
        let log = LogReceiver::new();
        let weir = answer_with("", file, &agent, &log);
        let _ = weir.web().get("/");
        assert_eq!(weir.cli("get var proc.p.new").contains("v1"), found, "{file}");
    }
}

#[test]
fn maxerrrate_stops_an_engine_for_the_rest_of_the_second() {
    let agent = agent(|_| None);
    let log = LogReceiver::new();
    let weir = answer_with("%[var(txn.p.err)]", "    maxerrrate 1\n", &agent, &log);
    let mut said = Vec::new();
    eventually("a request passes the engine", || {
        let answer = weir.web().get("/").header("x-said").map(str::to_owned);
        said.push(answer.clone());
        (answer.as_deref() == Some("said")).then_some(())
    });
    assert_eq!(said[0].as_deref(), Some("said 257"));
}

#[test]
fn rules_about_content_send_groups_in_both_directions() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    let agent = agent(move |name| {
        list.lock().unwrap().push(name.to_owned());
        Some(Vec::new())
    });
    let file = format!(
        "{}    groups up down\nspoe-message asked\n    args src\nspoe-message answered\n    args src\n\
         spoe-group up\n    messages asked\nspoe-group down\n    messages answered\n",
        AGENT.replace("    log global\n", "")
    );
    let config = "global\n    nbthread 1\ndefaults\n    mode tcp\n    timeout connect 5s\n    \
                  timeout client 20s\n    timeout server 20s\nlisten by\n    bind <by>\n    \
                  filter spoe config <dir>/spoe.cfg\n    \
                  tcp-request content send-spoe-group ag up\n    \
                  tcp-response content send-spoe-group ag down\n    server s <origin>\n\
                  backend agents\n    server a <agent>\n";
    let origin = Origin::saying("ok");
    let setup = Setup::new(config).file("spoe.cfg", &file);
    let setup = setup.with("agent", agent.address()).with("origin", origin.address());
    let weir = setup.start();
    assert_eq!(weir.connect("by").get("/").text(), "ok");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.first().map(String::as_str), Some("asked"));
    assert!(seen.iter().any(|name| name == "answered"), "{seen:?}");
}

#[test]
fn every_request_of_many_clients_gets_its_answer() {
    let (agent, log) = (agent(|_| Some(set_var("a", "set"))), LogReceiver::new());
    let file = "    timeout processing 20s\n    option dontlog-normal\n";
    let weir = answer_with("%[var(txn.p.err)] %[var(txn.p.a)]", file, &agent, &log);
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let mut client = weir.web();
                for _ in 0..20 {
                    assert_eq!(client.get("/").header("x-said"), Some("said  set"));
                }
            });
        }
    });
    assert_eq!(weir.stat("agents", "a", "econ"), "0");
}

#[test]
fn an_agent_that_stops_costs_each_request_its_processing_time_at_most() {
    let stopped = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stops = stopped.clone();
    let agent = Origin::new(move |mut peer| {
        while let Some((kind, ids, _)) = read_frame(&mut peer.client) {
            match kind {
                1 => peer.send(hello("pipelining")),
                _ if stops.load(Relaxed) => {}
                _ => peer.send(frame(103, &ids, &set_var("a", "set"))),
            }
        }
    });
    let log = LogReceiver::new();
    let file = "    timeout processing 500ms\n";
    let weir = answer_with("%[var(txn.p.err)] %[var(txn.p.a)]", file, &agent, &log);
    assert_eq!(weir.web().get("/").header("x-said"), Some("said  set"));
    stopped.store(true, Relaxed);
    // The two events of a request: the second is not sent after the error of the first.
    std::thread::scope(|scope| {
        for _ in 0..30 {
            scope.spawn(|| {
                let before = Moment::now();
                assert_eq!(weir.web().get("/").header("x-said"), Some("said 1"));
                let took = before.elapsed();
                assert!(took.as_millis() >= 495, "{took:?}");
                assert!(took.as_millis() < 8_000, "{took:?}: the machine may be busy");
            });
        }
    });
    stopped.store(false, Relaxed);
    assert_eq!(weir.web().get("/").header("x-said"), Some("said  set"), "it works again");
}

#[test]
fn maxconnrate_limits_the_connections_that_an_engine_opens() {
    // Each payload ends its connection, so that each request needs a new one.
    let (agent, log) = (agent(|_| None), LogReceiver::new());
    let file = "    maxconnrate 1\n    timeout processing 400ms\n";
    let weir = answer_with("%[var(txn.p.err)]", file, &agent, &log);
    let mut said = Vec::new();
    eventually("a request that gets no connection", || {
        said.push(weir.web().get("/").header("x-said").map(str::to_owned));
        (said.last()?.as_deref() == Some("said 1")).then_some(())
    });
    assert_eq!(said[0].as_deref(), Some("said 257"), "the first one gets a connection");
    // A request that has given up may have made the engine open one more a second later.
    assert!(agent.connections() <= said.len(), "{said:?}");
}

/// The backend of the agents has a server that refuses connections, then none that is up.
#[test]
fn without_a_reachable_agent_requests_go_on_with_the_error_and_nothing_spins() {
    for server in ["server a <nobody>", "server a <nobody> disabled"] {
        let file = format!("{AGENT}    messages m\nspoe-message m\n    event on-client-session\n");
        let front = "    filter spoe engine e config <dir>/spoe.cfg\n    http-request return \
                     status 200 hdr x-error \"%[var(txn.p.err)]\"";
        let back = format!(
            "    server s 127.0.0.1:9\nbackend agents\n    mode tcp\n    retries 0\n    {server}\n"
        );
        let weir = Setup::http(front, &back)
            .file("spoe.cfg", &format!("[e]\n{file}"))
            .with("nobody", nobody())
            .start();
        let before = weir.cpu_seconds();
        for _ in 0..3 {
            let begun = Moment::now();
            let answer = weir.web().get("/");
            assert!(answer.header("x-error").is_some(), "{server}");
            assert!(begun.elapsed() < PATIENCE, "{server}");
        }
        let spent = weir.cpu_seconds() - before;
        assert!(spent < 0.5, "{server}: {spent} s of CPU for three requests");
    }
}

#[test]
fn a_stream_of_an_old_process_keeps_its_agent_after_a_reload() {
    let (answer, answers) = channel::<()>();
    let answers = Mutex::new(answers);
    let agent = agent(move |_| {
        let _ = answers.lock().expect("nothing panics with it").recv();
        Some(set_var("score", "late"))
    });
    let file = AGENT.replace("processing 1s", "processing 60s")
        + "    messages m\nspoe-message m\n    event on-frontend-http-request\n";
    let text = "global\n    nbthread 2\n    stats socket <dir>/cli level admin\ndefaults\n    mode http\n    \
                timeout connect 5s\n    timeout client 60s\n    timeout server 60s\nfrontend web\n    \
                bind <web>\n    filter spoe engine e config <dir>/spoe.cfg\n    http-request return \
                status 200 hdr x-score \"%[var(txn.p.score)]\"\nbackend agents\n    mode tcp\n    \
                server a <agent>\n";
    let setup = Setup::new(text).file("spoe.cfg", &format!("[e]\n{file}"));
    let master = Master::start(setup.with("agent", agent.address()), &["-W"]);
    let old = master.worker();
    let mut client = master.running.web();
    client.send("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
    eventually("the agent is asked", || (agent.connections() > 0).then_some(()));
    assert_eq!(master.cli("reload"), "Loading success.");
    eventually("the old worker to stop", || {
        let info = master.cli(&format!("@!{old} show info"));
        info.contains("\nStopping: 1\n").then_some(())
    });
    answer.send(()).expect("the agent waits");
    assert_eq!(client.response().header("x-score"), Some("late"));
    drop(client);
    master.running.expect_error(&format!("Former worker ({old}) exited with code 0 (Exit)"));
}

/// As HAProxy 2.6: answers of rules have no event, those of services and servers have one.
#[test]
fn responses_have_their_event_if_a_server_or_a_service_has_made_them() {
    let count = Arc::new(AtomicUsize::new(0));
    let own = count.clone();
    let agent = agent(move |_| {
        own.fetch_add(1, Relaxed);
        Some(Vec::new())
    });
    let file = "    messages m\nspoe-message m\n    event on-http-response\n";
    let front = "    http-request return status 200 if { path /return }\n    \
                 http-request deny if { path /deny }\n    \
                 http-request redirect location / if { path /redirect }\n    \
                 http-request use-service prometheus-exporter if { path /metrics }";
    let (origin, log) = (Origin::saying("ok"), LogReceiver::new());
    let server = format!("    server s {}", origin.address());
    let weir = start(front, &server, file, &agent, &log);
    for (path, status, events) in [
        ("/return", 200, 0),
        ("/deny", 403, 0),
        ("/redirect", 302, 0),
        ("/metrics", 200, 1),
        ("/other", 200, 1),
    ] {
        let before = count.load(Relaxed);
        assert_eq!(weir.web().get(path).status(), status, "{path}");
        assert_eq!(count.load(Relaxed) - before, events, "{path}");
    }
}
