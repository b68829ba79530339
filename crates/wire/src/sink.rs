//! The trait `Sink`: output of encoders, a vector or a fixed buffer.

/// A destination for encoded bytes.
pub trait Sink {
    /// Appends all of `bytes`.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A fixed buffer, such as the free space of a pooled one. Bytes that do not fit are refused as a
/// whole, which [`SliceSink::finish`] reports.
#[derive(Debug)]
pub struct SliceSink<'a> {
    buffer: &'a mut [u8],
    len: usize,
    overflowed: bool,
}

impl<'a> SliceSink<'a> {
    /// Writes from the start of `buffer`.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0, overflowed: false }
    }

    /// Bytes written.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of bytes written; `None` if something did not fit and the content must not be used.
    pub fn finish(self) -> Option<usize> {
        (!self.overflowed).then_some(self.len)
    }
}

impl Sink for SliceSink<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        match self.buffer.get_mut(self.len..self.len + bytes.len()) {
            Some(free) if !self.overflowed => {
                free.copy_from_slice(bytes);
                self.len += bytes.len();
            }
            _ => self.overflowed = true,
        }
    }
}
