//! A block of field lines that is described line by line and then copied as a whole.

use super::{Field, Fields};
use crate::header_id::{HeaderId, ShortName};

/// Described lines that are not copied yet; without [`Draft::commit`] they are dropped.
#[derive(Debug)]
pub struct Draft<'a> {
    pub(crate) fields: &'a mut Fields,
    /// Offset of the block in the arena.
    pub(crate) base: usize,
    /// Index of its first field.
    pub(crate) first: usize,
}

impl Draft<'_> {
    /// Describes a line `name: value` CRLF at offset `start` of the block, with a well-known name.
    #[inline]
    pub fn known_line(&mut self, start: usize, name: ShortName, value_len: usize) {
        self.describe(start, name.len(), value_len, name.id());
    }

    /// As [`Draft::known_line`] with any other valid name of this length.
    #[inline]
    pub fn line(&mut self, start: usize, name_len: usize, value_len: usize) {
        self.describe(start, name_len, value_len, HeaderId::Other);
    }

    #[inline(always)]
    fn describe(&mut self, start: usize, name_len: usize, value_len: usize, id: HeaderId) {
        let start = (self.base + start) as u32;
        let (name_len, value_len) = (name_len as u32, value_len as u32);
        self.fields.fields.push(Field { start, name_len, value_len, id, live: true });
    }

    /// Copies the block and adds its lines. The block must consist of the described lines without
    /// gaps.
    #[inline]
    pub fn commit(mut self, block: &[u8]) {
        let fields = &mut *self.fields;
        debug_assert!(u32::try_from(self.base + block.len()).is_ok(), "buffers bound a head");
        fields.arena.extend_from_slice(block);
        fields.live_bytes += block.len();
        for index in self.first..fields.fields.len() {
            let field = &mut fields.fields[index];
            let name = &mut fields.arena[field.name().start..];
            if !field.id.write_short(name) {
                let name = &mut name[..field.name().len()];
                name.make_ascii_lowercase();
                field.id = HeaderId::from_lower(name);
            }
            let id = field.id;
            fields.note(id, index);
        }
        self.first = fields.fields.len();
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        self.fields.fields.truncate(self.first);
    }
}
