//! Where encoders write. Never flushes and never grows a fixed buffer.

/// A place that takes encoded bytes in order.
pub trait Sink {
    /// Takes all of `bytes`.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A fixed buffer, such as the free end of a pooled one. What does not fit is refused whole and
/// remembered.
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

    /// Bytes written, or `None` when something did not fit and the content is not to be used.
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
