//! Byte counts of the messages of a client's HTTP/2 stream.
//!
//! An HTTP/2 head has no text of its own, and its size on the wire depends on earlier heads. So it
//! counts as in HAProxy, a formula found by experiment: the words of its start line, its names and
//! its values, and a constant per message; a response counts as the server sent it. Payload counts
//! as it is.

use engine::state::session::transaction::Transaction;
use htx::{Fields, Head};
use mux::BodyKind;

/// Bytes of a head beside its words.
const BESIDE: usize = 21;
/// `HTTP/2.0` or `HTTP/1.1`.
const VERSION: usize = 8;
/// A status.
const STATUS: usize = 3;
/// The end of a chunked body, or of trailers.
const END: usize = 1;

/// Bytes of the head of a request.
pub fn request(head: &Head) -> usize {
    BESIDE + head.method().len() + head.uri().len() + VERSION + words(head.as_fields())
}

/// Counts the head of a server's response or interim response, which rules have not changed yet.
pub fn response(tx: &mut Transaction) {
    // An HTTP/2 server sends no reason; the one in the head is made up.
    let reasons = tx.server.as_ref().is_some_and(|server| server.mux.is_h1());
    count(tx, reasons);
}

/// Counts the head of a response that the proxy makes itself, before rules change it, unless the
/// client has reset the stream.
pub fn reply(tx: &mut Transaction) {
    if !tx.client.socket.is_cancelled() {
        count(tx, true);
    }
}

fn count(tx: &mut Transaction, reasons: bool) {
    if tx.client.socket.is_stream() {
        let head = &tx.space.response;
        let reason = if reasons { head.reason().len() } else { 0 };
        let size = BESIDE + VERSION + STATUS + reason + words(head.as_fields());
        tx.notes.journal.bytes_out += size as u64;
    }
}

/// Counts the bytes behind the body of a complete request.
pub fn request_end(tx: &mut Transaction) {
    if tx.client.socket.is_stream() {
        tx.notes.journal.bytes_in += trailers(&tx.space.up.trailers) as u64;
    }
}

/// Counts the bytes behind the body of a complete response; `body` is the server's framing.
pub fn response_end(tx: &mut Transaction, body: BodyKind) {
    if tx.client.socket.is_stream() {
        let framed = tx.server.as_ref().is_some_and(|server| server.mux.is_h1());
        let section = &tx.space.down.trailers;
        let bare = framed && body == BodyKind::Chunked && section.is_empty();
        tx.notes.journal.bytes_out += if bare { END } else { trailers(section) } as u64;
    }
}

fn trailers(section: &Fields) -> usize {
    if section.is_empty() { 0 } else { END + words(section) }
}

fn words(fields: &Fields) -> usize {
    fields.iter().map(|field| field.name.len() + field.value.len()).sum()
}
