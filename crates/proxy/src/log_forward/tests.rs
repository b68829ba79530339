//! Forwarded messages in all input and output formats, as measured with HAProxy 2.6.

use super::frame;
use super::message::{Envelope, Message};
use super::*;
use proptest::prelude::*;
use sample::calendar::Date;

/// 2026-11-21T20:13:18Z
const NOW: i64 = 1_795_291_998;

fn written(message: &[u8], transport: Option<LogTransport>) -> String {
    let message = Message::parse(message);
    let envelope = Envelope {
        transport: transport.unwrap_or_else(|| message.usual()),
        priority: message.priority.unwrap_or(17 << 3),
        now: (Date::new(NOW, 0), 956_478),
    };
    let mut out = Vec::new();
    message.write(&envelope, &mut out);
    out.extend_from_slice(message.text);
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn messages_change_their_envelopes() {
    use LogTransport::{Iso, Local, Priority, Raw, Rfc3164, Rfc5424, Short, Timed};
    let new = "<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog 77 ID47 \
               [ex@32473 iut=\"3\"] An application";
    let old = "<34>Oct 11 22:14:15 mymachine su[12]: failed for lonvick";
    let no_host = "<34>Oct  1 22:14:15 su: no pid";
    for (message, transport, expected) in [
        (new, None, new),
        (new, Some(Rfc5424), new),
        (new, Some(Raw), "An application"),
        (
            new,
            Some(Rfc3164),
            "<165>Oct 11 22:14:15 mymachine.example.com evntslog[77]: An application",
        ),
        (new, Some(Local), "<165>Oct 11 22:14:15 evntslog[77]: An application"),
        (new, Some(Short), "<5>An application"),
        (new, Some(Priority), "<165>An application"),
        (new, Some(Timed), "<5>2003-10-11T22:14:15.003Z An application"),
        (new, Some(Iso), "2003-10-11T22:14:15.003Z An application"),
        (old, None, old),
        (
            old,
            Some(Rfc5424),
            "<34>1 2026-10-11T22:14:15-00:00 mymachine su 12 - - failed for lonvick",
        ),
        (old, Some(Local), "<34>Oct 11 22:14:15 su[12]: failed for lonvick"),
        (old, Some(Timed), "<2>2026-10-11T22:14:15-00:00 failed for lonvick"),
        (no_host, None, no_host),
        (no_host, Some(Local), "<34>Oct  1 22:14:15 no pid"),
        (no_host, Some(Rfc5424), "<34>1 2026-10-01T22:14:15-00:00 su: - - - - no pid"),
        ("<13>just text", None, "<13>just text"),
        ("<13>just text", Some(Rfc3164), "<13>Nov 21 20:13:18 localhost just text"),
        (
            "<13>just text",
            Some(Rfc5424),
            "<13>1 2026-11-21T20:13:18.956478+00:00 - - - - - just text",
        ),
        ("no prio\n", None, "no prio"),
        ("no prio", Some(Priority), "<136>no prio"),
        ("no prio", Some(Local), "<136>Nov 21 20:13:18 no prio"),
        ("<999>bad", Some(Short), "<7>bad"),
        ("<13>1 2026-11-21T20:13:18.956478+00:00 - - - - - just text", None, "<13>just text"),
        ("<13>1 - - - - - - just text", None, "<13>just text"),
        ("<13>1 - - - - - - just text", Some(Rfc5424), "<13>1 - - - - - - just text"),
        ("<13>1 - host - - - - text", Some(Rfc3164), "<13>Nov 21 20:13:18 host text"),
        ("<13>1 - host tag - - - text", Some(Timed), "<5>2026-11-21T20:13:18.956478+00:00 text"),
        ("<13>1 - - - - - -", Some(Rfc5424), "<13>1 - - - - - - "),
    ] {
        assert_eq!(written(message.as_bytes(), transport), expected, "{message} {transport:?}");
    }
    assert!(Message::parse(b"\n").is_empty());
    assert_eq!(written(b"<13>one\ntwo\0\n", None), "<13>one\ntwo\0", "a text may have lines");
}

#[test]
fn streams_are_cut_in_both_ways() {
    let next = |input: &'static str, at_end| {
        let frame = frame::next(input.as_bytes(), at_end)?;
        Some((String::from_utf8(frame.message.to_vec()).unwrap(), frame.len))
    };
    assert_eq!(next("3 abc4 defg", false), Some(("abc".into(), 5)));
    assert_eq!(next("4 abc", false), None);
    assert_eq!(next("12", false), None);
    assert_eq!(next("0 <1>a", false), None);
    assert_eq!(next("<1>a\n<2>b", false), Some(("<1>a".into(), 5)));
    assert_eq!(next("<2>b", false), None);
    assert_eq!(next("<2>b", true), Some(("<2>b".into(), 4)));
    assert_eq!(next("", true), None);
    for broken in ["1x", "99999 a", "1234567890", "0 a", "03 abc"] {
        assert!(frame::is_broken(broken.as_bytes(), 16_384), "{broken}");
    }
    assert!(!frame::is_broken(b"12", 16_384) && !frame::is_broken(b"<1>", 16_384));
}

proptest! {
    #[test]
    fn any_message_is_forwarded(
        front in prop::sample::select(vec![
            "", "<13>", "<1>1 ", "<1>1 2003-10-11T22:14:15Z ", "<1>Oct 11 22:14:15 ",
            "<1>1 2003-10-11T22:14:15Z a b c d [",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let bytes = [front.as_bytes(), &rest].concat();
        for transport in [None, Some(LogTransport::Rfc3164), Some(LogTransport::Rfc5424)] {
            written(&bytes, transport);
        }
        let _ = frame::next(&bytes, false);
        let _ = frame::is_broken(&bytes, 100);
    }
}
