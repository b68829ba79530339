//! Tests of records, pairs, capacities and heads.

use proptest::prelude::*;

use super::*;
use crate::h1::Limits;
use htx::Head;

fn parsed(text: &[u8]) -> Result<(Head, usize, bool), AnswerError> {
    let mut head = Head::default();
    let (consumed, done) = AnswerParser::default().parse(text, Limits::DEFAULT, &mut head)?;
    Ok((head, consumed, done))
}

fn wire(head: &Head) -> String {
    let bytes: Vec<u8> = head.runs().flat_map(|run| run.to_vec()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn answer_heads_become_response_heads() {
    for (text, expected) in [
        ("Content-Type: a\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-type: a\r\n"),
        ("Content-Type: a\n\nbody", "HTTP/1.1 200 OK\r\ncontent-type: a\r\n"),
        ("Status: 404 Nope\nA: b\n\n", "HTTP/1.1 404 Nope\r\na: b\r\n"),
        ("A: b\nstatus:404\n\n", "HTTP/1.1 404 Not Found\r\na: b\r\n"),
        (
            "Location: http://a/b\r\n\r\n",
            "HTTP/1.1 302 Moved Temporarily\r\nlocation: http://a/b\r\n",
        ),
        ("Status: 201 Made\nLocation: /b\n\n", "HTTP/1.1 201 Made\r\nlocation: /b\r\n"),
        ("A: b\n c\n\td\n\n", "HTTP/1.1 200 OK\r\na: b  c \td\r\n"),
        ("Connection: close\nTransfer-Encoding: chunked\nA: b\n\n", "HTTP/1.1 200 OK\r\na: b\r\n"),
        ("Status: 200 \nUpgrade: x\n\n", "HTTP/1.1 200 OK\r\n"),
    ] {
        let (head, consumed, done) = parsed(text.as_bytes()).expect(text);
        assert!(done && consumed <= text.len(), "{text}");
        assert_eq!(wire(&head), expected, "{text}");
    }
}

#[test]
fn malformed_answer_heads_are_refused() {
    for text in [
        "\r\n",
        "\n",
        "\n\nbody",
        " A: b\n\n",
        "A\n",
        "HTTP/1.1 200 OK\n",
        "A: b\0c\n",
        ": b\n",
        "A : b\n",
        "A: b\rc\n",
        "Status: 20\n\n",
        "Status: 0200\n\n",
        "Status: 2000\n\n",
        "Status: 099\n\n",
        "Status: 100 Continue\n\n",
        "Status: 101\n\n",
        "Status: \n\n",
        "Status: 200\nStatus: 200\n\n",
        "Status: 200 \x1bx\n\n",
        "Status: +20 x\n\n",
        "Status: 2x0\n\n",
    ] {
        assert!(parsed(text.as_bytes()).is_err(), "{text:?}");
    }
    let long = ["A: ".as_bytes(), &[b'x'; 16_000]].concat();
    assert!(matches!(parsed(&long), Err(AnswerError::Syntax(_))));
    assert!(matches!(parsed(&b"A: b\n".repeat(102)), Err(AnswerError::Syntax(_))));
}

#[test]
fn reserved_bytes_and_padding_of_records_are_zero() {
    assert_eq!(record::begin_request(1, true), [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);
    assert_eq!(record::begin_request(259, false)[2..11], [1, 3, 0, 8, 0, 0, 0, 1, 0]);
    let mut out = Vec::new();
    values::get_values(&mut out);
    assert_eq!(out[..8], [1, 9, 0, 0, 0, 32, 0, 0]);
    assert_eq!(out.len(), 40);
}

#[test]
fn other_versions_and_lengths_of_records_are_refused() {
    assert_eq!(RecordHeader::parse(b"\x02"), Err(RecordError::Version));
    assert_eq!(RecordHeader::parse(b"HTTP/1.1"), Err(RecordError::Version));
    assert_eq!(RecordHeader::parse(b""), Ok(None));
    assert_eq!(RecordHeader::parse(b"\x01\x03\0\x01\0\x08\0"), Ok(None));
    assert_eq!(EndRequest::parse(&[0; 7]), Err(RecordError::Length));
    assert_eq!(EndRequest::parse(&[0; 9]), Err(RecordError::Length));
    let end = EndRequest::parse(&[0, 0, 1, 0, 2, 0, 0, 0]);
    assert_eq!(end, Ok(EndRequest { app_status: 256, status: EndStatus::Overloaded }));
}

#[test]
fn capacities_are_read_and_malformed_ones_refused() {
    let mut content = Vec::new();
    pairs::put(b"FCGI_MAX_REQS", &[b"50"], &mut content);
    pairs::put(b"FCGI_MPXS_CONNS", &[b"1"], &mut content);
    pairs::put(b"FCGI_MAX_CONNS", &[b"9"], &mut content);
    let expected = Capacity { max_reqs: Some(50), multiplexes: Some(true) };
    assert_eq!(Capacity::parse(&content), Ok(expected));
    assert!(Capacity::parse(&content[..content.len() - 1]).is_err());
    content.clear();
    pairs::put(b"FCGI_MAX_REQS", &[b"-1"], &mut content);
    pairs::put(b"FCGI_MPXS_CONNS", &[b"99999999999"], &mut content);
    assert_eq!(Capacity::parse(&content), Ok(Capacity::default()));
}

#[test]
fn lengths_beyond_the_content_are_refused() {
    for content in
        [&[5][..], &[1, 1, b'a'], &[0x80, 0, 0], &[0xff, 0xff, 0xff, 0xff, 0, 1], &[0, 2, 1]]
    {
        let all: Vec<_> = Pairs::new(content).collect();
        assert_eq!(all, [Err(PairError::Truncated)], "{content:?}");
    }
}

proptest! {
    #[test]
    fn record_headers_come_back(kind in 0u8.., request in 0u16.., len in 0u16.., padding in 0u8..) {
        let header = RecordHeader { kind: RecordType::of(kind), request, len, padding };
        prop_assert_eq!(header.kind.number(), kind);
        prop_assert_eq!(RecordHeader::parse(&header.bytes()), Ok(Some(header)));
    }

    #[test]
    fn pairs_come_back(list in proptest::collection::vec((0usize..300, 0usize..300, 0u8..), 0..9)) {
        let list: Vec<_> = list.iter().map(|&(n, v, b)| (vec![b; n], vec![!b; v])).collect();
        let mut out = Vec::new();
        let mut len = 0;
        for (name, value) in &list {
            let (one, two) = value.split_at(value.len() / 2);
            prop_assert!(pairs::put(name, &[one, two], &mut out));
            len += pairs::encoded_len(name.len(), value.len());
        }
        prop_assert_eq!(out.len(), len);
        let read: Result<Vec<_>, _> = Pairs::new(&out).collect();
        let expected: Vec<_> = list.iter().map(|(n, v)| (&n[..], &v[..])).collect();
        prop_assert_eq!(read, Ok(expected));
    }

    #[test]
    fn segmentation_of_heads_does_not_matter(text in "(Status: [0-9]{3}[ a]{0,2}|[A-Ca-c]{1,3}: [ -~]{0,9}|\\PC{0,4}| [a-z]{0,3}|\r?\n){0,9}\r?\n\r?\n", step in 1usize..9) {
        let whole = parsed(text.as_bytes()).map(|(head, consumed, done)| (wire(&head), consumed, done));
        let (mut parser, mut head) = (AnswerParser::default(), Head::default());
        let (mut at, mut end, mut slow) = (0, 0, Ok((0, false)));
        while end < text.len() {
            end = text.len().min(end + step);
            slow = parser.parse(&text.as_bytes()[at..end], Limits::DEFAULT, &mut head);
            match slow {
                Ok((consumed, done)) => {
                    at += consumed;
                    if done { break; }
                }
                Err(_) => break,
            }
        }
        match whole {
            Ok((bytes, consumed, done)) => {
                prop_assert_eq!(slow.map(|(_, done)| done), Ok(done));
                prop_assert_eq!((wire(&head), at), (bytes, consumed));
            }
            Err(_) => prop_assert!(slow.is_err()),
        }
    }
}
