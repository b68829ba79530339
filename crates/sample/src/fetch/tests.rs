//! Every fetch with an expression that only it can answer.

use super::all;
use crate::testing::{World, parse_error, request, with_parser};
use crate::value::{Missing, Value};
use crate::{Expr, Place, Places};

/// Expressions and their texts in `World::full`.
#[rustfmt::skip]
const CASES: &[(&str, &str)] = &[
    ("always_true", "1"), ("always_false", "0"), ("bool(true)", "1"), ("bool(0)", "0"), ("int(-5)", "-5"),
    ("str(a b)", "a b"), ("bin(410042),length", "1"), ("ipv4(1.2.3.4)", "1.2.3.4"), ("ipv6(::1)", "::1"),
    ("meth(PUT)", "PUT"), ("env(HOME)", "/root"), ("env(NONE)", "undefined"), ("var(txn.n)", "10"),
    ("var(txn.none)", "undefined"), ("var(txn.none,dflt)", "dflt"), ("date", "784111777"), ("date(-7)", "784111770"),
    ("date(0,ms)", "784111777123"), ("date(1,us)", "784111777123457"), ("date_us", "123456"),
    ("rand(10)", "5"), ("rand", "2147483648"), ("uuid", "80000000-1234-4678-8000-000012345678"),
    ("hostname", "host1"), ("nbproc", "1"), ("proc", "1"), ("thread", "104"), ("stopping", "1"), ("unique-id", "uid-1"),
    ("src", "10.1.2.3"), ("src,hex", "0A010203"), ("src_port", "4567"), ("src_is_local", "0"),
    ("dst", "127.0.0.1"), ("dst_port", "80"), ("dst_is_local", "1"), ("dst_conn", "117"),
    ("fc_src", "10.9.9.9"), ("fc_src_port", "999"), ("fc_src_is_local", "0"),
    ("fc_dst", "127.0.0.2"), ("fc_dst_port", "8080"), ("fc_dst_is_local", "1"),
    ("fc_err", "114"), ("fc_err_str", "broken"), ("fc_http_major", "105"), ("fc_glitches", "122"), ("bc_glitches", "123"), ("bc_http_major", "106"),
    ("fc_rcvd_proxy", "1"), ("fc_pp_authority", "auth"), ("fc_pp_unique_id", "ppid"),
    ("wait_end", "1"),
    ("method", "GET"), ("url", "http://u@192.0.2.9:81/p/a.html?x=1&y=&x=2;z"), ("path", "/p/a.html"),
    ("pathq", "/p/a.html?x=1&y=&x=2;z"), ("query", "x=1&y=&x=2;z"), ("base", "www.example.com:8080/p/a.html"),
    ("base32", "1852511755"), ("base32+src,hex", "6E6B160B0A010203"), ("url32", "1328577104"), ("url32+src,hex", "4F307A500A010203"),
    ("baseq", "www.example.com:8080/p/a.html?x=1&y=&x=2;z"), ("url_ip", "192.0.2.9"), ("url_port", "81"),
    ("url_param(x)", "1"), ("url_param(X)", "undefined"), ("urlp(y)", ""), ("urlp_val(x)", "1"),
    ("req.ver", "1.1"), ("req_ver", "1.1"), ("res.ver", "1.1"), ("resp_ver", "1.1"), ("status", "201"),
    ("res.cache_hit", "1"), ("res.cache_name", "c"), ("res.comp", "1"), ("res.comp_algo", "gzip"),
    ("req.proto_http", "1"), ("req_proto_http", "1"), ("http_first_req", "1"),
    ("hdr(x-r)", "r2"), ("hdr_cnt(x-l)", "5"), ("hdr_ip(x-ip)", "192.0.2.7"), ("hdr_val(x-num)", "42"),
    ("req.hdr(x-l)", "z"), ("req.hdr(X-L,1)", "a"), ("req.hdr(x-l,3)", "b"), ("req.hdr(x-l,4)", "\"c,d\""),
    ("req.hdr(x-l,-2)", "\"c,d\""), ("req.hdr(x-l,6)", "undefined"), ("req.hdr(x-l,-6)", "undefined"),
    ("req.hdr(none)", "undefined"), ("req.hdr_cnt(x-l)", "5"), ("req.hdr_ip(x-ip)", "192.0.2.7"),
    ("req.hdr_val(x-num)", "42"), ("req.hdr_names(-)", "host-x-l-x-l-x-ip-x-num-cookie-cookie"),
    ("req.hdrs,length", "119"), ("req.fhdr(x-l,1)", "a,, b ,\"c,d\""), ("req.fhdr(x-l)", "z"), ("req.fhdr_cnt(x-l)", "2"),
    ("req.fhdr_cnt", "7"),
    ("res.hdr(x-r)", "r2"), ("res.hdr(x-r,1)", "r1"), ("res.hdr_cnt(x-r)", "2"), ("res.hdr_ip(x-ip)", "undefined"),
    ("res.hdr_val(x-num)", "7"), ("res.hdr_names", "x-r,x-num,x-ip,set-cookie,set-cookie"), ("res.hdrs,length", "83"),
    ("res.fhdr(x-r)", "r1, r2"), ("res.fhdr_cnt(x-r)", "1"),
    ("shdr(x-r)", "r2"), ("shdr_cnt(x-r)", "2"), ("shdr_ip(x-ip)", "undefined"), ("shdr_val(x-num)", "7"),
    ("req.cook(a)", "3"), ("req.cook", "1"), ("req.cook_cnt(a)", "2"), ("req.cook_cnt", "3"), ("req.cook_val(b)", "2"),
    ("cook(b)", "2"), ("cook_cnt(b)", "1"), ("cook_val(a)", "3"), ("cookie(s)", "9"),
    ("res.cook(s)", "9"), ("res.cook_cnt", "3"), ("res.cook_val(t)", "8"),
    ("scook(t)", "8"), ("scook_cnt(t)", "1"), ("scook_val(s)", "9"), ("scook(path)", "undefined"),
    ("req.body", "k=v&n=5"), ("req.body_len", "7"), ("req.body_size", "100"), ("req.body_param(n)", "5"),
    ("req.len", "7"), ("req_len", "7"), ("req.payload(3,2)", "lo"), ("req.payload(3,0)", "load"),
    ("req.payload(3,9)", "undefined"), ("payload(0,3)", "pay"),
    ("res.body", "k=v&n=5"), ("res.body_len", "7"), ("res.body_size", "100"), ("res.len", "7"), ("res.payload(1,1)", "a"),
    ("capture.req.hdr(0)", "cap0"), ("capture.req.hdr(1)", "undefined"), ("capture.res.hdr(0)", "rcap"),
    ("capture.req.method", "GET"), ("capture.req.uri", "/p/a.html?x=1&y=&x=2;z"), ("capture.req.ver", "HTTP/1.1"),
    ("capture.res.ver", "HTTP/1.1"),
    ("cpu_calls", "119"), ("cpu_ns_tot", "120"), ("cpu_ns_avg", "1"), ("lat_ns_tot", "121"), ("lat_ns_avg", "1"),
    ("fe_name", "fe"), ("fe_id", "100"), ("fe_defbe", "def"), ("fe_client_timeout", "107"),
    ("fcgi.docroot", "/srv"), ("fcgi.index", "index.php"),
    ("be_name", "be"), ("be_id", "101"), ("be_server_timeout", "108"), ("be_tunnel_timeout", "109"),
    ("cur_server_timeout", "110"), ("cur_tunnel_timeout", "111"), ("srv_name", "srv1"), ("srv_id", "102"),
    ("so_name", "bind1"), ("so_id", "103"), ("prio_class", "112"), ("prio_offset", "113"),
    ("be_conn", "1000"), ("be_conn(bk)", "1200"), ("be_conn_free(b)", "1101"), ("be_sess_rate", "1002"), ("nbsrv(b)", "1103"),
    ("queue", "1004"), ("avg_queue", "1005"), ("connslots", "1006"), ("fe_conn", "1007"), ("fe_req_rate", "1008"),
    ("fe_sess_rate", "1009"), ("srv_conn(s)", "2000"), ("srv_conn(b/s)", "2100"), ("srv_conn_free(s)", "2001"),
    ("srv_is_up(s)", "1"), ("srv_is_up(none)", "undefined"), ("srv_queue(s)", "2003"), ("srv_sess_rate(s)", "2004"),
    ("srv_weight(s)", "2005"), ("srv_iweight(s)", "2006"), ("srv_uweight(s)", "2007"),
    ("http_auth(users)", "undefined"), ("http_auth_group(users)", "undefined"), ("http_auth_type", "undefined"),
    ("http_auth_user", "undefined"), ("http_auth_pass", "undefined"), ("http_auth_bearer", "undefined"),
    ("last_rule_file", "a.cfg"), ("last_rule_line", "12"),
    ("bc_src", "10.0.0.1"), ("bc_src_port", "1111"), ("bc_dst", "10.0.0.2"), ("bc_dst_port", "2222"), ("bc_err", "118"), ("bc_err_str", "lost"),
    ("fc_rtt", "5"), ("fc_rtt(us)", "5001"), ("fc_rttvar", "6"), ("fc_unacked", "7"), ("fc_sacked", "8"), ("fc_lost", "9"),
    ("fc_retrans", "10"), ("fc_fackets", "11"), ("fc_reordering", "12"),
    ("req.hdrs_bin,bytes(0,12),hex", "04686F7374147777772E6578"), ("res.hdrs_bin,bytes(0,4),hex", "03782D72"),
    ("internal.htx.data", "104"), ("internal.htx.nbblks", "8"), ("internal.htx.used", "168"), ("internal.htx.size", "16384"),
    ("internal.htx.free", "16216"), ("internal.htx.free_data", "16208"), ("internal.htx.has_eom", "0"), ("internal.strm.is_htx", "1"),
    ("internal.htx_blk.type(head)", "HTX_BLK_RES_SL"), ("internal.htx_blk.type(1)", "HTX_BLK_HDR"), ("internal.htx_blk.type(tail)", "HTX_BLK_DATA"),
    ("internal.htx_blk.size(1)", "9"), ("internal.htx_blk.hdrname(1)", "x-r"), ("internal.htx_blk.hdrval(1)", "r1, r2"),
    ("internal.htx_blk.start_line(first)", "HTTP/1.1 201 Sure"), ("internal.htx_blk.data(tail)", "k=v&n=5"), ("internal.htx_blk.data(1)", ""),
];

/// Expressions on raw streams: the stream, the expression, its text.
#[rustfmt::skip]
const STREAMS: &[(&[u8], &str, &str)] = &[
    (HELLO, "req.ssl_hello_type", "1"), (HELLO, "req_ssl_hello_type", "1"), (HELLO, "req.ssl_sni", "a.b"), (HELLO, "req_ssl_sni", "a.b"),
    (HELLO, "req.ssl_ver", "196611"), (HELLO, "req_ssl_ver", "196611"), (HELLO, "req.ssl_alpn", "h2"), (HELLO, "req.ssl_ec_ext", "1"),
    (HELLO, "req.ssl_st_ext", "1"), (HELLO, "res.ssl_hello_type", "undefined"), (b"\x16\x03\x03\0\x04\x02\0\0\0", "res.ssl_hello_type", "2"),
    (b"\x16\x03\x03\0\x04\x02\0\0\0", "rep_ssl_hello_type", "2"), (b"GET / HTTP/1.1", "req.ssl_hello_type", "undefined"), (OLD_HELLO, "req.ssl_ver", "196610"),
    (b"\x80\x0a\x01\x03\x02\0\0\0\0\0\x02c", "req.ssl_ver", "undefined"), (b"\x80\x0a\x01\x03\x02\0\0\0\0\0\x02cc", "req.ssl_ver", "undefined"),
    (b"\x16\x03\x01\0\x06\x01\0\0\x02\x03\x04", "req.ssl_ver", "196612"), (b"\x16\x03\x01\0\x07\x01\0\0\x02\x03\x04", "req.ssl_ver", "undefined"),
    (b"\x16\x03\x01\0\x05\x01\0\0\x02\x03\x04", "req.ssl_ver", "undefined"), (b"\x16\x02\x01\0\x06\x01\0\0\x02\x03\x04", "req.ssl_ver", "undefined"),
    (b"-\0\x03abcdef", "req.payload_lv(1,2)", "abc"), (b"-\0\x03abcdef", "res.payload_lv(1,2,+1)", "bcd"), (b"-\0\x03abcdef", "payload_lv(1,2,4)", "bcd"),
    (b"-\0\x09abcdef", "req.payload_lv(1,2)", "undefined"), (b"-\0\x03abcdef", "req.payload_lv(1,2,-2),hex", "000361"),
    (RDP, "req.rdp_cookie(MSTSHASH)", "bob"), (RDP, "rdp_cookie", "bob"), (RDP, "rdp_cookie(other)", "undefined"),
    (RDP, "req.rdp_cookie_cnt(mstshash)", "1"), (RDP, "rdp_cookie_cnt(x)", "0"), (b"GET / HTTP/1.1", "rdp_cookie_cnt", "0"),
    (DISTCC, "distcc_param(ARGC)", "1"), (DISTCC, "distcc_param(DOTI)", "5"), (DISTCC, "distcc_body(DOTI)", "hello"), (DISTCC, "distcc_body(ARGV,2)", "-c"),
    (DISTCC, "distcc_param(NONE)", "undefined"),
];

pub(crate) const RDP: &[u8] = b"\x03\0\0\x21\x1c\xe0\0\0\0\0\0Cookie: mstshash=bob\r\n";
const DISTCC: &[u8] = b"DIST00000001ARGC00000001ARGV00000002ccARGV00000002-cDOTI00000005hello";
const OLD_HELLO: &[u8] = b"\x80\x0e\x01\x03\x02\0\x03\0\0\0\x02\0\0\x2fcc";
pub(crate) const HELLO: &[u8] = b"\x16\x03\x01\0\x59\x01\0\0\x55\x03\x03\
    0123456789abcdef0123456789abcdef\0\0\x02\x13\x01\x01\0\0\x2a\
    \0\0\0\x08\0\x06\0\0\x03a.b\0\x0a\0\x04\0\x02\0\x1d\
    \0\x10\0\x0e\0\x0c\x02h2\x08http/1.1\0\x23\0\0";

#[test]
fn streams_are_understood() {
    for (bytes, text, expected) in STREAMS {
        let world = World { payload: Some(bytes.to_vec()), ..World::default() };
        assert_eq!(world.eval(text), *expected, "{text}");
    }
    for (stream, text) in [
        (HELLO, "req.ssl_sni"),
        (HELLO, "req.ssl_ver"),
        (OLD_HELLO, "req.ssl_ver"),
        (RDP, "rdp_cookie"),
        (DISTCC, "distcc_body(DOTI)"),
    ] {
        let expr = with_parser(|cx| Expr::parse_word(text, cx)).expect(text);
        for len in 0..stream.len() {
            let payload = Some(stream[..len].to_vec());
            let world = World { payload, is_final: false, ..World::default() };
            assert_eq!(expr.eval(&world), Err(Missing::NotYet), "{text} after {len} bytes");
        }
    }
}

/// The fetches that read a client's hello.
const OF_HELLO: [&str; 6] = [
    "req.ssl_hello_type",
    "req.ssl_sni",
    "req.ssl_ver",
    "req.ssl_alpn",
    "req.ssl_ec_ext",
    "req.ssl_st_ext",
];

/// A hello whose message is cut into records of so many bytes (RFC 8446 section 5.1).
fn cut_hello(size: usize) -> Vec<u8> {
    let records = HELLO[5..].chunks(size);
    records.flat_map(|part| [&[0x16, 3, 1, 0, part.len() as u8], part].concat()).collect()
}

#[test]
fn a_hello_is_found_across_records() {
    let whole = |text| {
        let world = World { payload: Some(HELLO.to_vec()), ..World::default() };
        world.eval(text)
    };
    for size in 1..HELLO.len() - 5 {
        let stream = cut_hello(size);
        for text in OF_HELLO {
            let world = World { payload: Some(stream.clone()), ..World::default() };
            assert_eq!(world.eval(text), whole(text), "{text} in records of {size}");
        }
    }
    // A version is there before the rest is.
    let stream = cut_hello(40);
    for text in OF_HELLO.into_iter().filter(|text| *text != "req.ssl_ver") {
        let expr = with_parser(|cx| Expr::parse_word(text, cx)).expect(text);
        for len in 0..stream.len() {
            let payload = Some(stream[..len].to_vec());
            let world = World { payload, is_final: false, ..World::default() };
            assert_eq!(expr.eval(&world), Err(Missing::NotYet), "{text} after {len} bytes");
        }
    }
}

#[test]
fn a_hello_goes_on_in_records_of_the_handshake_alone() {
    let (first, rest) = HELLO[5..].split_at(20);
    let record = |kind, part: &[u8]| [&[kind, 3, 1, 0, part.len() as u8], part].concat();
    for between in [record(21, b"\x01\0"), record(0x16, b""), b"GET / HTTP/1.1\r\n".to_vec()] {
        let stream = [record(0x16, first), between, record(0x16, rest)].concat();
        for text in OF_HELLO.into_iter().filter(|text| *text != "req.ssl_ver") {
            let world = World { payload: Some(stream.clone()), ..World::default() };
            assert_eq!(world.eval(text), "undefined", "{text}");
        }
    }
    let answer = [record(0x16, b"\x02"), record(0x16, b"\0\0\0")].concat();
    let world = World { payload: Some(answer), ..World::default() };
    assert_eq!(world.eval("res.ssl_hello_type"), "2");
}

#[test]
fn bad_arguments_are_refused() {
    for (text, expected) in [
        ("req.payload_lv(0,9)", "payload length must be between 1 and 8"),
        ("req.payload_lv(0,1,-5)", "before the beginning of the buffer"),
        ("distcc_param(TOOLONG)", "a distcc token has four letters"),
        ("fc_rtt(h)", "invalid time unit"),
        ("internal.htx_blk.type(x)", "is none of 'head', 'tail', 'first'"),
        ("ssl_c_s_dn(CN,1,x)", "only rfc2253 is supported"),
        ("ssl_fc_cipherlist_bin(2)", "the filter is 0 or 1"),
    ] {
        let error = parse_error(text);
        assert!(error.message.contains(expected), "{text}: {}", error.message);
    }
}

/// Values measured: base32 and url32 are the avalanched SDBM of base, and of the whole Host header
/// with path and query.
#[test]
fn hashes_of_the_url_are_those_measured() {
    for (target, host, base32, url32) in [
        ("/abc", "127.0.0.1:18912", 1605888034, 1605888034),
        ("/abc?x=y&z=1", "127.0.0.1:18912", 1605888034, 4217772972),
        ("/AbC?q=1", "WWW.Example.COM", 1392325334, 2140583081u32),
        ("http://foo.bar/x?y", "foo.bar", 1003342549, 2217974638),
        ("*", "a", 1830748055, 1830748055),
        ("/", "a, b", 877786378, 712193733),
    ] {
        let head = request("GET", target, &[("host", host)]);
        let source = Some("127.0.0.1:1".parse().unwrap());
        let world = World { request: Some(head), source, ..World::default() };
        assert_eq!(world.eval("base32"), base32.to_string(), "{target}");
        assert_eq!(world.eval("url32"), url32.to_string(), "{target}");
        assert_eq!(world.eval("base32+src,hex"), format!("{base32:08X}7F000001"));
        assert_eq!(world.eval("url32+src,hex"), format!("{url32:08X}7F000001"));
    }
}

/// In HTTP mode the buffer holds a parsed message; sizes as measured.
#[test]
fn the_length_of_a_parsed_request_is_that_of_its_blocks() {
    let cust = [("x-cust", "foobar"), ("host", "127.0.0.1")];
    for (method, target, fields, len) in [
        ("GET", "/", &[][..], "33"),
        ("POST", "/a", &[], "35"),
        ("GET", "/", &[("ab", "b"), ("c", "d")], "38"),
        ("GET", "/converter", &cust, "67"),
    ] {
        let request = Some(request(method, target, fields));
        let world = World { request, ..World::default() };
        assert_eq!(world.eval("req.len"), len, "{method} {target}");
    }
}

#[test]
fn every_fetch_answers() {
    World::full().holds(CASES);
}

#[test]
fn addresses_are_found_in_headers_of_responses() {
    let mut world = World::full();
    world.response.as_mut().unwrap().push(b"x-to", b"192.0.2.8");
    world.holds(&[("res.hdr_ip(x-to)", "192.0.2.8"), ("shdr_ip(x-to)", "192.0.2.8")]);
}

#[test]
fn a_response_that_is_not_compressed_has_no_algorithm() {
    World::default().holds(&[("res.comp", "0"), ("res.comp_algo", "undefined")]);
}

#[test]
fn a_response_of_a_server_has_no_cache() {
    World::default().holds(&[("res.cache_hit", "0"), ("res.cache_name", "undefined")]);
}

#[test]
fn every_fetch_has_a_case_and_one_entry() {
    for fetch in all() {
        let streams = STREAMS.iter().map(|(_, text, _)| text);
        let counters = crate::tables::tests::FETCHES;
        let cases =
            CASES.iter().chain(counters).chain(super::tls::tests::CASES).map(|(text, _)| text);
        let covered = cases.chain(streams).any(|text| {
            text.strip_prefix(fetch.name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['(', ',']))
        });
        assert!(covered, "{} has no case", fetch.name);
        assert_eq!(all().filter(|other| other.name == fetch.name).count(), 1, "{}", fetch.name);
        let known = crate::known_keywords::fetches().any(|name| name == fetch.name);
        assert!(known || crate::known_keywords::is_of_third(fetch.name), "{}", fetch.name);
    }
}

#[test]
fn an_empty_world_answers_without_a_panic() {
    for (text, _) in CASES.iter().chain(crate::tables::tests::FETCHES) {
        let expr = with_parser(|cx| Expr::parse_word(text, cx)).expect(text);
        let _ = expr.eval(&crate::NoFacts);
        let _ = expr.any(&crate::NoFacts, &mut |_| false);
    }
}

#[test]
fn acls_see_every_value() {
    let world = World::full();
    for (text, expected) in [
        ("req.hdr(x-l)", "a||b|\"c,d\"|z"),
        ("req.hdr(x-l,1)", "a"),
        ("req.fhdr(x-l)", "a,, b ,\"c,d\"|z"),
        ("req.cook(a)", "1|3"),
        ("urlp(x)", "1|2"),
        ("res.hdr(x-r),upper", "R1|R2"),
        ("hdr_ip(x-ip)", "192.0.2.7"),
    ] {
        let expr = with_parser(|cx| Expr::parse_word(text, cx)).expect(text);
        let mut seen = Vec::new();
        let found = expr.any(&world, &mut |value: Value<'_>| {
            seen.push(String::from_utf8_lossy(&value.to_str().expect("text")).into_owned());
            false
        });
        assert_eq!((found, seen.join("|").as_str()), (Ok(false), expected), "{text}");
    }
}

/// The results are those of HAProxy in all rule sets.
#[test]
fn a_stream_of_messages_has_no_payload() {
    for is_final in [true, false] {
        let world = World { payload: None, is_final, ..World::full() };
        for text in [
            "req.payload(0,3)",
            "payload(0,0)",
            "res.payload(0,3)",
            "req.payload_lv(0,1)",
            "payload_lv(0,1)",
            "res.payload_lv(0,1)",
            "rdp_cookie",
        ] {
            let expr = with_parser(|cx| Expr::parse_word(text, cx)).expect(text);
            assert_eq!(expr.eval(&world).unwrap_err(), Missing::Absent, "{text}");
        }
    }
}

#[test]
fn tcp_contents_may_still_come() {
    let world = World { payload: Some(b"abc".to_vec()), is_final: false, ..World::default() };
    for (text, expected) in [
        ("wait_end", Err(Missing::NotYet)),
        ("req.len", Ok("3")),
        ("req.payload(0,2)", Ok("ab")),
        ("req.payload(0,4)", Err(Missing::NotYet)),
        ("path", Err(Missing::NotYet)),
        ("req.proto_http", Err(Missing::NotYet)),
    ] {
        let expr = with_parser(|cx| Expr::parse_word(text, cx)).expect(text);
        let got = expr
            .eval(&world)
            .map(|v| String::from_utf8_lossy(&v.to_str().expect("text")).into_owned());
        assert_eq!(got, expected.map(str::to_owned), "{text}");
    }
}

#[test]
fn relative_targets_have_no_authority() {
    let world = World { request: Some(request("GET", "/a?b", &[])), ..World::default() };
    for (text, expected) in
        [("url_ip", "undefined"), ("url_port", "undefined"), ("base", "/a"), ("query", "b")]
    {
        assert_eq!(world.eval(text), expected, "{text}");
    }
}

#[test]
fn errors_are_haproxys() {
    for (text, offset, expected) in [
        ("nosuch", 0, "unknown fetch method 'nosuch'"),
        ("req.hrd(a)", 0, "Did you mean 'req.hdr' ?"),
        ("req.hdr(a,1,c)", 12, "fetch method 'req.hdr' : expected ')' before ',c)'"),
        (
            "req.hdr(a,b)",
            10,
            "fetch method 'req.hdr' : failed to parse 'b' as type 'integer' at position 2",
        ),
        ("req.hdr(a", 7, "fetch method 'req.hdr' : expected ')'"),
        ("path(x)", 5, "fetch method 'path' : expected ')' before 'x)'"),
        ("str(a,b)", 6, "fetch method 'str' : expected ')' before ',b)'"),
        ("ipv4(a)", 5, "failed to parse 'a' as type 'IPv4 address' at position 1"),
        ("src,nosuch", 4, "unknown converter 'nosuch'"),
        ("src,lua.x", 4, "unknown converter 'lua.x': no script"),
        ("bin(4100),add(1)", 10, "converter 'add' cannot be applied"),
        (
            "str(a),field(a,b)",
            13,
            "invalid arg 1 in converter 'field' : failed to parse 'a' as type 'integer' at position 1",
        ),
        (
            "str(a),regsub(a)",
            16,
            "invalid arg 2 in converter 'regsub' : missing arguments (got 1/2), type 'string' expected",
        ),
        ("srcx)", 0, "unknown fetch"),
    ] {
        let error = parse_error(text);
        assert!(error.message.contains(expected), "{text}: {}", error.message);
        assert_eq!(error.offset, offset, "{text}: {}", error.message);
    }
}

#[test]
fn places_are_checked() {
    let parse = |text: &str, place| {
        with_parser(|cx| {
            cx.places = Places::of(place);
            Expr::parse(&[text], &mut 0, cx).map(|_| ()).map_err(|error| error.message)
        })
    };
    assert_eq!(
        parse("be_name", Place::FeHttpRequest),
        Err("fetch method 'be_name' extracts information from 'backend', none of which is available here".into())
    );
    assert!(parse("be_name", Place::BeHttpRequest).is_ok());
    assert!(parse("path", Place::FeTcpConnection).unwrap_err().contains("'HTTP request headers'"));
    assert!(
        parse("res.hdr(a)", Place::FeHttpRequest).unwrap_err().contains("'HTTP response headers'")
    );
    assert!(parse("srv_name", Place::BeHttpRequest).unwrap_err().contains("'server'"));
}

proptest::proptest! {
    #[test]
    fn no_stream_makes_a_fetch_panic(
        which in 0usize..STREAMS.len(),
        cut in 0usize..100,
        at in 0usize..100,
        byte: u8,
        last: bool,
    ) {
        let (stream, text, _) = STREAMS[which];
        let mut bytes = stream[..cut.min(stream.len())].to_vec();
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        let world = World { payload: Some(bytes), is_final: last, ..World::default() };
        let _ = with_parser(|cx| Expr::parse_word(text, cx)).expect(text).eval(&world);
    }
}

#[test]
fn credentials_are_taken_apart() {
    let with = |value: &[u8]| {
        let mut world = World::full();
        world.request.as_mut().unwrap().push(b"authorization", value);
        world
    };
    let world = with(b"Basic am9lOnB3");
    for (text, expected) in [
        ("http_auth(users)", "1"),
        ("http_auth(others)", "0"),
        ("http_auth_group(users)", "joe"),
        ("http_auth_group(others)", "undefined"),
        ("http_auth_type", "Basic"),
        ("http_auth_user", "joe"),
        ("http_auth_pass", "pw"),
        ("http_auth_bearer", "undefined"),
    ] {
        assert_eq!(world.eval(text), expected, "{text}");
    }
    assert_eq!(with(b"Bearer tok").eval("http_auth_bearer"), "tok");
    for (value, scheme, is_user) in [
        (&b"Basic ???"[..], "undefined", "undefined"),
        (b"Basic dQ==", "undefined", "undefined"),
        (b"Basic dTpx", "Basic", "0"),
        (b"basic am9lOnB3", "Basic", "1"),
        (b"BEARER tok", "Bearer", "undefined"),
        (b"Bearer", "undefined", "undefined"),
        (b"Digest x", "undefined", "undefined"),
    ] {
        let world = with(value);
        let got = ["http_auth_type", "http_auth(users)"].map(|text| world.eval(text));
        assert_eq!(got, [scheme, is_user], "{}", String::from_utf8_lossy(value));
    }
    assert_eq!(with(b"Basic ???").eval("http_auth_user"), "undefined");
}

/// As in HAProxy, an empty cookie is found unless it ends its header field.
#[test]
fn empty_cookies_are_found_only_before_others() {
    for (field, cook, count, value) in [
        ("SID=", "undefined", "0", "undefined"),
        ("a=b; SID=", "undefined", "0", "undefined"),
        ("SID=; a=b", "", "1", "0"),
        ("SID=7;SID=", "7", "1", "7"),
        ("SID=;SID=5", "5", "2", "5"),
    ] {
        let request = request("GET", "/", &[("cookie", field)]);
        let world = World { request: Some(request), ..World::default() };
        let seen =
            ["req.cook(SID)", "req.cook_cnt(SID)", "req.cook_val(SID)"].map(|it| world.eval(it));
        assert_eq!(seen, [cook, count, value], "{field}");
    }
    for (field, cook, count) in
        [("SID=", "undefined", "0"), ("SID=; path=/", "", "1"), ("SID=5", "5", "1")]
    {
        let mut head = htx::Head::default();
        head.set_response(htx::Version::Http11, 200, b"");
        head.push(b"set-cookie", field.as_bytes());
        let world = World { response: Some(head), ..World::default() };
        assert_eq!(world.eval("res.cook(SID)"), cook, "{field}");
        assert_eq!(world.eval("res.cook_cnt(SID)"), count, "{field}");
    }
}
