//! The body of a request as far as it has been received, for rules that look at it. Never takes a byte of it away:
//! what was looked at goes to the server afterwards.

use crate::journal::{Cause, Failure, Phase};
use crate::receive;
use crate::transaction::Transaction;
use mux::{BodyKind, h1};

/// Waits until the body is complete, or `at_least` so many bytes of it are there (0: all), or the
/// buffer is full. `span` is in milliseconds.
///
/// # Errors
/// 408 when it takes longer, 400 when the client leaves.
pub(crate) async fn wait(
    tx: &mut Transaction,
    span: Option<u32>,
    at_least: u64,
) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    let deadline = span.map(|span| thread.tick().plus_ms(span));
    encourage(tx);
    loop {
        let mut body = tx.notes.body.take().unwrap_or_default();
        body.clear();
        let complete = peek(tx.request_body, tx.client.input.data(), &mut body);
        let enough = at_least > 0 && body.len() as u64 >= at_least;
        tx.notes.body = Some(body);
        tx.notes.used = true;
        let settings = &tx.worker.shared.settings;
        let room = settings.buffer_size.saturating_sub(settings.max_rewrite + tx.notes.arrived[0]);
        if complete || enough || tx.client.input.len() >= room {
            return Ok(());
        }
        match receive::fill(tx) {
            Ok(true) => {}
            Ok(false) => {
                if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                    return Err(Failure::new(408, Cause::ClientTimeout, Phase::Data));
                }
                tx.client.socket.want_read();
                thread.scheduler().pause(deadline).await;
            }
            Err(_) => return Err(Failure::new(400, Cause::ClientAbort, Phase::Data)),
        }
    }
}

/// A client that waits to be told to send its body is told so.
fn encourage(tx: &mut Transaction) {
    if !h1::expects_continue(&tx.space.request) || !tx.client.input.is_empty() {
        return;
    }
    tx.space.request.remove(b"expect");
    let down = &mut tx.space.down;
    down.outbox.bytes.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    // What cannot be written now goes before the answer.
    let _ = down.flush(&mut buf::Buf::empty(), &tx.client.socket);
}

/// Appends the payload that stands at the front of `input`; whether that is all of it.
fn peek(kind: BodyKind, input: &[u8], body: &mut Vec<u8>) -> bool {
    match kind {
        BodyKind::None => true,
        BodyKind::Length(length) => {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            body.extend_from_slice(&input[..input.len().min(length)]);
            input.len() >= length
        }
        BodyKind::Chunked => chunks(input, body),
        BodyKind::UntilClose | BodyKind::Tunnel => {
            body.extend_from_slice(input);
            false
        }
    }
}

/// The payload of chunks (RFC 9112 section 7.1). Malformed ones end it: whoever forwards them says
/// what is wrong.
fn chunks(mut input: &[u8], body: &mut Vec<u8>) -> bool {
    loop {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return false };
        let digits = input[..end].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let size = std::str::from_utf8(&input[..digits]).ok();
        let size = size.and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(size) = size else { return true };
        if size == 0 {
            return true;
        }
        let rest = &input[end + 1..];
        body.extend_from_slice(&rest[..rest.len().min(size)]);
        let Some(next) = rest.get(size..) else { return false };
        let Some(behind) = next.iter().position(|byte| *byte == b'\n') else { return false };
        input = &next[behind + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_seen_whatever_its_framing() {
        for (kind, input, expected, complete) in [
            (BodyKind::None, "GET", "", true),
            (BodyKind::Length(3), "ab", "ab", false),
            (BodyKind::Length(3), "abcGET", "abc", true),
            (BodyKind::Chunked, "2\r\nab\r\n3;x\r\ncde\r\n0\r\n\r\n", "abcde", true),
            (BodyKind::Chunked, "2\r\nab\r\n3\r\nc", "abc", false),
            (BodyKind::Chunked, "2\r", "", false),
            (BodyKind::Chunked, "zz\r\n", "", true),
            (BodyKind::Chunked, "ffffffffffffffff\r\na", "a", false),
        ] {
            let mut body = Vec::new();
            assert_eq!(peek(kind, input.as_bytes(), &mut body), complete, "{input}");
            assert_eq!(body, expected.as_bytes(), "{input}");
        }
    }
}
