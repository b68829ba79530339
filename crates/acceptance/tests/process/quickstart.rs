//! The example that the README begins with.

use crate::support::{Running, Setup, eventually, stat_of};
use std::collections::BTreeMap;

/// The example on ports of this test, its runtime socket in the test's directory.
fn quickstart() -> Running {
    let text = include_str!("../../../../examples/quickstart.cfg");
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = match line.split_once("127.0.0.1:") {
            Some((before, port)) if !line.starts_with('#') => format!("{before}<port{port}>"),
            _ => line.to_owned(),
        };
        lines.push(line.replace("/tmp/weir-quickstart.sock", "<dir>/cli"));
    }
    Setup::new(&(lines.join("\n") + "\n")).start()
}

#[test]
fn three_thousand_requests_are_spread_evenly_and_counted() {
    let weir = quickstart();
    let mut answers = BTreeMap::new();
    for _ in 0..10 {
        let mut client = weir.connect("port8080");
        for _ in 0..300 {
            let answer = client.get("/");
            assert_eq!(answer.status(), 200);
            *answers.entry(answer.text()).or_insert(0) += 1;
        }
    }
    let each = |number| (format!("hello from origin {number}\n"), 1_000);
    assert_eq!(answers, BTreeMap::from([each(1), each(2), each(3)]));

    // The last answer arrives a moment before it is counted.
    eventually("3,000 answers are counted", || {
        (weir.stat("public", "FRONTEND", "hrsp_2xx") == "3000").then_some(())
    });
    let page = weir.connect("port8404").get("/;csv");
    assert_eq!(page.header("content-type"), Some("text/plain"));
    for csv in [page.text(), weir.cli("show stat")] {
        for server in ["origin1", "origin2", "origin3"] {
            assert_eq!(stat_of(&csv, "origins", server, "stot"), "1000");
            assert_eq!(stat_of(&csv, "origins", server, "hrsp_2xx"), "1000");
            assert!(stat_of(&csv, "origins", server, "status").starts_with("UP"));
        }
        assert_eq!(stat_of(&csv, "origins", "BACKEND", "stot"), "3000");
        assert_eq!(stat_of(&csv, "public", "FRONTEND", "req_tot"), "3000");
        assert_eq!(stat_of(&csv, "public", "FRONTEND", "hrsp_2xx"), "3000");
        assert_eq!(stat_of(&csv, "public", "FRONTEND", "stot"), "10");
    }
}

#[test]
fn the_start_prints_addresses_and_examples() {
    let weir = quickstart();
    let public = weir.address("port8080");
    weir.expect_error(&format!("Frontend public listens on {public}"));
    weir.expect_error(&format!("curl -i http://{public}/"));
    weir.expect_error(&format!(
        "statistics: http://{0}/, charts: http://{0}/ui",
        weir.address("port8404")
    ));
    weir.expect_error("echo 'show why' | socat ");
}

#[test]
fn the_statistics_page_is_html() {
    let weir = quickstart();
    let page = weir.connect("port8404").get("/");
    assert_eq!(page.header("content-type"), Some("text/html"));
    assert_eq!(page.header("refresh"), Some("5"));
    let text = page.text();
    for name in ["public", "origins", "origin3", "statistics"] {
        assert!(text.contains(name), "{name} is missing");
    }
}
