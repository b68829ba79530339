//! Traces of the running program, as the runtime API starts and shows them.

use crate::support::{Origin, Responder, Running, STDERR, Setup, eventually};
use std::net::TcpListener;

/// A frontend with two backends of one origin, `/b` going to the second.
fn setup() -> Setup {
    Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    use_backend b if { path /b }\n    \
         use_backend none if { path /none }\n    default_backend a\n\
         backend a\n    server s <origin>\n\
         backend b\n    server s <origin>\n\
         backend none\n",
    )
}

fn start(origin: &Origin) -> Running {
    setup().with("origin", origin.address()).start()
}

fn tell(weir: &Running, commands: &[&str]) {
    for command in commands {
        assert_eq!(weir.cli(command), "", "{command}");
    }
}

/// The lines of the ring, each without its date, once one contains this.
fn lines(weir: &Running, last: &str) -> Vec<String> {
    eventually(last, || {
        let text = weir.cli("show events buf0");
        let line = |line: &str| line.split_once(" [").map_or(line, |(_, rest)| rest).to_owned();
        text.contains(last).then(|| text.lines().map(line).collect())
    })
}

#[test]
fn a_request_is_traced_into_a_ring() {
    let origin = Origin::saying("hello");
    let weir = start(&origin);
    tell(&weir, &["trace h1 sink buf0", "trace h1 verbosity simple", "trace h1 start now"]);
    tell(&weir, &["trace stream sink buf0", "trace stream start now"]);
    tell(&weir, &["trace session sink buf0", "trace session start now"]);
    assert_eq!(weir.web().get("/one").status(), 200);
    let lines = lines(&weir, "connection ended");
    let about = |words: &str| {
        let found = lines.iter().find(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("no {words}: {lines:#?}")).clone()
    };
    let head = about("H1 request headers received");
    assert!(head.starts_with("00|h1|1|read_request.rs:"), "{head}");
    assert!(head.contains("] H1 request headers received : [F] fe=web - conn=0."), "{head}");
    assert!(head.ends_with(" - \"GET /one HTTP/1.1\""), "{head}");
    assert!(about("H1 response headers received").contains(": [B] fe=web be=a srv=s"));
    assert!(about("H1 response headers for").ends_with(" - \"HTTP/1.1 200 OK\""));
    about("] H1 request fully sent");
    about("] H1 response fully sent");
    assert!(about("backend chosen").contains("|stream|1|"));
    about("] server connected : fe=web be=a srv=s");
    assert!(about("stream ended").ends_with(" - status=200 state=--"));
    about("|session|1|");
    let place = |words: &str| lines.iter().position(|line| line.contains(words));
    assert!(place("new session") < place("new stream"));
    assert!(place("new stream") < place("stream ended"));
}

#[test]
fn traces_show_malformed_requests_with_all_data() {
    let origin = Origin::saying("hello");
    let weir = start(&origin);
    for source in ["h1", "stream"] {
        let settings = ["sink buf0", "level developer", "verbosity complete", "start now"];
        settings.iter().for_each(|it| tell(&weir, &[&format!("trace {source} {it}")]));
    }
    let body = "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nx-odd: a\u{e9}b\r\n\r\nabc";
    assert_eq!(weir.web().ask(body).status(), 200);
    let told = lines(&weir, "] stream ended").join("\n");
    for words in ["\n\tcontent-length: 3\n", "\n\tx-odd: a\\xc3\\xa9b\n", "|h1|4|forward.rs:"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // The stream is counted once: `rx` is the request, `tx` the response.
    let sent = body.len();
    let (_, end) = told.split_once("] stream ended").expect("it is there");
    assert!(end.contains(&format!("\n\trx={sent} tx=")), "{end}");
    let mut client = weir.web();
    client.send("GET / nonsense\r\n\r\n");
    client.rest();
    let told = lines(&weir, "state=PR").join("\n");
    assert!(told.contains("|h1|0|read_request.rs:"), "{told}");
    assert!(told.contains("] H1 request malformed, cut off or late : [F] fe=web"), "{told}");
    assert!(told.contains("] stream failed : fe=web - status=0 state=PR"), "{told}");
}

#[test]
fn traces_show_refusals_failures_and_bytes() {
    let origin = Origin::saying("hello");
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("a socket");
    let weir = Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode tcp\n    timeout client 5s\n    timeout connect 100ms\n    \
         timeout server 5s\n    retries 1\n\
         frontend web\n    bind <web>\n    default_backend a\n\
         frontend shut\n    bind <shut>\n    tcp-request session reject\n\
         frontend dead\n    bind <dead>\n    default_backend d\n\
         backend a\n    server s <origin>\n\
         backend d\n    server s <closed>\n",
    )
    .with("origin", origin.address())
    .with("closed", closed)
    .start();
    for source in ["session", "stream", "h1"] {
        let settings = ["sink buf0", "level developer", "start now"];
        settings.iter().for_each(|it| tell(&weir, &[&format!("trace {source} {it}")]));
    }
    weir.connect("shut").expect_end();
    lines(&weir, "|session|0|session_rules.rs:");
    let told = lines(&weir, "] connection ended : fe=shut").join("\n");
    assert!(told.contains("] refused by a rule : fe=shut"), "{told}");
    assert!(!told.contains("new session"), "{told}");
    weir.connect("dead").expect_end();
    let told = lines(&weir, "] connection ended : fe=dead");
    let failed = told.iter().filter(|line| line.contains("attempt to reach a server failed"));
    assert_eq!(failed.count(), 2, "{told:#?}");
    let ends = told.iter().filter(|line| line.ends_with("- status=0 state=SC"));
    assert_eq!(ends.count(), 2, "it failed, and ended: {told:#?}");
    assert_eq!(weir.web().get("/through").status(), 200);
    let told = lines(&weir, "] connection ended : fe=web").join("\n");
    assert!(told.contains("] server connected : fe=web be=a srv=s"), "{told}");
    assert!(!told.contains("|h1|"), "bytes are no messages: {told}");
}

#[test]
fn nothing_is_written_while_traces_are_off() {
    let origin = Origin::saying("hello");
    let weir = start(&origin);
    tell(&weir, &["trace stream sink buf0", "trace h1 sink buf0", "trace h1 level developer"]);
    weir.web().get("/before");
    assert_eq!(weir.cli("show events buf0"), "");
    tell(&weir, &["trace stream start now", "trace h1 start now"]);
    assert_eq!(weir.cli("trace 0"), "All traces now stopped");
    weir.web().get("/after");
    assert_eq!(weir.cli("show events buf0"), "");
    tell(&weir, &["trace h1 event none", "trace h1 start now"]);
    weir.web().get("/untold");
    assert_eq!(weir.cli("show events buf0"), "");
}

#[test]
fn a_trace_sticks_to_a_connection() {
    let origin = Origin::saying("hello");
    let weir = start(&origin);
    let (mut first, mut second) = (weir.web(), weir.web());
    tell(&weir, &["trace h1 sink buf0", "trace h1 verbosity simple", "trace h1 lock connection"]);
    tell(&weir, &["trace h1 start now"]);
    first.get("/first");
    second.get("/second");
    first.get("/third");
    let lines = lines(&weir, "/third").join("\n");
    assert!(lines.contains("/first") && !lines.contains("/second"), "{lines}");
    // Another criterion begins again.
    tell(&weir, &["trace h1 lock backend"]);
    first.get("/b");
    second.get("/fourth");
    let lines = self::lines(&weir, "/b ").join("\n");
    assert!(!lines.contains("/fourth"), "{lines}");
    assert!(lines.contains("be=b srv=s"), "{lines}");
    assert!(weir.cli("trace h1 lock").contains("\n  * backend    : lock on the backend"));
}

#[test]
fn events_start_and_stop_a_trace() {
    let origin = Origin::saying("hello");
    let weir = start(&origin);
    tell(&weir, &["trace stream sink buf0", "trace stream verbosity quiet"]);
    tell(&weir, &["trace stream event none", "trace stream event +strm_err"]);
    tell(&weir, &["trace stream start strm_ana", "trace stream stop strm_err"]);
    tell(&weir, &["trace stream pause now"]);
    assert!(weir.cli("show trace").contains(" [w] stream     -> buf0 [drp 0]"));
    weir.web().get("/one");
    assert!(weir.cli("show trace").contains(" [R] stream     -> buf0 [drp 0]"));
    weir.web().get("/none");
    let told = lines(&weir, "stream failed");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("00|stream|0|"), "{told:?}");
    assert!(weir.cli("show trace").contains(" [.] stream     -> buf0 [drp 0]"));
}

#[test]
fn streams_of_http_2_and_checks_are_traced() {
    let weir = Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    default_backend a\n\
         frontend new\n    bind <new> proto h2\n    http-request return status 204\n\
         backend a\n    server s <new> proto h2 check inter 100ms\n",
    )
    .start();
    tell(&weir, &["trace h2 sink buf0", "trace h2 level state", "trace h2 start now"]);
    weir.web().get("/over");
    let told = lines(&weir, "H2 stream ended").join("\n");
    for words in ["H2 request headers for the server : [B]", "H2 connection begun", "[F] fe=new"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    tell(&weir, &["trace check sink buf0", "trace check start now"]);
    // The first that ends may have begun before.
    lines(&weir, "health check started : be=a srv=s");
    let told = lines(&weir, "health check passed").join("\n");
    assert!(told.contains("health check passed : be=a srv=s - L4OK"), "{told}");
}

#[test]
fn applications_of_fastcgi_are_traced() {
    let app = Responder::new(|conn| {
        while let Some(request) = conn.request() {
            conn.send(STDERR, request.id, b"a fault\n");
            conn.answer(&request, b"Content-Type: text/plain\r\n\r\nhello");
        }
    });
    let weir = Setup::new(
        "global\n    nbthread 1\n    stats socket <dir>/cli level admin\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    default_backend app\n\
         backend app\n    use-fcgi-app php\n    server s <app> proto fcgi pool-purge-delay 10ms\n\
         fcgi-app php\n    docroot /\n",
    )
    .with("app", app.address())
    .start();
    assert!(weir.cli("trace fcgi event").contains("+ rx_stderr "), "all events are reported");
    tell(&weir, &["trace fcgi sink buf0", "trace fcgi level state", "trace fcgi verbosity simple"]);
    tell(&weir, &["trace fcgi start now", "trace h1 sink buf0", "trace h1 start now"]);
    assert_eq!(weir.web().get("/one").text(), "hello");
    let told = lines(&weir, "FCGI connection ended : be=app srv=s").join("\n");
    for words in [
        "|fcgi|3|trunk_driver.rs:",
        "] FCGI connection begun : be=app srv=s",
        "] FCGI request headers for the server : [B] fe=web be=app srv=s - conn=0.",
        "- \"GET /one HTTP/1.1\"",
        "] FCGI error output : be=app srv=s",
        "] FCGI response headers received : [B] fe=web be=app srv=s",
        "] FCGI response fully received : [B]",
        "|h1|1|",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("H2"), "the client speaks HTTP/1, the server FastCGI: {told}");
}

#[test]
fn names_are_hidden_from_sessions_that_are_anonymous() {
    let origin = Origin::saying("hello");
    let weir = start(&origin);
    let hide = "set anon on 7; trace h1 sink buf0; trace h1 verbosity advanced; trace h1 start now";
    assert_eq!(weir.cli(hide).trim(), "");
    let request = "GET /secret HTTP/1.1\r\nhost: bank.example\r\n\r\n";
    assert_eq!(weir.web().ask(request).status(), 200);
    let told = lines(&weir, "H1 response fully sent : [F]").join("\n");
    assert!(told.contains("H1 request headers received : [F] fe="), "{told}");
    assert!(told.contains(" src=IPV4(") && told.contains(" - \"GET "), "{told}");
    assert!(told.contains("\n\thost: ") && told.contains(" - \"HTTP/1.1 200 "), "{told}");
    for name in ["fe=web", "be=a", "srv=s ", "127.0.0.1", "secret", "bank"] {
        assert!(!told.contains(name), "{name}: {told}");
    }
    // A trace that was started under `set anon` shows no names to another session either, until
    // that session starts it.
    tell(&weir, &["trace h1 level data"]);
    assert_eq!(weir.web().get("/second").status(), 200);
    tell(&weir, &["trace h1 start now"]);
    assert_eq!(weir.web().get("/third").status(), 200);
    let told = lines(&weir, "GET /third").join("\n");
    assert!(told.contains("fe=web") && !told.contains("/second"), "{told}");
}
