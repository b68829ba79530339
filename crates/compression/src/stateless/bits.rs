//! A writer of bit fields that are packed from the least significant bit on.

use super::codes::{self, Code};

/// Bytes that a call may write behind the position that it reaches.
pub(super) const OVERRUN: usize = 8;

/// Bits that do not fill a byte yet: below eight of them between calls.
#[derive(Clone, Copy, Default)]
pub(super) struct Remainder {
    bits: u8,
    count: u8,
}

/// Bits in front of a position in an output buffer.
pub(super) struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    bits: u64,
    count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut [u8], remainder: Remainder) -> Self {
        Self { out, at: 0, bits: u64::from(remainder.bits), count: u32::from(remainder.count) }
    }

    /// Whole bytes written so far.
    #[inline]
    pub(super) fn written(&self) -> usize {
        self.at
    }

    /// The bits that are left; call [`Self::flush`] first.
    pub(super) fn remainder(&self) -> Remainder {
        Remainder { bits: self.bits as u8, count: self.count as u8 }
    }

    /// Adds a field. At most 56 bits fit between two calls of [`Self::flush`].
    #[inline]
    pub(super) fn put(&mut self, code: Code) {
        self.bits |= u64::from(code.bits) << self.count;
        self.count += code.count;
    }

    /// Writes the whole bytes out: below eight bits are left.
    #[inline]
    pub(super) fn flush(&mut self) {
        self.store(self.bits);
        let whole = self.count & !7;
        self.at += (whole / 8) as usize;
        // `count` is below 64.
        self.bits >>= whole;
        self.count &= 7;
    }

    /// Adds the codes of literals.
    #[inline]
    pub(super) fn literals(&mut self, input: &[u8], from: usize, to: usize) {
        let mut from = from;
        while from < to {
            let count = (to - from).min(8);
            let bytes = read_padded(input, from);
            if count == 8 && !codes::has_nine_bits(bytes) {
                self.eight(codes::eight_literals(bytes));
            } else if count < 8 && !codes::has_nine_bits(bytes) {
                let mask = (1 << (8 * count)) - 1;
                self.bits |= (codes::eight_literals(bytes) & mask) << self.count;
                self.count += 8 * count as u32;
                self.flush();
            } else {
                self.few(&bytes.to_le_bytes()[..count]);
            }
            from += count;
        }
    }

    /// Adds 64 bits to the fewer than eight that are there.
    #[inline]
    fn eight(&mut self, codes: u64) {
        self.store(self.bits | (codes << self.count));
        self.at += 8;
        // In two steps: there may be no bits, and a shift by 64 would shift nothing.
        self.bits = (codes >> 1) >> (63 - self.count);
    }

    fn few(&mut self, bytes: &[u8]) {
        for four in bytes.chunks(4) {
            four.iter().for_each(|byte| self.put(codes::literal(*byte)));
            self.flush();
        }
    }

    /// Fills the last byte with zero bits.
    pub(super) fn align(&mut self) {
        self.count = (self.count + 7) & !7;
        self.flush();
    }

    /// Copies bytes; call [`Self::align`] first.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    #[inline]
    fn store(&mut self, bits: u64) {
        self.out[self.at..self.at + OVERRUN].copy_from_slice(&bits.to_le_bytes());
    }
}

/// Eight bytes from a position on, or zeros behind the end.
#[inline]
fn read_padded(input: &[u8], from: usize) -> u64 {
    if let Some(bytes) = input.get(from..from + 8).and_then(<[u8]>::first_chunk) {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    let rest = input.get(from..).unwrap_or_default();
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}
