//! Receiving the head of a request.

use crate::message::body_buffer;
use buf::Buf;
use engine::state::session::transaction::{Arrival, Transaction};
use mux::h1::HeadStep;
use observability::telemetry::h2_byte_count;
use observability::telemetry::last_invalid;
use observability::telemetry::trace::points as trace;
use sample::Side;
use std::io;
use stdx::Tick;
use table::DataType;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// Parses a head that has arrived in one piece, as nearly all do. `false`: more has to be read.
///
/// # Errors
/// As [`head`].
pub(crate) fn at_once(tx: &mut Transaction, arrival: Arrival) -> Result<bool, Failure> {
    if arrival == Arrival::Data { parse(tx) } else { Ok(false) }
}

/// Reads until the head is complete; the received bytes have been parsed already.
///
/// # Errors
/// 400 for a malformed or truncated request, 408 for one that times out; both close.
pub(crate) async fn head(tx: &mut Transaction, arrival: Arrival) -> Result<(), Failure> {
    match arrival {
        Arrival::Closed => return Err(bad(tx, 400, Cause::ClientAbort)),
        Arrival::TimedOut => return Err(bad(tx, 408, Cause::ClientTimeout)),
        Arrival::Data => {}
    }
    let deadline = deadline(tx);
    loop {
        match fill(tx) {
            Ok(true) if parse(tx)? => return Ok(()),
            Ok(true) => {}
            Ok(false) => {
                let thread = tx.worker.thread.clone();
                if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                    return Err(bad(tx, 408, Cause::ClientTimeout));
                }
                tx.client.socket.want_read();
                thread.scheduler().wait(deadline).await;
            }
            Err(_) => return Err(bad(tx, 400, Cause::ClientAbort)),
        }
    }
}

fn deadline(tx: &Transaction) -> Option<Tick> {
    let timeouts = &tx.client.proxy.settings.timeouts;
    let span = timeouts.http_request.or(timeouts.client)?;
    let first = tx.client.requests == 0;
    let from = if first { tx.client.since } else { tx.notes.journal.first_byte };
    Some(Tick::from_nanos(from).plus_ms(span))
}

/// Parses the received bytes; returns whether the head is complete.
fn parse(tx: &mut Transaction) -> Result<bool, Failure> {
    let step = tx.client.mux.handle_head(tx.client.input.data(), &mut tx.space.request);
    match step {
        Ok(HeadStep::Complete { consumed, body }) => {
            tx.client.input.consume(consumed);
            tx.request_body = body;
            // The head of a stream is not in the input buffer.
            let streams = tx.client.socket.is_stream();
            let size = if streams { h2_byte_count::request(&tx.space.request) } else { consumed };
            tx.notes.arrived[0] = if streams { tx.space.request.wire_len() } else { consumed };
            body_buffer::begin(tx, Side::Request, body, consumed > 0);
            if body_buffer::awaits(body, tx.client.input.data()) {
                // A client may hold the body back until the head is acknowledged (RFC 896);
                // connections that answer soon acknowledge it with their answer
                // (`tcp-smart-accept`).
                tx.client.socket.acknowledge();
            }
            // A request with a broken body is not sent to any server.
            if let Err(error) = tx.client.mux.check_body(tx.client.input.data()) {
                last_invalid::request(tx, error);
                return Err(bad(tx, error.status, Cause::Proxy));
            }
            tx.notes.journal.request = tx.worker.thread.nanos();
            tx.notes.journal.bytes_in += size as u64;
            trace::at(tx, &trace::REQUEST_IN);
            if tx.space.request.method() == b"PRI" {
                // The method of the HTTP/2 preface is no request (RFC 9113 section 11.7).
                return Err(bad(tx, 400, Cause::Proxy));
            }
            Ok(true)
        }
        Ok(HeadStep::NeedMore | HeadStep::Interim { .. }) => Ok(false),
        Err(error) => {
            last_invalid::request(tx, error);
            Err(bad(tx, error.status, Cause::Proxy))
        }
    }
}

/// Reads more; `false` if no bytes are available.
pub(crate) fn fill(tx: &mut Transaction) -> io::Result<bool> {
    let input = &mut tx.client.input;
    if input.capacity() == 0 {
        // The head of a request is read into a buffer that was waited for; few clients have
        // returned it since, so take one beyond the limit.
        *input = tx.worker.buffers.take_anyway();
    }
    if input.room() == 0 {
        input.compact();
    }
    match tx.client.socket.recv(input.space()) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(count) => {
            input.filled(count);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(error),
    }
}

fn bad(tx: &mut Transaction, status: u16, cause: Cause) -> Failure {
    tx.notes.journal.bad_request = true;
    trace::at(tx, &trace::REQUEST_BAD);
    tx.client.count(DataType::REQUEST);
    tx.client.count(DataType::ERROR);
    tx.notes.journal.bytes_in += tx.client.input.len() as u64;
    tx.worker.release(std::mem::replace(&mut tx.client.input, Buf::empty()));
    tx.client.mux.close_after_message();
    Failure::error(status, cause, Phase::Request)
}
