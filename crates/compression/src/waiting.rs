//! Output of an encoder that waits until the caller's buffer has room for it.

/// Most bytes that wait: a few of the library's with a trailer, or the end of a block, the last
/// block and a trailer with the overrun of the bit writer.
pub(crate) const ROOM: usize = 40;

/// Bytes that the output had no room for.
pub(crate) struct Waiting {
    bytes: [u8; ROOM],
    from: u8,
    to: u8,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { bytes: [0; ROOM], from: 0, to: 0 }
    }
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Adds bytes up to [`ROOM`], including those in the queue.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let to = usize::from(self.to) + bytes.len();
        self.bytes[usize::from(self.to)..to].copy_from_slice(bytes);
        self.to = to as u8;
    }

    /// Moves as much as there is room for.
    pub(crate) fn drain(&mut self, sink: &mut Sink<'_>) {
        let bytes = &self.bytes[usize::from(self.from)..usize::from(self.to)];
        let count = sink.take(bytes);
        self.from += count as u8;
        if self.is_empty() {
            (self.from, self.to) = (0, 0);
        }
    }
}

/// The caller's output buffer.
pub(crate) struct Sink<'a> {
    output: &'a mut [u8],
    pub(crate) at: usize,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(output: &'a mut [u8]) -> Self {
        Self { output, at: 0 }
    }

    /// The room that is left.
    pub(crate) fn rest(&mut self) -> &mut [u8] {
        &mut self.output[self.at..]
    }

    fn take(&mut self, bytes: &[u8]) -> usize {
        let rest = self.rest();
        let count = rest.len().min(bytes.len());
        rest[..count].copy_from_slice(&bytes[..count]);
        self.at += count;
        count
    }
}
