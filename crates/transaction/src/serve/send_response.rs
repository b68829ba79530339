//! Sending of an answer that the proxy gives by itself.

mod stored_body;

use crate::filters;
use crate::local_response::body_kind;
use crate::message::header_case;
use crate::stages::stage;
use crate::stages::table::{END, HTTP_AFTER_RESPONSE};
use engine::state::services::piece_stream::PieceStream;
use engine::state::session::transaction::{LocalBody, Pause, Progress, Transaction};
use mux::BodyKind;
use observability::telemetry::h2_byte_count;
use observability::telemetry::trace::points as trace;
use reactor::Pacer;
use stdx::Tick;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// Sends the response in the workspace, with its body.
///
/// # Errors
/// The client left or timed out.
pub(crate) async fn send(tx: &mut Transaction) -> Result<(), Failure> {
    if !tx.space.response.is_empty() {
        let before = tx.space.response.status();
        let mut at = begin(tx);
        if let Some(need) = stage::response(tx, &mut at, END)? {
            let pause = Pause { at, need };
            at = Box::pin(stage::resume(tx, pause, END)).await?;
        }
        encode(tx, before, at.body)?;
    }
    match tx.local_body.take() {
        None => {}
        Some(LocalBody::Pieces(pieces)) => Box::pin(send_pieces(tx, pieces)).await?,
        Some(LocalBody::Stored(hit)) if stored_body::put_short(tx, &hit)? => {}
        Some(LocalBody::Stored(hit)) => Box::pin(stored_body::send(tx, hit)).await?,
    }
    flush(tx).await?;
    trace::at(tx, &trace::RESPONSE_ALL_OUT);
    Ok(())
}

/// Makes and sends the body behind the head that is encoded; traffic passes between two batches.
async fn send_pieces(tx: &mut Transaction, mut pieces: Box<PieceStream>) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    let (mut more, mut pace) = (true, Pacer::default());
    while more {
        more = pieces.advance(&tx.worker).map_err(|_| filters::failed())?;
        encode_payload(tx, pieces.bytes(), !more)?;
        if more {
            flush(tx).await?;
            pace.yield_turn(&thread).await;
            tx.go_on(Ending::Close, Phase::Data)?;
        }
    }
    tx.client.mux.encode_end(None, &mut tx.space.down.outbox.bytes);
    Ok(())
}

/// Sends the encoded bytes.
pub(crate) async fn flush(tx: &mut Transaction) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    let span = tx.client.proxy.settings.timeouts.client;
    let deadline = span.map(|span| thread.tick().plus_ms(span));
    loop {
        let flushed = tx.space.down.flush(&mut buf::Buf::empty(), &tx.client.socket);
        match flushed {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(_) => return Err(Failure::close(Cause::ClientAbort, Phase::Data)),
        }
        await_room(tx, deadline).await?;
    }
}

/// Waits until the client takes more.
///
/// # Errors
/// The client takes too long.
pub(crate) async fn await_room(tx: &Transaction, deadline: Option<Tick>) -> Result<(), Failure> {
    let thread = &tx.worker.thread;
    if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
        return Err(Failure::close(Cause::ClientTimeout, Phase::Data));
    }
    tx.client.socket.want_write();
    thread.scheduler().wait(deadline).await;
    Ok(())
}

/// Decides how the response goes out, up to the rules that every response passes.
fn begin(tx: &mut Transaction) -> Progress {
    // An unread body precedes the next request, so the connection closes unless the whole body came
    // with the head.
    let whole = tx.client.mux.has_received_all() || swallow_body(tx);
    if !whole || tx.client.must_end() {
        tx.client.mux.close_after_message();
    }
    h2_byte_count::reply(tx);
    let mut length = body_kind(tx);
    // As in HAProxy, responses of rules and errors pass no filter.
    if tx.notes.journal.applet.is_some() {
        length = filters::local_response(tx, length);
    }
    Progress::at(HTTP_AFTER_RESPONSE, length)
}

/// Encodes the head, which had the status `before` rules changed it, and the body as far as it is
/// in the workspace.
fn encode(tx: &mut Transaction, before: u16, length: BodyKind) -> Result<(), Failure> {
    // An interim response may be on its way; this one follows it.
    let space = &mut *tx.space;
    let out = &mut space.down.outbox.bytes;
    let (proxy, mux) = (&tx.client.proxy, &mut tx.client.mux);
    let sent_as = header_case::response(&tx.worker, proxy, mux, (&mut space.response, length), out);
    let (journal, after) = (&mut tx.notes.journal, space.response.status());
    if journal.status == 0 || after != before {
        journal.status = after;
    }
    if sent_as == BodyKind::None {
        tx.local_body = None;
    } else if tx.local_body.is_some() {
        // The rest of the body follows, with its end.
        return Ok(());
    } else {
        let body = std::mem::take(&mut tx.space.body);
        let encoded = encode_payload(tx, &body, true);
        tx.space.body = body;
        encoded?;
    }
    tx.client.mux.encode_end(None, &mut tx.space.down.outbox.bytes);
    trace::at(tx, &trace::RESPONSE_OUT);
    Ok(())
}

/// Encodes a piece of the body, by way of filters if there are any.
///
/// # Errors
/// A filter fails.
pub(crate) fn encode_payload(
    tx: &mut Transaction,
    bytes: &[u8],
    last: bool,
) -> Result<(), Failure> {
    let (mux, down) = (&mut tx.client.mux, &mut tx.space.down);
    let Some(filters) = &mut down.filters else {
        if !bytes.is_empty() {
            mux.encode_payload(bytes, &mut down.outbox.bytes);
        }
        return Ok(());
    };
    let mut rest = bytes;
    loop {
        let passed = filters.pass(rest, last, &htx::Fields::default());
        let piece = if filters.replaces() { filters.output() } else { &rest[..passed.input] };
        if !piece.is_empty() {
            mux.encode_payload(piece, &mut down.outbox.bytes);
        }
        filters.drop_output();
        rest = &rest[passed.input..];
        if passed.failed || passed.until.is_some() {
            return Err(filters::failed());
        }
        if passed.ended || (rest.is_empty() && !last) {
            return Ok(());
        }
    }
}

/// Drops the part of the request's body that has been received; returns whether that was all of it.
fn swallow_body(tx: &mut Transaction) -> bool {
    loop {
        let input = &mut tx.client.input;
        match tx.client.mux.handle_body(input.data(), &mut tx.space.up.trailers) {
            Ok(step) => {
                input.consume(step.skip + step.data);
                if step.done {
                    return true;
                }
                if step.skip + step.data == 0 {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
}
