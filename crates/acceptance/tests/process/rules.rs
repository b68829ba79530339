//! Rules on real requests: deny, return, redirect, headers, backends, error files.

use crate::support::{Directory, LogReceiver, Message, Origin, Running, Setup, run, shape};

fn start(front: &str, back: &str, origin: &Origin, log: &LogReceiver) -> Running {
    Setup::http(front, &format!("{back}\n    server s <origin>"))
        .with("origin", origin.address())
        .with("log", log.address())
        .file("page.html", "<p>from a file</p>\n")
        .file("format.txt", "you asked for %[path]\n")
        .start()
}

fn raw(message: &Message) -> String {
    String::from_utf8_lossy(&message.raw).into_owned()
}

const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 93\r\n\
    cache-control: no-cache\r\ncontent-type: text/html\r\n\r\n\
    <html><body><h1>403 Forbidden</h1>\n\
    Request forbidden by administrative rules.\n</body></html>\n";

#[test]
fn denied_requests_get_the_exact_reply_and_keep_their_connection() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    http-request deny if { path_beg /private }\n    \
                 http-request deny deny_status 429 if { path /slow }";
    let weir = start(front, "", &origin, &log);
    let mut client = weir.web();
    assert_eq!(raw(&client.get("/private/x")), FORBIDDEN);
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 403 PR-- \"GET /private/x HTTP/1.1\"");
    assert_eq!(client.get("/slow").status(), 429);
    client.expect_open("/public");
    assert_eq!(weir.stat("web", "FRONTEND", "dreq"), "2");
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn cookies_that_caches_may_keep_do_not_pass() {
    let log = LogReceiver::new();
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: id=1\r\nETag: x\r\n\r\nhi",
    );
    let weir = start("", "    option checkcache", &origin, &log);
    let mut client = weir.web();
    assert_eq!(client.get("/shared").status(), 502);
    let text = "Blocking cacheable cookie in response from instance app, server s.";
    assert_eq!(log.line(), text);
    assert_eq!(shape(&log.line()), "web app/s 502 PH-- \"GET /shared HTTP/1.1\"");
    client.send("POST /own HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.head().status(), 200, "nobody keeps what a POST gave");
    for (proxy, row) in [("web", "FRONTEND"), ("app", "BACKEND"), ("app", "s")] {
        assert_eq!(weir.stat(proxy, row, "dresp"), "1", "{proxy} {row}");
    }
}

/// The position of the rule does not matter; the server is not at fault, and its time is logged.
#[test]
fn denied_responses_count_for_all_that_they_came_through() {
    let rule = "    http-response deny if { res.hdr(x) -m found }\n    \
        http-response return status 202 if { status 200 }";
    for (front, back) in [(rule, ""), ("", rule)] {
        let log = LogReceiver::new();
        let origin = Origin::new(|peer| {
            crate::support::serve_forever(peer, |request| {
                let field = if request.target() == "/" { "x: y\r\n" } else { "" };
                format!("HTTP/1.1 200 OK\r\n{field}content-length: 0\r\n\r\n").into_bytes()
            });
        });
        let weir = start(front, back, &origin, &log);
        assert_eq!(weir.web().get("/").status(), 502);
        let line = log.line();
        assert!(!line.contains("/-1/"), "{line}");
        assert_eq!(shape(&line), "web app/s 502 PH-- \"GET / HTTP/1.1\"");
        for (proxy, row) in [("web", "FRONTEND"), ("app", "BACKEND"), ("app", "s")] {
            assert_eq!(weir.stat(proxy, row, "dresp"), "1", "{proxy} {row}");
        }
        assert_eq!(weir.stat("app", "s", "eresp"), "0");
        assert_eq!(weir.web().get("/x").status(), 202);
        assert_eq!(shape(&log.line()), "web app/s 202 LH-- \"GET /x HTTP/1.1\"");
    }
}

#[test]
fn answers_can_come_from_strings_files_and_formats() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    http-request return status 201 content-type text/plain string \"made\" hdr X-By me if { path /string }\n    \
                 http-request return content-type text/html file <dir>/page.html if { path /file }\n    \
                 http-request return status 200 content-type text/plain lf-string \"%[method] %[path]\" if { path /lf }\n    \
                 http-request return content-type text/plain lf-file <dir>/format.txt if { path_beg /lff }\n    \
                 http-request return status 404 if { path /none }";
    let weir = start(front, "", &origin, &log);
    let mut client = weir.web();
    let answer = client.get("/string");
    assert_eq!((answer.status(), answer.text().as_str()), (201, "made"));
    assert_eq!(answer.header("x-by"), Some("me"));
    assert_eq!(answer.header("content-type"), Some("text/plain"));
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 201 LR-- \"GET /string HTTP/1.1\"");
    let answer = client.get("/file");
    assert_eq!(answer.text(), "<p>from a file</p>\n");
    assert_eq!(answer.header("content-type"), Some("text/html"));
    assert_eq!(client.get("/lf").text(), "GET /lf");
    assert_eq!(client.get("/lff/x").text(), "you asked for /lff/x\n");
    assert_eq!(client.get("/none").status(), 404);
    client.send("HEAD /string HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_eq!(client.head().header("content-length"), Some("4"));
    client.expect_open("/other");
    assert_eq!(origin.requests().len(), 1);
}

#[test]
fn redirects_point_where_they_should() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    http-request redirect location https://example.org/ if { path / }\n    \
                 http-request redirect code 301 prefix https://new.example.org if { path_beg /old }\n    \
                 http-request redirect scheme https code 308 if { path /tls }";
    let weir = start(front, "", &origin, &log);
    let mut client = weir.web();
    let answer = client.get("/");
    assert_eq!(
        raw(&answer),
        "HTTP/1.1 302 Found\r\ncontent-length: 0\r\nlocation: https://example.org/\r\n\
         cache-control: no-cache\r\n\r\n"
    );
    assert_eq!(shape(&log.line()), "web web/<NOSRV> 302 LR-- \"GET / HTTP/1.1\"");
    let answer = client.get("/old/page?q=1");
    assert_eq!(answer.status(), 301);
    assert_eq!(answer.header("location"), Some("https://new.example.org/old/page?q=1"));
    let answer = client.get("/tls");
    assert_eq!((answer.status(), answer.header("location")), (308, Some("https://test/tls")));
}

#[test]
fn headers_are_edited_both_ways() {
    let origin = Origin::answering(
        "HTTP/1.1 200 OK\r\nServer: origin\r\nX-Powered-By: y\r\nContent-Length: 0\r\n\r\n",
    );
    let log = LogReceiver::new();
    let front = "    http-request set-header X-Url %[url]\n    \
                 http-request add-header X-List one\n    http-request del-header X-Secret\n    \
                 http-request del-header x-t- -m beg\n    http-response set-header Server weir\n    \
                 http-response add-header X-New 1\n    http-response del-header X-Powered-By";
    let weir = start(front, "    http-request set-header X-Src %[src]", &origin, &log);
    let answer = weir.web().ask(
        "GET /p?q HTTP/1.1\r\nHost: test\r\nX-List: zero\r\nX-Secret: s\r\nX-T-1: a\r\n\
         X-Url: old\r\n\r\n",
    );
    let sent = origin.request(0);
    assert_eq!(sent.all("x-url").collect::<Vec<_>>(), ["/p?q"]);
    assert_eq!(sent.all("x-list").collect::<Vec<_>>(), ["zero", "one"]);
    assert_eq!((sent.header("x-secret"), sent.header("x-t-1")), (None, None));
    assert_eq!(sent.header("x-src"), Some("127.0.0.1"));
    assert_eq!(answer.all("server").collect::<Vec<_>>(), ["weir"]);
    assert_eq!((answer.header("x-new"), answer.header("x-powered-by")), (Some("1"), None));
}

#[test]
fn backends_are_chosen_by_the_request() {
    let origin = Origin::saying("default");
    let api = Origin::saying("api");
    let front = "    acl is_api path_beg /api/ /v1/\n    acl is_post method POST PUT\n    \
                 acl from_here src 127.0.0.0/8\n    acl port dst_port 1:65535\n    \
                 acl named hdr(host) -i api.example.org\n    \
                 use_backend api if is_api !is_post from_here port\n    \
                 use_backend api if named || { hdr_end(host) .api }\n    \
                 use_backend %[req.hdr(x-backend)] if { req.hdr(x-backend) -m found }";
    let back = "    server s <origin>\nbackend api\n    server s <api>";
    let weir = Setup::http(front, back)
        .with("origin", origin.address())
        .with("api", api.address())
        .start();
    let mut client = weir.web();
    assert_eq!(client.get("/").text(), "default");
    assert_eq!(client.get("/api/x").text(), "api");
    assert_eq!(client.get("/v1/x").text(), "api");
    let post = "POST /api/x HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(client.ask(post).text(), "default");
    let host = |name: &str| format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n");
    assert_eq!(client.ask(host("API.example.org")).text(), "api");
    assert_eq!(client.ask(host("x.api")).text(), "api");
    let by_name = |name: &str| format!("GET / HTTP/1.1\r\nHost: x\r\nX-Backend: {name}\r\n\r\n");
    assert_eq!(client.ask(by_name("api")).text(), "api");
    assert_eq!(client.ask(by_name("nowhere")).text(), "default");
}

#[test]
fn error_files_replace_the_built_in_replies() {
    let log = LogReceiver::new();
    let front = "    errorfile 400 <dir>/400.http\n    errorfile 503 <dir>/503.http\n    \
                 errorfile 403 /dev/null\n    http-request deny if { path /deny }";
    let weir = Setup::http(front, "")
        .with("log", log.address())
        .file("400.http", "HTTP/1.0 400 Bad\r\nX-Own: 400\r\nContent-Length: 4\r\n\r\nown\n")
        .file("503.http", "HTTP/1.1 503 Sorry\r\nX-Own: 503\r\nContent-Length: 6\r\n\r\nsorry\n")
        .start();
    let mut client = weir.web();
    let answer = client.get("/");
    assert_eq!(answer.start, "HTTP/1.1 503 Sorry");
    assert_eq!((answer.header("x-own"), answer.text().as_str()), (Some("503"), "sorry\n"));
    client.send("bad\r\n\r\n");
    let rest = String::from_utf8(client.rest()).expect("text");
    assert_eq!(rest, "HTTP/1.0 400 Bad\r\nX-Own: 400\r\nContent-Length: 4\r\n\r\nown\n");
    let mut client = weir.web();
    client.send("GET /deny HTTP/1.1\r\nHost: test\r\n\r\n");
    client.expect_end();
}

#[test]
fn named_defaults_bring_their_rules() {
    let origin = Origin::saying("hello");
    let timeouts = "    timeout client 5s\n    timeout connect 5s\n    timeout server 5s\n";
    let text = format!(
        "defaults plain\n    mode http\n{timeouts}\
         defaults base from plain\n    http-request set-header X-From base\n\
         frontend web from base\n    bind <web>\n    default_backend app\n\
         backend app from plain\n    server s <origin>\n"
    );
    let weir = Setup::new(&text).with("origin", origin.address()).start();
    weir.web().expect_open("/");
    assert_eq!(origin.request(0).header("x-from"), Some("base"));
}

#[test]
fn servers_get_their_names_in_a_header() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let back = "    http-send-name-header X-Server-Name\n    balance roundrobin\n    \
                server first <origin>";
    let weir = start("", back, &origin, &log);
    let mut client = weir.web();
    for _ in 0..2 {
        client.send(
            "GET / HTTP/1.1\r\nHost: t\r\nx-server-name: forged\r\nX-SERVER-NAME: too\r\n\r\n",
        );
        assert_eq!(client.response().status(), 200);
    }
    let named: Vec<String> = (0..2)
        .flat_map(|n| {
            let request = origin.request(n);
            request.all("x-server-name").map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(named, ["first", "s"]);
}

#[test]
fn answers_to_responses_may_name_them() {
    let log = LogReceiver::new();
    let text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-S: no\r\n\r\n";
    let origin = Origin::answering(text);
    let back = "    http-response redirect location \"/foo?%[res.hdr(x-s)]\" code 303 if { capture.req.uri /r }\n    \
                http-response return status 299 hdr x-was %[res.hdr(x-s)] if { capture.req.uri /t }";
    let weir = start("", back, &origin, &log);
    let mut client = weir.web();
    assert_eq!(client.get("/r").header("location"), Some("/foo?no"));
    let answer = client.get("/t");
    assert_eq!(
        (answer.status(), answer.header("x-was"), answer.header("x-s")),
        (299, Some("no"), None)
    );
}

#[test]
fn rules_of_responses_do_not_see_requests() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    http-request return status 250 hdr X-Out a if { path /own }\n    \
                 http-after-response set-header x-request 1 if { hdr(x-n) 1 }\n    \
                 http-after-response set-header x-path 1 if { path_beg / }\n    \
                 http-after-response set-header x-response 1 if { status 200:299 }";
    let weir = start(front, "", &origin, &log);
    let mut client = weir.web();
    for target in ["/own", "/"] {
        let answer = client.ask(format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-N: 1\r\n\r\n"));
        let seen = ["x-request", "x-path", "x-response"].map(|name| answer.header(name));
        assert_eq!(seen, [None, None, Some("1")], "{target}");
    }
}

#[test]
fn hosts_and_targets_follow_each_other_and_methods_stay_the_clients() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    http-request set-uri http://other:82/x if { path /uri }\n    \
                 http-request set-header host new if { path /host }\n    \
                 http-request set-method POST if { path /method }\n    \
                 http-request set-header x-method %[method] if METH_GET";
    let weir = start(front, "", &origin, &log);
    let mut client = weir.web();
    client.get("/uri");
    client.ask("GET http://a/host HTTP/1.1\r\nHost: a\r\n\r\n");
    client.get("/method");
    let seen = |number: usize| {
        let request = origin.request(number);
        (request.target().to_owned(), request.header("host").map(str::to_owned))
    };
    assert_eq!(seen(0), ("http://other:82/x".to_owned(), Some("other:82".to_owned())));
    assert_eq!(seen(1), ("http://new/host".to_owned(), Some("new".to_owned())));
    let changed = origin.request(2);
    assert!(raw(&changed).starts_with("POST "));
    assert_eq!(changed.header("x-method"), Some("GET"));
}

/// Fields that a backtracking expression takes long for: each would take 25 ms without a bound.
fn costly_fields(count: usize) -> String {
    (0..count).map(|n| format!("X-{n}: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\r\n")).collect()
}

/// The answer to a request with these fields, on a connection of its own.
fn status_of(weir: &Running, fields: &str) -> u16 {
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    weir.web().ask(request).status()
}

#[test]
fn a_request_that_regular_expressions_take_too_long_for_is_refused_with_500() {
    for rule in [
        "http-request deny deny_status 403 if { req.fhdr(x-1) -m reg ^(a+)+$ }",
        "http-request deny deny_status 403 if { req.hdrs -m reg (a+)+$ }",
        "http-request set-header y \"%[req.fhdr(x-1),regsub('^(?:a+)+[X!]!',b)]\"",
        "http-request replace-header x-1 ^(a+)+$ b",
        "http-request set-var(txn.a) req.fhdr(x-1),map_reg(<dir>/map)",
        "use_backend app if { req.fhdr(x-1) -m reg ^(a+)+$ }",
        "http-request deny unless { req.fhdr(x-1) -m reg ^(a+)+$ } or TRUE",
        "tcp-request content reject if { req.fhdr(x-1) -m reg ^(a+)+$ }",
        "http-response deny if { capture.req.hdr(0) -m reg ^(a+)+$ }",
        "http-after-response set-header y 1 if { capture.req.hdr(0) -m reg ^(a+)+$ }",
    ] {
        let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
        let front = format!("    capture request header x-1 len 100\n    {rule}");
        let setup = Setup::http(&front, "    server s <origin>").file("map", "^(a+)+$ b\n");
        let weir = setup.between(&origin, &log);
        assert_eq!(status_of(&weir, &costly_fields(90)), 500, "{rule}");
        let line = log.find("regular expressions");
        assert!(line.contains("have used all 2000000 steps"), "{line}");
        let place = rule.starts_with("http") || rule.starts_with("tcp");
        assert_eq!(line.contains("weir.cfg:"), place, "{rule}: {line}");
        assert_eq!(weir.stat("web", "FRONTEND", "eint"), "1", "{rule}");
        assert_eq!(status_of(&weir, "x-1: b\r\n"), 200, "{rule}");
    }
}

#[test]
fn a_request_that_regular_expressions_take_long_for_does_not_occupy_the_thread() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front =
        (0..90).map(|n| format!("    http-request deny if {{ req.fhdr(x-{n}) -m reg ^(a+)+$ }}\n"));
    let front: String = front.collect();
    let weir = Setup::http(&front, "    server s <origin>").between(&origin, &log);
    let before = weir.cpu_seconds();
    for _ in 0..20 {
        assert_eq!(status_of(&weir, &costly_fields(90)), 500);
    }
    let each = (weir.cpu_seconds() - before) / 20.0;
    assert!(each < 0.1, "{each} s for a request");
}

#[test]
fn patterns_that_backtrack_catastrophically_are_warned_of() {
    let text = "listen l\n mode http\n bind :1\n timeout client 1s\n timeout server 1s\n \
                timeout connect 1s\n acl a path_reg ^/([a-z]+)*$\n \
                http-request deny if { path_reg ^/[a-z]+$ }\n \
                http-request set-header x \"%[path,regsub('^/(?:a+)+X',b)]\"\n";
    let directory = Directory::new();
    let file = directory.write("a.cfg", text);
    let told = run(&["-c", "-f", file.to_str().expect("a path")]);
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("catastrophic")).collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains("a.cfg:7] : ") && lines[0].contains("'^/([a-z]+)*$'"), "{told}");
    assert!(lines[1].contains("(?:a+)+X'"), "{told}");
}

#[test]
fn fetches_without_data_yield_no_sample() {
    let (origin, log) = (Origin::saying("hello"), LogReceiver::new());
    let front = "    log-format \"first=%[http_first_req] http=%[req.proto_http] uri=%[capture.req.uri]\"\n    \
                 tcp-request session set-var(sess.major) fc_http_major\n    \
                 tcp-request session set-var(sess.class) prio_class\n    \
                 http-request set-header x-seen \"[%[query,concat(?)]] [%[http_auth(staff)]] [%[var(sess.major)]] [%[var(sess.class)]] [%[fc_http_major]]\"\n    \
                 http-response set-header x-first \"[%[http_first_req]] [%[req.proto_http]]\"";
    let back = "    http-request set-header x-tunnel %[be_tunnel_timeout]";
    let weir = Setup::http(
        front,
        &format!(
            "{back}\n    server s <origin>\nuserlist staff\n    user joe insecure-password pw"
        ),
    )
    .with("origin", origin.address())
    .with("log", log.address())
    .start();
    let mut client = weir.web();
    let answer = client.get("/a");
    assert_eq!(answer.header("x-first"), Some("[1] []"));
    assert!(log.line().ends_with("first=1 http=- uri=/a"));
    let answer = client.ask("OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n");
    assert_eq!(answer.header("x-first"), Some("[0] []"));
    assert!(log.line().ends_with("first=0 http=- uri=-"));
    client.get("/?");
    let seen = |number: usize| origin.request(number).header("x-seen").map(str::to_owned);
    assert_eq!(seen(0).as_deref(), Some("[] [] [] [] [1]"));
    assert_eq!(seen(2).as_deref(), Some("[?] [] [] [] [1]"));
    assert_eq!(origin.request(0).header("x-tunnel"), Some("0"));
}
