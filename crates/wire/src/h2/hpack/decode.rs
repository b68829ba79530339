//! Header blocks to fields (RFC 7541 section 3.2). Never keeps a field that the table does not.

use super::huffman;
use super::integer;
use super::static_table::{self, TABLE};
use super::table::Table;

/// A block that cannot be decoded. The table is not what the encoder believes any more: the
/// connection ends with COMPRESSION_ERROR (RFC 9113 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

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
    pub fn decode(
        &mut self,
        block: &[u8],
        mut sink: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Broken> {
        let (mut at, mut fields) = (0, 0);
        while let Some(&first) = block.get(at) {
            match first {
                0x80.. => {
                    let index = integer::decode(block, &mut at, 7).ok_or(Broken)?;
                    let (name, value) = self.entry(index)?;
                    sink(name, value);
                }
                0x40..0x80 => self.literal(block, &mut at, 6, true, &mut sink)?,
                0x20..0x40 if fields == 0 => self.resize(block, &mut at)?,
                0x20..0x40 => return Err(Broken),
                _ => self.literal(block, &mut at, 4, false, &mut sink)?,
            }
            fields += usize::from(!(0x20..0x40).contains(&first));
        }
        Ok(())
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

    #[inline]
    fn literal(
        &mut self,
        block: &[u8],
        at: &mut usize,
        bits: u32,
        remembers: bool,
        sink: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Broken> {
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
        sink(name, value);
        if remembers {
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
