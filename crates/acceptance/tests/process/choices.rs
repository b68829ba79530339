//! Decisions about single requests besides the rules of their section: accounts, the choice of a
//! server, persistence and its exceptions, the monitor.

use crate::support::{Origin, Running, Setup};

/// A frontend before the servers `a` and `b`; `a` is the first choice.
fn start(front: &str, back: &str, origins: &[Origin; 2]) -> Running {
    Setup::http(front, &format!("    balance first\n{back}"))
        .with("a", origins[0].address())
        .with("b", origins[1].address())
        .start()
}

fn origins() -> [Origin; 2] {
    [Origin::saying("a"), Origin::saying("b")]
}

fn with(target: &str, field: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: test\r\n{field}\r\n\r\n")
}

#[test]
fn an_unknown_user_is_asked_for_a_password() {
    let origins = origins();
    let front = "    http-request auth realm Cellar if !{ http_auth(people) }\n    \
                 http-request deny if { path /tigers } !{ http_auth_group(people) tigers }";
    let back = "    server a <a>\nuserlist people\n    group tigers users ann\n    \
                user ann insecure-password secret\n    user bob insecure-password other\n";
    let weir = start(front, back, &origins);
    let mut client = weir.web();
    let answer = client.get("/");
    assert_eq!(answer.status(), 401);
    assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"Cellar\""));
    let known = |target: &str, pair: &str| with(target, &format!("Authorization: Basic {pair}"));
    assert_eq!(client.ask(known("/", "YW5uOnNlY3JldA==")).text(), "a", "ann:secret");
    assert_eq!(client.ask(known("/", "YW5uOm90aGVy")).status(), 401, "ann:other");
    assert_eq!(client.ask(known("/tigers", "YW5uOnNlY3JldA==")).status(), 200);
    assert_eq!(client.ask(known("/tigers", "Ym9iOm90aGVy")).status(), 403, "bob is no tiger");
}

#[test]
fn requests_to_a_proxy_are_asked_for_proxy_credentials() {
    let origins = origins();
    let front = "    option http-use-proxy-header\n    \
                 http-request auth realm Cellar if !{ http_auth(people) }";
    let back = "    server a <a>\nuserlist people\n    user ann insecure-password secret\n";
    let weir = start(front, back, &origins);
    let mut client = weir.web();
    let answer = client.ask(with("http://test/", "Authorization: Basic YW5uOnNlY3JldA=="));
    assert_eq!((answer.status(), answer.header("www-authenticate")), (407, None));
    assert_eq!(answer.header("proxy-authenticate"), Some("Basic realm=\"Cellar\""));
    assert!(answer.text().contains("407 Unauthorized"), "{}", answer.text());
    let pair = "Proxy-Authorization: Basic YW5uOnNlY3JldA==";
    assert_eq!(client.ask(with("http://test/", pair)).text(), "a");
    assert_eq!(client.ask(with("/", pair)).status(), 401, "this is no request to a proxy");
    assert_eq!(client.ask(with("/", "Authorization: Basic YW5uOnNlY3JldA==")).text(), "a");
}

/// A hash takes a thread of its own some milliseconds; rules and conditions of every kind wait for
/// it.
#[test]
fn hashed_passwords_decide_wherever_they_are_asked_for() {
    const USERS: &str = "    server a <a>\n    server b <b>\n\
         backend two\n    server b <b>\n\
         userlist u\n    user a password $5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5\n";
    const STICK: &str = "stick-table type string size 9\n    stick on path if { http_auth(u) }";
    let right = with("/m", "Authorization: Basic YTpIZWxsbyB3b3JsZCE=");
    let wrong = with("/m", "Authorization: Basic YTpIZWxsbw==");
    for (front, back, expected, otherwise) in [
        ("use_backend two if { http_auth(u) }", "", (200, "b"), (200, "a")),
        ("", "use-server b if { http_auth(u) }", (200, "b"), (200, "a")),
        ("http-request deny if { http_auth(u) }", "", (403, "403"), (200, "a")),
        ("redirect location /x if { http_auth(u) }", "", (302, ""), (200, "a")),
        ("monitor-uri /m\n    monitor fail if { http_auth(u) }", "", (503, "503"), (200, "200")),
        ("tcp-request content reject if !{ http_auth(u) }", "", (200, "a"), (0, "")),
        ("", "tcp-request content reject if !{ http_auth(u) }", (200, "a"), (0, "")),
        ("", STICK, (200, "a"), (200, "a")),
    ] {
        let origins = origins();
        let weir = start(&format!("    {front}"), &format!("    {back}\n{USERS}"), &origins);
        for (request, (status, text)) in [(&right, expected), (&wrong, otherwise)] {
            let mut client = weir.web();
            client.send(request);
            if status == 0 {
                client.expect_end();
                continue;
            }
            let answer = client.response();
            assert_eq!(answer.status(), status, "{front}{back}");
            assert!(answer.text().contains(text), "{front}{back}: {}", answer.text());
        }
    }
}

#[test]
fn a_rule_chooses_the_server() {
    let origins = origins();
    let back = "    use-server b if { path_beg /b }\n    server a <a>\n    server b <b>\n";
    let weir = start("", back, &origins);
    let mut client = weir.web();
    assert_eq!(client.get("/").text(), "a");
    assert_eq!(client.get("/b/c").text(), "b");
    assert_eq!(client.get("/c").text(), "a");
}

#[test]
fn force_persist_selects_a_server_that_is_down() {
    let origins = origins();
    let back = "    cookie SRV insert indirect\n    force-persist if { path /force }\n    \
                server a <a> cookie one\n    server b <b> cookie two disabled\n";
    let weir = start("", back, &origins);
    let mut client = weir.web();
    assert_eq!(client.ask(with("/", "Cookie: SRV=two")).text(), "a");
    assert_eq!(client.ask(with("/force", "Cookie: SRV=two")).text(), "b");
}

#[test]
fn persistence_does_not_count_where_it_is_ignored() {
    let origins = origins();
    let back = "    cookie SRV insert indirect\n    ignore-persist if { path /ignore }\n    \
                server a <a> cookie one\n    server b <b> cookie two\n";
    let weir = start("", back, &origins);
    let mut client = weir.web();
    assert_eq!(client.ask(with("/", "Cookie: SRV=two")).text(), "b");
    assert_eq!(client.ask(with("/ignore", "Cookie: SRV=two")).text(), "a");
}

#[test]
fn the_monitor_fails_on_demand() {
    let origins = origins();
    let front = "    monitor-uri /up\n    monitor fail if { hdr(x-broken) -m found }";
    let weir = start(front, "    server a <a>\n", &origins);
    assert_eq!(weir.web().get("/up").status(), 200);
    assert_eq!(weir.web().ask(with("/up", "X-Broken: 1")).status(), 503);
    assert_eq!(weir.web().ask(with("/else", "X-Broken: 1")).text(), "a");
    assert_eq!(origins[0].requests().len(), 1);
}

#[test]
fn servers_get_the_original_destination_of_clients() {
    let origins = origins();
    let front = "    option originalto header X-Wanted";
    let weir = start(front, "    server a <a>\n", &origins);
    weir.web().expect_open("/");
    assert_eq!(origins[0].request(0).header("x-wanted"), Some("127.0.0.1"));
}
