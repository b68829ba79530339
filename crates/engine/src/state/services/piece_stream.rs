//! The body of an answer that is made in pieces, batch by batch, compressed where that is asked for.

use super::{Pieces, batch};
use crate::state::worker::Worker;
use compression::{Algorithm, EncodeError, Encoder, Flush, Tuning};

/// Level of compressed bodies: text of one kind becomes a sixth of its size.
const TUNING: Tuning = Tuning { level: 4, window_bits: 15, memory_level: 8 };

/// A body under way.
pub struct PieceStream {
    pieces: Pieces,
    encoder: Option<Encoder>,
    text: String,
    encoded: Vec<u8>,
}

impl PieceStream {
    /// The body as it is.
    pub fn plain(pieces: Pieces) -> Box<Self> {
        Box::new(Self { pieces, encoder: None, text: String::new(), encoded: Vec::new() })
    }

    /// The body in the coding `gzip`.
    pub fn compressed(pieces: Pieces) -> Box<Self> {
        let encoder = Encoder::new(Algorithm::Gzip, &TUNING).ok();
        Box::new(Self { encoder, ..*Self::plain(pieces) })
    }

    /// Makes the next batch; `false`: it was the last one.
    ///
    /// # Errors
    /// The encoder fails: the body cannot be completed.
    pub fn advance(&mut self, worker: &Worker) -> Result<bool, EncodeError> {
        let Self { pieces, encoder, text, encoded } = self;
        text.clear();
        let more = batch(text, &mut |text| pieces(worker, text));
        if let Some(encoder) = encoder {
            encoded.clear();
            let flush = if more { Flush::None } else { Flush::Finish };
            let mut scratch = worker.encoder_scratch.borrow_mut();
            encoder.append(text.as_bytes(), encoded, flush, scratch.get_or_insert_default())?;
        }
        Ok(more)
    }

    /// The bytes of the last batch.
    pub fn bytes(&self) -> &[u8] {
        match self.encoder {
            Some(_) => &self.encoded,
            None => self.text.as_bytes(),
        }
    }
}
