//! A block of field lines on its way into the fields: described line by line, then copied as a
//! whole. Never keeps what was not committed.

use crate::fields::{Field, Fields};
use crate::header_id::{HeaderId, ShortName};

/// Lines that are described and not copied yet; without [`Draft::commit`] they are forgotten.
#[derive(Debug)]
pub struct Draft<'a> {
    pub(crate) fields: &'a mut Fields,
    /// Where the block will begin in the arena.
    pub(crate) base: usize,
    /// The index of its first field.
    pub(crate) first: usize,
}

impl Draft<'_> {
    /// A line `name: value` CRLF, `start` bytes into the block, with a well-known name.
    #[inline]
    pub fn known_line(&mut self, start: usize, name: ShortName, value_len: usize) {
        self.describe(start, name.len(), value_len, name.id());
    }

    /// The same with any other name, which is well formed, of this many bytes.
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

    /// Copies the block and keeps its lines. It is made of the lines described, one after the
    /// other; less is a bug of the caller.
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
