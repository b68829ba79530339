//! The statistics page: its address, its access rules and its contents.

use crate::support::{LogReceiver, Message, Origin, Running, Setup, eventually};
use std::net::TcpListener;

/// A page per frontend: `web` by users, `rules` by rules, `open` for everybody.
fn start() -> Running {
    Setup::new(
        "defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         userlist staff\n    user joe insecure-password pw\n\
         frontend web\n    bind <web>\n    stats uri /page\n    stats auth admin:a:b\n    \
         stats auth other:\n    stats realm My\\ Realm\n    stats scope .\n    \
         stats scope behind\n    stats refresh 7s\n\
         frontend rules\n    bind <rules>\n    stats http-request deny if { hdr(x-deny) 1 }\n    \
         stats http-request allow if { hdr(x-allow) 1 }\n    \
         stats http-request auth unless { http_auth(staff) }\n    default_backend behind\n\
         frontend open\n    bind <open>\n    stats enable\n    stats realm Unused\n    \
         stats hide-version\n    stats show-node here\n    stats show-desc of tests\n    \
         stats show-legends\n\
         backend behind\n    http-request return status 204\n    stats uri /behind\n    \
         stats http-request auth realm Behind\n",
    )
    .start()
}

fn get(weir: &Running, bind: &str, target: &str, header: &str) -> Message {
    weir.connect(bind).ask(format!("GET {target} HTTP/1.1\r\nHost: t\r\n{header}\r\n\r\n"))
}

fn basic(credentials: &str) -> String {
    format!("Authorization: Basic {credentials}")
}

#[test]
fn users_of_the_page_need_their_passwords() {
    let weir = start();
    let refused = get(&weir, "web", "/page", "x: y");
    assert_eq!((refused.status(), refused.body.len()), (401, 112));
    assert_eq!(refused.header("www-authenticate"), Some("Basic realm=\"My Realm\""));
    // admin:a:b, other:, admin:a
    assert_eq!(get(&weir, "web", "/page", &basic("YWRtaW46YTpi")).status(), 200);
    assert_eq!(get(&weir, "web", "/page;csv", &basic("b3RoZXI6")).status(), 200);
    assert_eq!(get(&weir, "web", "/page;csv", &basic("YWRtaW46YQ==")).status(), 401);
}

#[test]
fn the_page_shows_the_proxies_of_its_scope() {
    let weir = start();
    let page = get(&weir, "web", "/page;csv", &basic("YWRtaW46YTpi"));
    assert_eq!(page.header("refresh"), Some("7"));
    let text = page.text();
    let names: Vec<_> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names, ["web", "behind"], "{text}");
}

#[test]
fn rules_decide_access_to_the_page() {
    let weir = start();
    let target = "/haproxy?stats;csv";
    assert_eq!(get(&weir, "rules", target, "X-Deny: 1").status(), 403);
    assert_eq!(get(&weir, "rules", target, "X-Allow: 1").status(), 200);
    let asked = get(&weir, "rules", target, "x: y");
    assert_eq!(asked.status(), 401);
    assert_eq!(asked.header("www-authenticate"), Some("Basic realm=\"HAProxy Statistics\""));
    // joe:pw, joe:no
    assert_eq!(get(&weir, "rules", target, &basic("am9lOnB3")).status(), 200);
    assert_eq!(get(&weir, "rules", target, &basic("am9lOm5v")).status(), 401);
    assert_eq!(get(&weir, "rules", "/elsewhere", "X-Deny: 1").status(), 204);
    let behind = get(&weir, "rules", "/behind", "x: y");
    assert_eq!(behind.status(), 204, "rules about requests go before the page of a backend");
}

#[test]
fn the_page_has_three_methods() {
    let weir = start();
    let ask = |method: &str| {
        let line = format!("{method} /haproxy?stats HTTP/1.1\r\n");
        let mut client = weir.connect("rules");
        client.send(format!("{line}Host: t\r\nX-Allow: 1\r\nContent-Length: 0\r\n\r\n"));
        client.head().status()
    };
    assert_eq!(["GET", "HEAD", "POST"].map(ask), [200, 200, 303]);
    let others = ["PUT", "DELETE", "OPTIONS", "PATCH", "FOO", "get"];
    assert_eq!(others.map(ask), [204; 6], "the backend answers");
}

#[test]
fn an_open_page_needs_nothing() {
    let weir = start();
    let text = get(&weir, "open", "/haproxy?stats", "x: y").text();
    assert!(text.contains("here") && text.contains("of tests"), "{text}");
    assert_eq!(get(&weir, "open", "/haproxy?stats", "x: y").header("refresh"), None);
}

#[test]
fn the_page_is_found_in_absolute_targets() {
    // Requests over HTTP/2 have absolute targets, too.
    let weir = start();
    for target in ["/haproxy?stats;csv", "http://t/haproxy?stats;csv"] {
        let page = get(&weir, "open", target, "x: y");
        assert!(page.text().starts_with("# pxname"), "{target}");
    }
    let ui = get(&weir, "open", "http://t/haproxy?stats/ui", "x: y");
    assert!(ui.text().contains("<!DOCTYPE html>"));
}

#[test]
fn large_answers_come_in_pieces_whatever_is_spoken() {
    let weir = Setup::new(
        "defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    stats enable\n    \
         http-request use-service prometheus-exporter if { path /metrics }\n\
         backend be\n    server-template s 500 127.0.0.1:1\n",
    )
    .start();
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("be,s")).count();
    let mut client = weir.web();
    for _ in 0..2 {
        let page = client.get("/haproxy?stats;csv");
        assert_eq!(page.header("transfer-encoding"), Some("chunked"));
        assert_eq!(page.header("content-length"), None);
        assert_eq!(rows(&page.text()), 500);
    }
    let figures = client.get("/metrics").text();
    let weights = figures.lines().filter(|line| line.starts_with("haproxy_server_weight{"));
    assert_eq!(weights.count(), 500);
    client.send("HEAD /haproxy?stats HTTP/1.1\r\nHost: t\r\n\r\n");
    assert_eq!(client.head().status(), 200);
    let page = client.get("/haproxy?stats").text();
    assert_eq!(page.matches("<tr id=\"be/s").count(), 500);
    assert!(page.trim_end().ends_with("</html>"), "whole, and nothing of the HEAD before it");
    let mut old = weir.web();
    old.send("GET /haproxy?stats;csv HTTP/1.0\r\n\r\n");
    let head = old.head();
    assert_eq!((head.header("transfer-encoding"), head.header("content-length")), (None, None));
    assert_eq!(rows(&String::from_utf8(old.rest()).unwrap()), 500, "then the connection ends");
}

/// A POST of a form to `/haproxy?stats`: where it leads to.
fn post(weir: &Running, form: &str, header: &str) -> String {
    let answer = weir.connect("web").ask(format!(
        "POST /haproxy?stats HTTP/1.1\r\nHost: t\r\n{header}\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    ));
    assert_eq!(answer.status(), 303);
    answer.header("location").unwrap_or_default().to_owned()
}

#[test]
fn users_with_rights_change_servers_from_the_page() {
    let weir = Setup::new(
        "global\n    tune.bufsize 16384\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    stats enable\n    stats admin if { hdr(x-role) boss }\n\
         backend be\n    server s1 127.0.0.1:1\n    server s2 127.0.0.1:1\n",
    )
    .start();
    let state = |server: &str| {
        let text = get(&weir, "web", "/haproxy?stats;csv", "x: y").text();
        let start = format!("be,{server},");
        let line = text.lines().find(|line| line.starts_with(&start)).unwrap().to_owned();
        line.split(',').nth(17).unwrap().to_owned()
    };
    let form = "s=s1&s=s2&action=maint&b=be";
    let (boss, place) = ("X-Role: boss", "/haproxy?stats;st=");
    assert_eq!(post(&weir, form, "x: y"), format!("{place}DENY"));
    let foreign = "X-Role: boss\r\nOrigin: http://elsewhere";
    assert_eq!(post(&weir, form, foreign), format!("{place}DENY"));
    assert_eq!(state("s1"), "no check");
    assert_eq!(post(&weir, form, "X-Role: boss\r\nOrigin: http://t"), format!("{place}DONE"));
    assert_eq!([state("s1"), state("s2")], ["MAINT", "MAINT"]);
    assert_eq!(post(&weir, "s=s1&s=x&action=drain&b=be", boss), format!("{place}PART"));
    assert_eq!([state("s1"), state("s2")], ["DRAIN", "MAINT"]);
    let long = format!("s={}", "x".repeat(17_000));
    assert_eq!(post(&weir, &long, boss), format!("{place}EXCD"));
}

#[test]
fn a_hashed_password_makes_an_administrator() {
    let weir = Setup::new(
        "userlist admins\n    \
         user a password $5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5\n\
         defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    stats admin if { http_auth(admins) }\n\
         backend be\n    server s1 127.0.0.1:1\n",
    )
    .start();
    let place = "/haproxy?stats;st=";
    for (credentials, said) in [("YTpIZWxsbw==", "DENY"), ("YTpIZWxsbyB3b3JsZCE=", "DONE")] {
        let given = format!("Authorization: Basic {credentials}");
        assert_eq!(post(&weir, "s=s1&action=maint&b=be", &given), format!("{place}{said}"));
    }
}

#[test]
fn show_stat_shows_modules_on_request() {
    let origin = Origin::saying("a");
    for (line, shown) in [("    stats show-modules", true), ("", false)] {
        let front = format!("    stats uri /s\n{line}");
        let weir = Setup::http(&front, "    server s <s>").with("s", origin.address()).start();
        weir.web().get("/");
        let page = weir.web().get("/s").text();
        assert_eq!(page.contains(">Extra modules</th>"), shown, "{page}");
        assert_eq!(page.contains("Microseconds in all, median: "), shown, "{page}");
        let csv = weir.web().get("/s;csv").text();
        assert!(csv.starts_with("# pxname,") && csv.contains(",-,ssl_sess,"), "{csv}");
    }
}

/// As in HAProxy, the log names the page in place of a server, with times of 0.
#[test]
fn the_page_is_the_server_in_the_log() {
    let log = LogReceiver::new();
    let front = "    stats uri /page\n    stats auth joe:pw\n    \
                 log-format \"%s %TR/%Tw/%Tc/%Tr %ST %ts\"";
    let weir = Setup::http(front, "").with("log", log.address()).start();
    let joe = basic("am9lOnB3");
    for (status, header, line) in
        [(401, "x: y", "<STATS> 0/0/0/-1 401 LR"), (200, &*joe, "<STATS> 0/0/0/0 200 LR")]
    {
        assert_eq!(get(&weir, "web", "/page", header).status(), status);
        assert_eq!(log.line(), line);
    }
}

#[test]
fn redirects_follow_the_rules_and_the_page() {
    let front = "    stats uri /page\n    http-request deny if { path /denied }\n    \
                 http-request set-path /moved if { path /old }\n    \
                 redirect location /denied-to if { path /denied }\n    \
                 redirect location /moved-to if { path /moved }\n    \
                 redirect location /page-to if { path_beg /page } METH_GET\n    \
                 redirect location /other-to if { path_beg /page }\n    \
                 use_backend app if { path_beg /behind }";
    let back = "    stats uri /behind\n    stats auth joe:pw\n    \
                redirect location /behind-to if { path_beg /behind }\n    server s 127.0.0.1:1";
    let weir = Setup::http(front, back).start();
    let ask = |method: &str, target: &str| {
        let head = format!("{method} {target} HTTP/1.1\r\nHost: t\r\nContent-Length: 0\r\n\r\n");
        let mut client = weir.web();
        client.send(head);
        let answer = client.head();
        (answer.status(), answer.header("location").map(str::to_owned))
    };
    let to = |target: &str| (302, Some(target.to_owned()));
    assert_eq!(ask("GET", "/denied"), (403, None));
    assert_eq!(ask("GET", "/old"), to("/moved-to"));
    assert_eq!(ask("GET", "/page"), (200, None), "the page of the frontend goes first");
    assert_eq!(ask("GET", "/page;csv"), (200, None));
    assert_eq!(ask("PUT", "/page"), to("/other-to"), "the page has no such method");
    assert_eq!(ask("GET", "/behind"), (401, None), "the page of the backend goes first");
    assert_eq!(ask("PUT", "/behind"), to("/behind-to"));
}

#[test]
fn a_check_under_way_is_marked() {
    // Connections are made and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("a bound socket");
    let passing = Origin::saying("x");
    let weir = Setup::http(
        "",
        &format!(
            "    option httpchk GET /\n    timeout check 60s\n    \
             server s <s> check agent-check agent-port {} agent-inter 1s\n    \
             server other <other> check inter 60s\n    server plain <s>",
            address.port()
        ),
    )
    .with("s", address)
    .with("other", passing.address())
    .start();
    let status = |server: &str, field: &str| weir.stat("app", server, field);
    for field in ["check_status", "agent_status"] {
        eventually(field, || (status("s", field) == "* INI").then_some(()));
    }
    eventually("a check that is over", || {
        (status("other", "check_status") == "L7OK").then_some(())
    });
    assert_eq!(status("plain", "check_status"), "");
    let state = weir.cli("show servers state app");
    let line = state.lines().find(|line| line.contains(" s 127.")).expect("a line of the server");
    let words: Vec<_> = line.split(' ').collect();
    assert_eq!((words[13], words[14]), ("7", "23"), "{line}");
}

/// The service takes the place of a server: response rules see its answer, and the log names it.
#[test]
fn a_service_passes_the_rules_about_responses() {
    let log = LogReceiver::new();
    let weir = Setup::new(
        "defaults\n    mode http\n    timeout client 5s\n    timeout connect 5s\n    \
         timeout server 5s\n\
         frontend web\n    bind <web>\n    log <log> format raw local0\n    \
         log-format \"%b/%s %TR/%Tw/%Tc/%Tr %ST %ts %hs\"\n    \
         capture response header content-type len 10\n    \
         http-request use-service prometheus-exporter if { path /metrics }\n    \
         http-response set-header x-front %[status]\n    \
         http-response deny if { capture.req.uri -m sub deny }\n    \
         http-response return status 418 if { capture.req.uri -m sub return }\n    \
         http-response wait-for-body time 1s if { capture.req.uri -m sub wait }\n    \
         http-after-response set-header x-after %[status]\n    default_backend be\n\
         backend be\n    http-request use-service prometheus-exporter\n    \
         http-response set-header x-back 1\n",
    )
    .with("log", log.address())
    .start();
    let front = "web/<PROMEX> 0/0/0/0";
    let back = "be/<PROMEX> 0/0/0/0";
    let text = "{text/plain}";
    for (target, status, fields, line) in [
        ("/metrics", 200, [Some("200"), None, Some("200")], format!("{front} 200 LR {text}")),
        ("/back", 200, [Some("200"), Some("1"), Some("200")], format!("{back} 200 LR {text}")),
        ("/back?wait", 200, [Some("200"), Some("1"), Some("200")], format!("{back} 200 LR {text}")),
        (
            "/back?scope=no",
            400,
            [Some("400"), Some("1"), Some("400")],
            format!("{back} 400 LR {text}"),
        ),
        ("/metrics?deny", 502, [None, None, Some("502")], format!("{front} 502 LR {text}")),
        ("/back?return", 418, [None, None, Some("418")], format!("{back} 418 LR {text}")),
    ] {
        let answer = weir.web().get(target);
        let seen = ["x-front", "x-back", "x-after"].map(|name| answer.header(name));
        assert_eq!((answer.status(), seen), (status, fields), "{target}");
        // The total is a time that passes.
        let seen = log.line();
        let (start, rest) = seen.split_once(" 0/0/0/").expect("times");
        let rest = rest.trim_start_matches(|byte: char| byte.is_ascii_digit());
        assert_eq!(format!("{start} 0/0/0/0{rest}"), line, "{target}");
    }
}
