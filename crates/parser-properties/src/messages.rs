//! Properties of whole HTTP/1 messages through both sides of a proxy, compared with a strict
//! parser.
//!
//! The product accepts every message that the strict parser accepts, with the same content. Every
//! message that the product accepts is sent in a form that the strict parser accepts as the same
//! message.

use crate::strict::{self, Message};
use htx::{Fields, Head, Version};
use mux::h1::{H1Conn, H1ConnSettings, HeadStep};
use mux::{BodyKind, Side};
use wire::h1::Limits;

/// A message that the product has accepted.
struct AcceptedMessage {
    /// Its head as it was sent.
    head: Head,
    /// Its body.
    body: Vec<u8>,
    /// Bytes consumed from the input.
    len: usize,
    /// The bytes sent to the other side, interim responses included.
    out: Vec<u8>,
}

/// Reads one message from `input`, which is all that the peer sends before it closes, and writes it
/// on another connection; `None` if it is refused or incomplete.
fn relay(from: &mut H1Conn, to: &mut H1Conn, input: &[u8]) -> Option<AcceptedMessage> {
    let (mut head, mut out, mut at) = (Head::default(), Vec::new(), 0);
    let body = loop {
        match from.handle_head(&input[at..], &mut head).ok()? {
            HeadStep::NeedMore => return None,
            HeadStep::Interim { consumed } => {
                at += consumed;
                to.encode_head(&mut head, BodyKind::None, &mut out);
            }
            HeadStep::Complete { consumed, body } => {
                at += consumed;
                break body;
            }
        }
    };
    let sends = to.encode_head(&mut head, body, &mut out);
    let (mut content, mut trailers) = (Vec::new(), Fields::default());
    loop {
        let step = from.handle_body(&input[at..], &mut trailers).ok()?;
        let data = &input[at + step.skip..][..step.data];
        at += step.skip + step.data;
        if sends != BodyKind::None {
            let framing = to.encode_data(data.len() as u64).ok()?;
            out.extend([framing.prefix(), data, framing.suffix()].concat());
        }
        content.extend_from_slice(data);
        if step.done {
            break;
        }
        if step.skip + step.data == 0 {
            let ends = body == BodyKind::UntilClose && at == input.len();
            if !ends {
                return None;
            }
            break;
        }
    }
    to.encode_end(Some(&trailers), &mut out);
    Some(AcceptedMessage { head, body: content, len: at, out })
}

/// Whether the product may refuse a syntactically valid message, because of its limits or of
/// semantic rules.
fn may_be_refused(message: &Message) -> bool {
    let limits = Limits::default();
    let websocket =
        |value: &&[u8]| value.to_ascii_lowercase().windows(9).any(|it| it == b"websocket");
    let old = message.start[2] == b"HTTP/1.0";
    let method = message.start[0].as_slice();
    let few = matches!(method, b"GET" | b"HEAD" | b"DELETE");
    message.len > limits.head_bytes as usize / 2
        || message.fields.len().max(message.trailers.len()) > usize::from(limits.header_lines)
        || message.fields.iter().chain(&message.trailers).any(|field| field.0.len() > 255)
        || message.values("upgrade").iter().any(websocket)
        || !message.body.is_empty() && old && few
        // Such a target has to agree with `Host`.
        || method == b"CONNECT"
        || !matches!(message.start[1][..], [b'/', ..] | [b'*'])
}

/// The fields that every connection forwards unchanged.
fn lasting<'m>(fields: impl Iterator<Item = (&'m [u8], &'m [u8])>) -> Vec<(Vec<u8>, Vec<u8>)> {
    const OWN: [&[u8]; 6] = [
        b"connection",
        b"upgrade",
        b"http2-settings",
        b"te",
        b"content-length",
        b"transfer-encoding",
    ];
    let kept = fields.filter(|field| !OWN.contains(&field.0));
    kept.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

/// Asserts that the sent bytes are one valid message with this content, framed in the usual
/// spelling.
fn check_sent(sent: &Message, taken: &AcceptedMessage, out: &[u8]) {
    assert_eq!(sent.len, out.len(), "more than one message: {}", out.escape_ascii());
    assert_eq!(sent.body, taken.body, "another body: {}", out.escape_ascii());
    for length in sent.values("content-length") {
        assert!(length == b"0" || length[0] != b'0', "{}", out.escape_ascii());
    }
    for coding in sent.values("transfer-encoding") {
        assert_eq!(coding, b"chunked", "{}", out.escape_ascii());
    }
    for protocol in sent.values("upgrade") {
        let protocol = protocol.to_ascii_lowercase();
        for item in protocol.split(|byte| b", \"\t".contains(byte)) {
            let name = item.split(|byte| *byte == b'/').next();
            assert!(!matches!(name, Some(b"h2" | b"h2c" | b"http")), "{}", out.escape_ascii());
        }
    }
    let head = taken.head.fields().map(|field| (field.name, field.value));
    let fields = sent.fields.iter().map(|field| (&field.0[..], &field.1[..]));
    assert_eq!(lasting(head), lasting(fields));
}

/// Forwards a request to a server, with any bytes after it.
pub fn request(data: &[u8]) {
    let input = &data[..data.len().min(20_000)];
    let (mut client, mut server) = (
        H1Conn::new(Side::Client, H1ConnSettings::default()),
        H1Conn::new(Side::Server, H1ConnSettings::default()),
    );
    let taken = relay(&mut client, &mut server, input);
    let expected = strict::request(input);
    if let Some(message) = expected.filter(|message| !may_be_refused(message)) {
        let Some(taken) = &taken else { panic!("refused: {}", input.escape_ascii()) };
        assert_eq!((taken.len, &taken.body), (message.len, &message.body));
        let [method, target, _] = &message.start;
        assert_eq!((taken.head.method(), taken.head.uri()), (&method[..], &target[..]));
        let fields = message.fields.iter().map(|field| (&field.0[..], &field.1[..]));
        let head = taken.head.fields().map(|field| (field.name, field.value));
        assert_eq!(lasting(head), lasting(fields));
    }
    if let Some(taken) = taken {
        let sent = strict::request(&taken.out);
        let Some(sent) = sent else { panic!("sent on: {}", taken.out.escape_ascii()) };
        check_sent(&sent, &taken, &taken.out);
        assert_eq!(sent.start[1], taken.head.uri());
    }
}

/// Forwards a response to a GET of an HTTP/1.1 client, with interim responses before it.
pub fn response(data: &[u8]) {
    let input = &data[..data.len().min(20_000)];
    let (mut client, mut server) = (
        H1Conn::new(Side::Client, H1ConnSettings::default()),
        H1Conn::new(Side::Server, H1ConnSettings::default()),
    );
    let mut head = Head::default();
    let asked = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    client.handle_head(asked, &mut head).expect("a valid request");
    head.set_request(b"GET", b"/", Version::Http11);
    server.encode_head(&mut head, BodyKind::None, &mut Vec::new());
    let taken = relay(&mut server, &mut client, input);
    let expected = strict::response(input).filter(|message| message.start[1][0] != b'1');
    if let Some(message) = expected.filter(|message| !is_beyond_limits(message)) {
        let Some(taken) = &taken else { panic!("refused: {}", input.escape_ascii()) };
        assert_eq!((taken.len, &taken.body), (message.len, &message.body));
        assert_eq!(taken.head.status().to_string().as_bytes(), message.start[1]);
    }
    let Some(taken) = taken else { return };
    let mut rest = &taken.out[..];
    loop {
        let Some(sent) = strict::response(rest) else {
            panic!("sent on: {}", taken.out.escape_ascii())
        };
        if sent.start[1][0] != b'1' {
            return check_sent(&sent, &taken, rest);
        }
        rest = &rest[sent.len..];
    }
}

fn is_beyond_limits(message: &Message) -> bool {
    let limits = Limits::default();
    message.len > limits.head_bytes as usize / 2
        || message.fields.len().max(message.trailers.len()) > usize::from(limits.header_lines)
        || message.fields.iter().chain(&message.trailers).any(|field| field.0.len() > 255)
}
