//! Tests of HTTP/2 frames and messages: single rules, and arbitrary bytes.

use super::frame::{self, FrameHeader, FrameType};
use super::hpack::Decoder;
use super::request::{self, ListLimits, Tolerance};
use super::{ErrorCode, MalformedMessage, Settings, encode, response, trailers};
use htx::{Fields, Head, Version};
use proptest::prelude::*;

const LIMITS: ListLimits = ListLimits { bytes: 16_000, fields: 100 };

fn read(fields: &[(&str, &str)]) -> Result<(Head, request::RequestInfo), MalformedMessage> {
    read_by(request::RequestReader::new(Tolerance::default()), fields)
}

fn read_by(
    mut reader: request::RequestReader,
    fields: &[(&str, &str)],
) -> Result<(Head, request::RequestInfo), MalformedMessage> {
    let mut head = Head::default();
    reader.begin(LIMITS);
    for (name, value) in fields {
        reader.field(name.as_bytes(), value.as_bytes(), &mut head);
    }
    let announced = reader.finish(&mut head, || [b'k'; 24])?;
    Ok((head, announced))
}

fn text(head: &Head) -> String {
    String::from_utf8(head.runs().flatten().copied().collect()).unwrap()
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":path", "/p?q"), (":authority", "h:81")];

fn with(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    [&GET[..], more].concat()
}

#[test]
fn a_request_becomes_its_http1_equivalent() {
    let crumbs = [("cookie", "a=b"), ("x-y", " z "), ("host", "other"), ("cookie", "c=d")];
    let (head, announced) = read(&with(&crumbs)).unwrap();
    assert_eq!(
        text(&head),
        "GET http://h:81/p?q HTTP/1.1\r\nhost: h:81\r\nx-y: z\r\ncookie: a=b; c=d\r\n"
    );
    assert_eq!((head.version(), announced.length), (Version::Http2, None));
    let mut out = Vec::new();
    crate::h1::encode::head(&head, &mut out);
    assert!(out.starts_with(b"GET /p?q HTTP/1.1\r\nhost: h:81\r\n"), "the path alone goes out");
}

/// Browsers send a field per cookie (RFC 9113 section 8.2.3), which become one field.
#[test]
fn crumbs_count_as_one_field() {
    let crumbs: Vec<_> = (0..300).map(|_| ("cookie", "a=b")).collect();
    let head = read(&with(&crumbs)).unwrap().0;
    assert_eq!(head.get(b"cookie").unwrap().len(), 300 * 5 - 2);
    let fields: Vec<_> = (0..99).map(|_| ("x", "y")).collect();
    assert!(read(&with(&[&fields[..], &crumbs].concat())).is_ok());
    let too_many = MalformedMessage::TooLarge("too many fields");
    let fields: Vec<_> = (0..100).map(|_| ("x", "y")).collect();
    assert!(read(&with(&fields)).is_ok());
    assert_eq!(read(&with(&[&fields[..], &crumbs].concat())).err(), Some(too_many));
    let crumbs: Vec<_> = (0..400).map(|_| ("cookie", "a=b")).collect();
    let too_large = MalformedMessage::TooLarge("header list too large");
    assert_eq!(read(&with(&crumbs)).err(), Some(too_large), "the size of the list is a bound");
}

#[test]
fn default_ports_go_without_saying() {
    for (scheme, port, left) in [("http", "80", ""), ("https", "443", ""), ("http", "443", ":443")]
    {
        let mut fields = GET;
        let authority = format!("h:{port}");
        (fields[1].1, fields[3].1) = (scheme, &authority);
        let head = read(&fields).unwrap().0;
        assert_eq!(head.uri(), format!("{scheme}://h{left}/p?q").as_bytes());
        assert_eq!(head.host(), Some(format!("h{left}").as_bytes()));
    }
}

#[test]
fn targets_that_are_no_path() {
    let options = [(":method", "OPTIONS"), (":scheme", "http"), (":path", "*")];
    assert_eq!(text(&read(&options).unwrap().0), "OPTIONS * HTTP/1.1\r\n");
    let connect = [(":method", "CONNECT"), (":authority", "h:443")];
    let (head, announced) = read(&connect).unwrap();
    assert_eq!(text(&head), "CONNECT h:443 HTTP/1.1\r\nhost: h:443\r\n");
    assert!(announced.connect && !announced.extended);
}

/// The pseudo-fields with which a request is sent.
fn pseudo_fields(method: &str, uri: &str, host: &str) -> String {
    let (mut head, mut block, mut shown) = (Head::default(), Vec::new(), String::new());
    head.set_request(method.as_bytes(), uri.as_bytes(), Version::Http11);
    head.push(b"host", host.as_bytes());
    request::encode(&head, b"https", false, &mut block);
    let decoded = Decoder::new(4_096).decode(&block, |name, value| {
        let text = String::from_utf8_lossy;
        shown += &format!("{}={} ", text(name), text(value));
    });
    decoded.unwrap();
    shown.trim_end().to_owned()
}

/// RFC 9113 section 8.5: unlike `Host`, the authority keeps a default port.
#[test]
fn a_connect_request_names_its_port() {
    for (uri, host, authority) in [
        ("example.com:443", "example.com", "example.com:443"),
        ("example.com:80", "example.com", "example.com:80"),
        ("example.com:8443", "example.com:8443", "example.com:8443"),
        ("[::1]:443", "[::1]", "[::1]:443"),
        ("u:p@example.com:443", "example.com", "example.com:443"),
    ] {
        let sent = pseudo_fields("CONNECT", uri, host);
        assert_eq!(sent, format!(":method=CONNECT :authority={authority}"), "{uri}");
    }
}

/// RFC 9113 section 8.3.1.
#[test]
fn an_empty_path_is_an_asterisk_for_options_and_a_slash_for_others() {
    for (method, uri, scheme, path) in [
        ("OPTIONS", "http://h", "http", "*"),
        ("OPTIONS", "https://h", "https", "*"),
        ("OPTIONS", "*", "https", "*"),
        ("OPTIONS", "http://h/", "http", "/"),
        ("OPTIONS", "http://h?q", "http", "/?q"),
        ("HEAD", "http://h", "http", "/"),
        ("HEAD", "http://h?q", "http", "/?q"),
        ("HEAD", "", "https", "/"),
        ("HEAD", "?q", "https", "/?q"),
        ("HEAD", "foo?q", "https", "foo?q"),
    ] {
        let sent = pseudo_fields(method, uri, "h");
        let expected = format!(":method={method} :authority=h :scheme={scheme} :path={path}");
        assert_eq!(sent, expected, "{uri}");
    }
}

#[test]
fn a_fragment_is_part_of_a_path_only_where_it_may_be() {
    let mut fields = GET;
    for path in ["/x#y", "/#", "/x?q#"] {
        fields[2].1 = path;
        assert!(matches!(read(&fields), Err(MalformedMessage::Stream(_))), "{path}");
        let (head, _) = read_by(
            request::RequestReader::new(Tolerance { fragments: true, ..Tolerance::default() }),
            &fields,
        )
        .unwrap();
        assert_eq!(head.path_and_query(), path.as_bytes());
    }
    fields[2].1 = "#";
    assert!(
        read_by(
            request::RequestReader::new(Tolerance { fragments: true, ..Tolerance::default() }),
            &fields
        )
        .is_err(),
        "no path"
    );
}

/// Unlike in HTTP/1; HAProxy does the same, as measured.
#[test]
fn paths_may_contain_bytes_beyond_ascii() {
    let fields = |path: &'static [u8]| {
        [(&b":method"[..], &b"GET"[..]), (b":scheme", b"http"), (b":path", path)]
    };
    let read = |path| {
        let (mut head, mut reader) =
            (Head::default(), request::RequestReader::new(Tolerance::default()));
        reader.begin(LIMITS);
        fields(path).iter().for_each(|(name, value)| reader.field(name, value, &mut head));
        reader.finish(&mut head, || [b'k'; 24]).map(|_| head)
    };
    for path in [&b"/caf\xc3\xa9"[..], b"/\x80", b"/?\xff"] {
        assert_eq!(read(path).unwrap().path_and_query(), path);
    }
    assert!(matches!(read(b"/\x7f"), Err(MalformedMessage::Status(400, _))));
    for path in [&b"/ "[..], b"/\x01", b"/\0", b"\xc3\xa9"] {
        assert!(matches!(read(path), Err(MalformedMessage::Stream(_))), "{path:?}");
    }
}

#[test]
fn an_extended_connect_becomes_an_upgrade() {
    let mut fields = with(&[(":protocol", "websocket"), ("sec-websocket-version", "13")]);
    fields[0].1 = "CONNECT";
    let (head, announced) = read(&fields).unwrap();
    assert!(announced.extended);
    assert!(text(&head).starts_with("GET http://h:81/p?q "));
    for (name, value) in
        [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")]
    {
        assert_eq!(head.get(name.as_bytes()), Some(value.as_bytes()));
    }
    assert_eq!(head.get(b"sec-websocket-key"), Some(&[b'k'; 24][..]));
    let mut block = Vec::new();
    request::encode(&head, b"http", true, &mut block);
    let mut again = Vec::new();
    Decoder::new(4_096)
        .decode(&block, |name, value| {
            again.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
        })
        .unwrap();
    assert!(again.contains(&(":method".into(), b"CONNECT".to_vec())));
    assert!(again.contains(&(":protocol".into(), b"websocket".to_vec())));
    assert!(!again.iter().any(|(name, _)| name == "sec-websocket-key" || name == "upgrade"));
}

/// The pseudo-fields of a request to a server, without the method.
fn pseudo_fields_of(head: &Head, scheme: &str) -> Vec<String> {
    let (mut block, mut found) = (Vec::new(), Vec::new());
    request::encode(head, scheme.as_bytes(), false, &mut block);
    let note = |name: &[u8], value: &[u8]| {
        if name.starts_with(b":") && name != b":method" {
            found.push(String::from_utf8_lossy(&[name, b"=", value].concat()).into_owned());
        }
    };
    Decoder::new(4_096).decode(&block, note).unwrap();
    found
}

/// RFC 9113 section 8.5: a CONNECT has host and port, also if a port was removed from `Host`.
#[test]
fn connect_keeps_its_port() {
    for (target, host) in [
        ("a.example:443", "a.example"),
        ("a.example:80", "a.example"),
        ("u:p@a.example:443", "a.example"),
        ("a.example:8443", "a.example:8443"),
        ("[::1]:443", "[::1]"),
    ] {
        let mut head = Head::default();
        head.set_request(b"CONNECT", target.as_bytes(), Version::Http11);
        head.push(b"host", host.as_bytes());
        let port = target.rsplit_once(':').unwrap().1;
        let host = host.strip_suffix(":8443").unwrap_or(host);
        assert_eq!(pseudo_fields_of(&head, "https"), [format!(":authority={host}:{port}")]);
    }
    let connect = [(":method", "CONNECT"), (":authority", "h:443")];
    assert_eq!(pseudo_fields_of(&read(&connect).unwrap().0, "https"), [":authority=h:443"]);
    for authority in ["h", "h:", "[::1]", ":443", ""] {
        let connect = [(":method", "CONNECT"), (":authority", authority)];
        assert!(matches!(read(&connect), Err(MalformedMessage::Status(400, _))), "{authority}");
    }
}

/// RFC 9112 section 3.2.4: the last proxy sends an asterisk.
#[test]
fn options_for_the_whole_server_have_an_asterisk() {
    for (target, path) in
        [("http://a", "*"), ("*", "*"), ("http://a/", "/"), ("http://a?x", "/?x"), ("/", "/")]
    {
        let mut head = Head::default();
        head.set_request(b"OPTIONS", target.as_bytes(), Version::Http11);
        head.push(b"host", b"a");
        let said = pseudo_fields_of(&head, "http");
        assert_eq!(said, [":authority=a", ":scheme=http", &format!(":path={path}")], "{target}");
    }
    let mut head = Head::default();
    head.set_request(b"GET", b"http://a", Version::Http11);
    assert_eq!(pseudo_fields_of(&head, "http")[2], ":path=/");
}

/// A scheme that the target lacks is forwarded to an HTTP/2 server.
#[test]
fn schemes_are_forwarded() {
    for scheme in ["http", "https", "ftp"] {
        for fields in [
            vec![(":method", "GET"), (":scheme", scheme), (":path", "/")],
            vec![(":method", "OPTIONS"), (":scheme", scheme), (":path", "*")],
            vec![(":method", "GET"), (":scheme", scheme), (":path", "/"), (":authority", "a")],
            vec![(":method", "GET"), (":scheme", scheme), (":path", "/"), ("host", "a")],
        ] {
            let mut head = read(&fields).unwrap().0;
            let expected = format!(":scheme={scheme}");
            assert!(pseudo_fields_of(&head, "other").contains(&expected), "{fields:?}");
            head.set_uri(b"/other");
            let kept = pseudo_fields_of(&head, "other").contains(&expected);
            assert!(kept || fields.len() == 4, "a rule that sets the target, {fields:?}");
        }
    }
    // An HTTP/1 server would assume another scheme.
    let fields = [(":method", "GET"), (":scheme", "ftp"), (":path", "/x"), (":authority", "a")];
    let mut out = Vec::new();
    crate::h1::encode::head(&read(&fields).unwrap().0, &mut out);
    assert_eq!(out, b"GET ftp://a/x HTTP/1.1\r\nhost: a\r\n\r\n");
}

#[test]
fn a_host_that_is_empty_names_no_authority() {
    let mut head = Head::default();
    head.set_request(b"GET", b"/", Version::Http11);
    head.push(b"host", b"");
    assert_eq!(pseudo_fields_of(&head, "http"), [":scheme=http", ":path=/"]);
}

#[test]
fn hosts_are_of_valid_form() {
    let anything = Tolerance { hosts: true, ..Tolerance::default() };
    for odd in [
        "", ":80", "a/b", "a?b", "a#b", "u@a", "a\\b", "a,b", "a[", "]", "[a", "a b", "a\tb",
        "a\x7f", "\u{e9}", "a:x", "\"a\"",
    ] {
        for name in [":authority", "host"] {
            let mut fields = GET.to_vec();
            fields[3] = (name, odd);
            assert!(
                matches!(read(&fields), Err(MalformedMessage::Status(400, _))),
                "{name} {odd:?}"
            );
            let visible = odd.bytes().all(|byte| byte.is_ascii_graphic());
            let taken = read_by(request::RequestReader::new(anything), &fields);
            assert_eq!(taken.is_ok(), visible, "{name} {odd:?}");
        }
    }
}

#[test]
fn protocols_with_requests_begin_in_no_stream() {
    for protocol in ["h2c", "H2C", "h2", "HTTP", "tls", "h2c-16"] {
        let mut fields = with(&[]);
        fields[0].1 = "CONNECT";
        fields.push((":protocol", protocol));
        assert!(matches!(read(&fields), Err(MalformedMessage::Status(501, _))), "{protocol}");
    }
    let head = read(&with(&[("http2-settings", "AAMAAABk"), ("x", "y")])).unwrap().0;
    assert!(head.get(b"http2-settings").is_none() && head.get(b"x").is_some());
    for (said, expected) in [("h2c", None), ("h2c, foo", Some("foo")), ("\"h2c, h2c", None)] {
        let mut head = Head::default();
        head.set_request(b"GET", b"/", Version::Http11);
        head.push(b"connection", b"upgrade");
        head.push(b"upgrade", said.as_bytes());
        assert_eq!(request::protocol(&head), expected.map(str::as_bytes), "{said}");
    }
}

#[test]
fn lengths_lose_zeros_in_front() {
    for (said, kept) in [("0003", "3"), ("03, 3", "3"), ("00", "0"), ("3", "3")] {
        let (head, announced) = read(&with(&[("content-length", said), ("x", "y")])).unwrap();
        assert_eq!(head.get(b"content-length"), Some(kept.as_bytes()), "{said}");
        assert_eq!(announced.length, kept.parse().ok());
    }
}

/// RFC 9113 section 8.2.2.
#[test]
fn te_is_reduced_to_trailers() {
    for (said, expected) in [
        (&[][..], 0),
        (&["gzip"], 0),
        (&["trailers"], 1),
        (&["gzip;q=0.5, Trailers"], 1),
        (&["trailers, deflate", "gzip", "trailers"], 1),
    ] {
        let mut head = read(&GET).unwrap().0;
        said.iter().for_each(|value| head.push(b"te", value.as_bytes()));
        let (mut block, mut found) = (Vec::new(), Vec::new());
        request::encode(&head, b"http", false, &mut block);
        let te = |name: &[u8], value: &[u8]| {
            if name == b"te" {
                found.push(value.to_vec());
            }
        };
        Decoder::new(4_096).decode(&block, te).unwrap();
        assert_eq!(found, vec![b"trailers".to_vec(); expected], "{said:?}");
    }
}

#[test]
fn invalid_requests() {
    let reset = |fields: &[(&str, &str)]| {
        let result = read(fields);
        assert!(matches!(result, Err(MalformedMessage::Stream(_))), "{fields:?}: {result:?}");
    };
    for missing in 0..3 {
        let mut fields = GET.to_vec();
        fields.remove(missing);
        reset(&fields);
    }
    for more in [
        (":method", "GET"),
        (":status", "200"),
        ("Upper", "x"),
        ("", "x"),
        ("a b", "x"),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("te", "gzip"),
        ("a", "b\r\nc: d"),
        ("content-length", "1x"),
    ] {
        reset(&with(&[more]));
    }
    reset(&with(&[("a", "b"), (":path", "/")]));
    reset(&with(&[("content-length", "1"), ("content-length", "2")]));
    reset(&[(":method", "GET"), (":scheme", "http"), (":path", "hello")]);
    reset(&[(":method", "CONNECT"), (":path", "/"), (":authority", "h:1")]);
    for (at, value) in [(0, "GET?"), (1, "http://x/?"), (3, "a/b")] {
        let mut fields = GET;
        fields[at].1 = value;
        assert!(matches!(read(&fields), Err(MalformedMessage::Status(400, _))), "{value}");
    }
}

#[test]
fn lists_are_bounded() {
    let long = "x".repeat(16_000);
    let fields: Vec<(&str, &str)> = GET.iter().copied().chain([("a", &*long)]).collect();
    assert!(matches!(read(&fields), Err(MalformedMessage::TooLarge(_))));
    let many: Vec<(&str, &str)> = GET.iter().copied().chain([("a", "b"); 101]).collect();
    assert!(matches!(read(&many), Err(MalformedMessage::TooLarge(_))));
}

#[test]
fn responses_and_trailers() {
    let mut head = Head::default();
    head.set_response(Version::Http11, 404, b"Nope");
    head.push(b"Content-Length", b"3");
    head.push(b"Connection", b"close");
    let mut block = Vec::new();
    response::encode(&head, 404, &mut block);
    let (mut reader, mut again) = (response::ResponseReader::new(LIMITS), Head::default());
    Decoder::new(0).decode(&block, |name, value| reader.field(name, value, &mut again)).unwrap();
    assert_eq!(reader.finish(&mut again), Ok(Some(3)));
    assert_eq!(text(&again), "HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\n");

    let mut fields = Fields::default();
    fields.push(b"grpc-status", b"0");
    block.clear();
    trailers::encode(&fields, &mut block);
    let (mut reader, mut again) = (trailers::TrailersReader::new(LIMITS), Fields::default());
    Decoder::new(0).decode(&block, |name, value| reader.field(name, value, &mut again)).unwrap();
    assert_eq!((reader.finish(), again.get(b"grpc-status")), (Ok(()), Some(&b"0"[..])));
    let mut reader = trailers::TrailersReader::new(LIMITS);
    reader.field(b":status", b"200", &mut again);
    assert!(reader.finish().is_err());
}

#[test]
fn settings_survive() {
    let settings = Settings {
        max_concurrent_streams: Some(7),
        initial_window_size: 1,
        enable_push: false,
        enable_connect_protocol: true,
        ..Settings::default()
    };
    let mut out = Vec::new();
    encode::settings(&settings, &mut out);
    let header = FrameHeader::parse(&out).unwrap();
    assert_eq!((header.kind, header.check(16_384)), (FrameType::Settings, Ok(())));
    let mut again = Settings::default();
    again.apply(&out[frame::HEADER_LEN..]).unwrap();
    assert_eq!(again, settings);
    for (id, value, code) in [
        (2, 2, ErrorCode::PROTOCOL_ERROR),
        (4, 1 << 31, ErrorCode::FLOW_CONTROL_ERROR),
        (5, 16_383, ErrorCode::PROTOCOL_ERROR),
        (5, 1 << 24, ErrorCode::PROTOCOL_ERROR),
        (8, 0, ErrorCode::PROTOCOL_ERROR),
    ] {
        let entry = [&[0, id][..], &u32::to_be_bytes(value)].concat();
        assert_eq!(again.apply(&entry), Err(code), "{id} {value}");
    }
}

#[test]
fn long_blocks_are_continued() {
    let mut out = Vec::new();
    let at = encode::begin_headers(&mut out);
    out.extend_from_slice(&[b'x'; 40_000]);
    encode::end_headers(at, 3, true, 0, &mut out);
    let (mut rest, mut kinds) = (&out[..], Vec::new());
    while let Some(header) = FrameHeader::parse(rest) {
        kinds.push((header.kind, header.flags, header.len));
        rest = &rest[frame::HEADER_LEN + header.len as usize..];
    }
    assert_eq!(
        kinds,
        [
            (FrameType::Headers, frame::END_STREAM, 16_384),
            (FrameType::Continuation, 0, 16_384),
            (FrameType::Continuation, frame::END_HEADERS, 40_000 - 2 * 16_384)
        ]
    );
}

proptest! {
    #[test]
    fn frame_headers_survive(bytes in any::<[u8; 9]>()) {
        let header = FrameHeader::parse(&bytes).unwrap();
        let mut expected = bytes;
        expected[5] &= 0x7f;
        prop_assert_eq!(header.bytes(), expected);
        let _ = header.check(16_384);
    }

    #[test]
    fn arbitrary_payloads_never_panic(flags in any::<u8>(), payload in proptest::collection::vec(any::<u8>(), 0..40)) {
        let header = FrameHeader { len: payload.len() as u32, kind: FrameType::Headers, flags, stream: 1 };
        let _ = frame::headers_block(&header, &payload);
        let _ = Settings::default().apply(&payload);
    }
}
