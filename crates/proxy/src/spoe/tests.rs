//! Tests of engines over real sockets, with scripted agents.

use rules::{SpoeAgent, SpoeEngine, SpoeEvent, SpoeMessage, SpoeVariables};
use sample::vars::VarName;
use settings::{Filter, Mode, ProxySection, SpoeFilter};
use spop::frame::{ABORT, FIN};
use spop::{Data, Frame, FrameId, FrameKind};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use testing::*;

/// A message with one argument.
fn message(name: &str, argument: &str) -> Arc<SpoeMessage> {
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let captures = Default::default();
    let cx = sample::ParseContext::new(&shared, &captures);
    let expr = sample::Expr::parse_word(argument, &cx).unwrap();
    Arc::new(SpoeMessage {
        name: name.into(),
        arguments: vec![("x".into(), expr)],
        condition: None,
    })
}

fn variable(name: &str) -> Option<VarName> {
    Some(VarName::parse(&format!("txn.p.{name}")).unwrap())
}

/// An agent with short times, whose variables are `score` and the errors and times.
fn agent() -> SpoeAgent {
    let known: HashMap<_, _> =
        [("score", variable("score").unwrap())].map(|(k, v)| (k.as_bytes().into(), v)).into();
    SpoeAgent {
        name: "ag".into(),
        backend: "agents".into(),
        hello: Some(100),
        idle: Some(10_000),
        processing: Some(300),
        max_frame_size: 16_380,
        max_waiting: 20,
        pipelining: true,
        is_async: false,
        fragments: true,
        variables: SpoeVariables { prefix: "p".into(), any: false, known, ..Default::default() },
        on_error: variable("err"),
        process_time: variable("pt"),
        total_time: variable("tt"),
        ..SpoeAgent::default()
    }
}

/// A frontend that answers with what the agent has set, and the backend of the agent.
fn proxies(
    agent: SpoeAgent,
    argument: &str,
    server: SocketAddr,
) -> (Vec<ProxySection>, SocketAddr) {
    let (mut front, address) = listen("fe", Mode::Http, vec![]);
    front.back = None;
    let mut engine =
        SpoeEngine { name: "e".into(), agent, events: Default::default(), groups: Vec::new() };
    engine.events[SpoeEvent::FrontendHttpRequest as usize].push(message("m", argument));
    let logs = backend("x", Mode::Tcp, vec![]).logs.clone();
    let filter = SpoeFilter { number: 0, engine: Arc::new(engine), backend: 1, logs };
    front.filters = vec![Filter::Spoe(Arc::new(filter))];
    let format = "score=%[var(txn.p.score)] err=%[var(txn.p.err)] tt=%[var(txn.p.tt)] $";
    let rule = format!("http-request return hdr x-said {}", format.replace(' ', "_"));
    front.rules = rules(Mode::Http, &[&rule]);
    (vec![front, backend("agents", Mode::Tcp, vec![testing::server(1, server)])], address)
}

/// The agent's answer, as the client sees it.
fn ask(world: &World, address: SocketAddr) -> String {
    ask_for(world, address, "/x")
}

fn ask_for(world: &World, address: SocketAddr, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    let head = world.play(move || {
        let mut stream = client(address);
        stream.write_all(request.as_bytes()).unwrap();
        String::from_utf8(read_head(&mut stream)).unwrap()
    });
    let said = head.lines().find_map(|line| line.strip_prefix("x-said: "));
    said.unwrap_or_else(|| panic!("{head}")).split("_tt=").next().unwrap().to_owned()
}

/// A frame of the other side: kind, flags, ids, payload.
pub(super) type Read1 = (FrameKind, u32, FrameId, Vec<u8>);

fn read_frame(stream: &mut TcpStream) -> Option<Read1> {
    let mut bytes = vec![0; 4];
    stream.read_exact(&mut bytes).ok()?;
    let len = u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize;
    bytes.resize(4 + len, 0);
    stream.read_exact(&mut bytes[4..]).ok()?;
    let (frame, _) = Frame::parse(&bytes, u32::MAX).unwrap().unwrap();
    Some((frame.kind, frame.flags, frame.id, frame.payload.to_vec()))
}

fn frame(kind: FrameKind, flags: u32, id: FrameId, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Frame { kind, flags, id, payload }.put(&mut out);
    out
}

fn pairs(list: &[(&str, Data<'_>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in list {
        spop::data::put_string(name.as_bytes(), &mut out);
        value.put(&mut out);
    }
    out
}

fn hello(size: u32, capabilities: &str) -> Vec<u8> {
    let list = [
        ("version", Data::String(b"2.0")),
        ("max-frame-size", Data::Uint32(size)),
        ("capabilities", Data::String(capabilities.as_bytes())),
    ];
    frame(FrameKind::AgentHello, FIN, FrameId::default(), &pairs(&list))
}

fn disconnect(code: u32) -> Vec<u8> {
    let list = [("status-code", Data::Uint32(code)), ("message", Data::String(b"bye"))];
    frame(FrameKind::AgentDisconnect, FIN, FrameId::default(), &pairs(&list))
}

/// An ACK that sets `score`.
fn score(id: FrameId, value: i64) -> Vec<u8> {
    let mut payload = vec![1, 3, 2];
    spop::data::put_string(b"score", &mut payload);
    Data::Int64(value).put(&mut payload);
    frame(FrameKind::Ack, FIN, id, &payload)
}

/// An agent that greets and answers each NOTIFY with what `answer` makes of its number on the
/// connection, its id and payload; `None` ends the connection.
fn scripted(
    greeting: Vec<u8>,
    answer: impl Fn(usize, FrameId, &[u8]) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> Origin {
    Origin::new(move |mut stream, _| {
        let mut number = 0;
        let mut whole = Vec::new();
        while let Some((kind, flags, id, payload)) = read_frame(&mut stream) {
            let reply = match kind {
                FrameKind::Hello => Some(greeting.clone()),
                FrameKind::Notify | FrameKind::Unset => {
                    whole.extend_from_slice(&payload);
                    if flags & FIN == 0 {
                        continue;
                    }
                    number += 1;
                    answer(number, id, &std::mem::take(&mut whole))
                }
                _ => Some(disconnect(0)),
            };
            let Some(reply) = reply else { return };
            if stream.write_all(&reply).is_err() {
                return;
            }
        }
    })
}

#[test]
fn rules_read_the_variables_of_an_agent() {
    let origin = scripted(hello(16_380, "pipelining"), |_, id, payload| {
        assert_eq!(payload, b"\x01m\x01\x01x\x08\x02/x");
        Some(score(id, 7))
    });
    let (proxies, address) = proxies(agent(), "path", origin.address);
    let world = World::new(proxies);
    for _ in 0..3 {
        assert_eq!(ask(&world, address), "score=7_err=");
    }
    assert_eq!(origin.served(), 1, "one connection serves all");
    assert_eq!(world.backend("agents").sessions.current(), 1);
}

#[test]
fn each_fault_of_an_agent_ends_in_its_error() {
    let silent = Vec::new;
    type Script = fn(usize, FrameId, &[u8]) -> Option<Vec<u8>>;
    let good: Script = |_, id, _| Some(score(id, 7));
    let rows: &[(&str, Vec<u8>, Script, &str)] = &[
        ("no HELLO", silent(), good, "258"),
        (
            "HELLO of version 1",
            frame(
                FrameKind::AgentHello,
                FIN,
                FrameId::default(),
                &pairs(&[("version", Data::String(b"1.0"))]),
            ),
            good,
            "264",
        ),
        ("HELLO with a large frame", hello(100_000, ""), good, "265"),
        ("DISCONNECT in place of HELLO", disconnect(13), good, "269"),
        ("another protocol", b"HTTP/1.1 400 Bad".to_vec(), good, "259"),
        ("no answer", hello(16_380, "pipelining"), |_, _, _| Some(Vec::new()), "1"),
        ("end of stream", hello(16_380, "pipelining"), |_, _, _| None, "257"),
        ("DISCONNECT", hello(16_380, ""), |_, _, _| Some(disconnect(5)), "261"),
        ("an unknown status", hello(16_380, ""), |_, _, _| Some(disconnect(50)), "355"),
        ("a large frame", hello(16_380, ""), |_, _, _| Some(vec![1; 100]), "259"),
        (
            "a fragmented ACK",
            hello(16_380, ""),
            |_, id, _| Some(frame(FrameKind::Ack, 0, id, b"")),
            "266",
        ),
        ("a second HELLO", hello(16_380, ""), |_, _, _| Some(hello(16_380, "")), "260"),
        (
            "an ACK of another stream",
            hello(16_380, ""),
            |_, id, _| Some(score(FrameId { stream: id.stream + 9, ..id }, 7)),
            "1",
        ),
    ];
    for (what, greeting, script, code) in rows {
        let origin = scripted(greeting.clone(), *script);
        let (proxies, address) = proxies(agent(), "path", origin.address);
        let world = World::new(proxies);
        assert_eq!(ask(&world, address), format!("score=_err={code}"), "{what}");
    }
    let (proxies, address) = proxies(agent(), "path", nobody());
    let world = World::new(proxies);
    assert_eq!(ask(&world, address), "score=_err=1", "retries take longer than the processing");
}

#[test]
fn harmless_oddities_of_an_agent_change_nothing() {
    type Script = fn(usize, FrameId, &[u8]) -> Option<Vec<u8>>;
    let rows: &[(&str, Script, &str)] = &[
        ("two ACKs", |_, id, _| Some([score(id, 1), score(id, 2)].concat()), "1"),
        (
            "an unknown frame first",
            |_, id, _| {
                let mut unknown = vec![0, 0, 0, 8, 110, 0, 0, 0, 1, 0, 0, 9];
                unknown.extend_from_slice(&score(id, 1));
                Some(unknown)
            },
            "1",
        ),
        (
            "an ABORT flag",
            |_, id, _| {
                let mut ack = score(id, 1);
                ack[8] = (FIN | ABORT) as u8;
                Some(ack)
            },
            "1",
        ),
        ("an empty ACK", |_, id, _| Some(frame(FrameKind::Ack, FIN, id, b"")), ""),
        (
            "as many actions as fit",
            |_, id, _| {
                let mut payload = Vec::new();
                for n in 0..1_500u32 {
                    payload.extend_from_slice(&[1, 3, 2]);
                    spop::data::put_string(format!("v{n}").as_bytes(), &mut payload);
                    Data::Bool(true).put(&mut payload);
                }
                Some(frame(FrameKind::Ack, FIN, id, &payload))
            },
            "",
        ),
    ];
    for (what, script, said) in rows {
        let origin = scripted(hello(16_380, "pipelining"), *script);
        let (proxies, address) = proxies(agent(), "path", origin.address);
        let world = World::new(proxies);
        for _ in 0..2 {
            assert_eq!(ask(&world, address), format!("score={said}_err="), "{what}");
        }
        assert_eq!(origin.served(), 1, "{what}");
    }
}

#[test]
fn payloads_beyond_a_frame_are_fragmented_or_fail() {
    for (capabilities, fragments, said) in [
        ("fragmentation", true, "score=9_err="),
        ("fragmentation", false, "score=_err=3"),
        ("", true, "score=_err=3"),
    ] {
        let origin = scripted(hello(256, capabilities), |_, id, payload| {
            assert_eq!(payload.len(), 3 + 3 + 2 + 2_000);
            Some(score(id, 9))
        });
        let agent = SpoeAgent { fragments, ..agent() };
        let (proxies, address) = proxies(agent, "path", origin.address);
        let world = World::new(proxies);
        let path = format!("/{}", "a".repeat(1_999));
        assert_eq!(ask_for(&world, address, &path), said, "{capabilities} {fragments}");
    }
}

#[test]
fn an_idle_connection_is_closed() {
    let origin = scripted(hello(16_380, ""), |_, id, _| Some(score(id, 7)));
    let agent = SpoeAgent { idle: Some(30), ..agent() };
    let (proxies, address) = proxies(agent, "path", origin.address);
    let world = World::new(proxies);
    assert_eq!(ask(&world, address), "score=7_err=");
    let back = world.backend("agents");
    world.until("the connection ends", || back.sessions.current() == 0);
    assert_eq!(ask(&world, address), "score=7_err=");
    assert_eq!(origin.served(), 2);
}

#[test]
fn agents_without_pipelining_get_a_connection_per_payload() {
    let barrier = Arc::new(std::sync::Barrier::new(4));
    let origin = scripted(hello(16_380, ""), move |_, id, _| {
        barrier.wait();
        Some(score(id, 7))
    });
    let agent = SpoeAgent { processing: Some(20_000), ..agent() };
    let (proxies, address) = proxies(agent, "path", origin.address);
    let world = World::new(proxies);
    let heads = world.play(move || {
        let mut clients: Vec<_> = (0..4).map(|_| client(address)).collect();
        for it in &mut clients {
            it.write_all(b"GET /x HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        }
        clients.iter_mut().map(read_head).collect::<Vec<_>>()
    });
    for head in heads {
        assert!(String::from_utf8_lossy(&head).contains("score=7_err="));
    }
    assert_eq!(origin.served(), 4);
}

#[test]
fn an_abandoned_payload_does_not_hold_up_the_next_one() {
    // The first payload is never answered.
    let origin = scripted(hello(16_380, "pipelining"), |number, id, _| {
        Some(if number == 1 { Vec::new() } else { score(id, 7) })
    });
    let (proxies, address) = proxies(agent(), "path", origin.address);
    let world = World::new(proxies);
    assert_eq!(ask(&world, address), "score=_err=1");
    assert_eq!(ask(&world, address), "score=7_err=");
    assert_eq!(origin.served(), 1);
}

#[test]
fn answers_that_are_late_or_out_of_order_reach_their_own_streams() {
    let first = std::sync::Mutex::new(None);
    // The first payload is answered after its stream is gone, in front of the second one's answer.
    let origin = scripted(hello(16_380, "pipelining"), move |number, id, _| {
        let mut first = first.lock().unwrap();
        if number == 1 {
            *first = Some(id);
            return Some(Vec::new());
        }
        let late = first.take().map_or_else(Vec::new, |late| score(late, 99));
        Some([late, score(id, 7)].concat())
    });
    let (proxies, address) = proxies(agent(), "path", origin.address);
    let world = World::new(proxies);
    assert_eq!(ask(&world, address), "score=_err=1");
    assert_eq!(ask(&world, address), "score=7_err=");
    assert_eq!(ask(&world, address), "score=7_err=");
    assert_eq!(origin.served(), 1, "a late answer is no error of the connection");
}

#[test]
fn an_end_inside_a_frame_fails_what_waits_and_nothing_else() {
    let origin = scripted(hello(16_380, "pipelining"), |number, id, _| {
        let whole = score(id, 7);
        match number {
            1 => Some(whole),
            // Half a frame, and the next payload ends the connection.
            2 => Some(whole[..whole.len() / 2].to_vec()),
            _ => None,
        }
    });
    let (proxies, address) = proxies(agent(), "path", origin.address);
    let world = World::new(proxies);
    assert_eq!(ask(&world, address), "score=7_err=");
    assert_eq!(ask(&world, address), "score=_err=1", "the rest of the frame never comes");
    assert_eq!(ask(&world, address), "score=_err=257", "the connection ends inside the frame");
    assert_eq!(ask(&world, address), "score=7_err=", "the next connection works");
}

#[test]
fn an_agent_may_set_a_hundred_thousand_variables() {
    let origin = scripted(hello(16_380, ""), |number, id, _| {
        let mut payload = Vec::new();
        for variable in 0..1_200 {
            // The variable is one of the process, so that it stays.
            payload.extend_from_slice(&[1, 3, 0]);
            spop::data::put_string(format!("v{number}_{variable}").as_bytes(), &mut payload);
            Data::Bool(true).put(&mut payload);
        }
        payload.extend_from_slice(&[1, 3, 2]);
        spop::data::put_string(b"score", &mut payload);
        Data::Int32(7).put(&mut payload);
        Some(frame(FrameKind::Ack, FIN, id, &payload))
    });
    let variables = SpoeVariables { prefix: "p".into(), any: true, ..Default::default() };
    let (proxies, address) = proxies(SpoeAgent { variables, ..agent() }, "path", origin.address);
    let world = World::new(proxies);
    for _ in 0..84 {
        // Beyond the time for one, the answer would be an error.
        assert_eq!(ask(&world, address), "score=7_err=");
    }
}

#[test]
fn unknown_names_are_not_set_unless_the_agent_is_trusted() {
    for (any, said) in [(false, "score=_err="), (true, "score=7_err=")] {
        let origin = scripted(hello(16_380, ""), |_, id, _| Some(score(id, 7)));
        let variables = SpoeVariables { prefix: "p".into(), any, ..Default::default() };
        let (proxies, address) =
            proxies(SpoeAgent { variables, ..agent() }, "path", origin.address);
        let world = World::new(proxies);
        assert_eq!(ask(&world, address), said);
    }
}

#[test]
fn errors_beyond_a_rate_stop_the_engine() {
    let origin = scripted(hello(16_380, ""), |_, _, _| None);
    let agent = SpoeAgent { max_errors_per_s: 1, ..agent() };
    let (proxies, address) = proxies(agent, "path", origin.address);
    let world = World::new(proxies);
    assert_eq!(ask(&world, address), "score=_err=257");
    assert_eq!(ask(&world, address), "score=_err=", "within the same second");
    assert_eq!(origin.served(), 1);
}
