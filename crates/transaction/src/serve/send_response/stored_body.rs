//! The body of an answer from a cache, sent out of the cache's blocks.

use crate::serve::send_response;
use cache::Hit;
use engine::state::session::transaction::Transaction;
use htx::Fields;
use reactor::Pacer;
use std::io::{ErrorKind, IoSlice};
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// Pieces that one call of the system sends: as a rule an object is one, and a fragmented one has
/// pieces of a block.
const PIECES: usize = 64;

/// Blocks that are encoded before they are sent.
const BLOCKS: usize = 32;

/// Longest answer that is copied behind its head: copying costs less than a vectored write, and the
/// answer is sent together with others.
const SHORT: usize = 4096;

/// System calls after which other tasks run.
const SENDS: u32 = 16;

/// Puts a short body behind the head that is encoded. `false`: the body is to be sent from its
/// blocks, or to be encoded otherwise.
///
/// # Errors
/// The body does not fit the framing of the head.
pub(crate) fn put_short(tx: &mut Transaction, hit: &Hit) -> Result<bool, Failure> {
    let length = tx.space.down.outbox.unsent().len() + hit.left();
    if length > SHORT || !is_bare(tx, hit) || hit.has_trailers() {
        return Ok(false);
    }
    announce(tx, hit)?;
    let out = &mut tx.space.down.outbox.bytes;
    hit.pieces().for_each(|piece| out.extend_from_slice(piece));
    tx.client.mux.encode_end(None, out);
    Ok(true)
}

/// Whether the body is sent directly from the blocks of the cache.
fn is_bare(tx: &Transaction, hit: &Hit) -> bool {
    tx.space.down.filters.is_none() && tx.client.mux.is_h1() && !hit.is_chunked()
}

/// Tells the codec the length of the body.
fn announce(tx: &mut Transaction, hit: &Hit) -> Result<(), Failure> {
    let announced = tx.client.mux.encode_data(hit.left() as u64);
    match announced {
        Ok(_) => Ok(()),
        Err(_) => Err(Failure::close(Cause::Internal, Phase::Data)),
    }
}

/// Sends the body behind the head that is encoded.
///
/// # Errors
/// The client left or timed out.
pub(crate) async fn send(tx: &mut Transaction, mut hit: Box<Hit>) -> Result<(), Failure> {
    match is_bare(tx, &hit) {
        true => send_blocks(tx, &mut hit).await?,
        false => encode_blocks(tx, &mut hit).await?,
    }
    let mut trailers = Fields::default();
    if hit.has_trailers() {
        let mut scratch = tx.worker.take_scratch();
        hit.write_trailers(&mut trailers, &mut scratch);
        tx.worker.give_scratch(scratch);
    }
    tx.client.mux.encode_end(Some(&trailers), &mut tx.space.down.outbox.bytes);
    Ok(())
}

/// Sends blocks from where they lie, with the head in front of them.
async fn send_blocks(tx: &mut Transaction, hit: &mut Hit) -> Result<(), Failure> {
    announce(tx, hit)?;
    let thread = tx.worker.thread.clone();
    let span = tx.client.proxy.settings.timeouts.client;
    let mut deadline = span.map(|span| thread.tick().plus_ms(span));
    let (mut pace, mut sends) = (Pacer::default(), 0);
    while hit.left() > 0 {
        match send_some(tx, hit) {
            Ok(()) => {
                deadline = span.map(|span| thread.tick().plus_ms(span));
                sends += 1;
                if sends % SENDS == 0 {
                    pace.yield_turn(&thread).await;
                    tx.go_on(Ending::Close, Phase::Data)?;
                }
            }
            Err(ErrorKind::Interrupted) => {}
            Err(ErrorKind::WouldBlock) => {
                send_response::await_room(tx, deadline).await?;
                tx.go_on(Ending::Close, Phase::Data)?;
            }
            Err(_) => return Err(Failure::close(Cause::ClientAbort, Phase::Data)),
        }
    }
    Ok(())
}

fn send_some(tx: &mut Transaction, hit: &mut Hit) -> Result<(), ErrorKind> {
    let sent = {
        let mut parts = [IoSlice::new(&[]); PIECES];
        let head = tx.space.down.outbox.unsent();
        let behind = usize::from(!head.is_empty());
        parts[0] = IoSlice::new(head);
        let count = hit.lend(&mut parts[behind..]);
        tx.client.socket.send(&parts[..behind + count], false).map_err(|error| error.kind())?
    };
    hit.consume(tx.space.down.note_written(sent));
    Ok(())
}

/// Encodes blocks as payload: for other framing than `content-length`, and for filters.
async fn encode_blocks(tx: &mut Transaction, hit: &mut Hit) -> Result<(), Failure> {
    let (thread, mut pace) = (tx.worker.thread.clone(), Pacer::default());
    loop {
        let mut length = 0;
        for piece in hit.pieces().take(BLOCKS) {
            length += piece.len();
            send_response::encode_payload(tx, piece, length == hit.left())?;
        }
        if length == 0 {
            return send_response::encode_payload(tx, &[], true);
        }
        hit.consume(length);
        send_response::flush(tx).await?;
        if hit.left() == 0 {
            return Ok(());
        }
        pace.yield_turn(&thread).await;
        tx.go_on(Ending::Close, Phase::Data)?;
    }
}
