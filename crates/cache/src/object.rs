//! An object in the blocks: a record of fixed size, the key, the head, the content, the trailers.
//!
//! Everything of an object but its place in the index is in its blocks, so that the memory of a
//! cache is its blocks and an index of fixed size per block.

use crate::response::Lifetime;
use crate::vary::{Encodings, Variant};
use stdx::SharedBlocks;

/// Words of 64 bits in a record.
const WORDS: usize = 15;
/// Bytes of a record at the front of the first block.
pub(crate) const RECORD: usize = WORDS * 8;

const HAS_ENCODINGS: u64 = 1;
const HAS_REFERER: u64 = 1 << 1;
const IS_CHUNKED: u64 = 1 << 2;

/// Lengths, times and secondary key of an object. Times are milliseconds of the caller's monotonic
/// clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectRecord {
    pub(crate) key_len: u32,
    pub(crate) head_len: u32,
    pub(crate) body_len: u32,
    pub(crate) trailer_len: u32,
    /// Place of the entity tag's value in the head; its length is 0 without one.
    pub(crate) etag_at: u32,
    pub(crate) etag_len: u32,
    /// See [`crate::conditional::Validators::modified`].
    pub(crate) modified: i64,
    pub(crate) variant: Variant,
    /// Whether the response was sent in chunks.
    pub(crate) is_chunked: bool,
    pub(crate) received_ms: u64,
    /// Age on reception, in seconds.
    pub(crate) age: u32,
    pub(crate) fresh_until: u64,
    pub(crate) revalidate_until: u64,
    pub(crate) error_until: u64,
    pub(crate) validate_until: u64,
}

impl ObjectRecord {
    /// The times of a response that is received `now`.
    pub(crate) fn set_times(&mut self, lifetime: &Lifetime, now: u64) {
        let after = |seconds: u32| u64::from(seconds) * 1000;
        self.received_ms = now;
        self.age = lifetime.age;
        self.fresh_until = now.saturating_add(after(lifetime.fresh));
        self.revalidate_until = self.fresh_until.saturating_add(after(lifetime.while_revalidate));
        self.error_until = self.fresh_until.saturating_add(after(lifetime.if_error));
        self.validate_until = self.fresh_until.saturating_add(after(lifetime.for_validation));
    }

    /// The time from which on the object is of no use.
    pub(crate) fn end(&self) -> u64 {
        let stale = self.revalidate_until.max(self.error_until).max(self.validate_until);
        self.fresh_until.max(stale)
    }

    /// Age in seconds (RFC 9111 section 4.2.3), without the clock of the server: see
    /// `docs/cache.md`.
    pub(crate) fn age_at(&self, now: u64) -> u32 {
        let resident = now.saturating_sub(self.received_ms) / 1000;
        u64::from(self.age).saturating_add(resident).min(crate::directives::MAX_SECONDS.into())
            as u32
    }

    /// Bytes of head, content and trailers.
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.head_len) + u64::from(self.body_len) + u64::from(self.trailer_len)
    }

    pub(crate) fn head_at(&self) -> usize {
        RECORD + self.key_len as usize
    }

    pub(crate) fn body_at(&self) -> usize {
        self.head_at() + self.head_len as usize
    }

    pub(crate) fn trailers_at(&self) -> usize {
        self.body_at() + self.body_len as usize
    }

    pub(crate) fn encode(&self) -> [u8; RECORD] {
        let mut flags = if self.is_chunked { IS_CHUNKED } else { 0 };
        flags |= if self.variant.encodings.is_some() { HAS_ENCODINGS } else { 0 };
        flags |= if self.variant.referer.is_some() { HAS_REFERER } else { 0 };
        let encodings = self.variant.encodings.map_or(0, Encodings::bits);
        let words: [u64; WORDS] = [
            self.key_len.into(),
            self.head_len.into(),
            self.body_len.into(),
            self.trailer_len.into(),
            u64::from(self.etag_at) << 32 | u64::from(self.etag_len),
            self.modified as u64,
            flags,
            encodings.into(),
            self.variant.referer.unwrap_or(0),
            self.received_ms,
            self.age.into(),
            self.fresh_until,
            self.revalidate_until,
            self.error_until,
            self.validate_until,
        ];
        let mut bytes = [0; RECORD];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let mut words = [0; WORDS];
        for (word, place) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*place);
        }
        let flags = words[6];
        let encodings = Encodings::from_bits(words[7] as u16);
        Self {
            key_len: words[0] as u32,
            head_len: words[1] as u32,
            body_len: words[2] as u32,
            trailer_len: words[3] as u32,
            etag_at: (words[4] >> 32) as u32,
            etag_len: words[4] as u32,
            modified: words[5] as i64,
            variant: Variant {
                encodings: (flags & HAS_ENCODINGS != 0).then_some(encodings),
                referer: (flags & HAS_REFERER != 0).then_some(words[8]),
            },
            is_chunked: flags & IS_CHUNKED != 0,
            received_ms: words[9],
            age: words[10] as u32,
            fresh_until: words[11],
            revalidate_until: words[12],
            error_until: words[13],
            validate_until: words[14],
        }
    }

    /// The record of an object.
    pub(crate) fn of(object: &SharedBlocks) -> Self {
        Self::decode(object.front())
    }
}

/// Whether an object has this key.
pub(crate) fn has_key(object: &SharedBlocks, record: &ObjectRecord, key: &[u8]) -> bool {
    record.key_len as usize == key.len() && starts_with(object, record, key)
}

/// Whether an object's key starts with these bytes.
pub(crate) fn starts_with(object: &SharedBlocks, record: &ObjectRecord, prefix: &[u8]) -> bool {
    if prefix.len() > record.key_len as usize {
        return false;
    }
    let mut rest = prefix;
    object.pieces(RECORD, prefix.len()).all(|piece| {
        let (now, later) = rest.split_at(piece.len());
        rest = later;
        now == piece
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let record = ObjectRecord {
            key_len: 1,
            head_len: 2,
            body_len: u32::MAX,
            trailer_len: 4,
            etag_at: 5,
            etag_len: 6,
            modified: -7,
            variant: Variant { encodings: Some(Encodings::IDENTITY), referer: Some(0) },
            is_chunked: true,
            received_ms: u64::MAX,
            age: 9,
            fresh_until: 10,
            revalidate_until: 11,
            error_until: 12,
            validate_until: 13,
        };
        assert_eq!(ObjectRecord::decode(&record.encode()), record);
        let plain = ObjectRecord::default();
        assert_eq!(ObjectRecord::decode(&plain.encode()), plain);
    }

    #[test]
    fn ages_and_ends_saturate() {
        let mut record = ObjectRecord::default();
        let most = crate::directives::MAX_SECONDS;
        let lifetime = Lifetime {
            age: most,
            fresh: most,
            while_revalidate: most,
            if_error: u32::MAX,
            for_validation: 0,
        };
        record.set_times(&lifetime, u64::MAX - 1);
        assert_eq!((record.end(), record.age_at(u64::MAX)), (u64::MAX, most));
        let lifetime =
            Lifetime { age: 5, fresh: 10, while_revalidate: 2, if_error: 1, for_validation: 0 };
        record.set_times(&lifetime, 1000);
        assert_eq!((record.fresh_until, record.end()), (11_000, 13_000));
        assert_eq!((record.age_at(2999), record.age_at(3000), record.age_at(0)), (6, 7, 5));
    }
}
