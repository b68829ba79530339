//! Reads what proxies send into messages, so that chunk boundaries do not count.

use super::exchange::shown;
use super::generate::NUMBER;

/// One message as it was received, however its body was framed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReceivedMessage {
    /// Start line and fields with their ends.
    pub(super) head: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// Trailer lines with their ends.
    pub(super) trailers: Vec<u8>,
    /// Whether the message arrived whole.
    pub(super) whole: bool,
}

impl ReceivedMessage {
    /// The value of the first field with this name, which is in lower case.
    fn field(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head).to_ascii_lowercase();
        let mut lines = head.lines().skip(1);
        let line =
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned));
        line.map(|value| value.trim().to_owned())
    }

    /// The status of an answer.
    pub(super) fn status(&self) -> u16 {
        let text = String::from_utf8_lossy(&self.head);
        text.split(' ').nth(1).and_then(|word| word.get(..3)?.parse().ok()).unwrap_or(0)
    }

    pub(super) fn describe(&self) -> String {
        let end = if self.whole { "" } else { " (incomplete)" };
        let trailers = match self.trailers.is_empty() {
            true => String::new(),
            false => format!(" trailers {}", shown(&self.trailers, 200)),
        };
        format!("{} body {}{trailers}{end}", shown(&self.head, 700), shown(&self.body, 120))
    }
}

/// The sender of the messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MessageKind {
    Requests,
    Answers,
}

/// Reads a stream of messages. `methods` belong to the requests, in order; `ended`: the peer has
/// closed its side.
pub(super) fn read(
    kind: MessageKind,
    bytes: &[u8],
    methods: &[String],
    ended: bool,
) -> Vec<ReceivedMessage> {
    let (mut messages, mut rest, mut asked) = (Vec::new(), bytes, methods.iter());
    let mut method = asked.next();
    while !rest.is_empty() {
        let Some(end) = head_end(rest) else {
            messages.push(ReceivedMessage { head: rest.to_vec(), ..ReceivedMessage::default() });
            break;
        };
        let mut message =
            ReceivedMessage { head: rest[..end].to_vec(), ..ReceivedMessage::default() };
        rest = &rest[end..];
        let word = match kind {
            MessageKind::Answers => method.map_or("GET", String::as_str).to_owned(),
            MessageKind::Requests => {
                String::from_utf8_lossy(message.head.split(|b| *b == b' ').next().unwrap_or(b""))
                    .into_owned()
            }
        };
        rest = message.take_body(kind, &word, rest, ended);
        if kind == MessageKind::Answers && (message.status() >= 200 || message.status() == 101) {
            method = asked.next();
        }
        messages.push(message);
    }
    messages
}

/// The number in the first request; `None` while its head is not complete.
pub(super) fn number(bytes: &[u8]) -> Option<Option<usize>> {
    let end = head_end(bytes)?;
    let message = ReceivedMessage { head: bytes[..end].to_vec(), ..ReceivedMessage::default() };
    let name = NUMBER.trim_end_matches(':');
    Some(message.field(name).and_then(|value| value.parse().ok()))
}

/// Length of the first request, if it is complete; only its head counts if `head_only`.
pub(super) fn request_end(bytes: &[u8], head_only: bool) -> Option<usize> {
    let end = head_end(bytes)?;
    if head_only {
        return Some(end);
    }
    let mut message = ReceivedMessage { head: bytes[..end].to_vec(), ..ReceivedMessage::default() };
    let rest = message.take_body(MessageKind::Requests, "", &bytes[end..], false);
    message.whole.then_some(bytes.len() - rest.len())
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

impl ReceivedMessage {
    /// Splits the body off the front; returns the remainder.
    fn take_body<'a>(
        &mut self,
        kind: MessageKind,
        method: &str,
        rest: &'a [u8],
        ended: bool,
    ) -> &'a [u8] {
        let status = self.status();
        let opaque = kind == MessageKind::Answers
            && (status == 101 || (method == "CONNECT" && (200..300).contains(&status)));
        if opaque {
            (self.body, self.whole) = (rest.to_vec(), true);
            return &[];
        }
        let silent = kind == MessageKind::Answers && (status < 200 || matches!(status, 204 | 304));
        if silent || (kind == MessageKind::Answers && method == "HEAD") {
            self.whole = true;
            return rest;
        }
        if self.field("transfer-encoding").is_some() {
            return self.take_chunks(rest);
        }
        match self.field("content-length").and_then(|text| text.parse::<usize>().ok()) {
            Some(length) => {
                let (body, after) = rest.split_at(length.min(rest.len()));
                (self.body, self.whole) = (body.to_vec(), body.len() == length);
                after
            }
            None if kind == MessageKind::Answers => {
                (self.body, self.whole) = (rest.to_vec(), ended);
                &[]
            }
            None => {
                self.whole = true;
                rest
            }
        }
    }

    fn take_chunks<'a>(&mut self, mut rest: &'a [u8]) -> &'a [u8] {
        loop {
            let Some((line, after)) = line(rest) else { return &[] };
            let size = std::str::from_utf8(line).ok();
            let Some(size) = size.and_then(|text| usize::from_str_radix(text, 16).ok()) else {
                self.body.extend_from_slice(rest);
                return &[];
            };
            if size == 0 {
                return self.take_trailers(after);
            }
            let take = size.min(after.len());
            self.body.extend_from_slice(&after[..take]);
            match after.get(take..).and_then(|tail| tail.strip_prefix(b"\r\n")) {
                Some(tail) => rest = tail,
                None => return &[],
            }
        }
    }

    fn take_trailers<'a>(&mut self, mut rest: &'a [u8]) -> &'a [u8] {
        while let Some((line, after)) = line(rest) {
            rest = after;
            if line.is_empty() {
                self.whole = true;
                return rest;
            }
            self.trailers.extend_from_slice(line);
            self.trailers.extend_from_slice(b"\r\n");
        }
        &[]
    }
}

/// The first line without its end, and what follows.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.windows(2).position(|two| two == b"\r\n")?;
    Some((&bytes[..end], &bytes[end + 2..]))
}

#[cfg(test)]
mod tests {
    //! Framing of every kind.
    use super::*;

    fn bodies(
        kind: MessageKind,
        bytes: &str,
        methods: &[&str],
        ended: bool,
    ) -> Vec<(String, bool)> {
        let methods: Vec<String> = methods.iter().map(|&method| method.to_owned()).collect();
        let messages = read(kind, bytes.as_bytes(), &methods, ended);
        messages.iter().map(|it| (String::from_utf8_lossy(&it.body).into(), it.whole)).collect()
    }

    #[test]
    fn bodies_of_different_framing_are_distinguished() {
        let answers = "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nx: y\r\n\r\n\
            HTTP/1.0 200 OK\r\n\r\nrest";
        let got = bodies(MessageKind::Answers, answers, &["HEAD", "GET", "GET"], true);
        let want = [("", true), ("", true), ("abc", true), ("rest", true)];
        assert_eq!(got, want.map(|(body, whole)| (body.to_owned(), whole)));
        let requests = "GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nab";
        let got = bodies(MessageKind::Requests, requests, &[], false);
        assert_eq!(got, [(String::new(), true), ("ab".to_owned(), false)]);
    }

    #[test]
    fn the_end_of_a_request_is_found() {
        let request =
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nGET";
        assert_eq!(request_end(request, false), Some(request.len() - 3));
        assert_eq!(request_end(request, true), Some(47));
        assert_eq!(request_end(&request[..52], false), None);
    }
}
