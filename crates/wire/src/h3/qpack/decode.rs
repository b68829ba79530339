//! Decodes field sections and the instructions of the peer's encoder (RFC 9204 sections 4.3 to 4.5).

use super::integer::{self, InvalidPrimitive};
use super::static_table::TABLE;
use crate::h2::hpack::integer as prefixed;
use crate::h2::hpack::table::DynamicTable;
use crate::h2::hpack::{ENTRY_OVERHEAD, huffman};

/// Why a field section cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionError {
    /// The section is invalid: the connection ends with QPACK_DECOMPRESSION_FAILED.
    Broken,
    /// The section refers to entries that have not arrived. The section is decoded again when they
    /// have.
    Blocked,
    /// Its decoded size exceeds the limit.
    TooLarge,
}

/// An instruction of the peer's encoder that is invalid: the connection ends with
/// QPACK_ENCODER_STREAM_ERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidInstruction;

impl From<InvalidPrimitive> for SectionError {
    fn from(InvalidPrimitive: InvalidPrimitive) -> Self {
        Self::Broken
    }
}

impl From<InvalidPrimitive> for InvalidInstruction {
    fn from(InvalidPrimitive: InvalidPrimitive) -> Self {
        Self
    }
}

/// The prefix of a field section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionPrefix {
    /// Entries that must have been inserted before the section can be decoded.
    pub required: u64,
    /// The entry from which relative indices count.
    base: u64,
    /// Its size in bytes.
    size: usize,
}

/// The decoder of one connection.
///
/// Memory: twice the announced capacity, four times that for a partial instruction, and the longest
/// string of a section.
#[derive(Debug)]
pub struct QpackDecoder {
    table: DynamicTable,
    /// Largest capacity that was announced.
    allowed: usize,
    /// The capacity that the peer has chosen.
    capacity: usize,
    /// Entries inserted so far.
    inserted: u64,
    /// Insertions that the peer knows to be received.
    reported: u64,
    /// The received part of an instruction.
    partial: Vec<u8>,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// A string of the input, or one that was decoded to a buffer.
enum Text<'a> {
    Plain(&'a [u8]),
    Coded,
}

impl<'a> Text<'a> {
    fn bytes(self, buffer: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Plain(text) => text,
            Self::Coded => buffer,
        }
    }
}

impl QpackDecoder {
    /// A decoder whose peer may use a table of this many bytes.
    pub fn new(allowed: u32) -> Self {
        Self {
            table: DynamicTable::new(0),
            allowed: allowed as usize,
            capacity: 0,
            inserted: 0,
            reported: 0,
            partial: Vec::new(),
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Entries inserted so far.
    pub fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Size of its table, as defined in RFC 9204 section 3.2.1.
    pub fn table_size(&self) -> usize {
        self.table.size()
    }

    /// Handles bytes of the peer's encoder stream. An incomplete instruction is kept.
    ///
    /// # Errors
    /// An instruction is invalid.
    pub fn handle_instructions(&mut self, input: &[u8]) -> Result<(), InvalidInstruction> {
        let mut kept = std::mem::take(&mut self.partial);
        kept.extend_from_slice(input);
        let mut at = 0;
        while at < kept.len() {
            let Some(next) = self.instruction(&kept, at)? else { break };
            at = next;
        }
        // A Huffman-coded string has up to 30 bits per byte.
        if kept.len() - at > 4 * self.allowed + 64 {
            return Err(InvalidInstruction);
        }
        kept.drain(..at);
        if !kept.is_empty() {
            self.partial = kept;
        }
        Ok(())
    }

    /// Handles the instruction at an offset; returns the offset behind it, or `None` if it is
    /// incomplete.
    fn instruction(
        &mut self,
        input: &[u8],
        start: usize,
    ) -> Result<Option<usize>, InvalidInstruction> {
        let (mut at, first) = (start, input[start]);
        match first {
            0x80.. => {
                let Some(index) = integer::decode(input, &mut at, 6)? else { return Ok(None) };
                let name = match first & 0x40 {
                    0 => self.newest(index).ok_or(InvalidInstruction)?.0,
                    _ => static_entry(index).ok_or(InvalidInstruction)?.0,
                };
                // The insertion may evict the entry that has the name.
                let name = name.to_vec();
                let mut value = std::mem::take(&mut self.value);
                let text = string(input, &mut at, 7, &mut value);
                let inserted = match text? {
                    Some(text) => self.insert(&name, text.bytes(&value)),
                    None => return Ok(None),
                };
                self.value = value;
                inserted?;
            }
            0x40..0x80 => {
                let (mut name, mut value) =
                    (std::mem::take(&mut self.name), std::mem::take(&mut self.value));
                let inserted = self.insert_literal(input, &mut at, &mut name, &mut value);
                (self.name, self.value) = (name, value);
                if !inserted? {
                    return Ok(None);
                }
            }
            0x20..0x40 => {
                let Some(size) = integer::decode(input, &mut at, 5)? else { return Ok(None) };
                let size = usize::try_from(size).map_err(|_| InvalidInstruction)?;
                if size > self.allowed {
                    return Err(InvalidInstruction);
                }
                self.capacity = size;
                self.table.set_limit(size);
            }
            _ => {
                let Some(index) = integer::decode(input, &mut at, 5)? else { return Ok(None) };
                let (name, value) = self.newest(index).ok_or(InvalidInstruction)?;
                let (name, value) = (name.to_vec(), value.to_vec());
                self.insert(&name, &value)?;
            }
        }
        Ok(Some(at))
    }

    fn insert_literal(
        &mut self,
        input: &[u8],
        at: &mut usize,
        name: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<bool, InvalidInstruction> {
        let Some(name_text) = string(input, at, 5, name)? else { return Ok(false) };
        let Some(value_text) = string(input, at, 7, value)? else { return Ok(false) };
        self.insert(name_text.bytes(name), value_text.bytes(value))?;
        Ok(true)
    }

    fn insert(&mut self, name: &[u8], value: &[u8]) -> Result<(), InvalidInstruction> {
        if name.len() + value.len() + ENTRY_OVERHEAD > self.capacity {
            return Err(InvalidInstruction);
        }
        self.table.insert(name, value);
        self.inserted += 1;
        Ok(())
    }

    /// The entry at an index counted from the newest one.
    fn newest(&self, index: u64) -> Option<(&[u8], &[u8])> {
        self.table.get(usize::try_from(index).ok()?)
    }

    /// The entry with an absolute index that a section may refer to.
    #[inline]
    fn entry(&self, index: u64, prefix: SectionPrefix) -> Result<(&[u8], &[u8]), SectionError> {
        if index >= prefix.required {
            return Err(SectionError::Broken);
        }
        let newest = (self.inserted - 1).checked_sub(index).ok_or(SectionError::Broken)?;
        self.newest(newest).ok_or(SectionError::Broken)
    }

    /// Decodes the prefix of a section (RFC 9204 section 4.5.1).
    ///
    /// # Errors
    /// The prefix is invalid.
    pub fn prefix(&self, section: &[u8]) -> Result<SectionPrefix, SectionError> {
        let mut at = 0;
        let encoded = whole(integer::decode(section, &mut at, 8)?)?;
        let required = self.required(encoded).ok_or(SectionError::Broken)?;
        let negative = section.get(at).ok_or(SectionError::Broken)? & 0x80 != 0;
        let delta = whole(integer::decode(section, &mut at, 7)?)?;
        let base = match negative {
            false => required.checked_add(delta),
            true => required.checked_sub(delta).and_then(|base| base.checked_sub(1)),
        };
        let base = base.ok_or(SectionError::Broken)?;
        Ok(SectionPrefix { required, base, size: at })
    }

    fn required(&self, encoded: u64) -> Option<u64> {
        if encoded == 0 {
            return Some(0);
        }
        let most = (self.allowed / ENTRY_OVERHEAD) as u64;
        let range = 2 * most;
        if encoded > range {
            return None;
        }
        let highest = self.inserted + most;
        let mut required = highest / range * range + encoded - 1;
        if required > highest {
            required = required.checked_sub(range)?;
        }
        (required > 0).then_some(required)
    }

    /// Decodes a whole section; calls `sink` with each field in order. `most` limits the decoded
    /// size, as defined in RFC 9114 section 4.2.2: 32 bytes extra per field.
    ///
    /// # Errors
    /// The section cannot be decoded now or at all. Before that `sink` may have had fields, but
    /// none of a blocked section.
    pub fn decode_within(
        &mut self,
        section: &[u8],
        most: usize,
        mut sink: impl FnMut(&[u8], &[u8]),
    ) -> Result<SectionPrefix, SectionError> {
        let prefix = self.prefix(section)?;
        if prefix.required > self.inserted {
            return Err(SectionError::Blocked);
        }
        let (mut at, mut left) = (prefix.size, most);
        let (mut names, mut values) =
            (std::mem::take(&mut self.name), std::mem::take(&mut self.value));
        let mut result = Ok(prefix);
        while at < section.len() && result.is_ok() {
            let line = self.line(section, &mut at, prefix, (&mut names, &mut values));
            result = line.and_then(|(name, value)| {
                let size = name.len() + value.len() + ENTRY_OVERHEAD;
                left = left.checked_sub(size).ok_or(SectionError::TooLarge)?;
                sink(name, value);
                Ok(prefix)
            });
        }
        (self.name, self.value) = (names, values);
        result
    }

    /// Decodes a field line (RFC 9204 section 4.5.2 to 4.5.6).
    #[inline]
    fn line<'a>(
        &'a self,
        section: &'a [u8],
        at: &mut usize,
        prefix: SectionPrefix,
        (names, values): (&'a mut Vec<u8>, &'a mut Vec<u8>),
    ) -> Result<(&'a [u8], &'a [u8]), SectionError> {
        let first = section[*at];
        let name = match first {
            0xc0.. => {
                let index = whole(integer::decode(section, at, 6)?)?;
                return static_entry(index).ok_or(SectionError::Broken);
            }
            0x80..0xc0 => {
                let index = whole(integer::decode(section, at, 6)?)?;
                return self.entry(relative(prefix, index)?, prefix);
            }
            0x10..0x20 => {
                let index = whole(integer::decode(section, at, 4)?)?;
                return self.entry(behind(prefix, index)?, prefix);
            }
            0x40..0x80 if first & 0x10 != 0 => {
                let index = whole(integer::decode(section, at, 4)?)?;
                static_entry(index).ok_or(SectionError::Broken)?.0
            }
            0x40..0x80 => {
                let index = whole(integer::decode(section, at, 4)?)?;
                self.entry(relative(prefix, index)?, prefix)?.0
            }
            0x20..0x40 => whole(string(section, at, 3, names)?)?.bytes(names),
            _ => {
                let index = whole(integer::decode(section, at, 3)?)?;
                self.entry(behind(prefix, index)?, prefix)?.0
            }
        };
        Ok((name, whole(string(section, at, 7, values)?)?.bytes(values)))
    }

    /// Acknowledges a section of a stream, towards the peer's encoder, if it referred to the
    /// dynamic table.
    pub fn acknowledge(&mut self, prefix: SectionPrefix, stream: u64, out: &mut Vec<u8>) {
        if prefix.required > 0 {
            self.reported = self.reported.max(prefix.required);
            prefixed::encode(stream as usize, 7, 0x80, out);
        }
    }

    /// Reports that sections of a stream will not be decoded.
    pub fn cancel(&self, stream: u64, out: &mut Vec<u8>) {
        if self.allowed > 0 {
            prefixed::encode(stream as usize, 6, 0x40, out);
        }
    }

    /// Reports insertions that no acknowledged section implies.
    pub fn report(&mut self, out: &mut Vec<u8>) {
        let unknown = self.inserted - self.reported;
        if unknown > 0 {
            self.reported = self.inserted;
            prefixed::encode(unknown as usize, 6, 0, out);
        }
    }
}

fn static_entry(index: u64) -> Option<(&'static [u8], &'static [u8])> {
    TABLE.get(usize::try_from(index).ok()?).copied()
}

/// The absolute index of an entry before the base.
fn relative(prefix: SectionPrefix, index: u64) -> Result<u64, SectionError> {
    prefix.base.checked_sub(index).and_then(|it| it.checked_sub(1)).ok_or(SectionError::Broken)
}

/// The absolute index of an entry from the base on.
fn behind(prefix: SectionPrefix, index: u64) -> Result<u64, SectionError> {
    prefix.base.checked_add(index).ok_or(SectionError::Broken)
}

/// A section is complete when it is decoded: what is truncated is invalid.
fn whole<T>(part: Option<T>) -> Result<T, SectionError> {
    part.ok_or(SectionError::Broken)
}

/// Decodes a string whose length has `bits` bits in the first byte, behind the Huffman bit; `None`
/// if it is incomplete.
#[inline]
fn string<'a>(
    input: &'a [u8],
    at: &mut usize,
    bits: u32,
    buffer: &mut Vec<u8>,
) -> Result<Option<Text<'a>>, InvalidPrimitive> {
    let Some(first) = input.get(*at) else { return Ok(None) };
    let coded = first & (1 << bits) != 0;
    let mut next = *at;
    let Some(len) = integer::decode(input, &mut next, bits)? else { return Ok(None) };
    let end =
        usize::try_from(len).ok().and_then(|len| next.checked_add(len)).ok_or(InvalidPrimitive)?;
    let Some(text) = input.get(next..end) else { return Ok(None) };
    *at = end;
    if !coded {
        return Ok(Some(Text::Plain(text)));
    }
    buffer.clear();
    huffman::decode(text, buffer).ok_or(InvalidPrimitive)?;
    Ok(Some(Text::Coded))
}
