//! Payload that goes through pipes of the system.

use crate::support::{Client, LogReceiver, Origin, Running, Setup, reply};

/// More than pipes and buffers hold.
const SIZE: usize = 3 << 20;

fn body() -> Vec<u8> {
    (0..SIZE).map(|place| (place / 9) as u8).collect()
}

/// Takes a body and answers with one.
fn origin(framing: &'static str) -> Origin {
    Origin::new(move |mut peer| {
        while let Some(request) = peer.request() {
            assert!(request.body.is_empty() || request.body == body());
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n");
            match framing {
                "length" => peer.send(head),
                _ => peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
            }
            peer.send(body());
            if framing != "length" {
                return;
            }
        }
    })
}

/// A request with a body.
fn upload() -> Vec<u8> {
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {SIZE}\r\n\r\n");
    [head.into_bytes(), body()].concat()
}

fn info(weir: &Running, field: &str) -> u64 {
    let text = weir.cli("show info");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{field}: ")));
    line.and_then(|value| value.parse().ok()).expect("a figure")
}

/// The bytes that pipes have moved for a request body and a response body.
fn moved(global: &str, options: &str, framing: &'static str) -> u64 {
    let origin = origin(framing);
    let weir = Setup::http(options, "    server s <origin>")
        .global(global)
        .between(&origin, &LogReceiver::new());
    let mut client = weir.web();
    let answer = client.ask(upload());
    assert!(answer.body == body(), "{options}: the body is whole");
    if framing == "length" {
        assert!(
            client.get("/").body == body(),
            "{options}: and the connection is good for another"
        );
    }
    assert_eq!(origin.connections(), 1, "{options}: so is the server's");
    assert_eq!(info(&weir, "PipesUsed"), 0);
    info(&weir, "TotalSplicdedBytesOut")
}

#[test]
fn pipes_are_counted_by_direction() {
    let origin = origin("length");
    for (option, up, down) in [("splice-request", true, false), ("splice-response", false, true)] {
        let weir = Setup::http(&format!("    option {option}"), "    server s <origin>")
            .between(&origin, &LogReceiver::new());
        assert!(weir.web().ask(upload()).body == body());
        for (proxy, row, name, counts) in [
            ("web", "FRONTEND", "h1_spliced_bytes_in", up),
            ("web", "FRONTEND", "h1_spliced_bytes_out", down),
            ("app", "BACKEND", "h1_spliced_bytes_in", down),
            ("app", "BACKEND", "h1_spliced_bytes_out", up),
        ] {
            let least = if counts { PART } else { 0 };
            let most = if counts { SIZE as u64 } else { 0 };
            let figure = weir.stat(proxy, row, name).parse().expect("a figure");
            assert!((least..=most).contains(&figure), "{option} {row} {name}: {figure}");
        }
    }
}

const PART: u64 = SIZE as u64 / 2;

#[test]
fn options_send_bodies_through_pipes() {
    let one = SIZE as u64;
    for (options, framing, expected) in [
        ("", "length", 0..1),
        ("    option splice-response", "length", 2 * PART..2 * one + 1),
        ("    option splice-request", "length", PART..one + 1),
        ("    option splice-auto", "length", PART..3 * one + 1),
        ("    option splice-response", "close", PART..one + 1),
    ] {
        let moved = moved("maxpipes 10", options, framing);
        assert!(expected.contains(&moved), "{options}, {framing}: {moved}");
    }
}

#[test]
fn there_are_as_many_pipes_as_allowed() {
    let option = "    option splice-response";
    assert_eq!(moved("nosplice", option, "length"), 0);
    assert_eq!(moved("maxpipes 0", option, "length"), 0);
    let weir = Setup::http(option, "").global("maxpipes 7").start();
    assert_eq!(info(&weir, "Maxpipes"), 7);
    let weir = Setup::http(option, "").arguments(&["-db", "-dS"]).start();
    assert_eq!(info(&weir, "Maxpipes"), 0, "-dS is nosplice");
}

#[test]
fn bytes_of_sessions_go_through_pipes() {
    for (option, at_least) in [("splice-request", 1), ("splice-response", 1), ("splice-auto", 0)] {
        let origin = Origin::new(|mut peer| {
            let all = peer.client.take(SIZE);
            peer.send(all);
        });
        let weir = Setup::http(
            &format!("    mode tcp\n    option {option}"),
            "    mode tcp\n    server s <origin>",
        )
        .between(&origin, &LogReceiver::new());
        let mut client = weir.web();
        client.send(body());
        assert!(client.rest() == body(), "{option}");
        drop(client);
        let moved = info(&weir, "TotalSplicdedBytesOut");
        assert!(moved >= at_least && moved <= 2 * SIZE as u64, "{option}: {moved}");
    }
}

/// The bytes that the pipe of a download is asked to hold.
fn pipe_size(global: &str) -> Vec<i32> {
    let origin = Origin::new(|mut peer| {
        peer.request();
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 64 << 20));
        let piece = vec![b'x'; 1 << 20];
        while peer.client.try_send(&piece).is_ok() {}
    });
    let weir = Setup::http("    option splice-response", "    server s <origin>")
        .global(global)
        .between(&origin, &LogReceiver::new());
    let mut client: Client = weir.web();
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    client.take(1 << 20);
    let links = std::fs::read_dir(format!("/proc/{}/fd", weir.pid())).expect("the program runs");
    let paths = links.filter_map(|link| Some(link.ok()?.path()));
    let pipes = paths.filter(|path| {
        let target = std::fs::read_link(path).unwrap_or_default();
        target.to_string_lossy().starts_with("pipe:")
    });
    pipes.filter_map(|path| sys::pipe::size_of(&path).ok()).collect()
}

#[test]
fn pipes_have_the_size_that_is_asked_for() {
    assert!(pipe_size("tune.pipesize 131072").contains(&131_072));
    assert!(!pipe_size("").contains(&131_072));
}

#[test]
fn a_small_answer_is_copied() {
    let origin = Origin::answering(reply("200 OK", "little"));
    let weir = Setup::http("    option splice-response", "    server s <origin>")
        .between(&origin, &LogReceiver::new());
    assert_eq!(weir.web().get("/").text(), "little");
    assert_eq!(info(&weir, "TotalSplicdedBytesOut"), 0);
}
