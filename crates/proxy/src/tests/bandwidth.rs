//! Tests of bandwidth limits, over real sockets: the rate of payload, the bytes that count, and the
//! traffic without a limit. Limits have periods of a quarter of a second.

use rules::{Action, BandwidthLimit, BandwidthScope};
use sample::Side;
use settings::splice::{PipeLimits, SpliceOptions};
use settings::{Filter, Mode, ProxySection};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use table::{DataType, KeyKind};
use testing::*;

/// Bytes per period of the limits here.
const LIMIT: usize = 10_000;
const PERIOD: u32 = 250;

fn per_stream(side: Side) -> BandwidthLimit {
    let scope = BandwidthScope::Stream { limit: LIMIT as u32, period: PERIOD };
    BandwidthLimit { name: "lim".into(), side, min_size: 0, scope }
}

/// A limit of all clients with one address, in the first table.
fn shared() -> BandwidthLimit {
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let names = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let cx = sample::Parser::new(&names, &acls, &captures);
    let key = sample::Expr::parse(&["src"], &mut 0, &cx).unwrap();
    let usage = sample::TableUse::Bandwidth("lim".into(), key.output(), DataType::BytesOutRate);
    let table = cx.refer(Some("t"), usage);
    table.resolve(0);
    let scope = BandwidthScope::Shared { limit: LIMIT as u32, key, table };
    BandwidthLimit { name: "lim".into(), side: Side::Response, min_size: 0, scope }
}

/// A proxy with this limit and these rules.
fn limited(
    mode: Mode,
    limit: BandwidthLimit,
    lines: &[&str],
    server: SocketAddr,
) -> (ProxySection, SocketAddr) {
    let (mut proxy, address) = listen("px", mode, vec![testing::server(1, server)]);
    let limit = Arc::new(limit);
    proxy.rules = rules(mode, lines);
    for rule in proxy.rules.sets().into_iter().flat_map(|set| set.rules()) {
        if let Action::Bandwidth(edit) = rule.action() {
            edit.resolve(&limit);
        }
    }
    proxy.filters = vec![Filter::BandwidthLimit(limit)];
    (proxy, address)
}

/// The current time, as clients in threads of their own measure it.
#[expect(clippy::disallowed_methods, reason = "a client is outside of the reactor")]
fn now() -> Instant {
    Instant::now()
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 % 251) as u8).collect()
}

fn response(length: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), &text(length)].concat()
}

/// The bytes that a client has received, and when.
struct Received {
    bytes: Vec<u8>,
    /// Milliseconds, and the number of bytes received up to then.
    points: Vec<(u128, usize)>,
}

impl Received {
    /// Reads until the server closes.
    fn from(mut stream: TcpStream, since: Instant) -> Self {
        let (mut bytes, mut points) = (Vec::new(), Vec::new());
        let mut buffer = [0; 65_536];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..count]);
            points.push((since.elapsed().as_millis(), bytes.len()));
        }
        Self { bytes, points }
    }

    fn body(&self) -> &[u8] {
        let end = self.bytes.windows(4).position(|it| it == b"\r\n\r\n");
        &self.bytes[end.map_or(0, |end| end + 4)..]
    }

    fn head_len(&self) -> usize {
        self.bytes.len() - self.body().len()
    }

    fn end(&self) -> u128 {
        self.points.last().map_or(0, |(at, _)| *at)
    }

    /// Bytes received before this moment.
    fn before(&self, moment: u128) -> usize {
        self.points.iter().take_while(|(at, _)| *at < moment).last().map_or(0, |(_, count)| *count)
    }
}

fn ask(world: &World, address: SocketAddr, request: Vec<u8>) -> Received {
    world.play(move || {
        let (mut stream, since) = (client(address), now());
        stream.write_all(&request).unwrap();
        Received::from(stream, since)
    })
}

const GET: &[u8] = b"GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

/// Asserts a span with room for the delays of a busy machine; a transfer without a limit is
/// shorter.
fn assert_span(found: u128, expected: u128, what: &str) {
    let most = expected + 1_000;
    assert!((expected - 30..most).contains(&found), "{what}: {found} ms, {expected} expected");
}

#[test]
fn a_download_has_its_allowance_at_once_and_the_rest_evenly() {
    for lines in [
        ["http-request set-bandwidth-limit lim"],
        ["http-response set-bandwidth-limit lim"],
        ["tcp-request content set-bandwidth-limit lim"],
        ["tcp-response content set-bandwidth-limit lim"],
    ] {
        let origin = Origin::answering(response(3 * LIMIT));
        let (proxy, address) =
            limited(Mode::Http, per_stream(Side::Response), &lines, origin.address);
        let world = World::new(vec![proxy]);
        let received = ask(&world, address, GET.into());
        assert!(received.body() == text(3 * LIMIT), "{lines:?}");
        assert_span(received.end(), 750, lines[0]);
        let early = received.before(200);
        assert!(early <= received.head_len() + LIMIT, "{lines:?}: {early}");
    }
}

#[test]
fn tcp_sessions_are_limited_by_rules_of_both_directions() {
    for lines in [
        ["tcp-request content set-bandwidth-limit lim"],
        ["tcp-response content set-bandwidth-limit lim"],
    ] {
        let origin = Origin::new(|mut stream, _| {
            let _ = stream.write_all(&text(3 * LIMIT));
        });
        let (proxy, address) =
            limited(Mode::Tcp, per_stream(Side::Response), &lines, origin.address);
        let world = World::new(vec![proxy]);
        let received = ask(&world, address, Vec::new());
        assert!(received.bytes == text(3 * LIMIT), "the end comes behind all bytes: {lines:?}");
        assert_span(received.end(), 750, lines[0]);
    }
}

#[test]
fn an_upload_is_limited_also_by_a_rule_on_the_response() {
    for (line, least) in [
        ("http-request set-bandwidth-limit lim", 750),
        // The first half of the body passes before the response comes.
        ("http-response set-bandwidth-limit lim", 250),
    ] {
        let origin = Origin::new(|mut stream, _| {
            read_head(&mut stream);
            let mut body = vec![0; 3 * LIMIT];
            stream.read_exact(&mut body[..LIMIT]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no").unwrap();
            stream.read_exact(&mut body[LIMIT..]).unwrap();
            assert!(body == text(3 * LIMIT));
            stream.write_all(b"k").unwrap();
        });
        let limit = per_stream(Side::Request);
        let (proxy, address) = limited(Mode::Http, limit, &[line], origin.address);
        let world = World::new(vec![proxy]);
        let received = world.play(move || {
            let (mut stream, since) = (client(address), now());
            let head = format!(
                "POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                3 * LIMIT
            );
            let body = text(3 * LIMIT);
            stream.write_all(&[head.as_bytes(), &body[..LIMIT]].concat()).unwrap();
            let mut first = [0; 12];
            stream.read_exact(&mut first).unwrap();
            stream.write_all(&body[LIMIT..]).unwrap();
            Received::from(stream, since)
        });
        assert_eq!(received.body(), b"ok", "{line}");
        assert_span(received.end(), least, line);
    }
}

#[test]
fn heads_are_not_counted() {
    let field = format!("x-long: {}\r\n", "a".repeat(9_000));
    let head = format!("HTTP/1.1 200 OK\r\n{field}content-length: {LIMIT}\r\n\r\n");
    let origin = Origin::answering([head.as_bytes(), &text(LIMIT)].concat());
    let line = "http-response set-bandwidth-limit lim";
    let (proxy, address) = limited(Mode::Http, per_stream(Side::Response), &[line], origin.address);
    let world = World::new(vec![proxy]);
    let received = ask(&world, address, GET.into());
    assert!(received.body() == text(LIMIT));
    // A limit that counted heads would let the end of the body wait for the next period.
    assert!(received.end() < 400, "{} ms", received.end());
}

#[test]
fn one_direction_does_not_wait_for_the_other() {
    let origin = Origin::new(|mut stream, _| {
        let mut other = stream.try_clone().unwrap();
        let sender = std::thread::spawn(move || other.write_all(&text(200_000)));
        let mut body = vec![0; 3 * LIMIT];
        stream.read_exact(&mut body).unwrap();
        sender.join().unwrap().unwrap();
    });
    let line = "tcp-request content set-bandwidth-limit lim";
    let (proxy, address) = limited(Mode::Tcp, per_stream(Side::Request), &[line], origin.address);
    let world = World::new(vec![proxy]);
    let received = ask(&world, address, text(3 * LIMIT));
    assert!(received.bytes == text(200_000));
    let all = received.points.iter().find(|(_, count)| *count == 200_000).unwrap();
    assert!(all.0 < 600, "the response is there after {} ms", all.0);
}

#[test]
fn a_limit_holds_for_the_stream_that_enabled_it_alone() {
    let origin = Origin::new(|mut stream, _| {
        while !read_head(&mut stream).is_empty() {
            stream.write_all(&response(2 * LIMIT)).unwrap();
        }
    });
    let line = "http-request set-bandwidth-limit lim if { path /slow }";
    let (proxy, address) = limited(Mode::Http, per_stream(Side::Response), &[line], origin.address);
    let world = World::new(vec![proxy]);
    let spans = world.play(move || {
        let mut stream = client(address);
        let mut answer = vec![0; response(2 * LIMIT).len()];
        ["/", "/slow", "/"].map(|path| {
            let since = now();
            stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
            stream.read_exact(&mut answer).unwrap();
            since.elapsed()
        })
    });
    assert!(spans[1] > Duration::from_millis(450), "{spans:?}");
    assert!(spans[0] < spans[1] / 2 && spans[2] < spans[1] / 2, "{spans:?}");
}

#[test]
fn the_last_rule_counts_and_begins_with_the_defaults() {
    for (lines, expected) in [
        (["int(1000)", "int(30000)"].map(|limit| format!("limit {limit}")), 0),
        (["limit int(1000)".to_owned(), String::new()], 500),
        ([String::new(), "period int(500)".to_owned()], 1_000),
    ] {
        let origin = Origin::answering(response(2 * LIMIT));
        let lines = lines.map(|words| format!("http-request set-bandwidth-limit lim {words}"));
        let lines = lines.each_ref().map(String::as_str);
        let (proxy, address) =
            limited(Mode::Http, per_stream(Side::Response), &lines, origin.address);
        let world = World::new(vec![proxy]);
        let received = ask(&world, address, GET.into());
        assert!(received.body() == text(2 * LIMIT));
        assert!(received.end() + 30 >= expected, "{lines:?}: {} ms", received.end());
        assert!(received.end() < expected + 1_000, "{lines:?}: {} ms", received.end());
    }
}

#[test]
fn pipes_of_the_system_do_not_pass_by_a_limit() {
    for mode in [Mode::Http, Mode::Tcp] {
        let origin = Origin::new(move |mut stream, _| {
            if mode == Mode::Http {
                read_head(&mut stream);
            }
            let _ = stream.write_all(&response(6 * LIMIT));
        });
        let line = "tcp-request content set-bandwidth-limit lim";
        let limit = per_stream(Side::Response);
        let (mut proxy, address) = limited(mode, limit, &[line], origin.address);
        proxy.splice = SpliceOptions { auto: true, request: true, response: true };
        let mut process = process(1);
        process.splice = PipeLimits { pipes: 100, ..PipeLimits::default() };
        let world = World::with(process, vec![proxy]);
        let received = ask(&world, address, GET.into());
        assert!(received.body() == text(6 * LIMIT), "{mode:?}: {} bytes", received.bytes.len());
        assert_span(received.end(), 1_500, "with pipes");
    }
}

#[test]
fn a_client_that_leaves_ends_its_limited_transfer() {
    let origin = Origin::answering(response(1_000_000));
    let line = "http-response set-bandwidth-limit lim";
    let (proxy, address) = limited(Mode::Http, per_stream(Side::Response), &[line], origin.address);
    let world = World::new(vec![proxy]);
    world.play(move || {
        let mut stream = client(address);
        stream.write_all(GET).unwrap();
        stream.read_exact(&mut [0; 1_000]).unwrap();
    });
    // 25 s of payload are left.
    world.line("\"GET /x HTTP/1.1\"");
}

/// The settings of a process with the table that shared limits use.
fn with_table(threads: usize) -> settings::Process {
    let mut table = table::Settings::new("t", KeyKind::Ip, 100);
    table.expire = Some(10_000);
    table.add(DataType::BytesOutRate, 1, PERIOD);
    settings::Process { tables: vec![table], ..process(threads) }
}

#[test]
fn streams_of_two_threads_share_a_limit_and_the_table_shows_the_rate() {
    let origin = Origin::answering(response(2 * LIMIT));
    let line = "http-request set-bandwidth-limit lim";
    let (mut proxy, first) = limited(Mode::Http, shared(), &[line], origin.address);
    let (other, second) = listen("other", Mode::Http, vec![]);
    let binds = &mut proxy.front.as_mut().unwrap().binds;
    binds.extend(other.front.unwrap().binds);
    (binds[0].threads, binds[1].threads, binds[1].id) = (vec![0], vec![1], 2);
    let world = World::with(with_table(2), vec![proxy]);
    let clients: Vec<_> = [first, second, first]
        .map(|address| {
            std::thread::spawn(move || {
                let (mut stream, since) = (client(address), now());
                stream.write_all(GET).unwrap();
                Received::from(stream, since)
            })
        })
        .into();
    let table = &world.shared.tables[0];
    let key = table::Key::ip([127, 0, 0, 1].into());
    let mut most = 0;
    world.until("all clients are done", || {
        let now = world.workers[0].millis();
        let rate = table.look(&key, now, |entry| entry.get(DataType::BytesOutRate, 0, now));
        most = most.max(rate.flatten().unwrap_or(0));
        clients.iter().all(std::thread::JoinHandle::is_finished)
    });
    let received: Vec<Received> = clients.into_iter().map(|it| it.join().unwrap()).collect();
    for it in &received {
        assert!(it.body() == text(2 * LIMIT));
    }
    // Six allowances: the first at once, each of the others in its own period.
    let last = received.iter().map(Received::end).max().unwrap();
    assert_span(last, 1_500, "three streams");
    assert!(most > 0 && most < 3 * LIMIT as u64, "{most}");
    let uses = || table.look(&key, 0, |entry| entry.uses());
    world.until("no stream uses the entry", || uses() == Some(0));
}

#[test]
fn requests_one_after_another_do_not_get_a_new_allowance_each() {
    let origin = Origin::new(|mut stream, _| {
        while !read_head(&mut stream).is_empty() {
            stream.write_all(&response(LIMIT)).unwrap();
        }
    });
    let line = "http-request set-bandwidth-limit lim";
    let (proxy, address) = limited(Mode::Http, shared(), &[line], origin.address);
    let world = World::with(with_table(1), vec![proxy]);
    let span = world.play(move || {
        let since = now();
        let mut stream = client(address);
        let mut answer = vec![0; response(LIMIT).len()];
        for _ in 0..4 {
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
            stream.read_exact(&mut answer).unwrap();
        }
        since.elapsed()
    });
    assert!(span >= Duration::from_millis(700), "{span:?}");
}
