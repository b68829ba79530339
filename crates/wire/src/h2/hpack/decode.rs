//! Decodes header blocks to fields (RFC 7541 section 3.2).

use super::ENTRY_OVERHEAD;
use super::huffman;
use super::integer;
use super::static_table::{self, TABLE};
use super::table::DynamicTable;

/// A block that cannot be decoded. The tables of the peers differ from then on: the connection ends
/// with COMPRESSION_ERROR (RFC 9113 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidBlock;

/// Reason why decoding stopped within a block. The tables of the peers differ from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// As [`InvalidBlock`].
    Broken,
    /// The decoded size exceeds the limit.
    TooLarge,
}

impl From<InvalidBlock> for DecodeError {
    fn from(InvalidBlock: InvalidBlock) -> Self {
        Self::Broken
    }
}

/// Bytes to which a block may still decode.
struct Allowance {
    left: usize,
}

impl Allowance {
    #[inline]
    fn spend(&mut self, name: &[u8], value: &[u8]) -> Result<(), DecodeError> {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        self.left = self.left.checked_sub(size).ok_or(DecodeError::TooLarge)?;
        Ok(())
    }
}

/// The decoder of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
    /// Largest table size that was announced.
    allowed: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Location of a decoded string.
enum StringLocation<'a> {
    Plain(&'a [u8]),
    /// In a buffer of the decoder.
    Coded,
}

impl Decoder {
    /// A decoder whose peer may use a table of this many bytes. Memory: at most twice that, plus
    /// the longest string of a block.
    pub fn new(allowed: u32) -> Self {
        let allowed = allowed as usize;
        Self { table: DynamicTable::new(allowed), allowed, name: Vec::new(), value: Vec::new() }
    }

    /// Size of its table, as defined in RFC 7541 section 4.1.
    pub fn table_size(&self) -> usize {
        self.table.size()
    }

    /// Decodes a whole block; calls `sink` with each field in order.
    ///
    /// # Errors
    /// The block cannot be decoded.
    pub fn decode(
        &mut self,
        block: &[u8],
        sink: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), InvalidBlock> {
        self.decode_within(block, usize::MAX, sink).map(drop).map_err(|_| InvalidBlock)
    }

    /// As [`Decoder::decode`] with a limit for the decoded size, as defined in RFC 9113 section
    /// 6.5.2: 32 bytes extra per field. Returns the decoded size.
    ///
    /// # Errors
    /// The block cannot be decoded or exceeds the limit: the connection cannot continue.
    pub fn decode_within(
        &mut self,
        block: &[u8],
        most: usize,
        mut sink: impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, DecodeError> {
        let (mut at, mut fields, mut allowance) = (0, 0, Allowance { left: most });
        while let Some(&first) = block.get(at) {
            match first {
                0x80.. => {
                    let index = integer::decode(block, &mut at, 7).ok_or(InvalidBlock)?;
                    let (name, value) = self.entry(index)?;
                    allowance.spend(name, value)?;
                    sink(name, value);
                }
                0x40..0x80 => self.literal(block, &mut at, 6, &mut allowance, &mut sink)?,
                0x20..0x40 if fields == 0 => self.resize(block, &mut at)?,
                0x20..0x40 => return Err(DecodeError::Broken),
                _ => self.literal(block, &mut at, 4, &mut allowance, &mut sink)?,
            }
            fields += usize::from(!(0x20..0x40).contains(&first));
        }
        Ok(most - allowance.left)
    }

    #[inline]
    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), InvalidBlock> {
        let index = index.checked_sub(1).ok_or(InvalidBlock)?;
        match TABLE.get(index) {
            Some((name, value)) => Ok((name, value)),
            None => self.table.get(index - static_table::LEN).ok_or(InvalidBlock),
        }
    }

    fn resize(&mut self, block: &[u8], at: &mut usize) -> Result<(), InvalidBlock> {
        let size = integer::decode(block, at, 5).ok_or(InvalidBlock)?;
        if size > self.allowed {
            return Err(InvalidBlock);
        }
        self.table.set_limit(size);
        Ok(())
    }

    /// Decodes a literal field; one with a 6-bit index enters the table (RFC 7541 section 6.2.1).
    #[inline]
    fn literal(
        &mut self,
        block: &[u8],
        at: &mut usize,
        bits: u32,
        allowance: &mut Allowance,
        sink: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), DecodeError> {
        let index = integer::decode(block, at, bits).ok_or(InvalidBlock)?;
        let name = match index {
            0 => string(block, at, &mut self.name)?,
            index => match TABLE.get(index - 1) {
                Some((name, _)) => StringLocation::Plain(name),
                None => {
                    // The insertion may evict the entry that has the name.
                    let mut name = std::mem::take(&mut self.name);
                    name.clear();
                    name.extend_from_slice(self.entry(index)?.0);
                    self.name = name;
                    StringLocation::Coded
                }
            },
        };
        let value = string(block, at, &mut self.value)?;
        let name = match name {
            StringLocation::Plain(text) => text,
            StringLocation::Coded => &self.name,
        };
        let value = match value {
            StringLocation::Plain(text) => text,
            StringLocation::Coded => &self.value,
        };
        allowance.spend(name, value)?;
        sink(name, value);
        if bits == 6 {
            self.table.insert(name, value);
        }
        Ok(())
    }
}

/// Decodes a string (RFC 7541 section 5.2).
#[inline]
fn string<'a>(
    block: &'a [u8],
    at: &mut usize,
    buffer: &mut Vec<u8>,
) -> Result<StringLocation<'a>, InvalidBlock> {
    let coded = block.get(*at).ok_or(InvalidBlock)? & 0x80 != 0;
    let len = integer::decode(block, at, 7).ok_or(InvalidBlock)?;
    let end = at.checked_add(len).ok_or(InvalidBlock)?;
    let text = block.get(*at..end).ok_or(InvalidBlock)?;
    *at = end;
    if !coded {
        return Ok(StringLocation::Plain(text));
    }
    buffer.clear();
    huffman::decode(text, buffer).ok_or(InvalidBlock)?;
    Ok(StringLocation::Coded)
}
