//! The received part of a message's body, for rules that look at it.

use crate::message::read_request;
use engine::state::runtime::Proxy;
use engine::state::session::request_buffers::Seen;
use engine::state::session::request_buffers::chunks;
use engine::state::session::transaction::Transaction;
use mux::{BodyKind, h1};
use sample::Side;
use std::io;
use stdx::Tick;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// As [`wait`], for the whole body, within `timeout http-request` of a proxy or, without one, the
/// timeout of silent clients.
pub(crate) async fn wait_for_all(tx: &mut Transaction, proxy: &Proxy) -> Result<(), Failure> {
    match proxy.settings.timeouts.http_request {
        Some(span) => wait(tx, Some(span), 0).await,
        None => {
            let span = tx.client.proxy.settings.timeouts.client;
            let in_data = |failure: Failure| match failure.ending {
                // As in HAProxy's log: the head arrived in time.
                Ending::Error(408) => Failure { phase: Phase::Data, ..failure },
                _ => failure,
            };
            wait(tx, span, 0).await.map_err(in_data)
        }
    }
}

/// Waits until the request's body is complete, or at least `at_least` bytes of it have arrived (0:
/// all), or the buffer is full. `span` is in milliseconds. If the client leaves meanwhile, the
/// received part counts as the whole body. The request's time includes this wait.
///
/// # Errors
/// 408 when it takes longer, 400 when the body is malformed. Then the request has never become
/// complete.
pub(crate) async fn wait(
    tx: &mut Transaction,
    span: Option<u32>,
    at_least: u64,
) -> Result<(), Failure> {
    let result = gather(tx, span, at_least).await;
    tx.notes.journal.request = if result.is_ok() { tx.worker.thread.nanos() } else { 0 };
    if result.is_err() || tx.client_aborted {
        tx.client.counted().for_each(|block| block.count(Metric::FailedRequests));
    }
    result
}

async fn gather(tx: &mut Transaction, span: Option<u32>, at_least: u64) -> Result<(), Failure> {
    let deadline = span.map(|span| tx.worker.thread.tick().plus_ms(span));
    send_continue(tx);
    let (mut seen, mut ahead) = (Seen::default(), h1::CheckedBody::default());
    while !look(tx, Side::Request, tx.request_body, (at_least, &mut seen)) {
        match read_request::fill(tx) {
            Ok(true) => {
                let malformed = tx.client.mux.check_more(tx.client.input.data(), &mut ahead);
                malformed.map_err(|_| Failure::error(400, Cause::Proxy, Phase::Request))?;
            }
            Ok(false) => {
                if is_over(tx, deadline) {
                    return Err(Failure::error(408, Cause::ClientTimeout, Phase::Request));
                }
                tx.client.socket.want_read();
                tx.worker.thread.clone().scheduler().wait(deadline).await;
            }
            Err(_) => {
                tx.client_aborted = true;
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether the body that [`wait`] has read is complete.
pub(crate) fn is_whole(tx: &Transaction) -> bool {
    match tx.client.mux.is_h1() {
        true => {
            let (mut body, mut seen) = (Vec::new(), Seen::default());
            peek(tx.request_body, tx.client.input.data(), &mut body, &mut seen)
        }
        false => tx.client.mux.has_received_all(),
    }
}

/// As [`wait`], for the response of a server, whose body is delimited in the way given.
///
/// # Errors
/// 504 when it takes longer.
pub(crate) async fn wait_for_response(
    tx: &mut Transaction,
    body: BodyKind,
    span: u32,
    at_least: u64,
) -> Result<(), Failure> {
    let deadline = Some(tx.worker.thread.tick().plus_ms(span));
    let mut seen = Seen::default();
    while !look(tx, Side::Response, body, (at_least, &mut seen)) {
        let Some(server) = &mut tx.server else { return Ok(()) };
        if server.lacks_buffer() {
            // The head was read into a buffer that was waited for; few connections have returned it
            // since, so take one beyond the limit.
            server.give_input(tx.worker.buffers.take_anyway());
        }
        match server.read(&tx.worker) {
            Ok(1..) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if is_over(tx, deadline) {
                    return Err(Failure::error(504, Cause::ServerTimeout, Phase::Headers));
                }
                if let Some(server) = &tx.server {
                    server.socket().want_read();
                }
                tx.worker.thread.clone().scheduler().wait(deadline).await;
            }
            // The code that forwards the body meets the same end or error.
            _ => return Ok(()),
        }
    }
    Ok(())
}

fn is_over(tx: &Transaction, deadline: Option<Tick>) -> bool {
    deadline.is_some_and(|deadline| deadline.is_due(tx.worker.thread.tick()))
}

/// Copies the received part of the body into the notes; returns whether it is complete or long
/// enough.
fn look(
    tx: &mut Transaction,
    side: Side,
    kind: BodyKind,
    (at_least, seen): (u64, &mut Seen),
) -> bool {
    let (settings, head) = (&tx.worker.shared.settings, tx.notes.arrived[side as usize]);
    let input = match side {
        Side::Request => tx.client.input.data(),
        Side::Response => tx.server.as_ref().map_or(&[][..], |server| server.received()),
    };
    let body = tx.notes.bodies[side as usize].get_or_insert_default();
    body.truncate(seen.payload);
    tx.notes.used = true;
    let machine = match side {
        Side::Request => Some(&tx.client.mux),
        Side::Response => tx.server.as_ref().map(|server| &server.mux),
    };
    let complete = match machine {
        // Bytes behind such a head are no body: nothing more is needed.
        _ if matches!(kind, BodyKind::None | BodyKind::Tunnel) => true,
        Some(machine) if !machine.is_h1() => {
            take_more(input, body, seen);
            machine.has_received_all()
        }
        _ => peek(kind, input, body, seen),
    };
    let enough = at_least > 0 && body.len() as u64 >= at_least;
    complete || enough || input.len() + settings.max_rewrite + head >= settings.buffer_size
}

/// Notes that the body of a message is still unconsumed behind its head. `framed`: it is in the
/// framing of HTTP/1.
pub(crate) fn begin(tx: &mut Transaction, side: Side, kind: BodyKind, framed: bool) {
    let bare = framed || matches!(kind, BodyKind::None | BodyKind::Tunnel);
    let kind = if bare { kind } else { BodyKind::UntilClose };
    tx.notes.ahead[side as usize] = Some(kind);
    if kind == BodyKind::Chunked {
        tx.notes.used = true;
    }
}

/// Whether more bytes of a body have to arrive behind those at the front of `input`, judged by its
/// last bytes for chunked bodies.
pub(crate) fn awaits(kind: BodyKind, input: &[u8]) -> bool {
    match kind {
        BodyKind::None | BodyKind::UntilClose | BodyKind::Tunnel => false,
        BodyKind::Length(length) => (input.len() as u64) < length,
        BodyKind::Chunked => !input.ends_with(b"0\r\n\r\n"),
    }
}

/// The body is forwarded from now on: the rest of the input is no longer its beginning.
pub(crate) fn pass_on(tx: &mut Transaction, side: Side) {
    tx.notes.ahead[side as usize] = None;
}

/// Sends `100 Continue` to a client that waits for it.
pub(crate) fn send_continue(tx: &mut Transaction) {
    if tx.request_body.is_empty() || !h1::expects_continue(&tx.space.request) {
        return;
    }
    h1::remove_met_expectation(&mut tx.space.request);
    let down = &mut tx.space.down;
    tx.client.mux.send_continue(&mut down.outbox.bytes);
    // Bytes that cannot be written now are sent in front of the answer.
    let _ = down.flush(&mut buf::Buf::empty(), &tx.client.socket);
}

/// Appends bytes that arrived since the last call to a body without framing.
fn take_more(input: &[u8], body: &mut Vec<u8>, seen: &mut Seen) {
    body.extend_from_slice(input.get(seen.payload..).unwrap_or_default());
    seen.payload = body.len();
}

/// Decodes the payload at the front of `input`; returns whether it is complete.
fn peek(kind: BodyKind, input: &[u8], body: &mut Vec<u8>, seen: &mut Seen) -> bool {
    match kind {
        BodyKind::None => true,
        BodyKind::Length(length) => {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            take_more(&input[..input.len().min(length)], body, seen);
            input.len() >= length
        }
        BodyKind::Chunked => chunks(input, body, seen).complete,
        BodyKind::UntilClose | BodyKind::Tunnel => {
            take_more(input, body, seen);
            false
        }
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
            (BodyKind::Chunked, "2\r\nab\r\n0\r\n", "ab", false),
            (BodyKind::Chunked, "2\r\nab\r\n0\r\na: b\r\n", "ab", false),
            (BodyKind::Chunked, "2\r\nab\r\n0\r\na: b\r\n\r\nGET", "ab", true),
            (BodyKind::Chunked, "2\r", "", false),
            (BodyKind::Chunked, "zz\r\n", "", true),
            (BodyKind::Chunked, "ffffffffffffffff\r\na", "a", false),
        ] {
            let (mut body, mut seen) = (Vec::new(), Seen::default());
            let whole = peek(kind, input.as_bytes(), &mut body, &mut seen);
            assert_eq!((whole, &*body), (complete, expected.as_bytes()), "{input}");
            // The same body, byte by byte.
            let (mut body, mut seen) = (Vec::new(), Seen::default());
            let mut look = |end: usize| {
                body.truncate(seen.payload);
                peek(kind, &input.as_bytes()[..end], &mut body, &mut seen)
            };
            let whole = (0..=input.len()).any(&mut look);
            assert_eq!((whole, &*body), (complete, expected.as_bytes()), "{input}");
        }
    }

    #[test]
    fn chunks_that_were_seen_are_not_read_again() {
        let (mut body, mut seen) = (Vec::new(), Seen::default());
        let input = b"1\r\na\r\n".repeat(1_000);
        for end in 0..input.len() {
            body.truncate(seen.payload);
            chunks(&input[..end], &mut body, &mut seen);
            assert!(end - seen.at <= 6, "only what is left is read");
        }
    }

    #[test]
    fn chunks_show_missing_bytes_and_the_start_of_trailers() {
        for (input, complete, missing, trailers) in [
            ("2\r\nab\r\n5\r\nc", false, 4, ""),
            ("2\r\nab", false, 0, ""),
            ("ff\r\na", false, 254, ""),
            ("2\r\nab\r\n0\r\na: b\r\n\r\n", true, 0, "a: b\r\n\r\n"),
            ("0\r\n\r\n", true, 0, "\r\n"),
            ("2\r\nab\r\nzz\r\n", true, 0, ""),
        ] {
            let seen = chunks(input.as_bytes(), &mut Vec::new(), &mut Seen::default());
            assert_eq!((seen.complete, seen.missing), (complete, missing), "{input}");
            if complete {
                assert_eq!(&input[seen.trailers..], trailers);
            }
        }
    }

    #[test]
    fn a_body_is_awaited_until_its_end_has_arrived() {
        for (kind, input, awaits_more) in [
            (BodyKind::None, "", false),
            (BodyKind::Length(3), "ab", true),
            (BodyKind::Length(3), "abc", false),
            (BodyKind::Chunked, "", true),
            (BodyKind::Chunked, "2\r\nab\r\n", true),
            (BodyKind::Chunked, "2\r\nab\r\n0\r\n\r\n", false),
            (BodyKind::UntilClose, "ab", false),
        ] {
            assert_eq!(awaits(kind, input.as_bytes()), awaits_more, "{input}");
        }
    }
}
