//! `filter` lines, section 9, and what configurations with filters or compression are refused for.

use crate::support::{Directory, Origin, Setup, decoded, eventually, page, run};

/// The errors that a check prints for a configuration of one `listen` section with these lines,
/// from line 7 on; `None` if it is valid.
fn refusal(defaults: &str, lines: &str) -> Option<String> {
    let directory = Directory::new();
    let text = format!(
        "defaults\n    mode http\n    timeout client 1s\n    timeout connect 1s\n    timeout server 1s\n\
         {defaults}\nlisten l\n    bind 127.0.0.1:9999\n{lines}\n"
    );
    let path = directory.write("a.cfg", &text).display().to_string();
    let output = run(&["-c", "-f", &path]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code() != Some(0)).then_some(text)
}

#[test]
fn faulty_compression_and_filters_are_refused_with_their_place() {
    for (defaults, lines, line, message) in [
        ("", "compression", 9, "'compression' expects 'algo', 'type' or 'offload'"),
        ("", "compression foo", 9, "'compression' expects 'algo', 'type' or 'offload'"),
        ("", "compression algo", 9, "'compression' expects <algorithm>."),
        (
            "",
            "compression algo gzip lzma",
            9,
            "'compression' : 'lzma' is not a supported algorithm",
        ),
        ("", "compression type", 9, "'compression' expects <type>."),
        ("", "filter", 9, "missing argument for 'filter' in proxy 'l'."),
        ("", "filter foo", 9, "'filter' : unknown keyword 'foo'. Registered keywords :"),
        ("", "filter trace foo", 9, "'filter trace' : unknown keyword 'foo'."),
        ("", "filter trace name", 9, "'name' option without value"),
        ("", "filter compression x", 9, "'filter compression' : unknown keyword 'x'."),
        (
            "",
            "filter compression\nfilter compression",
            10,
            "Proxy supports only one compression filter",
        ),
        ("filter trace", "", 6, "filter is not allowed in a 'default' section."),
        (
            "",
            "compression algo gzip\nfilter trace",
            7,
            "require an explicit filter declaration to use HTTP compression",
        ),
        (
            "compression algo gzip",
            "filter trace",
            7,
            "require an explicit filter declaration to use HTTP compression",
        ),
    ] {
        let said = refusal(defaults, lines);
        let said = said.unwrap_or_else(|| panic!("{defaults} {lines} is accepted"));
        assert!(said.contains(message), "{lines}: {said}");
        // HAProxy tells no place of the last message.
        if !message.starts_with("require") {
            assert!(said.contains(&format!("a.cfg:{line}]")), "{lines}: {said}");
        }
    }
}

#[test]
fn compression_and_filters_are_accepted_where_haproxy_accepts_them() {
    for (defaults, lines) in [
        (
            "",
            "compression algo gzip deflate\ncompression type text/html text/plain\ncompression offload",
        ),
        ("compression algo gzip\ncompression type text/html", ""),
        ("", "compression algo gzip\nfilter trace\nfilter compression"),
        ("", "filter compression"),
        ("", "filter trace name a random-forwarding hexdump quiet\nfilter trace"),
        ("", "mode tcp\ncompression algo gzip\nfilter compression"),
    ] {
        assert_eq!(refusal(defaults, lines), None, "{defaults} {lines}");
    }
}

#[test]
fn a_trace_filter_prints_payload() {
    let origin = Origin::saying("the body");
    let front = "    filter trace name T hexdump\n    filter trace name quieter quiet";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let request = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nsent";
    assert_eq!(weir.web().ask(request).text(), "the body");
    let said = eventually("both directions are printed", || {
        let said = weir.errors();
        let both = said.contains("|sent|") && said.contains("|the body|");
        both.then_some(said)
    });
    assert!(said.contains("[T/web") && !said.contains("quieter"), "{said}");
    assert!(said.contains("channel=REQUEST") && said.contains("channel=RESPONSE"), "{said}");
}

/// The words behind the stream, of lines in which a filter is named: the function, and what there
/// is to compare.
fn checkpoints(said: &str) -> Vec<String> {
    let of = |line: &str| {
        let (_, rest) = line.split_once(" [strm ")?;
        let (filter, words) = (line.split_once('[')?.1.chars().next()?, rest.split_once("] ")?.1);
        let function = words.split_whitespace().next()?.strip_prefix("trace_")?.to_owned();
        let channel = words.split_once("channel=").map_or("", |(_, rest)| &rest[..3]);
        Some(format!("{filter} {function} {channel}").trim_end().to_owned())
    };
    said.lines().filter_map(of).collect()
}

/// The order is HAProxy's, as measured with 2.6; its analyzers have other names.
#[test]
fn a_trace_filter_prints_every_checkpoint() {
    let origin = Origin::saying("the body");
    let front = "    filter trace name F\n    http-request return status 200 if { path /here }\n    \
                 http-request set-header x-a b";
    let back = "    filter trace name B\n    http-response set-header x-c d\n    server s <origin>";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    let request = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nsent";
    assert_eq!(weir.web().ask(request).text(), "the body");
    let ended = |times: usize| {
        eventually("the stream has ended", || {
            let said = weir.errors();
            (said.matches("trace_detach ").count() >= times).then_some(said)
        })
    };
    let said = ended(2);
    let analyzed = |it: &String| !it.contains("chn_analyze");
    let expected = [
        "F attach",
        "F stream_start",
        "F chn_start_analyze REQ",
        "B attach",
        "F stream_set_backend",
        "B stream_set_backend",
        "B chn_start_analyze REQ",
        "F http_headers REQ",
        "B http_headers REQ",
        "F http_payload REQ",
        "F http_end REQ",
        "B http_payload REQ",
        "B http_end REQ",
        "F chn_start_analyze RES",
        "B chn_start_analyze RES",
        "F http_headers RES",
        "B http_headers RES",
        "F http_payload RES",
        "F http_end RES",
        "B http_payload RES",
        "B http_end RES",
        "F chn_end_analyze REQ",
        "B chn_end_analyze REQ",
        "F chn_end_analyze RES",
        "B chn_end_analyze RES",
        "B detach",
        "F stream_stop",
        "F detach",
    ];
    let found: Vec<_> = checkpoints(&said).into_iter().filter(analyzed).collect();
    assert_eq!(found, expected, "{said}");
    let analyzers: Vec<_> =
        said.lines().filter_map(|it| it.split_once("[F/")?.1.split_once("analyzer=")).collect();
    let names: Vec<_> = analyzers.iter().map(|(_, name)| *name).collect();
    let before = |one: &str, other: &str| {
        let at = |name: &str| names.iter().position(|it| *it == name);
        assert!(at(one).is_some() && at(one) < at(other), "{one} {other}: {names:?}");
    };
    before("http-request", "use_backend");
    before("use_backend", "backend");
    before("backend", "headers for the server");
    before("headers for the server", "http-response");
    assert!(said.contains("\tx-a: b\n") && said.contains("\tx-c: d\n"), "edited heads: {said}");
    weir.web().get("/here");
    let found = checkpoints(&ended(3)[said.len()..]);
    let found: Vec<_> = found.into_iter().filter(analyzed).collect();
    let answered = [
        "F attach",
        "F stream_start",
        "F chn_start_analyze REQ",
        "F chn_end_analyze REQ",
        "F stream_stop",
        "F detach",
    ];
    assert_eq!(found, answered, "a rule answers");
}

#[test]
fn a_trace_filter_prints_the_checkpoints_of_tcp() {
    let origin = Origin::new(|mut peer| {
        while let Some(line) = peer.client.try_line() {
            peer.send(format!("{line}!\r\n"));
        }
    });
    let weir = Setup::new(
        "defaults\n mode tcp\n timeout client 5s\n timeout connect 5s\n timeout server 5s\n\
         frontend f\n bind <tcp>\n filter trace name F\n default_backend b\n\
         backend b\n filter trace name B\n server s <origin>\n",
    )
    .with("origin", origin.address())
    .start();
    let mut client = weir.connect("tcp");
    client.send("hello\r\n");
    assert_eq!(client.try_line().as_deref(), Some("hello!"));
    drop(client);
    let said = eventually("the stream has ended", || {
        let said = weir.errors();
        (said.matches("trace_detach ").count() >= 2).then_some(said)
    });
    let analyzed = |it: &String| !it.contains("chn_");
    let mut found: Vec<_> = checkpoints(&said).into_iter().filter(analyzed).collect();
    found.dedup();
    let expected = [
        "F attach",
        "F stream_start",
        "B attach",
        "F stream_set_backend",
        "B stream_set_backend",
        "F tcp_payload REQ",
        "B tcp_payload REQ",
        "F tcp_payload RES",
        "B tcp_payload RES",
        "B detach",
        "F stream_stop",
        "F detach",
    ];
    assert_eq!(found, expected, "{said}");
}

#[test]
fn answers_of_services_and_caches_pass_filters() {
    let cached = Origin::answering(
        "HTTP/1.1 200 OK\r\ncache-control: max-age=9\r\ncontent-length: 6\r\n\r\nstored",
    );
    let front = "    stats uri /stats\n    filter trace hexdump\n    filter cache c\n    http-request \
                 use-service prometheus-exporter if { path /metrics }\n    http-request cache-use c\n    \
                 http-response cache-store c";
    let back = "    server s <origin>\ncache c\n    total-max-size 4\n";
    let weir = Setup::http(front, back).with("origin", cached.address()).start();
    let prints = |text: &str, times: usize| {
        eventually(text, || (weir.errors().matches(text).count() >= times).then_some(()));
    };
    weir.web().get("/stats;csv");
    prints("|# pxname,svname,|", 1);
    weir.web().get("/metrics");
    prints("|# HELP haproxy_p|", 1);
    for times in 1..3 {
        assert_eq!(weir.web().get("/object").text(), "stored");
        prints("|stored|", times);
    }
    assert_eq!(cached.connections(), 1);
}

#[test]
fn filters_pass_payload_in_their_order() {
    let body = page();
    let length = body.len();
    let origin = Origin::answering(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
    ));
    let front = "    filter trace name before random-forwarding quiet\n    filter compression\n    \
                 filter trace name after random-forwarding quiet\n    compression algo gzip";
    let back = "    server s <origin>\n    filter trace random-forwarding quiet";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    for _ in 0..5 {
        let request = "GET / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n";
        let answer = weir.web().ask(request);
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        assert_eq!(decoded("gzip", &answer.body), body.as_bytes());
        assert_eq!(weir.web().get("/").text(), body);
    }
}

/// A filter that prints payload comes in front of compression or behind it, by direction.
#[test]
fn sequences_choose_the_filters_of_each_direction_and_their_order() {
    let (asked, answered) = ("REQUEST-BODY-xyz", "RESPONSE-BODY-xy");
    let (question, body) = (asked.to_owned() + &page(), answered.to_owned() + &page());
    let length = body.len();
    let origin = Origin::answering(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
    ));
    let request = format!(
        "POST / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\ncontent-length: {}\r\n\r\n{question}",
        question.len()
    );
    // Whether requests and responses are compressed, and whether the filter sees their originals.
    for (lines, compressed, seen) in [
        (vec![], [true, true], [false, false]),
        (vec!["request compression"], [true, true], [false, false]),
        (vec!["response see"], [true, false], [false, true]),
        (vec!["request trace,compression"], [true, true], [true, false]),
        (vec!["response see,compression"], [true, true], [false, true]),
        (vec!["response compression,see", "request see"], [false, true], [true, false]),
    ] {
        let lines: String =
            lines.into_iter().map(|line| format!("    filter-sequence {line}\n")).collect();
        let front = lines.clone()
            + "    filter compression\n    filter trace name see hexdump\n    \
               compression algo gzip\n    compression direction both\n    compression algo-req gzip";
        let weir =
            Setup::http(&front, "    server s <origin>").with("origin", origin.address()).start();
        let before = origin.requests().len();
        let answer = weir.web().ask(&request);
        assert_eq!(answer.header("content-encoding").is_some(), compressed[1], "{lines}");
        let sent = origin.request(before);
        assert_eq!(sent.header("content-encoding").is_some(), compressed[0], "{lines}");
        for (text, seen) in [asked, answered].into_iter().zip(seen) {
            let printed = format!("|{text}|");
            match seen {
                true => weir.expect_error(&printed),
                false => assert!(!weir.errors().contains(&printed), "{lines}: {text}"),
            }
        }
    }
}

#[test]
fn streams_of_bytes_pass_filters() {
    let origin = Origin::new(|mut peer| {
        let got = peer.client.take(40_000);
        peer.send(got);
    });
    let front = "    mode tcp\n    option tcplog\n    filter trace random-forwarding quiet\n    \
                 filter compression\n    compression algo gzip";
    let back = "    mode tcp\n    server s <origin>\n    filter trace random-forwarding quiet";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    let sent: Vec<u8> = (0..40_000_u32).map(|n| (n * n % 251) as u8).collect();
    let mut client = weir.web();
    client.send(&sent);
    assert_eq!(client.rest(), sent);
}

#[test]
fn the_program_lists_filters_and_algorithms() {
    let output = run(&["-vv"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lists = "Compression algorithms supported : identity(\"identity\"), deflate(\"deflate\"), \
                 raw-deflate(\"deflate\"), gzip(\"gzip\")";
    assert!(text.contains(lists), "{text}");
    for name in ["[COMP] compression", "[TRACE] trace"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}
