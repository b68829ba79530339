//! Every tag, the flags, the styles, and the built-in formats.

use super::{CLF, DEFAULT_HTTP, DEFAULT_TCP, HTTP, HTTPS, LogFormat, LogStyle, TAGS, TCP};
use crate::facts::ServerPath;
use crate::facts::WallTime;
use crate::place::{Place, Places};
use crate::testing::{World, request, with_parser};
use crate::value::Value;

fn write(text: &str, style: LogStyle, world: &World) -> String {
    let format = with_parser(|cx| LogFormat::parse(text, style, cx))
        .unwrap_or_else(|e| panic!("{text}: {e}"));
    let mut out = Vec::new();
    format.write(world, &mut out);
    String::from_utf8(out).expect("text")
}

fn log(text: &str, world: &World) -> String {
    write(text, LogStyle::Log, world)
}

fn logged() -> World {
    let mut world = World::full();
    let record = &mut world.record;
    record.client = "127.0.0.1:51234".parse().ok();
    record.frontend = "127.0.0.1:80".parse().ok();
    record.backend_source = "10.0.0.1:1000".parse().ok();
    record.server = "10.0.0.2:8080".parse().ok();
    record.accepted = WallTime { secs: 784_111_777, micros: 5000 };
    record.requested = WallTime { secs: 784_111_778, micros: 6000 };
    (record.handshake_ms, record.idle_ms, record.request_ms) = (1, 2, 3);
    (record.queue_ms, record.connect_ms, record.response_ms) = (4, 5, 6);
    (record.data_ms, record.active_ms, record.total_ms, record.user_ms) = (7, 8, 9, 10);
    (record.bytes_read, record.bytes_uploaded, record.status) = (1234, 567, 200);
    (record.process_connections, record.frontend_connections) = (11, 12);
    (record.backend_connections, record.server_connections) = (13, 14);
    (record.retries, record.server_queue, record.backend_queue) = (15, 16, 17);
    (record.log_count, record.request_count, record.pid) = (18, 19, 20);
    record.request_cookie = b"c=1".to_vec();
    record.response_cookie = b"c=2".to_vec();
    record.termination = *b"SC";
    record.cookie_state = *b"NI";
    record.uri = b"/i?q=\"#".to_vec();
    world
}

#[test]
fn ends_of_connections_to_paths_are_unix_with_port_0() {
    let mut world = logged();
    (world.record.backend_source, world.record.server) = (None, None);
    for (path, line) in [
        (ServerPath::None, "- - - -"),
        (ServerPath::Server, "- - unix 0"),
        (ServerPath::Connected, "unix 0 unix 0"),
    ] {
        world.record.path = path;
        assert_eq!(log("%bi %bp %si %sp", &world), line, "{path:?}");
    }
}

#[test]
fn every_tag_writes_its_fact() {
    let world = logged();
    #[rustfmt::skip]
    let cases = [
        ("%B", "1234"), ("%CC", "c=1"), ("%CS", "c=2"), ("%H", "host1"), ("%HM", "GET"), ("%HP", "/i"), ("%HPO", "/i"), ("%HQ", "?q=#22#23"),
        ("%HU", "/i?q=#22#23"), ("%HV", "HTTP/1.1"), ("%ID", "uid-1"), ("%ST", "200"), ("%T", "06/Nov/1994:08:49:37 +0000"), ("%Ta", "8"),
        ("%Tc", "5"), ("%Td", "7"), ("%Tl", "06/Nov/1994:09:49:37 +0100"), ("%Th", "1"), ("%Ti", "2"), ("%Tq", "6"), ("%TR", "3"), ("%Tr", "6"),
        ("%Ts", "784111777"), ("%Tt", "9"), ("%Tu", "10"), ("%Tw", "4"), ("%U", "567"), ("%ac", "11"), ("%b", "be"), ("%bc", "13"),
        ("%bi", "10.0.0.1"), ("%bp", "1000"), ("%bq", "17"), ("%ci", "127.0.0.1"), ("%cp", "51234"), ("%f", "fe"), ("%fc", "12"), ("%fi", "127.0.0.1"),
        ("%fp", "80"), ("%ft", "fe"), ("%lc", "18"), ("%hr", "{cap0|}"), ("%hrl", "cap0 -"), ("%hs", "{rcap}"), ("%hsl", "rcap"), ("%ms", "005"),
        ("%pid", "20"), ("%r", "GET /i?q=#22#23 HTTP/1.1"), ("%rc", "15"), ("%rt", "19"), ("%s", "srv1"), ("%sc", "14"), ("%si", "10.0.0.2"), ("%sp", "8080"),
        ("%sq", "16"), ("%sslc", "AES"), ("%sslv", "TLSv1.3"), ("%t", "06/Nov/1994:09:49:37.005"), ("%tiso", "1994-11-06T08:49:37.005Z"), ("%tr", "06/Nov/1994:09:49:38.006"),
        ("%trg", "06/Nov/1994:08:49:38 +0000"), ("%trl", "06/Nov/1994:09:49:38 +0100"), ("%ts", "SC"), ("%tsc", "SCNI"),
    ];
    for (tag, expected) in cases {
        assert_eq!(log(tag, &world), expected, "{tag}");
    }
    for tag in TAGS {
        assert!(cases.iter().any(|(name, _)| name[1..] == *tag.name), "%{} has no case", tag.name);
    }
}

#[test]
fn flags_quote_escape_and_turn_to_hexadecimal() {
    let mut world = logged();
    world.record.early = true;
    world.record.redispatched = true;
    world.record.encrypted = true;
    world.set("txn.q", Value::str(b"a\"b\\]c#"));
    #[rustfmt::skip]
    let cases = [
        ("%{+X}ci %{+X}cp %{+X}pid %{+X}Ts", "7F000001 C822 0014 2EBC98A1"), ("%{+Q}r", "\"GET /i?q=#22#23 HTTP/1.1\""),
        ("%{+Q}o %b %{-Q}b %s", " \"be\" be \"srv1\""), ("%B %Tt %Ta %rc %ft", "+1234 +9 +8 +15 fe~"),
        ("%[var(txn.q)]", "a\"b\\]c#"), ("%{+E}[var(txn.q)]", "a\\\"b\\\\\\]c#"), ("%{+Q,+E}[var(txn.q)]", "\"a\\\"b\\\\\\]c#\""),
        ("%[var(txn.none)] %{+Q}[var(txn.none)]", "- \"\""), ("100%%", "100%"), ("%{+Q}o%o%b", "\"be\""), ("%{+Q}hrl", "\"cap0\" \"\""),
        ("a   b  %b   c", "a b be c"), ("%{+Q}ts %{+Q}tsc", "SC SCNI"), ("%{+E}HU", "/i?q=#22#23"), ("%[str(]),length]", "1"), ("%{+Q}[int(3)]", "\"3\""),
    ];
    for (text, expected) in cases {
        assert_eq!(log(text, &world), expected.trim_start(), "{text}");
    }
}

#[test]
fn missing_samples_are_shown_as_in_haproxy() {
    let mut world = World { server: None, source: None, ..World::default() };
    world.record.termination = *b"PR";
    assert_eq!(
        log(HTTP, &world),
        "unix:103 [01/Jan/1970:01:00:00.000] fe be/<NOSRV> -1/-1/-1/-1/-1 -1 0 - - PR-- 0/0/0/0/0 0/0 \"<BADREQ>\""
    );
    assert_eq!(log("%HU %HQ|%CC %{+Q}CC", &world), "<BADREQ> <BADREQ>|- \"\"");
    world.record.method = b"GET".to_vec();
    world.record.uri = b"/".to_vec();
    assert_eq!(log("a %HQ b %{+Q}HQ", &world), "a  b \"\"", "an empty query keeps its spaces");
    assert_eq!(log("a %hr b", &world), "a b", "captures of a proxy without any do not");
}

/// As in HAProxy, a capture slot without a header is `-` in every list, and one with an empty
/// header is empty.
#[test]
fn lists_of_captures_can_be_taken_apart() {
    let world = logged();
    world.captures[0].borrow_mut().push(b"a{|}\"".to_vec());
    assert_eq!(log("%hrl", &world), "cap0 - a#7B#7C#7D#22");
    assert_eq!(log("%{+Q}hrl", &world), "\"cap0\" \"\" \"a#7B#7C#7D#22\"");
    assert_eq!(write("%hrl", LogStyle::Header, &world), "cap0 - a#7B#7C#7D#22");
}

#[test]
fn requests_without_a_path_show_no_path() {
    let mut world = logged();
    for (method, uri, expected) in [
        ("OPTIONS", "*", "* "),
        ("CONNECT", "h:1", "h:1 "),
        ("GET", "http://h/p?q", "http://h/p /p"),
        ("GET", "http://h", "http://h "),
    ] {
        (world.record.method, world.record.uri) = (method.into(), uri.into());
        assert_eq!(log("%HP %HPO", &world), expected, "{uri}");
    }
}

#[test]
fn builtin_formats() {
    let world = logged();
    #[rustfmt::skip]
    let cases = [
        (DEFAULT_HTTP, "Connect from 127.0.0.1:51234 to 127.0.0.1:80 (fe/HTTP)"),
        (DEFAULT_TCP, "Connect from 127.0.0.1:51234 to 127.0.0.1:80 (fe/TCP)"),
        (TCP, "127.0.0.1:51234 [06/Nov/1994:09:49:37.005] fe be/srv1 4/5/9 1234 SC 11/12/13/14/15 16/17"),
        (HTTP, "127.0.0.1:51234 [06/Nov/1994:09:49:38.006] fe be/srv1 3/4/5/6/8 200 1234 c=1 c=2 SCNI 11/12/13/14/15 16/17 {cap0|} {rcap} \"GET /i?q=#22#23 HTTP/1.1\""),
        (CLF, "127.0.0.1 - - [06/Nov/1994:08:49:38 +0000] \"GET /i?q=#22#23 HTTP/1.1\" 200 1234 \"\" \"\" 51234 005 \"fe\" \"be\" \"srv1\" 3 4 5 6 8 SCNI 11 12 13 14 15 16 17 \"c=1\" \"c=2\" \"cap0\" \"\" \"rcap\""),
        (HTTPS, "127.0.0.1:51234 [06/Nov/1994:09:49:38.006] fe be/srv1 3/4/5/6/8 200 1234 c=1 c=2 SCNI 11/12/13/14/15 16/17 {cap0|} {rcap} \"GET /i?q=#22#23 HTTP/1.1\" 114/0000000000000075/118/119/1 sni/TLSv1.3/AES"),
    ];
    for (format, expected) in cases {
        assert_eq!(log(format, &world), expected);
    }
}

#[test]
fn header_values_keep_spaces_and_hide_control_characters() {
    let world =
        World { request: Some(request("GET", "/a", &[("x-t", "a\tb")])), ..World::default() };
    for (text, expected) in [
        ("a  b ", "a  b "),
        ("%(ci)b %-b %#", "(ci)b -b #"),
        ("%[req.hdr(x-t)]", "a\tb"),
        ("%[bin(610a62017f)]", "a%0Ab%01%7F"),
        ("[%[req.hdr(none)]]", "[]"),
        ("%{+Q}[str(x)]", "x"),
        ("%{+E}[bin(5d225c0a78)]", "\\]\\\"\\\\%0Ax"),
        ("%[src]:%[src_port] %ci", "10.1.2.3:4567 10.1.2.3"),
        ("<%CC%CS%bi%bp>%{+Q}CC", "<>\"\""),
    ] {
        assert_eq!(write(text, LogStyle::Header, &world), expected, "{text}");
        if !text.contains("  ") {
            assert_eq!(write(text, LogStyle::Id, &world), expected, "{text}");
        }
    }
    assert_eq!(write("a  b", LogStyle::Id, &world), "a b", "spaces merge in an id alone");
    let constant =
        with_parser(|cx| LogFormat::parse("100%% fixed", LogStyle::Header, cx)).expect("valid");
    assert_eq!(constant.as_literal(), Some(&b"100% fixed"[..]));
}

#[test]
fn errors_are_haproxys() {
    let error = |text: &str| {
        with_parser(|cx| {
            cx.places = Places::of(Place::FeHttpRequest);
            LogFormat::parse(text, LogStyle::Header, cx).expect_err(text)
        })
    };
    for (text, offset, expected) in [
        (
            "a %foo",
            3,
            "no such format variable 'foo'. If you wanted to emit the '%' character verbatim, you need to use '%%'",
        ),
        ("%[src", 2, "missing ']' after 'src'"),
        (
            "%[be_name]",
            2,
            "sample fetch <be_name> may not be reliably used here because it needs 'backend' which is not available here",
        ),
        (
            "x%[src,nosuch]",
            7,
            "failed to parse sample expression <src,nosuch> : unknown converter 'nosuch'",
        ),
        ("a %", 2, "truncated line after '%'"),
        ("%{+Q}", 0, "parse argument modifier without variable name near '%{+Q}'"),
        ("a %{+Q}(ci", 2, "parse argument modifier without variable name near '%{+Q}'"),
        ("% ci", 0, "unexpected variable name near ' ' at position 1 line : '% ci'. Maybe you"),
        ("%0", 0, "unexpected variable name near '0'"),
        ("%{+Qci", 1, "missing '}'"),
    ] {
        let error = error(text);
        assert!(error.message.contains(expected), "{text}: {}", error.message);
        assert_eq!(error.offset, offset, "{text}");
    }
    let warnings = with_parser(|cx| {
        LogFormat::parse("%{+Q,+Z}ci", LogStyle::Log, cx).expect("known or not");
        cx.warnings.take()
    });
    assert_eq!(warnings, ["format flag 'Z' has no effect: it is unknown"]);
    let tcp = with_parser(|cx| {
        cx.http = false;
        LogFormat::parse("%ST %tsc %HM", LogStyle::Log, cx).expect_err("HTTP only")
    });
    assert_eq!(tcp.message, "format variable 'HM' is reserved for HTTP mode");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(%|\\[|\\]|\\{|\\}|\\+Q|src|,|\\(|\\)|'|\\\\|ci|HM| |\\PC){0,16}", header: bool) {
        let style = if header { LogStyle::Header } else { LogStyle::Log };
        if let Ok(format) = with_parser(|cx| LogFormat::parse(&text, style, cx)) {
            format.write(&World::full(), &mut Vec::new());
        }
    }
}

#[test]
fn named_items_become_an_object() {
    let format = "%{+json}o %(status)ST %ci, text %(client)ci:%cp %(b:str)B %(cookie)CC %(req)HM \
                  %(n)[int(3)] %(yes)[bool(1)] %(s)[str(a)] %(no)[req.hdr(none)]";
    let line = log(format, &logged());
    let start = "{\"status\": ";
    assert!(line.starts_with(start) && line.ends_with('}'), "{line}");
    for part in ["\"client\": \"", "\"b\": \"", "\"cookie\": \"c=1\"", "\"n\": 3", "\"yes\": true"]
    {
        assert!(line.contains(part), "{part} in {line}");
    }
    assert!(line.contains(r#""s": "a", "no": null}"#), "{line}");
    assert!(!line.contains("text"), "{line}");
}

#[test]
fn json_is_for_whole_lines() {
    for (format, part) in [
        ("a %{+json}o %(a)ST", "whole log lines"),
        ("%{+json}o %(a:float)ST", "unexpected type 'float'"),
        ("%{+json}o %(a", "missing ')'"),
    ] {
        let parsed = with_parser(|cx| LogFormat::parse(format, LogStyle::Log, cx));
        let error = parsed.expect_err(format);
        assert!(error.message.contains(part), "{}", error.message);
    }
}
