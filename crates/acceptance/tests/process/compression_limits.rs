//! Limits, levels and figures of compression: sections 3.1 and 3.2, and the statistics.

use crate::support::{Client, Message, Origin, Running, Setup, decoded, eventually, page};

const ASKS: &str = "GET / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n";

/// An origin that answers with the page.
fn origin() -> Origin {
    let body = page();
    let length = body.len();
    Origin::answering(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

/// An origin that sends half of a body and then nothing.
fn pausing() -> Origin {
    Origin::new(|mut peer| {
        let _ = peer.request();
        peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 999\r\n\r\nhalf");
        let _ = peer.client.rest();
    })
}

fn start(global: &str, origin: &Origin) -> Running {
    let back = "    server s <origin>\n    compression algo gzip";
    Setup::http("", back).global(global).with("origin", origin.address()).start()
}

fn is_compressed(answer: &Message) -> bool {
    answer.header("content-encoding").is_some()
}

/// A field of `show info`.
fn info(weir: &Running, name: &str) -> u64 {
    let text = weir.cli("show info");
    let value = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// A client whose response has begun.
fn begun(weir: &Running) -> (Client, Message) {
    let mut client = weir.web();
    client.send(ASKS);
    let head = client.head();
    (client, head)
}

#[test]
fn nothing_more_is_compressed_above_the_rate() {
    let origin = origin();
    let weir = start("maxcomprate 1", &origin);
    assert_eq!(info(&weir, "CompressBpsRateLim"), 1_024);
    let bypassed = eventually("a response that is not compressed", || {
        let answer = weir.web().ask(ASKS);
        (!is_compressed(&answer)).then_some(answer)
    });
    assert_eq!(bypassed.text(), page());
    let count: u64 = weir.stat("app", "BACKEND", "comp_byp").parse().expect("a number");
    assert!(count >= page().len() as u64, "{count}");
}

#[test]
fn a_command_moves_the_rate() {
    let origin = origin();
    let weir = start("maxcomprate 1", &origin);
    eventually("a response that is not compressed", || {
        (!is_compressed(&weir.web().ask(ASKS))).then_some(())
    });
    assert_eq!(weir.cli("set rate-limit http-compression global 0"), "");
    assert_eq!(info(&weir, "CompressBpsRateLim"), 0);
    (0..5).for_each(|_| assert!(is_compressed(&weir.web().ask(ASKS))));
    assert_eq!(weir.cli("set rate-limit http-compression global 1"), "");
    eventually("a response that is not compressed", || {
        (!is_compressed(&weir.web().ask(ASKS))).then_some(())
    });
}

#[test]
fn nothing_more_is_compressed_while_the_processor_is_busy() {
    let origin = origin();
    let weir = start("maxcompcpuusage 0", &origin);
    eventually("a response that is not compressed", || {
        (!is_compressed(&weir.web().ask(ASKS))).then_some(())
    });
}

#[test]
fn nothing_more_is_compressed_without_memory() {
    let origin = pausing();
    let weir = start("tune.comp.maxlevel 6\n    maxzlibmem 1", &origin);
    assert_eq!(info(&weir, "MaxZlibMemUsage"), 1 << 20);
    let clients: Vec<_> = (0..12).map(|_| begun(&weir)).collect();
    assert!(is_compressed(&clients[0].1) && !is_compressed(&clients[11].1));
    assert!(info(&weir, "ZlibMemUsage") <= 1 << 20);
    weir.cli("shutdown sessions server app/s");
    eventually("the memory is free again", || (info(&weir, "ZlibMemUsage") == 0).then_some(()));
    assert!(is_compressed(&begun(&weir).1));
}

#[test]
fn levels_and_windows_ask_for_an_encoder_with_memory() {
    let origin = pausing();
    let used = |global: &str| {
        let weir = start(global, &origin);
        let (_client, head) = begun(&weir);
        assert!(is_compressed(&head), "{global}");
        info(&weir, "ZlibMemUsage")
    };
    assert_eq!(used(""), 0);
    for line in ["tune.comp.maxlevel 2", "tune.zlib.memlevel 4", "tune.zlib.windowsize 10"] {
        assert!(used(line) > 0, "{line}");
    }
    let (all, less) = (used("tune.comp.maxlevel 2"), used("tune.zlib.memlevel 1"));
    assert!(less < all && used("tune.zlib.windowsize 9") < all, "{less} {all}");
}

#[test]
fn higher_levels_compress_more() {
    let origin = origin();
    let size = |global: &str| {
        let answer = start(global, &origin).web().ask(ASKS);
        assert_eq!(decoded("gzip", &answer.body), page().into_bytes(), "{global}");
        answer.body.len()
    };
    let (high, low) = (size("tune.comp.maxlevel 9"), size(""));
    assert!(high < low, "{high} {low}");
}

#[test]
fn statistics_count_compressed_bytes() {
    let origin = origin();
    let front = "    http-request use-service prometheus-exporter if { path /metrics }";
    let back = "    server s <origin>\n    compression algo gzip";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    let answer = weir.web().ask(ASKS);
    let length = page().len();
    let (consumed, produced) = (length.to_string(), answer.body.len().to_string());
    for (proxy, side) in [("web", "FRONTEND"), ("app", "BACKEND")] {
        let of = |field| weir.stat(proxy, side, field);
        assert_eq!((of("comp_in"), of("comp_out")), (consumed.clone(), produced.clone()));
        assert_eq!((of("comp_byp"), of("comp_rsp")), ("0".to_owned(), "1".to_owned()));
    }
    assert_eq!(weir.stat("app", "s", "comp_in"), "");
    let metrics = weir.web().get("/metrics").text();
    for line in [
        format!("haproxy_frontend_http_comp_bytes_in_total{{proxy=\"web\"}} {consumed}\n"),
        format!("haproxy_backend_http_comp_bytes_out_total{{proxy=\"app\"}} {produced}\n"),
        "haproxy_backend_http_comp_responses_total{proxy=\"app\"} 1\n".to_owned(),
    ] {
        assert!(metrics.contains(&line), "{line}");
    }
    let rate = eventually("a rate", || {
        let _ = weir.web().ask(ASKS);
        Some(info(&weir, "CompressBpsIn")).filter(|rate| *rate > 0)
    });
    assert!(rate >= length as u64 && info(&weir, "CompressBpsOut") < rate);
}
