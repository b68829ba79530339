//! Tests of every action, of the order of rules, and of rules that end the evaluation.

use super::{Cursor, Need, RuleSet, RuleSetKind, Verdict, parse_redirect};
use crate::Rule;
use crate::action::{Action, KEYWORDS};
use crate::context::LogLevel;
use crate::switching::parse_use_backend;
use crate::testing::{Transaction, compile, parse, run, with_parser, words};
use RuleSetKind::{
    HttpAfterResponse, HttpRequest, HttpResponse, TcpConnection, TcpRequest, TcpResponse,
};
use htx::Head;
use sample::{Side, Value};

fn request(lines: &[&str]) -> String {
    run(HttpRequest, lines, &mut Transaction::default())
}

#[test]
fn local_answers() {
    #[rustfmt::skip]
    let cases = [
        ("deny", "deny 403 Forbidden|"), ("deny deny_status 429", "deny 429 Too Many Requests|"),
        ("deny status 418 content-type a/b string x", "deny 418 I'm a teapot|content-length: 1|content-type: a/b|x"),
        ("deny deny_status 429 hdr x-c 1", "deny 429 Too Many Requests|x-c: 1|content-length: 0|"),
        ("deny content-type text/plain", "deny 403 Forbidden|content-length: 0|"), ("return status 204 content-type t", "return 204 No Content|"),
        ("redirect prefix /p append-slash", "redirect 302 Found|content-length: 0|location: /p/a/b?x=1/|"),
        ("tarpit", "tarpit 500 Internal Server Error|"), ("return", "return 200 OK|content-length: 0|"),
        ("return status 204", "return 204 No Content|"),
        ("return content-type text/plain hdr x-b v%[src] lf-string hi%[path]", "return 200 OK|x-b: v10.1.2.3|content-length: 6|content-type: text/plain|hi/a/b"),
        ("return content-type t string %[src]", "return 200 OK|content-length: 6|content-type: t|%[src]"),
        ("return status 404 content-type t file page", "return 404 Not Found|content-length: 13|content-type: t|<p>%[src]</p>"),
        ("return content-type t lf-file page", "return 200 OK|content-length: 15|content-type: t|<p>10.1.2.3</p>"),
        ("return file empty", "return 200 OK|content-length: 0|"), ("return errorfile err.http", "return 404 Gone|x-e: 1|connection: close|bye"),
        ("return errorfile empty", "return silent"), ("return status 503 default-errorfiles", "return 503 Service Unavailable|"),
        ("return status 404 errorfiles mine", "return 404 Not Found|"),
        ("redirect location /x%[path]", "redirect 302 Found|content-length: 0|location: /x/a/b|cache-control: no-cache|"),
        ("redirect prefix http://p code 301 drop-query append-slash", "redirect 301 Moved Permanently|content-length: 0|location: http://p/a/b/|"),
        ("redirect scheme https code 307", "redirect 307 Temporary Redirect|content-length: 0|location: https://h.example/a/b?x=1|cache-control: no-cache|"),
        ("redirect prefix / code 308", "redirect 308 Permanent Redirect|content-length: 0|location: /a/b?x=1|"),
        ("redirect location /x set-cookie A=1", "redirect 302 Found|content-length: 0|location: /x|cache-control: no-cache|set-cookie: A=1; path=/;|"),
        ("redirect location /x clear-cookie A=", "redirect 302 Found|content-length: 0|location: /x|cache-control: no-cache|set-cookie: A=; path=/; Max-Age=0;|"),
        ("redirect location %[req.hdr(none)] ignore-empty", "continue"), ("redirect location %[req.hdr(x-z)] ignore-empty", "redirect 302 Found|content-length: 0|location: z|"),
        ("use-service prometheus-exporter", "service(prometheus)"),
        ("allow", "allow"), ("reject", "reject"), ("silent-drop", "silentdrop"),
    ];
    for (line, expected) in cases {
        let got = request(&[line]);
        assert!(got.starts_with(expected), "{line}: {got}");
    }
    assert!(
        run(HttpResponse, &["deny"], &mut Transaction::with_response()).starts_with("deny 502")
    );
}

#[test]
fn edits_of_the_request() {
    #[rustfmt::skip]
    let cases = [
        ("set-header X-L new", "GET /a/b?x=1 host=h.example x-z=z x-l=new"), ("add-header X-Z %[src]", "GET /a/b?x=1 host=h.example x-l=one, two,three x-l=two x-z=z x-z=10.1.2.3"),
        ("del-header x-l", "GET /a/b?x=1 host=h.example x-z=z"), ("del-header X- -m beg", "GET /a/b?x=1 host=h.example"),
        ("del-header -l -m end", "GET /a/b?x=1 host=h.example x-z=z"), ("del-header O -m sub", "GET /a/b?x=1 x-l=one, two,three x-l=two x-z=z"),
        ("del-header ^x-[a-l]$ -m reg", "GET /a/b?x=1 host=h.example x-z=z"), ("del-header X-Z -m str", "GET /a/b?x=1 host=h.example x-l=one, two,three x-l=two"),
        ("replace-header X-L ^(.*),.*$ <\\1>", "GET /a/b?x=1 host=h.example x-l=<one, two> x-l=two x-z=z"),
        ("replace-value X-L t(.) \\1t", "GET /a/b?x=1 host=h.example x-l=one, wt,ht x-l=wt x-z=z"),
        ("set-method PUT", "PUT /a/b?x=1"), ("set-uri /new", "GET /new host"), ("set-path /p", "GET /p?x=1 "), ("set-pathq /p?q", "GET /p?q "),
        ("set-query y=%[urlp(x)]", "GET /a/b?y=1 "), ("set-query %[req.hdr(none)]", "GET /a/b? host"),
        ("replace-path (.*)/b \\1/c", "GET /a/c?x=1 "), ("replace-path ^/none /c", "GET /a/b?x=1 "), ("replace-pathq (.*)\\?(.*) /\\2\\1", "GET /x=1/a/b "),
        ("replace-uri ^/(.*) http://h/\\1", "GET http://h/a/b?x=1 host=h "),
        ("set-uri http://u@other:82/x", "GET http://u@other:82/x host=other:82 "), ("set-uri //other/x", "GET //other/x host=h.example "),
    ];
    for (line, expected) in cases {
        let mut cx = Transaction::default();
        assert_eq!(run(HttpRequest, &[line], &mut cx), "continue", "{line}");
        let got = shown(&cx.request);
        assert!(got.starts_with(expected), "{line}: {got}");
    }
}

/// A request's head in one line.
fn shown(head: &Head) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let mut shown = format!("{} {}", text(head.method()), text(head.uri()));
    for field in head.fields() {
        shown += &format!(" {}={}", text(field.name), text(field.value));
    }
    shown
}

#[test]
fn texts_of_clients_in_templates_begin_no_line() {
    #[rustfmt::skip]
    let cases = [
        ("replace-header X-Z .* %[req.hdr(x-t)]", "x-z=a%0D%0Ab: 1%00\t<"),
        ("replace-value X-Z z %[req.hdr(x-t)]", "x-z=a%0D%0Ab: 1%00\t<"),
        ("replace-header X-T .* [\\0]", r"x-t=[a\x0d\x0ab: 1\x00\x09\x3C]"),
        ("replace-header X-Z z <\\x01\\x1f\\x7f\\x0d>", "x-z=<\u{1}\u{1f}\u{7f}%0D>"),
        ("replace-path .* /%[req.hdr(x-t)]\\x01", "GET /a%0D%0Ab: 1%00\t<%01?x=1"),
        ("replace-path .* /%[req.hdr(x-t)]", "GET /a%0D%0Ab: 1%00\t<?x=1"),
        ("replace-uri .* /%[req.hdr(x-t)]", "GET /a%0D%0Ab: 1%00\t< "),
    ];
    for (line, expected) in cases {
        let mut cx = Transaction::default();
        cx.request.push(b"x-t", br"a\x0d\x0ab: 1\x00\x09\x3C");
        assert_eq!(run(HttpRequest, &[line], &mut cx), "continue", "{line}");
        let got = shown(&cx.request);
        assert!(got.contains(expected), "{line}: {got}");
    }
}

/// As HAProxy was seen to do.
#[test]
fn replaced_values_keep_control_characters() {
    for line in ["replace-header X-Z (.*) [\\1]", "replace-value X-Z (.*) [\\1]"] {
        let mut cx = Transaction::default();
        cx.request.set(b"x-z", b"a\x01\x1f\x7f\xff\tb");
        run(HttpRequest, &[line], &mut cx);
        assert_eq!(cx.request.get(b"x-z"), Some(&b"[a\x01\x1f\x7f\xff\tb]"[..]), "{line}");
    }
}

/// Commas within quotes do not separate, as in HAProxy. Blanks stay as in the manual's example.
#[test]
fn values_of_a_list_are_replaced_one_by_one() {
    for (value, line, expected) in [
        ("\"a,b\", c", "replace-value X-Z (.*) [\\1]", "[\"a,b\"], [c]"),
        ("\"a\\\",b\",c", "replace-value X-Z (.*) [\\1]", "[\"a\\\",b\"],[c]"),
        ("a1,  a2 ,a3", "replace-value X-Z a(.) [\\1]", "[1],  [2] ,[3]"),
        ("a1 ,, b1 ,a2", "replace-value X-Z a(.) [\\1]", "[1] ,, b1 ,[2]"),
        ("za, b ,za ,c", "replace-value X-Z .*z.* <>", "<>, b ,<> ,c"),
        ("b , c", "replace-value X-Z a <>", "b , c"),
    ] {
        let mut cx = Transaction::default();
        cx.request.set(b"x-z", value.as_bytes());
        run(HttpRequest, &[line], &mut cx);
        let got = cx.request.get(b"x-z").map(String::from_utf8_lossy);
        assert_eq!(got.as_deref(), Some(expected), "{value} {line}");
    }
}

#[test]
fn targets_are_normalized() {
    for (normalizer, target, expected) in [
        ("fragment-encode", "/a#b", "/a%23b"),
        ("fragment-strip", "/a#b", "/a"),
        ("path-merge-slashes", "//a///b", "/a/b"),
        ("path-strip-dot", "/a/./b", "/a/b"),
        ("path-strip-dotdot", "/a/../b", "/b"),
        ("path-strip-dotdot full", "/../b", "/b"),
        ("percent-decode-unreserved", "/%61", "/a"),
        ("percent-to-uppercase", "/%3f", "/%3F"),
        ("query-sort-by-name", "/?b=1&a=2", "/?a=2&b=1"),
    ] {
        let mut cx = Transaction::default();
        cx.request.set_uri(target.as_bytes());
        run(HttpRequest, &[&format!("normalize-uri {normalizer}")], &mut cx);
        assert_eq!(String::from_utf8_lossy(cx.request.uri()), expected, "{normalizer}");
    }
}

#[test]
fn absolute_targets_keep_their_origin() {
    for (line, expected) in [
        ("set-path /p", "http://h/p?x=1"),
        ("set-pathq /p", "http://h/p"),
        ("set-query z", "http://h/a?z"),
        ("replace-path /a /b", "http://h/b?x=1"),
        ("set-uri /u", "/u"),
    ] {
        let mut cx = Transaction::default();
        cx.request.set_uri(b"http://h/a?x=1");
        run(HttpRequest, &[line], &mut cx);
        assert_eq!(String::from_utf8_lossy(cx.request.uri()), expected, "{line}");
    }
}

/// Values of `set-uri`, an edit of the result, and its result; as measured with HAProxy unless
/// noted.
#[test]
fn targets_of_every_form_can_be_edited() {
    for (uri, line, expected) in [
        ("foo/bar?x=1", "set-path /p", "/p?x=1"),
        ("foo/bar?x=1", "set-path p", "p?x=1"),
        ("foo/bar?x=1", "set-pathq /p?q", "/p?q"),
        ("foo/bar?x=1", "set-query z=1", "foo/bar?z=1"),
        ("foo/bar", "set-query z=1", "foo/bar?z=1"),
        ("foo/bar?x=1", "set-query %[req.hdr(none)]", "foo/bar?"),
        ("/a?x=1", "set-query %[str()]", "/a?"),
        ("/a?", "set-query %[str()]", "/a?"),
        ("/a", "set-query %[str()]", "/a"),
        ("http://h?x=1", "set-query %[str()]", "http://h?"),
        ("?x=1", "set-path /p", "/p?x=1"),
        ("?x=1", "set-query z", "?z"),
        ("?x=1", "replace-path (.*) <\\1>", "?x=1"),
        ("?x=1", "replace-pathq (.*) <\\1>", "?x=1"),
        // HAProxy 2.6 finds no path here.
        ("foo/bar?x=1", "replace-path foo(.*) /a\\1", "/a/bar?x=1"),
        ("foo/bar?x=1", "normalize-uri query-sort-by-name", "foo/bar?x=1"),
        ("*", "set-path /p", "/p"),
        ("*", "set-pathq /p?q", "/p?q"),
        ("*", "replace-path (.*) <\\1>", "*"),
        ("*", "set-query q", "*?q"),
        ("http://h", "set-query q", "http://h?q"),
        ("http://h", "replace-path (.*) /\\1", "http://h"),
        // HAProxy drops scheme and authority, or makes the path a part of the authority.
        ("http://h", "set-path /p", "http://h/p"),
        ("http://h?x", "set-path p", "http://h/p?x"),
        ("http://h/a?x", "set-path p", "http://h/p?x"),
        ("http://h/a?x", "set-pathq p?q", "http://h/p?q"),
        ("http://h/a?x", "set-pathq ?q", "http://h?q"),
        ("http://h/abc?x", "replace-path ^/a(.*) \\1", "http://h/bc?x"),
        ("http://h/a?x", "replace-path ^/a(.*) \\1", "http://h?x"),
    ] {
        let mut cx = Transaction::default();
        cx.request.set_uri(uri.as_bytes());
        run(HttpRequest, &[line], &mut cx);
        assert_eq!(String::from_utf8_lossy(cx.request.uri()), expected, "{uri} {line}");
    }
}

/// A path without a slash would become a part of the host.
#[test]
fn prefixes_of_redirections_go_before_a_slash() {
    for (uri, location) in [
        ("foo.test/bar?x=1", "http://h/"),
        (".test", "http://h/"),
        ("*", "http://h/"),
        ("http://other", "http://h/"),
        ("/a?b", "http://h/a?b"),
    ] {
        let mut cx = Transaction::default();
        cx.request.set_uri(uri.as_bytes());
        let got = run(HttpRequest, &["redirect prefix http://h"], &mut cx);
        assert!(got.contains(&format!("|location: {location}|")), "{uri}: {got}");
    }
}

#[test]
fn a_target_of_connect_has_no_path() {
    for (line, expected) in [
        ("set-path foo", "foo"),
        ("set-path %[req.hdr(none)]", "h:443"),
        ("replace-path (.*) /\\1", "h:443"),
        ("replace-uri ^h(.*) o\\1", "o:443"),
        ("set-header host new:81", "new:81"),
        ("replace-header host .* new:81", "new:81"),
    ] {
        let mut cx = Transaction::default();
        cx.request.set_request(b"CONNECT", b"h:443", htx::Version::Http11);
        run(HttpRequest, &[line], &mut cx);
        assert_eq!(String::from_utf8_lossy(cx.request.uri()), expected, "{line}");
    }
}

#[test]
fn edits_of_the_response() {
    let mut cx = Transaction::with_response();
    let lines = [
        "set-header x-a %[status]",
        "add-header x-a 2",
        "del-header server",
        "replace-value x-a 2 two",
    ];
    assert_eq!(run(HttpResponse, &lines, &mut cx), "continue");
    run(HttpAfterResponse, &["set-status 299 reason Fine"], &mut cx);
    let head = cx.response.as_ref().expect("a response");
    let values: Vec<_> =
        head.all(b"x-a").map(|f| String::from_utf8_lossy(f.value).into_owned()).collect();
    assert_eq!(
        (values.join("+"), head.has(htx::HeaderId::Server)),
        ("two00+two".replace("two00", "two"), false)
    );
    assert_eq!((head.status(), head.reason()), (299, &b"Fine"[..]));
    run(HttpResponse, &["set-status 404"], &mut cx);
    assert_eq!(cx.response.as_ref().expect("a response").reason(), b"Not Found");
}

#[test]
fn variables_captures_and_levels() {
    let mut cx = Transaction::default();
    let lines = [
        "set-var(txn.a) path,upper",
        "set-var-fmt(txn.b) <%[src]>",
        "set-var(txn.c) int(3)",
        "unset-var(txn.c)",
        "set-var(txn.a,ifnotset) str(no)",
        "capture req.hdr(host) len 4",
        "capture path id 0",
        "set-log-level silent",
        "set-nice 9999",
        "set-var(txn.d) req.hdr(none)",
    ];
    assert_eq!(run(HttpRequest, &lines, &mut cx), "continue");
    assert_eq!(cx.get("txn.a"), Some(Value::str(b"/A/B")));
    assert_eq!(cx.get("txn.b"), Some(Value::str(b"<10.1.2.3>")));
    assert_eq!((cx.get("txn.c"), cx.get("txn.d")), (None, None));
    assert_eq!((cx.level, cx.nice), (Some(LogLevel::Silent), 1024));
    let captured = cx.captured.borrow();
    assert_eq!(
        *captured,
        [(Side::Request, 1, b"h.example".to_vec()), (Side::Request, 0, b"/a/b".to_vec())]
    );
}

#[test]
fn order_conditions_and_the_last_rule() {
    let mut cx = Transaction::default();
    let lines = [
        "deny if { path /other }",
        "set-header x-seen 1 unless { path /other }",
        "allow if { path_beg /a } { method GET }",
        "deny",
    ];
    assert_eq!(run(HttpRequest, &lines, &mut cx), "allow");
    assert_eq!(cx.last_rule, Some(("t.cfg".into(), 3)));
    assert_eq!(cx.request.get(b"x-seen"), Some(&b"1"[..]));
    let rules = compile(HttpRequest, &lines);
    assert!(!rules.rules()[2].is_final() && rules.rules()[3].is_final());
    assert_eq!(rules.rules()[3].place(), ("t.cfg", 4));
}

#[test]
fn rewrites_beyond_the_room_fail() {
    let mut cx = Transaction { room: 10, ..Transaction::default() };
    assert_eq!(run(HttpRequest, &["set-header x-long 12345678", "deny"], &mut cx), "rewritefailed");
    assert_eq!((cx.failed_rewrites, cx.last_rule.take()), (1, Some(("t.cfg".into(), 1))));
    assert!(
        run(HttpRequest, &["strict-mode off", "set-header x-long 12345678", "deny"], &mut cx)
            .starts_with("deny")
    );
    assert_eq!((cx.failed_rewrites, cx.request.get(b"x-long")), (2, None));
    assert_eq!(
        run(HttpRequest, &["strict-mode on", "set-path /12345678901234567890"], &mut cx),
        "rewritefailed"
    );
    assert_eq!(
        run(HttpRequest, &["replace-value x-z z 12345678901234567890"], &mut cx),
        "rewritefailed"
    );
    assert_eq!(
        run(HttpRequest, &["set-header x-l 123456"], &mut cx),
        "continue",
        "what it replaces makes room"
    );
}

#[test]
fn contents_that_may_still_come_suspend() {
    let lines = ["accept if { req.payload(0,3) -m bin 616263 }", "reject if WAIT_END"];
    let rules: RuleSet = compile(TcpRequest, &lines);
    let mut cx = Transaction { is_final: false, payload: b"ab".to_vec(), ..Transaction::default() };
    let Verdict::Suspend { cursor, need: Need::Bytes } = rules.evaluate(Cursor::default(), &mut cx)
    else {
        panic!("expected to wait");
    };
    cx.payload = b"abc".to_vec();
    assert!(matches!(rules.evaluate(cursor, &mut cx), Verdict::Allow));
    cx.payload = b"xyz".to_vec();
    cx.is_final = true;
    assert!(matches!(rules.evaluate(cursor, &mut cx), Verdict::Reject));
    assert_eq!(run(TcpConnection, &["accept"], &mut cx), "allow");
    assert_eq!(run(TcpResponse, &["close"], &mut cx), "close");
}

#[test]
fn redirect_lines_and_switching() {
    with_parser(|cx| {
        let line = words("prefix http://%[x] if { path_beg /a }");
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let mut rules = RuleSet::new(HttpRequest);
        rules.push(parse_redirect(&line, cx).expect("valid"));
        let mut tx = Transaction::default();
        let Verdict::Redirect(redirect) = rules.evaluate(Cursor::default(), &mut tx) else {
            panic!("expected a redirect")
        };
        let mut location = Vec::new();
        redirect.location(&tx, &mut location);
        assert_eq!(location, b"http://%[x]/a/b?x=1");
        let mut scratch = Vec::new();
        let fixed = parse_use_backend(&["b1", "if", "{", "path", "/no", "}"], cx).expect("valid");
        assert_eq!(
            (fixed.applies(&tx), fixed.resolve(&tx, &mut scratch)),
            (sample::Answer::No, &b"b1"[..])
        );
        let dynamic = parse_use_backend(&["b-%[req.hdr(x-z)]"], cx).expect("valid");
        assert_eq!(
            (dynamic.applies(&tx), dynamic.resolve(&tx, &mut scratch)),
            (sample::Answer::Yes, &b"b-z"[..])
        );
        let error = parse_use_backend(&["b", "if", "nosuch"], cx).expect_err("no such ACL");
        assert_eq!(
            (error.word, &*error.message),
            (2, "error detected while parsing switching rule : no such ACL : 'nosuch'")
        );
    });
}

#[test]
fn errors_are_haproxys() {
    #[rustfmt::skip]
    let cases = [
        (HttpRequest, "set-header a", 1, "expects exactly 2 arguments"), (HttpRequest, "nosuch a", 0, "'http-request' expects 'allow'"),
        (HttpRequest, "set-hedaer a b", 0, "Did you mean 'set-header' ?"), (HttpRequest, "cache-use", 0, "expects a cache name."),
        (HttpRequest, "send-spoe-group e", 1, "expects 2 arguments: <engine-id> <group-id>."),
        (HttpRequest, "set-status 200", 0, "'http-request' expects"), (HttpRequest, "set-var(foo.a) src", 0, "invalid variable name 'foo.a'"),
        (HttpRequest, "set-var src", 0, "action 'set-var' expects 'set-var(<var-name>"), (HttpRequest, "deny(x)", 0, "takes no parentheses"),
        (HttpRequest, "return status 99", 2, "Unexpected status code '99'"), (HttpRequest, "return string a", 1, "a content type must be defined when non-empty payload is configured"),
        (HttpRequest, "return content-type t file /none", 4, "error opening file '/none'"),
        (HttpRequest, "return content-type t string a lf-string b", 5, "unexpected 'lf-string' argument, 'string' already defined"),
        (HttpRequest, "deny deny_status 999", 2, "Unexpected status code '999'"), (HttpRequest, "return status 299 default-errorfiles", 2, "status code '299' not handled by default with 'default-errorfiles' argument."),
        (HttpRequest, "deny deny_status 430", 2, "status code '430' not handled by default with 'default-errorfiles' argument."), (HttpRequest, "tarpit deny_status 430", 2, "not handled by default"),
        (HttpResponse, "deny deny_status 430", 2, "not handled by default"), (HttpRequest, "return status 430 errorfiles e", 2, "with 'errorfiles' argument."),
        (HttpRequest, "redirect", 0, "redirection type expected ('prefix', 'location', or 'scheme')"),
        (HttpRequest, "redirect location / code 309", 4, "'code': unsupported HTTP code '309'"), (HttpRequest, "redirect location / foo", 3, "(was 'foo')"),
        (HttpRequest, "replace-header a ( b", 2, "regex '(' is invalid"), (HttpRequest, "del-header a -m foo", 3, "-m with unsupported matching method 'foo'"),
        (HttpRequest, "set-header a b iff x", 3, "'http-request set-header' expects either 'if' or 'unless' followed by a condition but found 'iff'"),
        (HttpRequest, "allow if nosuch", 2, "error detected while parsing an 'http-request allow' condition : no such ACL : 'nosuch'"),
        (HttpRequest, "set-header a %[nosuch]", 2, "unknown fetch method 'nosuch'"),
        (HttpRequest, "strict-mode maybe", 1, "Unexpected value 'maybe'"), (HttpRequest, "set-log-level loud", 1, "log level name or 'silent'"),
        (HttpRequest, "set-mark x", 1, "invalid mark 'x'"),
        (TcpConnection, "expect-proxy layer5", 1, "only supports 'layer4' (got 'layer5')"),
        (TcpConnection, "expect-netscaler-cip", 0, "'tcp-request connection expect-netscaler-cip' only supports 'layer4' (got '')"), (HttpRequest, "set-tos x", 1, "invalid TOS 'x'"),
        (HttpResponse, "redirect prefix /x", 1, "response only supports redirect type 'location'."), (HttpResponse, "redirect scheme https", 1, "response only supports"),
        (HttpRequest, "return status 204 content-type t string x", 1, "No body expected for 204 responses."), (HttpRequest, "return status 304 content-type t lf-string x", 1, "No body expected for 304"),
        (HttpRequest, "deny status 403 deny_status 404", 3, "'deny_status' follows a status"), (HttpRequest, "deny deny_status 403 deny_status 404", 3, "'deny_status' follows a status"),
        (HttpRequest, "set-header a %[src,]", 2, "failed to parse sample expression <src,> : unknown converter ''"),
        (HttpRequest, "set-timeout client 5s", 1, "expects 'server' or 'tunnel'"), (HttpRequest, "set-timeout server 5x", 2, "invalid value '5x' for timeout"),
        (HttpRequest, "wait-for-body at-least 5", 2, "expects a 'time' parameter"), (HttpRequest, "wait-for-body time x", 2, "invalid time 'x'"),
        (HttpRequest, "normalize-uri path-strip-dots", 1, "Did you mean 'path-strip-dot' ?"), (HttpRequest, "auth foo", 1, "expects 'realm'"),
        (HttpRequest, "set-src", 0, "expects an expression"), (HttpRequest, "set-map(m) k", 1, "expects <value fmt>"),
        (HttpResponse, "capture src len 7", 3, "'len' is only possible for requests"),
    ];
    for (ruleset, line, word, expected) in cases {
        let error = with_parser(|cx| parse(ruleset, line, cx).expect_err(line));
        assert!(error.message.contains(expected), "{line}: {}", error.message);
        assert_eq!(error.word, word, "{line}: {}", error.message);
    }
}

#[test]
fn actions_on_the_connection() {
    #[rustfmt::skip]
    let cases = [
        ("set-src str(10.9.8.7)", "src 10.9.8.7:99"), ("set-src str(2001:db8::1)", "src [2001:db8::1]:99"), ("set-src hdr(none)", ""),
        ("set-src-port int(81)", "src 10.1.2.3:81"), ("set-dst str(10.9.8.7)", "dst 10.9.8.7:0"), ("set-dst-port int(82)", "dst 0.0.0.0:82"),
        ("set-src str(10.9.8.7:80)", "src 10.9.8.7:99"), ("set-mark -1", "mark 4294967295"), ("set-tos 300", "tos 44"), ("set-tos -1", "tos 255"),
        ("set-mark 0x10", "mark 16"), ("set-tos 8", "tos 8"), ("set-timeout server 5s", "Server 5000"),
        ("set-timeout tunnel int(7),mul(100)", "Tunnel 700"), ("set-timeout server int(0)", ""),
        ("set-priority-class int(-9999)", "class -2047"), ("set-priority-offset int(50)", "offset 50"),
        ("early-hint Link v%[src]", "hint link: v10.1.2.3"), ("disable-l7-retry", "no retry"),
    ];
    for (line, expected) in cases {
        let mut cx = Transaction::default();
        assert_eq!(run(HttpRequest, &[line], &mut cx), "continue", "{line}");
        assert_eq!(cx.deeds.join(" "), expected, "{line}");
    }
}

#[test]
fn waiting_for_the_body_goes_on_behind_the_rule() {
    let rules = compile(HttpRequest, &["wait-for-body time 2s at-least 1k", "deny"]);
    let mut cx = Transaction::default();
    let verdict = rules.evaluate(Cursor::default(), &mut cx);
    let Verdict::Suspend { cursor, need } = verdict else { panic!("{verdict:?}") };
    assert_eq!(need, Need::Body { span: 2_000, at_least: 1_024 });
    assert!(matches!(rules.evaluate(cursor, &mut cx), Verdict::Deny(_)));
}

#[test]
fn a_challenge_replaces_that_of_the_reply() {
    let got = request(&["auth realm Gimme"]);
    assert!(got.starts_with("return 401 Unauthorized|"), "{got}");
    assert_eq!(got.matches("www-authenticate").count(), 1, "{got}");
    assert!(got.contains("|www-authenticate: Basic realm=\"Gimme\"|"), "{got}");
}

#[test]
fn targets_are_normalized_or_refused() {
    let mut cx = Transaction::default();
    cx.request.set_uri(b"http://h/a//b/../c?b=1&a=2");
    let lines = [
        "normalize-uri path-merge-slashes",
        "normalize-uri path-strip-dotdot full",
        "normalize-uri query-sort-by-name",
    ];
    assert_eq!(run(HttpRequest, &lines, &mut cx), "continue");
    assert_eq!(cx.request.uri(), b"http://h/a/c?a=2&b=1");
    cx.request.set_uri(b"/%zz");
    assert_eq!(run(HttpRequest, &["normalize-uri percent-to-uppercase"], &mut cx), "continue");
    let strict = "normalize-uri percent-to-uppercase strict";
    assert_eq!(run(HttpRequest, &[strict], &mut cx), "badrequest");
}

#[test]
fn dictionaries_change() {
    // The names of the actions: "set-map", "del-map", "add-acl", "del-acl".
    with_parser(|cx| {
        let mut rules = RuleSet::new(HttpRequest);
        for line in [
            "set-map(m) k v%[src]",
            "set-map(m) gone x",
            "del-map(m) gone",
            "add-acl(a) k",
            "add-acl(a) gone",
            "del-acl(a) gone",
        ] {
            rules.push(
                parse(HttpRequest, line, cx).unwrap_or_else(|error| panic!("{line}: {error}")),
            );
        }
        let all = cx.shared.patterns.finish();
        rules.evaluate(Cursor::default(), &mut Transaction::default());
        let rows = |name: &str| {
            let mut found = Vec::new();
            all.find(name).expect("named by a rule").rows(
                None,
                (0, u32::MAX),
                &mut |_, key, value| {
                    found.push(format!(
                        "{}={}",
                        String::from_utf8_lossy(key),
                        String::from_utf8_lossy(value)
                    ));
                },
            );
            found
        };
        assert_eq!(rows("m"), ["k=v10.1.2.3"]);
        assert_eq!(rows("a"), ["k="]);
    });
}

#[test]
fn rules_wait_for_the_address_of_a_name() {
    let mut cx = Transaction::default();
    let lines = ["do-resolve(txn.ip,dns,ipv4) req.hdr(host)", "set-nice 3"];
    let rules = compile(HttpRequest, &lines);
    let Verdict::Suspend { cursor, need: Need::Answer } =
        rules.evaluate(Cursor::default(), &mut cx)
    else {
        panic!("an answer is awaited")
    };
    assert_eq!((cursor.next, cx.nice), (1, 0), "the rule behind it waits");
    assert!(cx.deeds[0].starts_with("resolve h.example by dns V4"), "{:?}", cx.deeds);
    cx.is_asked = false;
    assert!(matches!(rules.evaluate(cursor, &mut cx), Verdict::Continue));
    assert_eq!((cx.deeds.len(), cx.nice), (1, 3), "the name is not asked for again");
    let rules = compile(HttpRequest, &["do-resolve(txn.ip,dns) req.hdr(none)"]);
    assert!(matches!(rules.evaluate(Cursor::default(), &mut cx), Verdict::Continue), "no name");
}

#[test]
fn an_asker_has_its_effect_once() {
    let mut rules = compile(HttpRequest, &["add-header x-l before"]);
    for asker in [0, 1] {
        rules.push(Rule::new(Action::Ask(asker), None, "script".into(), 0));
    }
    let mut cx = Transaction::default();
    let Verdict::Suspend { cursor, need: Need::Answer } =
        rules.evaluate(Cursor::default(), &mut cx)
    else {
        panic!("an answer is awaited")
    };
    cx.is_asked = false;
    assert!(matches!(rules.evaluate(cursor, &mut cx), Verdict::Continue));
    assert_eq!(cx.deeds, ["ask 0", "ask 1"], "the first one answers at once");
    assert_eq!(cx.request.all(b"x-l").filter(|it| it.value == b"before").count(), 1);
}

#[test]
fn every_action_is_known_and_tested() {
    let tests = concat!(
        include_str!("tests.rs"),
        include_str!("../action/bandwidth/tests.rs"),
        include_str!("../action/counter/tests.rs"),
        include_str!("effects.rs")
    );
    for keyword in KEYWORDS {
        assert!(tests.contains(&format!("\"{}", keyword.name)), "{} has no test", keyword.name);
        assert_eq!(KEYWORDS.iter().filter(|other| other.name == keyword.name).count(), 1);
    }
}

proptest::proptest! {
    #[test]
    fn no_words_panic(action in 0usize..40, rest in proptest::collection::vec("(if|unless|TRUE|status|200|string|hdr|%\\[src\\]|location|code|\\PC{0,6})", 0..8), set in 0usize..7) {
        let sets = [TcpConnection, RuleSetKind::TcpSession, TcpRequest, TcpResponse, HttpRequest, HttpResponse, HttpAfterResponse];
        let keyword = &KEYWORDS[action % KEYWORDS.len()];
        let name = if keyword.args.starts_with('(') { format!("{}(txn.x)", keyword.name) } else { keyword.name.to_owned() };
        let words: Vec<&str> = std::iter::once(&*name).chain(rest.iter().map(String::as_str)).collect();
        with_parser(|cx| {
            if let Ok(rule) = Rule::parse(sets[set], &words, cx) {
                let mut rules = RuleSet::new(sets[set]);
                rules.push(rule);
                rules.evaluate(Cursor::default(), &mut Transaction::with_response());
            }
        });
    }
}

#[test]
fn forty_tests_in_twenty_rules_let_a_request_through() {
    let lines: Vec<String> = (0..20)
        .map(|i| format!("deny if {{ path_beg /none{i} }} or {{ hdr(host) -i other{i}.example }}"))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let rules = compile(HttpRequest, &lines);
    let mut cx = Transaction::default();
    assert!(matches!(rules.evaluate(Cursor::default(), &mut cx), Verdict::Continue));
}
