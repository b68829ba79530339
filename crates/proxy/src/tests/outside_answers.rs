//! Tests of rules that wait for an answer from outside: every kind of rule waits, has its effect once,
//! and obeys the answer; a client that leaves ends the wait.

use engine::state::session::pending::{
    self, OutsideAnswer, OutsideAsker, PendingAnswer, RuleScope,
};
use rules::{Action, Rule, RuleSetKind};
use settings::{Mode, ProxySection};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use testing::*;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Failure, Phase};

const KINDS: [RuleSetKind; 7] = [
    RuleSetKind::TcpConnection,
    RuleSetKind::TcpSession,
    RuleSetKind::TcpRequest,
    RuleSetKind::TcpResponse,
    RuleSetKind::HttpRequest,
    RuleSetKind::HttpResponse,
    RuleSetKind::HttpAfterResponse,
];

/// A pending answer that the test completes.
#[derive(Clone)]
struct Oracle {
    answer: OutsideAnswer,
    asked: Rc<Cell<u32>>,
    /// Answers that have been given up.
    dropped: Rc<Cell<u32>>,
    released: Rc<Cell<bool>>,
}

struct Drops(Rc<Cell<u32>>);

impl Drop for Drops {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

impl Oracle {
    fn new(world: &World, answer: OutsideAnswer) -> Self {
        let (asked, dropped, released) = Default::default();
        let oracle = Self { answer, asked, dropped, released };
        assert_eq!(world.workers[0].add_asker(Rc::new(oracle.clone())), 0);
        oracle
    }

    /// Turns until it is asked; then for a while, in which the answer is not there.
    fn until_asked(&self, world: &World) {
        world.until("the rule asks", || self.asked.get() > 0);
        (0..5).for_each(|_| world.turn());
    }
}

impl OutsideAsker for Oracle {
    fn ask(&self, scope: &mut RuleScope<'_>) -> Option<Box<dyn PendingAnswer>> {
        self.asked.set(self.asked.get() + 1);
        let (thread, released, answer) =
            (scope.worker.thread.clone(), self.released.clone(), self.answer);
        let drops = Drops(self.dropped.clone());
        let future = async move {
            let _drops = drops;
            while !released.get() {
                let soon = thread.tick().plus_ms(1);
                thread.scheduler().wait(Some(soon)).await;
            }
        };
        Some(pending::after(future, move |(), scope| {
            if answer == OutsideAnswer::Respond {
                scope.space.response.clear();
                scope.space.response.set_response(htx::Version::Http11, 299, b"Told");
                scope.space.body.clear();
            }
            answer
        }))
    }
}

/// A proxy in which the rules of this kind ask, behind an effect that can be counted.
fn asking(kind: RuleSetKind, mode: Mode, origin: &Origin) -> (ProxySection, SocketAddr) {
    let (mut proxy, address) = listen("px", mode, vec![server(1, origin.address)]);
    proxy.rules = rules(mode, &[]);
    proxy.front.as_mut().unwrap().abort_on_close = true;
    proxy.back.as_mut().unwrap().abort_on_close = true;
    let effect = |line: &str| rules(mode, &[line]);
    let mut set = match kind {
        RuleSetKind::HttpRequest => effect("http-request add-header x-effect 1"),
        RuleSetKind::HttpResponse => effect("http-response add-header x-effect 1"),
        RuleSetKind::HttpAfterResponse => effect("http-after-response add-header x-effect 1"),
        _ => rules(mode, &[]),
    };
    set.set_mut(kind).push(Rule::new(Action::Ask(0), None, "cfg".into(), 9));
    proxy.rules = set;
    (proxy, address)
}

/// Answers with the request's head as its body, once per connection.
fn mirror() -> Origin {
    Origin::new(|mut stream, _| {
        let head = read_head(&mut stream);
        let _ = write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", head.len());
        let _ = stream.write_all(&head);
    })
}

fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = client(address);
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

const GET: &str = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

/// The bytes that the client receives, none of which arrive before the answer from outside.
fn outcome(world: &World, oracle: &Oracle, mut stream: TcpStream) -> String {
    oracle.until_asked(world);
    stream.set_nonblocking(true).unwrap();
    assert!(stream.read(&mut [0]).is_err(), "the client gets nothing during the wait");
    stream.set_nonblocking(false).unwrap();
    oracle.released.set(true);
    world.play(move || {
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard);
        String::from_utf8_lossy(&heard).into_owned()
    })
}

#[test]
fn rules_of_every_kind_wait_and_have_their_effect_once() {
    for kind in KINDS {
        let origin = mirror();
        let (proxy, address) = asking(kind, Mode::Http, &origin);
        let world = World::new(vec![proxy]);
        let oracle = Oracle::new(&world, OutsideAnswer::Continue);
        let heard = outcome(&world, &oracle, send(address, GET));
        assert!(heard.starts_with("HTTP/1.1 200 OK\r\n"), "{kind:?}: {heard}");
        let effects = heard.matches("x-effect: 1").count();
        let counted = matches!(
            kind,
            RuleSetKind::HttpRequest | RuleSetKind::HttpResponse | RuleSetKind::HttpAfterResponse
        );
        assert_eq!((effects, oracle.asked.get()), (usize::from(counted), 1), "{kind:?}");
    }
}

#[test]
fn rules_of_tcp_wait() {
    for kind in &KINDS[..4] {
        let origin = Origin::echo();
        let (mut proxy, address) = asking(*kind, Mode::Tcp, &origin);
        // The client closes its side after the request.
        proxy.front.as_mut().unwrap().abort_on_close = false;
        proxy.back.as_mut().unwrap().abort_on_close = false;
        let world = World::new(vec![proxy]);
        let oracle = Oracle::new(&world, OutsideAnswer::Continue);
        let stream = send(address, "hello");
        oracle.until_asked(&world);
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(outcome(&world, &oracle, stream), "hello", "{kind:?}");
        assert_eq!(oracle.asked.get(), 1, "{kind:?}");
    }
}

#[test]
fn an_answer_refuses_replaces_or_fails_the_message() {
    let fails = Failure::error(504, Cause::Internal, Phase::Request);
    for (answer, request, response) in [
        (OutsideAnswer::Deny, "HTTP/1.1 403 ", "HTTP/1.1 502 "),
        (OutsideAnswer::Respond, "HTTP/1.1 299 Told\r\n", "HTTP/1.1 299 Told\r\n"),
        (OutsideAnswer::Fail(fails), "HTTP/1.1 504 ", "HTTP/1.1 504 "),
        (OutsideAnswer::Allow, "HTTP/1.1 200 ", "HTTP/1.1 200 "),
    ] {
        for (kind, expected) in
            [(RuleSetKind::HttpRequest, request), (RuleSetKind::HttpResponse, response)]
        {
            let origin = mirror();
            let (mut proxy, address) = asking(kind, Mode::Http, &origin);
            // After `allow`, no rule behind it runs.
            proxy.rules.set_mut(kind).push(Rule::new(Action::Ask(0), None, "cfg".into(), 10));
            let world = World::new(vec![proxy]);
            let oracle = Oracle::new(&world, answer);
            let heard = outcome(&world, &oracle, send(address, GET));
            assert!(heard.starts_with(expected), "{kind:?} {answer:?}: {heard}");
            assert_eq!(oracle.asked.get(), 1, "{kind:?} {answer:?}");
        }
    }
}

#[test]
fn an_answer_refuses_a_connection() {
    for (kind, metric) in [
        (RuleSetKind::TcpConnection, Metric::DeniedConnections),
        (RuleSetKind::TcpSession, Metric::DeniedSessions),
        (RuleSetKind::TcpRequest, Metric::DeniedRequests),
        (RuleSetKind::TcpResponse, Metric::DeniedResponses),
    ] {
        let origin = Origin::echo();
        let (proxy, address) = asking(kind, Mode::Tcp, &origin);
        let world = World::new(vec![proxy]);
        let oracle = Oracle::new(&world, OutsideAnswer::Deny);
        assert_eq!(outcome(&world, &oracle, send(address, "hello")), "", "{kind:?}");
        assert_eq!(world.frontend("px").counters.sum(metric), 1, "{kind:?}");
    }
}

#[test]
fn a_client_that_leaves_ends_the_wait_with_abortonclose() {
    for (kind, state) in [
        (RuleSetKind::TcpConnection, None),
        (RuleSetKind::TcpSession, None),
        (RuleSetKind::TcpRequest, Some("CR--")),
        (RuleSetKind::HttpRequest, Some("CR--")),
        (RuleSetKind::TcpResponse, Some("CH--")),
        (RuleSetKind::HttpResponse, Some("CH--")),
        (RuleSetKind::HttpAfterResponse, Some("CH--")),
    ] {
        let origin = mirror();
        let (proxy, address) = asking(kind, Mode::Http, &origin);
        let world = World::new(vec![proxy]);
        let oracle = Oracle::new(&world, OutsideAnswer::Continue);
        let stream = send(address, GET);
        oracle.until_asked(&world);
        assert_eq!(oracle.dropped.get(), 0, "{kind:?}");
        drop(stream);
        world.until("the answer is given up", || oracle.dropped.get() == 1);
        if let Some(state) = state {
            let line = world.line(" px/");
            assert!(line.contains(&format!(" {state} ")), "{kind:?}: {line}");
        }
        let connections = || world.frontend("px").connections.current();
        world.until("the connection ends", || connections() == 0);
    }
}

#[test]
fn a_client_that_leaves_ends_no_wait_without_abortonclose() {
    let origin = mirror();
    let (mut proxy, address) = asking(RuleSetKind::HttpRequest, Mode::Http, &origin);
    proxy.front.as_mut().unwrap().abort_on_close = false;
    proxy.back.as_mut().unwrap().abort_on_close = false;
    let world = World::new(vec![proxy]);
    let oracle = Oracle::new(&world, OutsideAnswer::Continue);
    let stream = send(address, GET);
    oracle.until_asked(&world);
    stream.shutdown(Shutdown::Write).unwrap();
    (0..5).for_each(|_| world.turn());
    assert!(outcome(&world, &oracle, stream).starts_with("HTTP/1.1 200 "));
}

#[test]
fn an_asker_is_not_asked_again_when_more_bytes_arrive() {
    let origin = Origin::echo();
    let (mut proxy, address) = asking(RuleSetKind::TcpRequest, Mode::Tcp, &origin);
    proxy.timeouts.request_inspection = Some(10 * PATIENCE.as_millis() as u32);
    let lines = ["tcp-request content accept if { req.len ge 6 }", "tcp-request content reject"];
    let mut all = rules(Mode::Tcp, &[]);
    all.tcp_request.push(Rule::new(Action::Ask(0), None, "cfg".into(), 9));
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let mut cx = sample::Parser::new(&shared, &acls, &captures);
    for line in lines {
        let words: Vec<_> = line.split_whitespace().skip(2).collect();
        all.tcp_request.push(rules::parse_tcp_request(&words, &mut cx).unwrap());
    }
    proxy.rules = all;
    let world = World::new(vec![proxy]);
    let oracle = Oracle::new(&world, OutsideAnswer::Continue);
    oracle.released.set(true);
    let mut stream = send(address, "abc");
    oracle.until_asked(&world);
    let heard = world.play(move || {
        stream.write_all(b"def").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut heard = String::new();
        let _ = stream.read_to_string(&mut heard);
        heard
    });
    assert_eq!((&*heard, oracle.asked.get()), ("abcdef", 1));
}

/// The wait of a response counts neither as the server's time nor against its time-out.
#[test]
fn the_wait_of_a_response_is_not_the_servers_time() {
    let origin = mirror();
    let (mut proxy, address) = asking(RuleSetKind::HttpResponse, Mode::Http, &origin);
    proxy.timeouts.server = Some(100);
    proxy.log_format = Some(log_format("times %Tr %Ta %ST", Mode::Http));
    let world = World::new(vec![proxy]);
    let oracle = Oracle::new(&world, OutsideAnswer::Continue);
    let stream = send(address, GET);
    oracle.until_asked(&world);
    let now = || world.workers[0].thread.nanos();
    let begin = now();
    world.until("time passes", || now() - begin > 250_000_000);
    assert!(outcome(&world, &oracle, stream).starts_with("HTTP/1.1 200 "));
    let line = world.line("times ");
    let times: Vec<u32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [.., response, all, 200] = times[..] else { panic!("{line}") };
    assert!(response < 250 && all >= 250, "{line}");
}
