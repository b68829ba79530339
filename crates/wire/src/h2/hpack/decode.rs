//! Header blocks to fields (RFC 7541 section 3.2). Never keeps a field that the table does not.

use super::ENTRY_OVERHEAD;
use super::huffman;
use super::integer;
use super::static_table::{self, TABLE};
use super::table::Table;

/// A block that cannot be decoded. The table is not what the encoder believes any more: the
/// connection ends with COMPRESSION_ERROR (RFC 9113 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// Why a block was not decoded to its end. Either way the table is not what the encoder believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// As [`Broken`].
    Broken,
    /// It stands for more than is wanted.
    TooLarge,
}

impl From<Broken> for Stopped {
    fn from(Broken: Broken) -> Self {
        Self::Broken
    }
}

/// What a block may still unfold to.
struct Allowance {
    left: usize,
}

impl Allowance {
    #[inline]
    fn spend(&mut self, name: &[u8], value: &[u8]) -> Result<(), Stopped> {
        let size = name.len() + value.len() + ENTRY_OVERHEAD;
        self.left = self.left.checked_sub(size).ok_or(Stopped::TooLarge)?;
        Ok(())
    }
}

/// The decoder of one connection.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// The largest table that was announced.
    allowed: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Where a string stands.
enum Text<'a> {
    Plain(&'a [u8]),
    /// In a buffer of the decoder.
    Coded,
}

impl Decoder {
    /// A decoder whose peer may use a table of this many bytes. Memory: at most twice that, and a
    /// string of the largest block decoded.
    pub fn new(allowed: u32) -> Self {
        let allowed = allowed as usize;
        Self { table: Table::new(allowed), allowed, name: Vec::new(), value: Vec::new() }
    }

    /// What its table holds, as section 4.1 counts.
    pub fn table_size(&self) -> usize {
        self.table.size()
    }

    /// Decodes a whole block; each field is shown to `sink` in order.
    ///
    /// # Errors
    /// It cannot be decoded.
    pub fn decode(&mut self, block: &[u8], sink: impl FnMut(&[u8], &[u8])) -> Result<(), Broken> {
        self.decode_within(block, usize::MAX, sink).map(drop).map_err(|_| Broken)
    }

    /// The same for a block that stands for at most so many bytes, as RFC 9113 section 6.5.2 counts
    /// them: 32 more for each field. Returns how many it stands for.
    ///
    /// # Errors
    /// It cannot be decoded, or stands for more: the connection cannot go on.
    pub fn decode_within(
        &mut self,
        block: &[u8],
        most: usize,
        mut sink: impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, Stopped> {
        let (mut at, mut fields, mut allowance) = (0, 0, Allowance { left: most });
        while let Some(&first) = block.get(at) {
            match first {
                0x80.. => {
                    let index = integer::decode(block, &mut at, 7).ok_or(Broken)?;
                    let (name, value) = self.entry(index)?;
                    allowance.spend(name, value)?;
                    sink(name, value);
                }
                0x40..0x80 => self.literal(block, &mut at, 6, &mut allowance, &mut sink)?,
                0x20..0x40 if fields == 0 => self.resize(block, &mut at)?,
                0x20..0x40 => return Err(Stopped::Broken),
                _ => self.literal(block, &mut at, 4, &mut allowance, &mut sink)?,
            }
            fields += usize::from(!(0x20..0x40).contains(&first));
        }
        Ok(most - allowance.left)
    }

    #[inline]
    fn entry(&self, index: usize) -> Result<(&[u8], &[u8]), Broken> {
        let index = index.checked_sub(1).ok_or(Broken)?;
        match TABLE.get(index) {
            Some((name, value)) => Ok((name, value)),
            None => self.table.get(index - static_table::LEN).ok_or(Broken),
        }
    }

    fn resize(&mut self, block: &[u8], at: &mut usize) -> Result<(), Broken> {
        let size = integer::decode(block, at, 5).ok_or(Broken)?;
        if size > self.allowed {
            return Err(Broken);
        }
        self.table.set_limit(size);
        Ok(())
    }

    /// A field that is spelt out; one whose index has 6 bits is remembered (section 6.2.1).
    #[inline]
    fn literal(
        &mut self,
        block: &[u8],
        at: &mut usize,
        bits: u32,
        allowance: &mut Allowance,
        sink: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Stopped> {
        let index = integer::decode(block, at, bits).ok_or(Broken)?;
        let name = match index {
            0 => string(block, at, &mut self.name)?,
            index => match TABLE.get(index - 1) {
                Some((name, _)) => Text::Plain(name),
                None => {
                    // The table may drop the entry for the sake of the new one.
                    let mut name = std::mem::take(&mut self.name);
                    name.clear();
                    name.extend_from_slice(self.entry(index)?.0);
                    self.name = name;
                    Text::Coded
                }
            },
        };
        let value = string(block, at, &mut self.value)?;
        let name = match name {
            Text::Plain(text) => text,
            Text::Coded => &self.name,
        };
        let value = match value {
            Text::Plain(text) => text,
            Text::Coded => &self.value,
        };
        allowance.spend(name, value)?;
        sink(name, value);
        if bits == 6 {
            self.table.insert(name, value);
        }
        Ok(())
    }
}

/// Reads a string (section 5.2).
#[inline]
fn string<'a>(block: &'a [u8], at: &mut usize, buffer: &mut Vec<u8>) -> Result<Text<'a>, Broken> {
    let coded = block.get(*at).ok_or(Broken)? & 0x80 != 0;
    let len = integer::decode(block, at, 7).ok_or(Broken)?;
    let end = at.checked_add(len).ok_or(Broken)?;
    let text = block.get(*at..end).ok_or(Broken)?;
    *at = end;
    if !coded {
        return Ok(Text::Plain(text));
    }
    buffer.clear();
    huffman::decode(text, buffer).ok_or(Broken)?;
    Ok(Text::Coded)
}
