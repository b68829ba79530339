//! Header or trailer lines in one arena, in wire form: edits append bytes, removals mark lines as
//! dead.

use std::ops::Range;

use crate::header_id::{HeaderId, ShortName};
use draft::Draft;

pub mod draft;

/// One line: `name: value\r\n` at `start` of the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) start: u32,
    pub(crate) name_len: u32,
    pub(crate) value_len: u32,
    pub(crate) id: HeaderId,
    pub(crate) live: bool,
}

impl Field {
    pub(crate) fn name(self) -> Range<usize> {
        self.start as usize..(self.start + self.name_len) as usize
    }

    fn value(self) -> Range<usize> {
        let start = self.name().end + 2;
        start..start + self.value_len as usize
    }

    fn line(self) -> Range<usize> {
        self.start as usize..self.value().end + 2
    }
}

/// A live field, borrowed from its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRef<'a> {
    /// Position for `remove_at` and `replace_value`; stable until the message is cleared.
    pub index: usize,
    /// Its well-known header, if any.
    pub id: HeaderId,
    /// The name, in lower case.
    pub name: &'a [u8],
    /// The value, without surrounding blanks.
    pub value: &'a [u8],
}

/// Header or trailer fields. Cleared and reused, they allocate nothing once they have their working
/// size.
///
/// Bounds: the arena stays below 4 GiB, which the size of input buffers guarantees.
#[derive(Clone, Debug)]
pub struct Fields {
    pub(crate) arena: Vec<u8>,
    pub(crate) fields: Vec<Field>,
    /// Bytes of live lines, `\r\n` included.
    pub(crate) live_bytes: usize,
    /// Well-known headers that may be present: a clear bit means absent.
    present: u64,
    /// Well-known headers that may occur more than once: a clear bit means at most once.
    repeated: u64,
    /// For each present well-known header, a lower bound of the indices of its fields. Values of
    /// absent ones are meaningless.
    first_at: [u8; u64::BITS as usize],
    /// Whether all of the arena is live and in order, so that it can be written out as a whole.
    whole: bool,
}

impl Default for Fields {
    fn default() -> Self {
        Self::with_capacity(0, 0)
    }
}

impl Fields {
    /// Allocates this many arena bytes and fields in advance.
    pub fn with_capacity(bytes: usize, fields: usize) -> Self {
        Self {
            arena: Vec::with_capacity(bytes),
            fields: Vec::with_capacity(fields),
            live_bytes: 0,
            present: 0,
            repeated: 0,
            first_at: [0; _],
            whole: true,
        }
    }

    /// Removes everything and keeps the memory.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.fields.clear();
        self.live_bytes = 0;
        self.present = 0;
        self.repeated = 0;
        self.whole = true;
    }

    /// Bytes of the live lines on the wire, with their `\r\n`.
    pub fn wire_len(&self) -> usize {
        self.live_bytes
    }

    /// Bytes of the arena in use, dead ones included.
    pub fn arena_used(&self) -> usize {
        self.arena.len()
    }

    /// Bytes of memory held for reuse.
    pub fn capacity(&self) -> usize {
        self.arena.capacity() + self.fields.capacity() * size_of::<Field>()
    }

    /// Number of live fields.
    pub fn len(&self) -> usize {
        self.fields.iter().filter(|f| f.live).count()
    }

    /// Whether there is no live field.
    pub fn is_empty(&self) -> bool {
        self.live_bytes == 0
    }

    /// The live fields, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = FieldRef<'_>> {
        self.fields.iter().enumerate().filter(|(_, f)| f.live).map(|(i, &f)| self.view(i, f))
    }

    /// The field at an index, if it is live.
    pub fn at(&self, index: usize) -> Option<FieldRef<'_>> {
        let field = *self.fields.get(index)?;
        field.live.then(|| self.view(index, field))
    }

    /// The live fields of a well-known header, in order.
    pub fn by_id(&self, id: HeaderId) -> impl DoubleEndedIterator<Item = FieldRef<'_>> {
        let from = self.searched_from(id);
        let found = self.fields[from..].iter().enumerate();
        let found = found.filter(move |(_, f)| f.live && f.id == id);
        found.map(move |(i, &f)| self.view(from + i, f))
    }

    /// The first live field of a well-known header.
    #[inline]
    pub fn first(&self, id: HeaderId) -> Option<FieldRef<'_>> {
        if self.present & id.bit() == 0 { None } else { self.by_id(id).next() }
    }

    /// The field of a well-known header that occurs once only; `None` also if it may occur more
    /// often.
    #[inline]
    pub fn sole(&self, id: HeaderId) -> Option<FieldRef<'_>> {
        if self.may_repeat(id) { None } else { self.first(id) }
    }

    /// Whether a well-known header may occur more than once; `false` is certain.
    #[inline]
    pub fn may_repeat(&self, id: HeaderId) -> bool {
        self.repeated & id.bit() != 0
    }

    /// Index at which a search for a well-known header begins.
    #[inline]
    fn searched_from(&self, id: HeaderId) -> usize {
        match self.present & id.bit() {
            0 => self.fields.len(),
            _ => usize::from(self.first_at[usize::from(id as u8)]).min(self.fields.len()),
        }
    }

    /// Whether a well-known header is present.
    #[inline]
    pub fn has(&self, id: HeaderId) -> bool {
        let is_there = |f: &Field| f.live && f.id == id;
        self.present & id.bit() != 0 && self.fields[self.searched_from(id)..].iter().any(is_there)
    }

    /// The value of the first live field with this name, in any case.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let id = HeaderId::of(name);
        self.by_id(id)
            .find(|f| id != HeaderId::Other || f.name.eq_ignore_ascii_case(name))
            .map(|f| f.value)
    }

    /// The live fields with this name, in any case, in order.
    pub fn all<'a>(&'a self, name: &'a [u8]) -> impl DoubleEndedIterator<Item = FieldRef<'a>> {
        let id = HeaderId::of(name);
        self.by_id(id).filter(move |f| id != HeaderId::Other || f.name.eq_ignore_ascii_case(name))
    }

    /// Appends a field; the name is stored in lower case. One copy, and one index entry of 16
    /// bytes.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.arena.reserve(name.len() + value.len() + 4);
        let start = self.arena.len();
        append(&mut self.arena, name);
        self.arena[start..].make_ascii_lowercase();
        append(&mut self.arena, b": ");
        append(&mut self.arena, value);
        append(&mut self.arena, b"\r\n");
        self.index_line(
            start,
            HeaderId::from_lower(&self.arena[start..][..name.len()]),
            name.len(),
        );
    }

    /// As [`Fields::push`] for a name that is in lower case already and whose identity is known.
    #[inline]
    pub fn push_lower(&mut self, id: HeaderId, name: &[u8], value: &[u8]) {
        debug_assert!(id == HeaderId::from_lower(name), "the identity belongs to the name");
        self.arena.reserve(name.len() + value.len() + 4);
        let start = self.arena.len();
        append(&mut self.arena, name);
        self.arena.extend_from_slice(b": ");
        append(&mut self.arena, value);
        self.arena.extend_from_slice(b"\r\n");
        self.index_line(start, id, name.len());
    }

    /// Appends a line that is already `name: value\r\n`, with a name of this length, in one copy.
    ///
    /// The caller has checked the form.
    pub fn push_line(&mut self, line: &[u8], name_len: usize) {
        debug_assert!(line[name_len..].starts_with(b": ") && line.ends_with(b"\r\n"));
        let start = self.arena.len();
        append(&mut self.arena, line);
        let name = &mut self.arena[start..start + name_len];
        name.make_ascii_lowercase();
        let id = HeaderId::from_lower(name);
        self.index_line(start, id, name_len);
    }

    /// As [`Fields::push_line`] for a name that was looked up, which proves it valid.
    #[inline]
    pub fn push_known_line(&mut self, line: &[u8], name: ShortName) {
        let name_len = name.len();
        debug_assert!(line[name_len..].starts_with(b": ") && line.ends_with(b"\r\n"));
        let start = self.arena.len();
        // A copy of constant size that is then truncated takes a few instructions.
        self.arena.extend_from_slice(&name.padded());
        self.arena.truncate(start + name_len);
        append(&mut self.arena, &line[name_len..]);
        self.index_line(start, name.id(), name_len);
    }

    /// Begins a block of lines that is described first and copied later.
    #[inline]
    pub fn draft(&mut self) -> Draft<'_> {
        let (base, first) = (self.arena.len(), self.fields.len());
        Draft { fields: self, base, first }
    }

    /// Records that a well-known header is present in the field at `index`.
    #[inline(always)]
    pub(crate) fn note(&mut self, id: HeaderId, index: usize) {
        if self.present & id.bit() == 0 {
            self.present |= id.bit();
            self.first_at[usize::from(id as u8)] = index.min(usize::from(u8::MAX)) as u8;
        } else {
            self.repeated |= id.bit();
        }
    }

    /// Adds the field for the line at the end of the arena, which begins at `start`.
    #[inline(always)]
    fn index_line(&mut self, start: usize, id: HeaderId, name_len: usize) {
        debug_assert!(u32::try_from(self.arena.len()).is_ok(), "buffers bound a head to 4 GiB");
        let line_len = self.arena.len() - start;
        self.note(id, self.fields.len());
        self.live_bytes += line_len;
        let value_len = (line_len - name_len - 4) as u32;
        let (start, name_len) = (start as u32, name_len as u32);
        self.fields.push(Field { start, name_len, value_len, id, live: true });
    }

    /// The identity of the last field.
    pub fn last_id(&self) -> Option<HeaderId> {
        self.fields.last().filter(|field| field.live).map(|field| field.id)
    }

    /// Joins a folded line to the last field (obsolete line folding, RFC 9112 section 5.2): `gap`
    /// spaces stand for the fold. Trailing white space of the result is dropped. Does nothing
    /// without a field.
    pub fn fold_last(&mut self, gap: usize, text: &[u8]) {
        let Some(&field) = self.fields.last().filter(|f| f.live) else { return };
        let value = field.value();
        self.arena.truncate(value.end);
        if field.value_len > 0 {
            self.arena.resize(value.end + gap, b' ');
            self.arena.extend_from_slice(text);
        } else {
            self.arena.extend_from_slice(crate::list::trim(text));
        }
        let kept = crate::list::trim(&self.arena[value.start..]).len();
        self.arena.truncate(value.start + kept);
        self.arena.extend_from_slice(b"\r\n");
        self.live_bytes = self.live_bytes - field.value_len as usize + kept;
        if let Some(last) = self.fields.last_mut() {
            last.value_len = kept as u32;
        }
    }

    /// Removes all fields with this name, then appends one.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.remove(name);
        self.push(name, value);
    }

    /// Removes all fields with this name, in any case; returns their number.
    pub fn remove(&mut self, name: &[u8]) -> usize {
        match HeaderId::of(name) {
            HeaderId::Other => self.remove_where(|f| f.name.eq_ignore_ascii_case(name)),
            id => self.remove_id(id),
        }
    }

    /// Removes all fields of a well-known header; returns their number.
    #[inline]
    pub fn remove_id(&mut self, id: HeaderId) -> usize {
        if self.present & id.bit() == 0 || id == HeaderId::Other {
            return 0;
        }
        self.remove_present(id)
    }

    #[inline(never)]
    fn remove_present(&mut self, id: HeaderId) -> usize {
        let mut removed = 0;
        for index in self.searched_from(id)..self.fields.len() {
            if self.fields[index].id == id && self.remove_at(index) {
                removed += 1;
            }
        }
        self.present &= !id.bit();
        self.repeated &= !id.bit();
        removed
    }

    /// Removes all fields for which `matches` returns true; returns their number.
    pub fn remove_where(&mut self, matches: impl Fn(FieldRef<'_>) -> bool) -> usize {
        let mut removed = 0;
        for index in 0..self.fields.len() {
            if self.at(index).is_some_and(&matches) {
                self.remove_at(index);
                removed += 1;
            }
        }
        removed
    }

    /// Removes the field at an index; returns whether it was present.
    pub fn remove_at(&mut self, index: usize) -> bool {
        match self.fields.get_mut(index) {
            Some(field) if field.live => {
                field.live = false;
                let line = field.line();
                self.live_bytes -= line.len();
                if line.end == self.arena.len() {
                    // Removing the last line leaves no gap.
                    self.arena.truncate(line.start);
                } else {
                    self.whole = false;
                }
                true
            }
            _ => false,
        }
    }

    /// Replaces the value of the field at an index, which keeps its place in the order; returns
    /// whether it was present.
    pub fn replace_value(&mut self, index: usize, value: &[u8]) -> bool {
        let Some(field) = self.fields.get(index).copied().filter(|f| f.live) else { return false };
        if field.value_len as usize == value.len() {
            self.arena[field.value()].copy_from_slice(value);
            return true;
        }
        let start = self.arena.len();
        self.arena.extend_from_within(field.name());
        self.arena.extend_from_slice(b": ");
        self.arena.extend_from_slice(value);
        self.arena.extend_from_slice(b"\r\n");
        self.live_bytes -= field.line().len();
        self.whole = false;
        self.live_bytes += field.name_len as usize + value.len() + 4;
        self.fields[index] = Field { start: start as u32, value_len: value.len() as u32, ..field };
        true
    }

    /// The live lines as few contiguous pieces, in order, in HTTP/1 form, without the final empty
    /// line.
    pub fn runs(&self) -> Runs<'_> {
        self.runs_after(0..0)
    }

    /// As [`Fields::runs`], after a start line at `first` of the arena.
    pub(crate) fn runs_after(&self, first: Range<usize>) -> Runs<'_> {
        if self.whole {
            return Runs { fields: self, next: self.fields.len(), pending: 0..self.arena.len() };
        }
        Runs { fields: self, next: 0, pending: first }
    }

    /// The live lines only, if a start line at `first` is in the arena.
    pub(crate) fn runs_behind(&self, first: Range<usize>) -> Runs<'_> {
        if self.whole {
            let pending = first.end..self.arena.len();
            return Runs { fields: self, next: self.fields.len(), pending };
        }
        Runs { fields: self, next: 0, pending: 0..0 }
    }

    /// The arena, in which a head keeps its start line.
    pub(crate) fn arena(&self) -> &[u8] {
        &self.arena
    }

    /// Clears everything and begins with a start line.
    #[inline]
    pub(crate) fn begin(&mut self, start_line: &[u8]) {
        self.clear();
        append(&mut self.arena, start_line);
    }

    /// The arena, to append a new start line to; earlier lines are no longer contiguous with it.
    pub(crate) fn arena_for_start_line(&mut self) -> &mut Vec<u8> {
        self.whole = self.arena.is_empty();
        &mut self.arena
    }

    #[inline]
    fn view(&self, index: usize, field: Field) -> FieldRef<'_> {
        let (name, value) = (&self.arena[field.name()], &self.arena[field.value()]);
        FieldRef { index, id: field.id, name, value }
    }
}

/// Appends `bytes`; short ones in two overlapping copies of constant size, which is faster than a
/// call of memcpy.
#[inline(never)]
fn append(arena: &mut Vec<u8>, bytes: &[u8]) {
    let done = match bytes.len() {
        16..=32 => append_halves::<16>(arena, bytes),
        8..16 => append_halves::<8>(arena, bytes),
        33..=64 => append_halves::<32>(arena, bytes),
        _ => false,
    };
    if !done {
        arena.extend_from_slice(bytes);
    }
}

/// Appends `HALF` to twice `HALF` bytes: the first `HALF`, then the last `HALF` over their end.
/// Returns whether there were enough.
#[inline(always)]
fn append_halves<const HALF: usize>(arena: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let (Some(first), Some(last)) = (bytes.first_chunk::<HALF>(), bytes.last_chunk::<HALF>())
    else {
        return false;
    };
    let end = arena.len() + bytes.len();
    arena.extend_from_slice(first);
    arena.truncate(end - HALF);
    arena.extend_from_slice(last);
    true
}

/// Iterator of contiguous live bytes, made by [`Fields::runs`].
#[derive(Clone, Debug)]
pub struct Runs<'a> {
    fields: &'a Fields,
    next: usize,
    pending: Range<usize>,
}

impl<'a> Iterator for Runs<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while let Some(&field) = self.fields.fields.get(self.next) {
            self.next += 1;
            if !field.live {
                continue;
            }
            let line = field.line();
            if line.start == self.pending.end {
                self.pending.end = line.end;
            } else {
                let ready = std::mem::replace(&mut self.pending, line);
                if !ready.is_empty() {
                    return Some(&self.fields.arena[ready]);
                }
            }
        }
        let ready = std::mem::take(&mut self.pending);
        (!ready.is_empty()).then(|| &self.fields.arena[ready])
    }
}

#[cfg(test)]
mod tests;
