//! Tests that `content-length` fields written by rules do not contradict the body.

use super::Pair;
use crate::h2::H2ConnSettings;
use crate::{BodyKind, HeadStep};
use htx::{Head, Version};

/// The `content-length` that arrives with a request when rules have left `lengths`; `None` if it is
/// refused for that.
fn request(body: BodyKind, lengths: &[&str]) -> Option<Vec<String>> {
    let mut pair = Pair::new(H2ConnSettings::default(), H2ConnSettings::default());
    let key = pair.client.open().unwrap();
    let mut head = Head::default();
    head.set_request(b"GET", b"/path", Version::Http11);
    head.push(b"host", b"example.org");
    lengths.iter().for_each(|length| head.push(b"content-length", length.as_bytes()));
    pair.client.encode_head(key, &mut head, body, b"http");
    pair.talk();
    arrived(&head, pair.server.poll_opened().is_some())
}

fn arrived(sent: &Head, came: bool) -> Option<Vec<String>> {
    let lengths = sent.all(b"content-length");
    came.then(|| lengths.map(|it| String::from_utf8_lossy(it.value).into_owned()).collect())
}

const NOTHING: Option<Vec<String>> = Some(Vec::new());

fn one(length: &str) -> Option<Vec<String>> {
    Some(vec![length.to_owned()])
}

#[test]
fn requests_announce_their_length() {
    for lengths in [&["5"][..], &["0", "5"], &["x"], &[]] {
        assert_eq!(request(BodyKind::None, lengths), NOTHING, "{lengths:?}");
        assert_eq!(request(BodyKind::Chunked, lengths), NOTHING, "{lengths:?}");
        assert_eq!(request(BodyKind::Length(3), lengths), one("3"), "{lengths:?}");
    }
    assert_eq!(request(BodyKind::None, &["0"]), one("0"));
}

#[test]
fn responses_announce_their_length() {
    for lengths in [&["5"][..], &["3", "5"], &["x"], &[]] {
        for (body, expected) in [
            (BodyKind::None, one("0")),
            (BodyKind::Length(3), one("3")),
            (BodyKind::UntilClose, NOTHING),
        ] {
            let mut pair = Pair::new(H2ConnSettings::default(), H2ConnSettings::default());
            let (key, taken, _) = pair.request(b"GET", BodyKind::None);
            let mut head = Head::default();
            head.set_response(Version::Http11, 200, b"OK");
            lengths.iter().for_each(|length| head.push(b"content-length", length.as_bytes()));
            pair.server.encode_head(taken, &mut head, body, b"");
            pair.talk();
            let step = pair.client.handle_head(key, &mut Head::default());
            let came = matches!(step, Ok(HeadStep::Complete { .. }));
            assert_eq!(arrived(&head, came), expected, "{lengths:?}");
        }
    }
}
