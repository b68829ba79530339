//! Bandwidth limits, section 9: downloads and uploads at their pace, shared limits, and the
//! configurations that are refused.

use crate::support::{Directory, Moment, Origin, Running, Setup, eventually, run, serve_forever};
use std::thread;
use std::time::Duration;

/// The errors of a configuration of one `listen` section with these lines, which begin at line 9;
/// `None` if it is valid.
fn refusal(lines: &str) -> Option<String> {
    let directory = Directory::new();
    let text = format!(
        "defaults\n    mode http\n    timeout client 1s\n    timeout connect 1s\n    timeout server 1s\n\
         backend t\n    stick-table type ip size 10 store gpc0\nlisten l\n{lines}\n    bind 127.0.0.1:9999\n"
    );
    let path = directory.write("a.cfg", &text).display().to_string();
    let output = run(&["-c", "-f", &path]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code() != Some(0)).then_some(text)
}

#[test]
fn faulty_limits_are_refused_in_haproxys_words() {
    for (lines, message) in [
        (
            "filter bwlim-out x default-limit 10",
            "'filter' : ''bwlim-out' : <default-period> option is missing'",
        ),
        (
            "filter bwlim-out x default-period 10",
            "'filter' : ''bwlim-out' : <default-limit> option is missing'",
        ),
        (
            "filter bwlim-out x limit 10 default-period 1s",
            "'filter' : ''bwlim-out' : cannot mix per-stream and shared parameter'",
        ),
        (
            "filter bwlim-out x limit 10 key src",
            "Proxy l : unable to find table 'l' referenced by bwlim filter 'x'",
        ),
        (
            "filter bwlim-out x limit 10 key src table nope",
            "Proxy l : unable to find table 'nope' referenced by bwlim filter 'x'",
        ),
        ("filter bwlim-out x", "<default-period> option is missing"),
        (
            "filter bwlim-in x default-limit 1 default-period 0",
            "<default-period> option is missing",
        ),
        (
            "filter bwlim-in x default-limit 1 default-period 1\nfilter bwlim-out x default-limit 1 default-period 1",
            "'filter' : 'bwlim filter 'x' already declared for proxy 'l'",
        ),
        (
            "http-request set-bandwidth-limit nope",
            "Proxy 'l': unable to find bwlim filter 'nope' referenced by set-bandwidth-limit rule.",
        ),
        (
            "filter bwlim-in x limit 1 key src table t\nhttp-request set-bandwidth-limit x limit int(3)",
            "Proxy 'l': set-bandwidth-limit rule cannot define a limit for a shared bwlim filter.",
        ),
        (
            "filter bwlim-in x limit 1 key src table t",
            "Proxy l : stick-table 't' uses a data type incompatible with bwlim filter 'x'. It must be 'bytes_in_rate'",
        ),
        (
            "filter bwlim-in x default-limit 1k default-period 1s min-size 10 foo",
            "'filter bwlim-in' : unknown keyword 'foo'.",
        ),
    ] {
        let said = refusal(lines).unwrap_or_else(|| panic!("{lines} is accepted"));
        assert!(said.contains(message), "{lines}: {said}");
    }
    let fine = "filter bwlim-out x default-limit 1k default-period 1s min-size 10\n\
                http-request set-bandwidth-limit x limit int(5) period int(7) if TRUE";
    assert_eq!(refusal(fine), None);
}

/// A server that answers with the number of bytes in the path.
fn sized() -> Origin {
    Origin::new(|peer| {
        serve_forever(peer, |request| {
            let count: usize = request.target().trim_start_matches('/').parse().unwrap_or(0);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {count}\r\n\r\n");
            [head.as_bytes(), &vec![b'a'; count]].concat()
        });
    })
}

/// How long a download takes.
fn download(weir: &Running, bytes: usize) -> Duration {
    let mut client = weir.web();
    let clock = Moment::now();
    assert_eq!(client.get(&format!("/{bytes}")).text().len(), bytes);
    clock.elapsed()
}

/// HAProxy 2.7 takes 5.01 s for the same.
#[test]
fn a_download_of_100_kb_at_20_kb_per_second_takes_five_seconds() {
    let origin = sized();
    let front = "    option splice-auto\n    filter bwlim-out lim default-limit 20000 default-period 1s\n    \
                 http-response set-bandwidth-limit lim";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let span = download(&weir, 100_000);
    assert!((4_950..6_500).contains(&span.as_millis()), "{span:?}");
}

#[test]
fn uploads_are_limited_and_rules_choose_other_values() {
    let origin = sized();
    let front = "    filter bwlim-in up default-limit 20000 default-period 1s\n    \
                 http-request set-bandwidth-limit up limit int(10000) period int(250)";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    let clock = Moment::now();
    client.send("POST /3 HTTP/1.1\r\nHost: test\r\nContent-Length: 30000\r\n\r\n");
    client.send([b'b'; 30_000]);
    assert_eq!(client.response().text(), "aaa");
    let span = clock.elapsed();
    assert!((720..2_500).contains(&span.as_millis()), "{span:?}");
}

#[test]
fn clients_of_one_key_share_a_limit_and_the_table_shows_it() {
    let origin = sized();
    let front = "    filter bwlim-out sh limit 10000 key src table rates\n    \
                 http-request set-bandwidth-limit sh";
    let back = "    server s <origin>\nbackend rates\n    \
                stick-table type ip size 100 expire 10s store bytes_out_rate(250ms)";
    let weir = Setup::http(front, back).with("origin", origin.address()).start();
    let clock = Moment::now();
    thread::scope(|scope| {
        let downloads: Vec<_> = (0..3).map(|_| scope.spawn(|| download(&weir, 20_000))).collect();
        eventually("the table shows three streams", || {
            weir.cli("show table rates").contains("use=3 ").then_some(())
        });
        for it in downloads {
            it.join().expect("a download ends");
        }
    });
    // Six allowances of a quarter of a second; the first is there at once.
    let span = clock.elapsed();
    assert!((1_200..3_500).contains(&span.as_millis()), "{span:?}");
    eventually("no stream uses the entry", || {
        weir.cli("show table rates").contains("use=0 ").then_some(())
    });
}
