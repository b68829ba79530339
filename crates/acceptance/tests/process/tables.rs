//! Stick tables on real connections: counters, persistence, and the answers of the runtime socket.

use crate::support::{Client, Origin, Running, Setup, eventually, reply, serve_forever};

/// The rules that count connections and requests.
const COUNTERS: &str = "conn_cnt,conn_cur,sess_cnt,http_req_cnt,http_err_cnt,http_fail_cnt";

/// The one entry of a table, without what changes from run to run.
fn entry(weir: &Running, table: &str) -> String {
    let listing = weir.cli(&format!("show table {table}"));
    let line = listing.lines().find(|line| line.starts_with("0x")).unwrap_or("none");
    let words = line.split(' ').skip(1).filter(|word| !word.starts_with("exp="));
    words.collect::<Vec<_>>().join(" ")
}

fn becomes(weir: &Running, table: &str, expected: &str) {
    let mut last = String::new();
    eventually(&format!("{table} shows {expected}, not {last}"), || {
        last = entry(weir, table);
        (last == expected).then_some(())
    });
}

/// An origin that answers with the status that the path says.
fn by_path() -> Origin {
    Origin::new(|peer| {
        serve_forever(peer, |request| match request.target() {
            "/404" => reply("404 Not Found", "no").into_bytes(),
            "/500" => reply("500 Oops", "no").into_bytes(),
            "/501" => reply("501 Oops", "no").into_bytes(),
            _ => reply("200 OK", "yes").into_bytes(),
        })
    })
}

fn tables(names: &[&str], store: &str) -> String {
    let table = |name: &&str| {
        format!("\nbackend {name}\n    stick-table type ip size 100 expire 1h store {store}\n")
    };
    names.iter().map(table).collect()
}

#[test]
fn sessions_and_streams_are_counted_at_their_moments() {
    let origin = by_path();
    let front = "    tcp-request connection track-sc0 src table conns\n    \
                 http-request track-sc0 src table never\n    \
                 http-request track-sc1 src table reqs\n    \
                 http-request deny if { path /deny }";
    let back = format!(
        "    http-request track-sc2 src table backs\n    server s <origin>\n{}",
        tables(&["conns", "never", "reqs", "backs"], COUNTERS)
    );
    let weir = Setup::http(front, &back).with("origin", origin.address()).start();
    let mut client = weir.web();
    for (path, status) in [("/", 200), ("/deny", 403), ("/404", 404), ("/500", 500), ("/501", 501)]
    {
        assert_eq!(client.get(path).status(), status);
    }
    let conns = "key=127.0.0.1 use=1 conn_cnt=1 conn_cur=1 sess_cnt=1 http_req_cnt=5 http_err_cnt=2 http_fail_cnt=1";
    becomes(&weir, "conns", conns);
    let reqs = "key=127.0.0.1 use=0 conn_cnt=5 conn_cur=0 sess_cnt=0 http_req_cnt=5 http_err_cnt=2 http_fail_cnt=1";
    becomes(&weir, "reqs", reqs);
    let backs = "key=127.0.0.1 use=0 conn_cnt=4 conn_cur=0 sess_cnt=0 http_req_cnt=4 http_err_cnt=1 http_fail_cnt=1";
    becomes(&weir, "backs", backs);
    assert_eq!(entry(&weir, "never"), "", "what the session tracks goes before");
    assert_eq!(
        weir.cli("clear table conns key 127.0.0.1"),
        "Entry currently in use, cannot remove"
    );
    client.close();
    becomes(&weir, "conns", &conns.replace("use=1", "use=0").replace("conn_cur=1", "conn_cur=0"));
    // A request that cannot be parsed is an error of the session.
    weir.web().send("GET / HTTP/1.1\r\nbad : x\r\n\r\n");
    becomes(
        &weir,
        "conns",
        "key=127.0.0.1 use=0 conn_cnt=2 conn_cur=0 sess_cnt=2 http_req_cnt=6 http_err_cnt=3 http_fail_cnt=1",
    );
}

#[test]
fn counters_are_seen_by_rules() {
    let origin = Origin::saying("hello");
    let front = "    stick-table type string len 8 size 100 expire 1h store gpc0,gpt0,gpc0_rate(1h),http_req_rate(1h),gpc1\n    \
                 http-request track-sc0 url_param(k)\n    \
                 http-request sc-inc-gpc0(0) if { path /inc }\n    \
                 http-request sc-set-gpt0(0) url_param(tag) if { path /tag }\n    \
                 http-request deny deny_status 429 if { sc0_http_req_rate gt 3 }\n    \
                 http-request return status 200 hdr x-seen \"%[sc0_get_gpc0] %[sc0_gpc0_rate] %[sc0_get_gpt0] %[sc_http_req_rate(0)] %[url_param(k),table_gpc0(web)] %[str(other),in_table(web)] %[sc1_tracked] [%[sc0_conn_cnt]]\"";
    let weir = Setup::http(front, "    server s <origin>").with("origin", origin.address()).start();
    let mut client = weir.web();
    let mut seen = |path: &str| client.get(path).header("x-seen").unwrap_or("denied").to_owned();
    assert_eq!(seen("/inc?k=one"), "1 1 0 1 1 0 0 []");
    assert_eq!(seen("/tag?k=one&tag=9"), "1 1 9 2 1 0 0 []");
    assert_eq!(seen("/inc?k=two"), "1 1 0 1 1 0 0 []");
    assert_eq!(seen("/?k=one"), "1 1 9 3 1 0 0 []");
    assert_eq!(seen("/?k=one"), "denied");
    assert_eq!(seen("/"), "     0 0 []".trim_start(), "without a key nothing is tracked");
}

#[test]
fn clients_are_sent_to_the_server_that_a_table_remembers() {
    let origins: Vec<Origin> = ["a", "b", "c"].map(Origin::saying).into();
    let back = "    stick-table type string len 20 size 100 expire 1h\n    \
                stick on url_param(user)\n    \
                server a <a>\n    server b <b> id 7\n    server c <c> non-stick\n";
    let weir = Setup::http("", back)
        .with("a", origins[0].address())
        .with("b", origins[1].address())
        .with("c", origins[2].address())
        .start();
    let mut client = weir.web();
    let mut get = |path: &str| client.get(path).text();
    assert_eq!([get("/?user=u1"), get("/?user=u2"), get("/?user=u3")], ["a", "b", "c"]);
    assert_eq!([get("/?user=u2"), get("/?user=u1"), get("/?user=u2")], ["b", "a", "b"]);
    assert_eq!([get("/"), get("/?user=u3"), get("/")], ["a", "b", "c"], "others are balanced");
    let listing = weir.cli("show table app");
    assert!(listing.starts_with("# table: app, type: string, size:100, used:3\n"), "{listing}");
    for line in
        ["key=u1 use=0", "key=u2 use=0", "server_id=7 server_key=b", "server_id=1 server_key=a"]
    {
        assert!(listing.contains(line), "{listing}");
    }
    // A server that is out of service is not persistent.
    weir.cli("disable server app/b");
    assert_ne!(get("/?user=u2"), "b");
}

#[test]
fn servers_are_learnt_from_responses_and_from_plain_connections() {
    let origins: Vec<Origin> = ["a", "b"]
        .map(|name| {
            Origin::answering(
                reply("200 OK\r\nX-Session: s", name).replace("s\r\n", &format!("s{name}\r\n")),
            )
        })
        .into();
    let back = "    stick-table type string len 20 size 100\n    \
                stick store-response res.hdr(x-session)\n    \
                stick match url_param(session)\n    \
                server a <a>\n    server b <b>\n";
    let weir = Setup::http("", back)
        .with("a", origins[0].address())
        .with("b", origins[1].address())
        .start();
    let mut client = weir.web();
    let mut get = |path: &str| client.get(path).text();
    assert_eq!([get("/"), get("/")], ["a", "b"]);
    assert_eq!([get("/?session=sb"), get("/?session=sb")], ["b", "b"]);
    assert_eq!([get("/?session=sa"), get("/?session=none")], ["a", "a"]);
}

#[test]
fn sessions_in_tcp_mode_stick_too() {
    let origins: Vec<Origin> = ["a", "b"].map(Origin::saying).into();
    let text = "global\n    stats socket <dir>/cli level admin\ndefaults\n    timeout client 5s\n    timeout server 5s\n    timeout connect 1s\n\
                listen web\n    bind <web>\n    stick-table type ip size 10 expire 1h srvkey addr store conn_cnt,bytes_in_cnt\n    \
                tcp-request content track-sc0 src\n    stick on src\n    server a <a>\n    server b <b>\n";
    let weir =
        Setup::new(text).with("a", origins[0].address()).with("b", origins[1].address()).start();
    let request = "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    for _ in 0..3 {
        assert_eq!(Client::connect(weir.address("web")).ask(request).text(), "a");
    }
    let address = origins[0].address();
    let expected = format!(
        "key=127.0.0.1 use=0 server_id=1 conn_cnt=3 bytes_in_cnt={} server_key={address}",
        3 * request.len()
    );
    becomes(&weir, "web", &expected);
}

#[test]
fn entries_expire_and_the_oldest_give_way() {
    let origin = Origin::saying("hello");
    let back = "    server s <origin>\n\
                \nbackend short\n    stick-table type ip size 10 expire 50ms\n\
                \nbackend small\n    stick-table type integer size 3 expire 1h\n\
                \nbackend kept\n    stick-table type integer size 2 nopurge\n";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    weir.cli("set table short key 10.0.0.1");
    eventually("the entry is taken out", || {
        weir.cli("show table short").contains("used:0").then_some(())
    });
    for key in 1..=4 {
        weir.cli(&format!("set table small key {key}"));
        weir.cli(&format!("set table kept key {key}"));
    }
    let keys = |table: &str| {
        let listing = weir.cli(&format!("show table {table}"));
        let keys = listing.split_whitespace().filter_map(|word| word.strip_prefix("key="));
        keys.collect::<Vec<_>>().concat()
    };
    assert_eq!([keys("small"), keys("kept")], ["234", "12"]);
}

#[test]
fn tables_are_shown_set_and_cleared() {
    let origin = Origin::saying("hello");
    let back = "    server s <origin>\n\
                \nbackend t1\n    stick-table type ip size 1k expire 1h store gpc0,conn_rate(10s),bytes_in_cnt\n\
                \nbackend t2\n    stick-table type binary len 4 size 10 store gpt(2),gpc_rate(1,1m)\n";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    let t1 = "# table: t1, type: ip, size:1024, used:";
    assert_eq!(
        weir.cli("show table"),
        format!("# table: t2, type: binary, size:10, used:0\n{t1}0")
    );
    weir.cli(
        "set table t1 key 10.0.0.2 data.gpc0 5 data.conn_rate 77 data.bytes_in_cnt 5000000000",
    );
    weir.cli("set table t1 key 10.0.0.1 data.gpc0 4294967297");
    let shown = weir.cli("show table t1");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!((lines[0], lines.len()), (&*format!("{t1}2"), 3));
    assert!(lines[1].contains(": key=10.0.0.1 use=0 exp="), "{shown}");
    assert!(lines[1].ends_with(" gpc0=1 conn_rate(10000)=0 bytes_in_cnt=0"), "{shown}");
    assert!(lines[2].ends_with(" gpc0=5 conn_rate(10000)=77 bytes_in_cnt=5000000000"), "{shown}");
    let count = |filter: &str| weir.cli(&format!("show table t1 {filter}")).lines().count();
    let filters = [
        ("data.gpc0 gt 1", 2),
        ("data.gpc0 gt 0", 3),
        ("data.gpc0 gt 0 data.conn_rate lt 5", 2),
        ("key 10.0.0.2", 2),
        ("key 10.0.0.3", 0),
        ("data.bytes_in_cnt ge 5000000001", 1),
    ];
    for (filter, lines) in filters {
        assert_eq!(count(filter), lines, "{filter}");
    }
    for (command, answer) in [
        ("show table nope", "No such table"),
        (
            "show table t1 foo",
            "Optional argument only supports \"data.<store_data_type>\" <operator> <value> and key <key>",
        ),
        ("show table t1 data.nope eq 1", "Filter entry #1: Unknown data type"),
        ("show table t1 data.gpt0 eq 1", "Filter entry #1: Data type not stored in this table"),
        (
            "show table t1 data.gpc0 like 1",
            "Filter entry #1: Require and operator among \"eq\", \"ne\", \"le\", \"ge\", \"lt\", \"gt\"",
        ),
        (
            "show table t1 data.gpc0 eq x",
            "Filter entry #1: Require a valid integer value to compare against",
        ),
        ("show table t1 key", "Key value expected"),
        (
            "show table t2 key aa",
            "Showing keys from tables of type other than ip, ipv6, string and integer is not supported",
        ),
        ("set table", "Required arguments: <table> key <key> [data.<store_data_type> <value>]*"),
        ("set table t1 key 10.0.0.1 data.gpc0 x", "Require a valid integer value to store"),
        ("set table t1 key 10.0.0.1 data.nope 1", "Unknown data type"),
        ("set table t1 key 10.0.0.1 foo 1", "\"data.<type>\" followed by a value expected"),
        (
            "clear table",
            "Required arguments: <table> \"data.<store_data_type>\" <operator> <value> or <table> key <key>",
        ),
        ("clear table t1 data.gpc0 eq 5", ""),
    ] {
        assert_eq!(weir.cli(command), answer, "{command}");
    }
    assert_eq!(weir.cli("show table t1 data.gpc0 ge 0").lines().count(), 2);
    weir.cli("clear table t1");
    assert_eq!(weir.cli("show table t1"), format!("{t1}0"));
}

/// Whether a rule closes the connection without having seen the response is known in advance, and
/// must not be found out by running the rules twice.
#[test]
fn rules_of_a_response_run_once() {
    let origin = Origin::answering(reply("200 OK", "hello"));
    let back = "    stick-table type ip size 10 store gpc0\n    tcp-request content track-sc0 src\n    \
                tcp-response content sc-inc-gpc0(0)\n    \
                tcp-response content close if { status 500 }\n    server s <origin>";
    let weir = Setup::http("", back).with("origin", origin.address()).start();
    assert_eq!(weir.web().get("/").status(), 200);
    let listing = weir.cli("show table app");
    assert!(listing.contains("gpc0=1"), "{listing}");
}

#[test]
fn an_empty_key_is_counted_against_a_limit() {
    let front = "    stick-table type string len 8 size 100 store http_req_cnt\n    \
                 http-request track-sc0 req.hdr(x-key) if { path /header }\n    \
                 http-request track-sc0 url_param(k) if { path /parameter }\n    \
                 http-request track-sc0 req.cook(k) if { path /cookie }\n    \
                 http-request track-sc0 query if { path /query }\n    \
                 http-request track-sc0 req.hdr(x-key) table blocks if { path /block }\n    \
                 http-request track-sc0 req.hdr(x-key) table numbers if { path /number }\n    \
                 http-request return status 200 hdr x-seen \"%[sc0_http_req_cnt]|%[req.hdr(x-key),in_table(web)]|%[req.hdr(x-key),table_http_req_cnt(blocks)]\"";
    let back = "    server s 127.0.0.1:1\n\
                \nbackend blocks\n    stick-table type binary len 4 size 10 store http_req_cnt\n\
                \nbackend numbers\n    stick-table type integer size 10 store http_req_cnt\n";
    let weir = Setup::http(front, back).start();
    let mut client = weir.web();
    let mut seen = |target: &str| {
        let request =
            format!("GET {target} HTTP/1.1\r\nhost: h\r\nx-key:\r\ncookie: k=; a=1\r\n\r\n");
        client.ask(request).header("x-seen").unwrap_or("none").to_owned()
    };
    assert_eq!(seen("/block"), "1|0|1");
    assert_eq!(seen("/block"), "2|0|2");
    assert_eq!(seen("/header"), "1|1|2");
    assert_eq!(seen("/parameter?k="), "2|1|2");
    assert_eq!(seen("/cookie"), "3|1|2");
    assert_eq!(seen("/query?"), "4|1|2");
    assert_eq!(seen("/query"), "|1|2", "without a question mark there is no query");
    assert_eq!(seen("/parameter?k"), "|1|2", "a name without an equals sign is no parameter");
    assert_eq!(seen("/number"), "|1|2", "an empty text is no number");
    assert_eq!(entry(&weir, "web"), "key= use=0 http_req_cnt=4");
    assert_eq!(entry(&weir, "blocks"), "key=00000000 use=0 http_req_cnt=2");
}

#[test]
fn an_empty_key_sticks_to_its_server() {
    let origins: Vec<Origin> =
        ["a", "b"].map(|name| Origin::answering(reply("200 OK\r\nX-Session:", name))).into();
    let back = "    stick-table type string len 20 size 100\n    \
                stick on req.hdr(x-user)\n    \
                stick store-response res.hdr(x-session) table blocks\n    \
                server a <a>\n    server b <b>\n\
                \nbackend blocks\n    stick-table type binary len 4 size 10\n";
    let weir = Setup::http("", back)
        .with("a", origins[0].address())
        .with("b", origins[1].address())
        .start();
    let mut client = weir.web();
    for _ in 0..3 {
        let request = "GET / HTTP/1.1\r\nhost: h\r\nx-user:\r\n\r\n";
        assert_eq!(client.ask(request).text(), "a");
    }
    assert_eq!(entry(&weir, "app"), "key= use=0 server_id=1 server_key=a");
    assert_eq!(entry(&weir, "blocks"), "key=00000000 use=0 server_id=1 server_key=a");
}
