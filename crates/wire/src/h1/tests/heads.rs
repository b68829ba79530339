//! Tests of heads: accepted and refused lines, resuming, limits, round trips.

use htx::{Head, Version};
use proptest::prelude::*;

use crate::h1::{HeadKind, HeadParser, Limits, Reason, SyntaxError, encode};

fn parse(kind: HeadKind, input: &[u8]) -> Result<Option<(usize, Head)>, SyntaxError> {
    let mut head = Head::default();
    let done = HeadParser::new().parse(kind, input, Limits::default(), &mut head)?;
    Ok(done.map(|n| (n, head)))
}

fn wire(head: &Head) -> String {
    let mut out = Vec::new();
    encode::head(head, &mut out);
    assert_eq!(out.len(), encode::head_len(head));
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn accepted_requests() {
    let rows = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("GET  / \t HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"),
        ("GET\t/ HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"),
        ("\r\n\n\r\nget / HTTP/1.2\n\n", "get / HTTP/1.1\r\n\r\n"),
        ("GET /a\"<>b HTTP/2.0\r\n\r\n", "GET /a\"<>b HTTP/1.1\r\n\r\n"),
        ("GET * HTTP/9.9\r\n\r\n", "GET * HTTP/1.1\r\n\r\n"),
        ("GET foo HTTP/1.1\r\n\r\n", "GET foo HTTP/1.1\r\n\r\n"),
        ("G / HTTP/1.1\r\nFoo:bar\r\n\r\n", "G / HTTP/1.1\r\nfoo: bar\r\n\r\n"),
        ("G / HTTP/1.1\r\nfoo: \t bar \t \r\n\r\n", "G / HTTP/1.1\r\nfoo: bar\r\n\r\n"),
        ("G / HTTP/1.1\r\nfoo:\r\n\r\n", "G / HTTP/1.1\r\nfoo: \r\n\r\n"),
        ("G / HTTP/1.1\r\nfoo: x\r\n\r\n", "G / HTTP/1.1\r\nfoo: x\r\n\r\n"),
        (
            "G / HTTP/1.1\r\nf: ab\x01\x7fé\x0b\r\n\r\n",
            "G / HTTP/1.1\r\nf: ab\x01\x7fé\x0b\r\n\r\n",
        ),
        ("G / HTTP/1.1\r\nf: a\r\n b\r\n\r\n", "G / HTTP/1.1\r\nf: a   b\r\n\r\n"),
        ("G / HTTP/1.1\r\nf: a \r\n\t\t b \r\n\r\n", "G / HTTP/1.1\r\nf: a   \t\t b\r\n\r\n"),
        ("G / HTTP/1.1\nf: a\n b\r\n\n", "G / HTTP/1.1\r\nf: a  b\r\n\r\n"),
        ("G / HTTP/1.1\r\nf:\r\n b\r\n\r\n", "G / HTTP/1.1\r\nf: b\r\n\r\n"),
        ("G / HTTP/1.1\r\nf: a\r\n \r\nb: x\r\n\r\n", "G / HTTP/1.1\r\nf: a\r\nb: x\r\n\r\n"),
        ("G / HTTP/1.1\r\nf: a\r\n \r\n\r\n", "G / HTTP/1.1\r\nf: a\r\n\r\n"),
        ("G / HTTP/1.1\r\nf: a\r\n b\r\n c\r\n\r\n", "G / HTTP/1.1\r\nf: a   b   c\r\n\r\n"),
    ];
    for (input, expected) in rows {
        let (consumed, head) = parse(HeadKind::Request, input.as_bytes()).unwrap().unwrap();
        assert_eq!(consumed, input.len(), "{input:?}");
        assert_eq!(wire(&head), expected, "{input:?}");
    }
}

#[test]
fn refused_requests() {
    let rows = [
        (" GET / HTTP/1.1\r\n", Reason::Method, 0),
        ("G@T / HTTP/1.1\r\n", Reason::Method, 1),
        ("GET\r\n", Reason::Method, 3),
        ("GET \r\n", Reason::Target, 4),
        ("GET /\x01 HTTP/1.1\r\n", Reason::Target, 5),
        ("GET /\x7f HTTP/1.1\r\n", Reason::Target, 5),
        ("GET /é HTTP/1.1\r\n", Reason::Target, 5),
        ("GET /\tx HTTP/1.1\r\n", Reason::Version, 6),
        ("GET /a#b HTTP/1.1\r\n", Reason::Target, 6),
        ("GET #b HTTP/1.1\r\n", Reason::Target, 4),
        ("G / HTTP/1.1\r\nf: a\0b\r\n", Reason::Nul, 18),
        ("G / HTTP/1.1\r\nf: a\r\n \0b\r\n", Reason::Nul, 21),
        ("GET /\r\n", Reason::Version, 5),
        ("GET / \r\n", Reason::Version, 6),
        ("GET / http/1.1\r\n", Reason::Version, 6),
        ("GET / HTTP/1\r\n", Reason::Version, 6),
        ("GET / HTTP/1.12\r\n", Reason::Version, 6),
        ("GET / HTTP/12.1\r\n", Reason::Version, 6),
        ("GET / HTTP/1.1 \r\n", Reason::Version, 6),
        ("GET / RTSP/1.0\r\n", Reason::Version, 6),
        ("\r\rGET / HTTP/1.1\r\n", Reason::StrayCr, 0),
        ("GET / HTTP/1.1\rX", Reason::StrayCr, 14),
        ("G / HTTP/1.1\r\nfoo: a\rb\r\n", Reason::StrayCr, 20),
        ("G / HTTP/1.1\r\nfoo: a\r\r\n", Reason::StrayCr, 20),
        ("G / HTTP/1.1\r\nfoo: a\r\n\rA", Reason::StrayCr, 22),
        ("G / HTTP/1.1\r\nfoo\r\n", Reason::FieldName, 17),
        ("G / HTTP/1.1\r\n: x\r\n", Reason::FieldName, 14),
        ("G / HTTP/1.1\r\nfo o: x\r\n", Reason::FieldName, 16),
        ("G / HTTP/1.1\r\nfoo : x\r\n", Reason::FieldName, 17),
        ("G / HTTP/1.1\r\nfoo\t: x\r\n", Reason::FieldName, 17),
        ("G / HTTP/1.1\r\nfo@: x\r\n", Reason::FieldName, 16),
        ("G / HTTP/1.1\r\nfoé: x\r\n", Reason::FieldName, 16),
        ("G / HTTP/1.1\r\n foo: x\r\n", Reason::FoldWithoutField, 14),
        ("G / HTTP/1.1\r\nhost: a\r\n b\r\n", Reason::FoldedHost, 23),
        ("G / HTTP/1.1\r\nx: y\r\nHost:\r\n\ta\r\n", Reason::FoldedHost, 27),
        ("G / HTTP/1.1\r\nhost: a\r\n \r\n", Reason::FoldedHost, 23),
        ("G / HTTP/1.1\nhost: a\n b\n", Reason::FoldedHost, 21),
    ];
    for (input, reason, at) in rows {
        let error = parse(HeadKind::Request, input.as_bytes()).unwrap_err();
        assert_eq!(error, SyntaxError { reason, at }, "{input:?}");
    }
}

#[test]
fn accepted_responses() {
    let rows = [
        ("HTTP/1.1 200 OK\r\n\r\n", 200, "OK", "HTTP/1.1 200 OK\r\n\r\n"),
        ("HTTP/1.1 200\r\n\r\n", 200, "", "HTTP/1.1 200 \r\n\r\n"),
        ("HTTP/1.1 200 \r\n\r\n", 200, "", "HTTP/1.1 200 \r\n\r\n"),
        ("HTTP/1.0  200  OK now \r\n\r\n", 200, "OK now ", "HTTP/1.0 200 OK now \r\n\r\n"),
        ("\r\nHTTP/2.0\t999\tO\x01é\r\n\r\n", 999, "O\x01é", "HTTP/1.1 999 O\x01é\r\n\r\n"),
    ];
    for (input, status, reason, expected) in rows {
        let (_, head) = parse(HeadKind::Response, input.as_bytes()).unwrap().unwrap();
        assert_eq!((head.status(), head.reason()), (status, reason.as_bytes()), "{input:?}");
        assert_eq!(wire(&head), expected, "{input:?}");
    }
}

#[test]
fn refused_responses() {
    let rows = [
        ("ICY 200 OK\r\n", Reason::Version),
        ("http/1.1 200 OK\r\n", Reason::Version),
        ("HTTP/1.1\r\n", Reason::Status),
        ("HTTP/1.1 2x0 OK\r\n", Reason::Status),
        ("HTTP/1.1 20 OK\r\n", Reason::Status),
        ("HTTP/1.1 2000 OK\r\n", Reason::Status),
        ("HTTP/1.1 099 OK\r\n", Reason::Status),
        ("HTTP/1.1 200 OK\r\nfoo : x\r\n", Reason::FieldName),
        ("HTTP/1.1 200 O\0K\r\n", Reason::Nul),
        ("HTTP/1.1 200 OK\r\nfoo: \0\r\n", Reason::Nul),
    ];
    for (input, reason) in rows {
        assert_eq!(
            parse(HeadKind::Response, input.as_bytes()).unwrap_err().reason,
            reason,
            "{input:?}"
        );
    }
}

/// Input that HAProxy accepts with its `accept-invalid-http-` options, and the result.
#[test]
fn lenient_readers() {
    let limits = Limits { lenient: true, ..Limits::default() };
    let read = |kind, input: &str| {
        let mut head = Head::default();
        let done = HeadParser::new().parse(kind, input.as_bytes(), limits, &mut head);
        done.map(|len| (len, wire(&head))).map_err(|error| error.reason)
    };
    for (input, expected) in [
        ("GET /a#é HTTP/1.1\r\n\r\n", "GET /a#é HTTP/1.1\r\n\r\n"),
        ("GET / RTSP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"),
        ("GET / HTTP/1.10\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"),
        ("GET / HTTP/1.1\r\nf o(: x\r\n\r\n", "GET / HTTP/1.1\r\nf o(: x\r\n\r\n"),
        ("GET / HTTP/1.1\r\n f: x\r\n\r\n", "GET / HTTP/1.1\r\n f: x\r\n\r\n"),
        ("GET / HTTP/1.1\r\nf: a\0\r\n\r\n", "GET / HTTP/1.1\r\nf: a\0\r\n\r\n"),
    ] {
        let got = read(HeadKind::Request, input);
        assert_eq!(got, Ok((Some(input.len()), expected.to_owned())), "{input:?}");
    }
    let simple = read(HeadKind::Request, "GET /\r\nmore");
    assert_eq!(simple, Ok((Some(7), "GET / HTTP/1.0\r\n\r\n".to_owned())));
    let icy = read(HeadKind::Response, "ICY 200 OK\r\n\r\n");
    assert_eq!(icy, Ok((Some(14), "HTTP/1.0 200 OK\r\n\r\n".to_owned())));
    for (input, reason) in [
        ("GET / http/1.1\r\n\r\n", Reason::Version),
        ("GET /\x01 HTTP/1.1\r\n", Reason::Target),
        ("GET /\x7f HTTP/1.1\r\n", Reason::Target),
        ("G@T / HTTP/1.1\r\n", Reason::Method),
        ("GET / HTTP/1.1\r\n: x\r\n", Reason::FieldName),
        ("GET / HTTP/1.1\r\nfoo\r\n", Reason::FieldName),
        ("GET / HTTP/1.1\r\nf: a\rb\r\n", Reason::StrayCr),
    ] {
        assert_eq!(read(HeadKind::Request, input), Err(reason), "{input:?}");
    }
}

#[test]
fn lines_are_refused_before_they_are_complete() {
    let rows = [
        (HeadKind::Request, "G@", Reason::Method),
        (HeadKind::Request, "\r\n{", Reason::Method),
        (HeadKind::Request, " ", Reason::Method),
        (HeadKind::Request, "\x16\x03\x01", Reason::Method),
        (HeadKind::Request, "GET / HTTP/1.1\r\nfo o", Reason::FieldName),
        (HeadKind::Request, "GET / HTTP/1.1\r\n a", Reason::FoldWithoutField),
        (HeadKind::Response, "junk", Reason::Version),
        (HeadKind::Response, "HTTP/1.1 200 OK\r\nfo\0", Reason::FieldName),
    ];
    for (kind, input, reason) in rows {
        let error = parse(kind, input.as_bytes()).unwrap_err();
        assert_eq!(error.reason, reason, "{input:?}");
    }
    for (kind, input) in [
        (HeadKind::Request, "G"),
        (HeadKind::Request, "\r"),
        (HeadKind::Request, "GET \x01"),
        (HeadKind::Request, "GET / HTTP/1.1\r\nfoo: \0"),
        (HeadKind::Request, "GET / HTTP/1.1\r\nfoo: x\r\n "),
        (HeadKind::Response, "HT"),
        (HeadKind::Response, "HTTP/1.1 200 OK\r\nfoo"),
    ] {
        assert!(parse(kind, input.as_bytes()).unwrap().is_none(), "{input:?}");
    }
}

#[test]
fn names_have_a_limit() {
    let named = |len| format!("G / HTTP/1.1\r\n{}: y\r\n\r\n", "x".repeat(len));
    for odd in ["", " "] {
        // The second one takes the path of unusual lines.
        let line = |len| named(len).replace(": y", &format!(": y{odd}"));
        assert!(parse(HeadKind::Request, line(255).as_bytes()).unwrap().is_some());
        let error = parse(HeadKind::Request, line(256).as_bytes()).unwrap_err();
        assert_eq!(error.reason, Reason::FieldName);
    }
    let cut = &named(300)[..280];
    assert_eq!(parse(HeadKind::Request, cut.as_bytes()).unwrap_err().reason, Reason::FieldName);
}

#[test]
fn a_nul_is_found_wherever_it_is() {
    for at in 0..200 {
        let mut value = [b'v'; 200];
        value[at] = 0;
        let input = [b"G / HTTP/1.1\r\nf: ", &value[..], b"\r\n\r\n"].concat();
        let error = parse(HeadKind::Request, &input).unwrap_err();
        assert_eq!(error, SyntaxError { reason: Reason::Nul, at: 17 + at });
        let input = [b"HTTP/1.1 200 ", &value[..], b"\r\n\r\n"].concat();
        assert_eq!(parse(HeadKind::Response, &input).unwrap_err().reason, Reason::Nul);
    }
}

#[test]
fn names_may_go_out_in_another_case() {
    let (_, head) =
        parse(HeadKind::Request, b"G / HTTP/1.1\r\nhost: a\r\nx: y\r\n\r\n").unwrap().unwrap();
    let mut out = Vec::new();
    let adjust = |name: &[u8]| (name == b"host").then_some(&b"Host"[..]);
    encode::head_with_case(&head, &adjust, &mut out);
    assert_eq!(out, b"G / HTTP/1.1\r\nHost: a\r\nx: y\r\n\r\n");
}

#[test]
fn empty_lines_do_not_begin_a_head() {
    for (input, begun) in [
        ("", false),
        ("\r\n", false),
        ("\r\n\r", false),
        ("\n\nG", true),
        ("G / HTTP/1.1\r\n", true),
    ] {
        let mut parser = HeadParser::new();
        let step = parser.parse(
            HeadKind::Request,
            input.as_bytes(),
            Limits::default(),
            &mut Head::default(),
        );
        assert_eq!((step, parser.in_progress()), (Ok(None), begun), "{input:?}");
    }
}

#[test]
fn versions_are_kept_as_announced() {
    let (_, head) = parse(HeadKind::Request, b"G / HTTP/1.2\r\n\r\n").unwrap().unwrap();
    assert_eq!(head.version(), Version::Other { major: 1, minor: 2 });
}

#[test]
fn limits_hold() {
    let lines = |n| format!("G / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(n));
    assert!(parse(HeadKind::Request, lines(101).as_bytes()).unwrap().is_some());
    let error = parse(HeadKind::Request, lines(102).as_bytes()).unwrap_err();
    assert_eq!(error.reason, Reason::TooManyLines);

    let sized = |n: usize| format!("G / HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(n - 21));
    assert!(parse(HeadKind::Request, sized(15_360).as_bytes()).unwrap().is_some());
    let error = parse(HeadKind::Request, sized(15_361).as_bytes()).unwrap_err();
    assert_eq!(error.reason, Reason::TooLarge);
    let error = parse(HeadKind::Request, &vec![b'a'; 15_361]).unwrap_err();
    assert_eq!(error.reason, Reason::TooLarge);
}

#[test]
fn bytes_after_a_head_are_not_consumed() {
    let input = b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n";
    let (mut parser, mut head) = (HeadParser::new(), Head::default());
    let mut next = |input: &[u8], head: &mut Head| {
        parser.parse(HeadKind::Request, input, Limits::default(), head).unwrap().unwrap()
    };
    let first = next(input, &mut head);
    assert_eq!((first, head.uri()), (19, &b"/1"[..]));
    next(&input[first..], &mut head);
    assert_eq!(head.uri(), b"/2");
}

/// Feeds `input` in growing prefixes cut at `cuts`. A line that arrives in pieces takes the path of
/// unusual lines, and must give the same result as a whole one.
fn feed(
    kind: HeadKind,
    input: &[u8],
    cuts: &[usize],
) -> (Result<Option<usize>, SyntaxError>, String) {
    let (mut parser, mut head) = (HeadParser::new(), Head::default());
    let ends = cuts.iter().map(|&c| c.min(input.len())).chain([input.len()]);
    let mut last = 0;
    for end in ends {
        last = end.max(last);
        let step = parser.parse(kind, &input[..last], Limits::default(), &mut head);
        if step != Ok(None) {
            return (step, everything(&head));
        }
    }
    (Ok(None), everything(&head))
}

fn everything(head: &Head) -> String {
    let ids: Vec<_> = head.fields().map(|f| (f.id, f.index)).collect();
    let start = (head.method_id(), head.version(), head.status(), head.uri(), head.reason());
    format!("{start:?} {ids:?} {}", wire(head))
}

fn almost_a_head() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        "[A-Z]{1,4} /[a-z]{0,3} HTTP/1\\.[01]\r\n".prop_map(String::into_bytes),
        "HTTP/1\\.1 [0-9]{3} [A-Z]{0,3}\r\n".prop_map(String::into_bytes),
        "(GET|POST|HEAD|PUT) /[a-zé!~]{0,20} {1,2}HTTP/1\\.1\r\n".prop_map(String::into_bytes),
        "HTTP/1\\.1 {1,2}[0-9]{3} {0,2}[A-Zé\t]{0,20}\r\n".prop_map(String::into_bytes),
        "(Host|connection|Content-Length|Accept-Encodinf|X-[A-Za-z]{1,30}): [a-z \t]{0,90}\r\n"
            .prop_map(String::into_bytes),
        "[a-zA-Z-]{1,6}:[ \t]{0,2}[a-z]{0,4}[ \t]{0,2}\r?\n".prop_map(String::into_bytes),
        "[ \t]{1,2}[a-z]{0,2}[ ]?\r?\n".prop_map(String::into_bytes),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..10).prop_map(|v| v.concat())
}

proptest! {
    #[test]
    fn pieces_equal_the_whole(
        input in almost_a_head(),
        request in any::<bool>(),
        cuts in proptest::collection::vec(0usize..120, 0..8),
    ) {
        let kind = if request { HeadKind::Request } else { HeadKind::Response };
        let whole = feed(kind, &input, &[]);
        let mut cuts = cuts;
        cuts.sort_unstable();
        let every: Vec<usize> = (0..input.len()).collect();
        for cuts in [cuts, every] {
            let pieces = feed(kind, &input, &cuts);
            // In pieces, a line may be refused before its other errors have arrived.
            prop_assert_eq!(pieces.0.map_err(drop), whole.0.map_err(drop));
            if whole.0.is_ok() {
                prop_assert_eq!(&pieces.1, &whole.1);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(input in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(HeadKind::Request, &input);
        let _ = parse(HeadKind::Response, &input);
    }

    #[test]
    fn accepted_heads_survive_a_round_trip(input in almost_a_head()) {
        if let Ok(Some((_, head))) = parse(HeadKind::Request, &input) {
            let mut once = Vec::new();
            encode::head(&head, &mut once);
            let (_, again) = parse(HeadKind::Request, &once).unwrap().unwrap();
            let mut twice = Vec::new();
            encode::head(&again, &mut twice);
            prop_assert_eq!(once, twice);
        }
    }
}
