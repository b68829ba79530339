//! Lines of ACLs: flags, derived keywords, predefined names, files.

use super::{Acl, Answer, DERIVED, PREDEFINED};
use crate::testing::{World, request, response, with_parser};
use crate::{fetch, known_keywords};

fn eval(line: &str, world: &World) -> Result<Answer, String> {
    with_parser(|cx| {
        let words: Vec<&str> = line.split(' ').collect();
        Acl::parse("t", &words, cx).map(|acl| acl.eval(world)).map_err(|error| error.message)
    })
}

#[test]
fn lines_match_their_patterns() {
    let world = World::full();
    #[rustfmt::skip]
    let cases = [
        ("path /p/a.html", true), ("path_beg /p/", true), ("path_end .png", false), ("path_reg ^/p/", true), ("path_dir p", true),
        ("path_sub a.h", true), ("path_len 9", true), ("path_dom html", true), ("hdr(host) -i WWW.EXAMPLE.COM:8080", true),
        ("hdr_dom(host) example", true), ("hdr_beg(host) www.", true), ("hdr(x-l) b", true), ("hdr(x-l) nope", false),
        ("req.hdr(x-l,1) b", false), ("req.hdr_cnt(x-l) gt 4", true), ("hdr_val(x-num) 40:50", true), ("hdr_ip(x-ip) 192.0.2.0/24", true),
        ("method GET HEAD", true), ("meth(PUT) GET", false), ("src 10.0.0.0/8", true), ("dst_port 80", true),
        ("url_beg http://", true), ("url_reg -i ^HTTP:", true), ("urlp(x) 2", true), ("cook(a) 1", true), ("cook_beg(a) 3", true),
        ("req.hdr(host),lower,field(2,.) example", true), ("req.hdr(host) -m found", true), ("req.hdr(none) -m found", false),
        ("path -m end -- .html", true), ("path -f list", false), ("str(/two) -f list", true), ("str(/three) -M -f list", true),
        ("str(/three) -f list", false), ("str(/TWO) -i -f list /x", true), ("str(/TWO) -f list -i /x", false),
        ("always_true", true), ("always_false", false), ("int(3) 1 2 3", true), ("int(0) -- -1 -5", false), ("int(-5) -- -5", true),
        ("status 200:299", true), ("res.hdr(x-r) r1", true), ("shdr(x-r) r2", true), ("scook(s) 9", true), ("resp_ver 1.1", true),
        ("bin(4142) -m bin 4142", true), ("var(txn.s) -m str text", true), ("base_beg www.", true), ("src,ipmask(8) 10.0.0.0", true),
        ("src myself", true), ("str(a\u{10ffe0}b) a\u{10ffe0}b", true), ("int(9) gt 3 lt 5", true), ("int(4) gt 5 lt 3", false),
    ];
    for (line, expected) in cases {
        assert_eq!(eval(line, &world), Ok(Answer::from(expected)), "{line}");
    }
}

/// Every derived keyword with a pattern that only its match method accepts, and one that it
/// refuses.
#[rustfmt::skip]
const KEYWORDS: &[(&str, &str, &str)] = &[
    ("base", "www.example.com:8080/p/a.html", "www.example.com"), ("base_beg", "www.", "example"), ("base_dir", "p", "www"), ("base_dom", "example", "exam"),
    ("base_end", ".html", "/p"), ("base_len", "29", "28"), ("base_reg", "^www.*l$", "^p"), ("base_sub", "ple.com", "plecom"),
    ("cook(w)", "a.b/c", "a.b"), ("cook_beg(w)", "a.", "b"), ("cook_dir(w)", "c", "b"), ("cook_dom(w)", "a", "d"),
    ("cook_end(w)", "/c", "/b"), ("cook_len(w)", "5", "6"), ("cook_reg(w)", "^a.b", "^b"), ("cook_sub(w)", "b/", "/b"),
    ("hdr(x-w)", "a.b/c", "a.b"), ("hdr_beg(x-w)", "a.", "b"), ("hdr_dir(x-w)", "c", "b"), ("hdr_dom(x-w)", "a", "d"),
    ("hdr_end(x-w)", "/c", "/b"), ("hdr_len(x-w)", "5", "6"), ("hdr_reg(x-w)", "^a.b", "^b"), ("hdr_sub(x-w)", "b/", "/b"),
    ("method", "GET", "PUT"), ("path", "/p/a.html", "/p"), ("path_beg", "/p", "p"), ("path_dir", "p", "/p/a"), ("path_dom", "html", "htm"),
    ("path_end", ".html", "/p"), ("path_len", "9", "8"), ("path_reg", "^/p/[a-z]", "^p"), ("path_sub", "a.h", "ah"),
    ("payload(0,3)", "706179", "7061"),
    ("req_ver", "1.1", "1.0"), ("resp_ver", "1.1", "1.0"),
    ("scook(w)", "a.b/c", "a.b"), ("scook_beg(w)", "a.", "b"), ("scook_dir(w)", "c", "b"), ("scook_dom(w)", "a", "d"),
    ("scook_end(w)", "/c", "/b"), ("scook_len(w)", "5", "6"), ("scook_reg(w)", "^a.b", "^b"), ("scook_sub(w)", "b/", "/b"),
    ("shdr(x-w)", "a.b/c", "a.b"), ("shdr_beg(x-w)", "a.", "b"), ("shdr_dir(x-w)", "c", "b"), ("shdr_dom(x-w)", "a", "d"),
    ("shdr_end(x-w)", "/c", "/b"), ("shdr_len(x-w)", "5", "6"), ("shdr_reg(x-w)", "^a.b", "^b"), ("shdr_sub(x-w)", "b/", "/b"),
    ("ssl_fc_sni_end", "ni", "sn"), ("ssl_fc_sni_reg", "^s.i$", "^n"),
    ("url", "http://u@192.0.2.9:81/p/a.html?x=1&w=a.b/c", "/p"), ("url_beg", "http:", "/p"), ("url_dir", "p", "html"), ("url_dom", "html", "htm"),
    ("url_end", "b/c", "html"), ("url_len", "42", "9"), ("url_reg", "^http:.*c$", "^/p"), ("url_sub", "@192", "192@"),
    ("urlp(w)", "a.b/c", "a.b"), ("urlp_beg(w)", "a.", "b"), ("urlp_dir(w)", "c", "b"), ("urlp_dom(w)", "a", "d"),
    ("urlp_end(w)", "/c", "/b"), ("urlp_len(w)", "5", "6"), ("urlp_reg(w)", "^a.b", "^b"), ("urlp_sub(w)", "b/", "/b"),
];

/// The same for keywords that look at a raw stream.
#[rustfmt::skip]
const STREAM_KEYWORDS: &[(&[u8], &str, &str, &str)] = &[
    (fetch::tests::RDP, "req_rdp_cookie(mstshash)", "bob", "bo"), (fetch::tests::RDP, "req_rdp_cookie_cnt(mstshash)", "1", "0"),
    (fetch::tests::HELLO, "req_ssl_sni", "a.b", "a"), (fetch::tests::HELLO, "req_ssl_ver", "3.3", "3.1"),
    (fetch::tests::HELLO, "req.ssl_ver", "3.3", "3.1"), (b"\x02ab", "payload_lv(0,1)", "6162", "61"),
];

/// A world in which the keywords of `KEYWORDS` find something.
fn words() -> World {
    let fields = [
        ("Host", "www.example.com:8080"),
        ("X-W", "a.b/c"),
        ("Cookie", "w=a.b/c"),
        ("X-U", "a, b"),
        ("X-V", "q, a"),
    ];
    let uri = "http://u@192.0.2.9:81/p/a.html?x=1&w=a.b/c";
    World {
        request: Some(request("GET", uri, &fields)),
        response: Some(response(200, &[("X-W", "a.b/c"), ("Set-Cookie", "w=a.b/c")])),
        ..World::full()
    }
}

#[test]
fn every_keyword_compares_in_its_own_way() {
    let world = words();
    let told = |keyword: &str, pattern: &str, world: &World| {
        let line = format!("{keyword} {pattern}");
        (eval(&line, world), line)
    };
    for (keyword, fits, other) in KEYWORDS {
        for (pattern, expected) in [(fits, true), (other, false)] {
            let (answer, line) = told(keyword, pattern, &world);
            assert_eq!(answer, Ok(Answer::from(expected)), "{line}");
        }
    }
    for (stream, keyword, fits, other) in STREAM_KEYWORDS {
        let world = World { payload: Some(stream.to_vec()), ..World::default() };
        for (pattern, expected) in [(fits, true), (other, false)] {
            let (answer, line) = told(keyword, pattern, &world);
            assert_eq!(answer, Ok(Answer::from(expected)), "{line}");
        }
    }
    let all = KEYWORDS.iter().map(|case| case.0).chain(STREAM_KEYWORDS.iter().map(|case| case.1));
    let all: Vec<&str> = all.map(|text| text.split('(').next().unwrap_or(text)).collect();
    for (name, ..) in DERIVED.iter().filter(|entry| entry.0 != "http_auth_group") {
        assert!(all.contains(name), "{name} has no case");
    }
}

#[test]
fn methods_operators_and_flags_count() {
    let world = words();
    #[rustfmt::skip]
    let cases = [
        ("path -m beg /p", true), ("path -m beg p", false), ("path -m bool 0", false), ("path -m bool 1", false), ("int(5) -m bool 1", true),
        ("path -m dir p", true),
        ("path -m dom html", true), ("path -m end .html", true), ("req.hdr(x-n) -m found", false), ("str(7) -m int 5:9", true), ("str(007) -m int 7", true),
        ("str(10.1.2.3) -m ip 10.0.0.0/8", true), ("path -m len 9", true), ("path -m reg ^/p", true), ("path -m sub a.h", true), ("bin(4142) -m str AB", true),
        ("bin(4142) -m bin 4142", true),
        ("int(5) gt 5 eq 5", true), ("int(6) ge 5", true), ("int(4) le 5", true), ("int(4) lt 5", true), ("int(6) gt 5", true),
        ("src myself", true), ("src -n 10.1.2.3", true),
        // Behind a converter the keyword's own way to compare is gone.
        ("path_beg,lower /p/", false), ("path_beg,lower /p/a.html", true), ("path_beg,lower -m beg /p/", true), ("path_end,lower html", false),
        ("path_reg,lower ^/p", false), ("path_sub,lower a.h", false), ("path_len,length 9", true), ("path_beg,length 9", true),
        ("method -i get", false), ("method -i GET", true), ("method -m str -i get", true), ("method,lower get", true), ("method -i get x", true),
        ("int(80) 80-90", true), ("int(90) 80-90", true), ("int(79) 80-90", false), ("int(99) 80-", true), ("str(abc) -m len 1-5", true),
        ("int(8) gt 3:8", true), ("int(9) gt 3:8", false), ("int(2) lt 3:8", false), ("int(9) lt 3:", true), ("int(8) gt 8:8", true),
        ("str(10.1.1.1:80) -m ip 10.0.0.0/8", true), ("str(10.1.1.1.1) -m ip 10.0.0.0/8", false),
        ("req.hdr -m found", false), ("req.hdr_val gt 0", false), ("req.hdr(,-1) -m found", true),
        // A value that cannot be converted ends the search among several values.
        ("req.hdr(x-v),map_str(map) -m found", false), ("req.hdr(x-u),map_str(map) 1", true), ("req.hdr(x-v) a", true),
        ("path / -u", false), ("path -u", false),
    ];
    for (line, expected) in cases {
        assert_eq!(eval(line, &world), Ok(Answer::from(expected)), "{line}");
    }
    assert!(eval("src -n myself", &world).is_err(), "no name is looked up");
}

#[test]
fn predefined_names_hold_where_they_should() {
    let target = |method: &str, uri: &str| World {
        request: Some(request(method, uri, &[])),
        source: Some("127.0.0.1:1".parse().expect("an address")),
        ..World::default()
    };
    for (name, method, uri) in [
        ("LOCALHOST", "GET", "/"),
        ("METH_CONNECT", "CONNECT", "a:1"),
        ("METH_DELETE", "DELETE", "/"),
        ("METH_GET", "GET", "/"),
        ("METH_GET", "HEAD", "/"),
        ("METH_HEAD", "HEAD", "/"),
        ("METH_OPTIONS", "OPTIONS", "*"),
        ("METH_PUT", "PUT", "/"),
        ("METH_TRACE", "TRACE", "/"),
        ("HTTP_URL_ABS", "GET", "http://a/"),
        ("HTTP_URL_STAR", "OPTIONS", "*"),
    ] {
        let answer =
            with_parser(|cx| cx.acls.find(name, cx).expect(name).eval(&target(method, uri)));
        assert_eq!(answer, Answer::Yes, "{name}");
    }
    for (name, version) in [("HTTP_1.0", htx::Version::Http10), ("HTTP_2.0", htx::Version::Http2)] {
        let mut world = target("GET", "/");
        world.request.as_mut().expect("a request").set_request(b"GET", b"/", version);
        let answer = with_parser(|cx| cx.acls.find(name, cx).expect(name).eval(&world));
        assert_eq!(answer, Answer::Yes, "{name}");
    }
    let rdp = World { payload: Some(fetch::tests::RDP.to_vec()), ..World::default() };
    let answer = with_parser(|cx| cx.acls.find("RDP_COOKIE", cx).expect("known").eval(&rdp));
    assert_eq!(answer, Answer::Yes);
}

#[test]
fn errors_of_bad_lines_name_the_cause() {
    let world = World::default();
    for (line, expected) in [
        (
            "unknown_thing 3",
            "unknown fetch method 'unknown_thing' in ACL expression 'unknown_thing'",
        ),
        ("path_bge /", "Did you mean 'path_beg' ?"),
        ("int(3) abc", "'abc' is not a number"),
        (
            "req.body abc",
            "matching method must be specified first (using '-m') when using a sample fetch of this type ('req.body')",
        ),
        ("path -m foo a", "unknown matching method 'foo' when parsing ACL expression"),
        ("path -f nofile", "failed to open pattern file <nofile>"),
        ("path -f list -m beg", "'-m' must only be specified before patterns"),
        ("path -u x a", "invalid unique id 'x'"),
        ("path -m", "missing match method after '-m'"),
        (
            "always_true -m ip 10.0.0.1",
            "matching method 'ip' cannot be used with fetch keyword 'always_true'",
        ),
        ("path -f list -M -f list", "\"list\" is already used as one column file"),
        ("src nohost", "'nohost' is not a valid IPv4 or IPv6 address"),
        ("src 1.2.3.4/33", "is not a valid IPv4 or IPv6 address"),
        ("payload(0,1) 41", ""),
        ("req_ssl_sni a", ""),
        ("ssl_fc_sni_end a", ""),
        ("", "missing fetch method"),
    ] {
        match eval(line, &world) {
            Err(message) => assert!(message.contains(expected), "{line}: {message}"),
            Ok(_) => assert!(expected.is_empty(), "{line}"),
        }
    }
}

#[test]
fn derived_and_predefined_names_are_complete() {
    let mut derived: Vec<&str> = DERIVED.iter().map(|entry| entry.0).collect();
    let mut known: Vec<&str> = known_keywords::acls().collect();
    derived.sort_unstable();
    known.sort_unstable();
    assert_eq!(derived, known);
    for (name, fetch, _) in DERIVED {
        assert!(known_keywords::fetches().any(|known| known == *fetch), "{name} names {fetch}");
    }
    let world = World {
        request: Some(request("POST", "/a", &[("Content-Length", "3")])),
        ..World::default()
    };
    for (name, expected) in [
        ("TRUE", true),
        ("FALSE", false),
        ("LOCALHOST", false),
        ("HTTP", true),
        ("HTTP_1.0", false),
        ("HTTP_1.1", true),
        ("HTTP_2.0", false),
        ("METH_CONNECT", false),
        ("METH_DELETE", false),
        ("METH_GET", false),
        ("METH_HEAD", false),
        ("METH_OPTIONS", false),
        ("METH_POST", true),
        ("METH_PUT", false),
        ("METH_TRACE", false),
        ("HTTP_URL_ABS", false),
        ("HTTP_URL_SLASH", true),
        ("HTTP_URL_STAR", false),
        ("HTTP_CONTENT", true),
        ("REQ_CONTENT", true),
        ("WAIT_END", true),
        ("RDP_COOKIE", false),
    ] {
        let answer = with_parser(|cx| cx.acls.find(name, cx).expect(name).eval(&world));
        assert_eq!(answer, Answer::from(expected), "{name}");
    }
    for (name, words) in PREDEFINED {
        let parsed = with_parser(|cx| Acl::parse(name, words, cx).map(|_| ()));
        assert_eq!(
            parsed.is_ok(),
            {
                let keyword = words[0].split('(').next().expect("a first part");
                fetch::find(keyword).is_some()
                    || DERIVED.iter().any(|d| d.0 == keyword && fetch::find(d.1).is_some())
            },
            "{name}"
        );
    }
}

#[test]
fn lines_of_one_name_are_alternatives_even_later() {
    let world = World::full();
    with_parser(|cx| {
        cx.acls.define(&["a", "path", "/x"], cx).expect("valid");
        let early = cx.acls.find("a", cx).expect("defined");
        assert_eq!(early.eval(&world), Answer::No);
        cx.acls.define(&["a", "method", "GET"], cx).expect("valid");
        assert_eq!(early.eval(&world), Answer::Yes);
        let error = cx.acls.define(&["b c", "path"], cx).expect_err("a space");
        assert!(error.message.contains("character ' ' is not permitted in acl name"));
        let error = cx.acls.define(&["x", "int(3)", "abc"], cx).expect_err("no number");
        assert_eq!(
            (error.word, &*error.message),
            (2, "error detected while parsing ACL 'x' : 'abc' is not a number")
        );
    });
}

#[test]
fn tls_versions_are_dotted() {
    let world = World { payload: Some(fetch::tests::HELLO.to_vec()), ..World::default() };
    for (line, expected) in [
        ("req.ssl_ver 3.3", true),
        ("req_ssl_ver 3.0:3.3", true),
        ("req_ssl_ver gt 3.3", false),
        ("req_ssl_ver 196611", true),
    ] {
        assert_eq!(eval(line, &world), Ok(Answer::from(expected)), "{line}");
    }
}
