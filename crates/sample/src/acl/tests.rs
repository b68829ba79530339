//! Lines of ACLs: flags, derived keywords, predefined names, files.

use super::{Acl, Answer, DERIVED, PREDEFINED};
use crate::testing::{World, request, with_parser};
use crate::{fetch, known};

fn eval(line: &str, world: &World) -> Result<Answer, String> {
    with_parser(|cx| {
        let words: Vec<&str> = line.split(' ').collect();
        Acl::parse("t", &words, cx).map(|acl| acl.eval(world)).map_err(|error| error.message)
    })
}

#[test]
fn lines_match_what_they_say() {
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

#[test]
fn bad_lines_say_why() {
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
    let mut known: Vec<&str> = known::acls().collect();
    derived.sort_unstable();
    known.sort_unstable();
    assert_eq!(derived, known);
    for (name, fetch, _) in DERIVED {
        assert!(known::fetches().any(|known| known == *fetch), "{name} names {fetch}");
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
    let world = World { payload: Some(b"\x16\x03\x01".to_vec()), ..World::default() };
    for (line, expected) in [
        ("req.ssl_ver 3.1", true),
        ("req_ssl_ver 3.0:3.3", true),
        ("req_ssl_ver gt 3.1", false),
        ("req_ssl_ver 196609", true),
    ] {
        assert_eq!(eval(line, &world), Ok(Answer::from(expected)), "{line}");
    }
}
