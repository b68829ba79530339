//! The size of records (manual section 3.2, `tune.ssl.maxrecord`): short at the beginning of a
//! transfer, so that the peer can decrypt early, then the maximum.

/// The most plain bytes in one record (RFC 8446 section 5.1).
pub(crate) const RECORD: usize = 1 << 14;

/// Bytes sent in short records at the beginning: three buffers of HAProxy, as measured.
const BEGINNING: usize = 3 << 14;

/// How long records are from the beginning of a transfer, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordSize {
    /// The most bytes of a record, in the beginning.
    short: usize,
    /// Bytes that still go so.
    left: usize,
    /// A transfer that has paused for so many milliseconds begins again; 0: it never does.
    pub(crate) pause: u32,
    /// When something was sent last, in milliseconds.
    sent: u64,
}

impl RecordSize {
    pub(crate) fn new(short: usize, pause: u32) -> Self {
        Self { short, left: BEGINNING, pause, sent: 0 }
    }

    /// A transfer begins: the next records are short.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.left = BEGINNING;
    }

    /// Something is sent at `now_ms`: after a pause that is long enough, a transfer begins.
    pub(crate) fn note_time(&mut self, now_ms: u64) {
        if now_ms.saturating_sub(self.sent) >= u64::from(self.pause) {
            self.begin();
        }
        self.sent = now_ms;
    }

    /// The most bytes of the next record, if it has to be short.
    pub(crate) fn limit(&self) -> Option<usize> {
        (self.left > 0).then_some(self.short)
    }

    /// `count` bytes have gone into a record.
    pub(crate) fn note_record(&mut self, count: usize) {
        self.left = self.left.saturating_sub(count);
    }
}
