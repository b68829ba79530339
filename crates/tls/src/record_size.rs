//! How long records are (manual section 3.2, `tune.ssl.maxrecord`): short while a transfer begins, so that the
//! peer can read soon, and then as long as they may be. Never reads a clock.

use crate::conn::Conn;

/// What one record holds (RFC 8446 section 5.1).
pub(crate) const RECORD: usize = 1 << 14;

/// How much goes in short records, as HAProxy was seen to do: what fills three of its buffers.
const BEGINNING: usize = 3 << 14;

/// How long records are from the beginning of a transfer, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The most bytes of a record, in the beginning.
    short: usize,
    /// Bytes that still go so.
    left: usize,
    /// A transfer that has paused for so many milliseconds begins again; 0: it never does.
    pause: u32,
    /// When something was sent last, in milliseconds.
    sent: u64,
}

impl Pace {
    pub(crate) fn new(short: usize, pause: u32) -> Self {
        Self { short, left: BEGINNING, pause, sent: 0 }
    }
}

impl Conn {
    /// What is sent next is the beginning of something.
    #[inline]
    pub fn begin_transfer(&mut self) {
        if let Some(pace) = &mut self.pace {
            pace.left = BEGINNING;
        }
    }

    /// Whether it matters when something is sent.
    #[inline]
    pub fn minds_pauses(&self) -> bool {
        self.pace.as_ref().is_some_and(|pace| pace.pause > 0)
    }

    /// Something is sent now, in milliseconds of any clock that goes on steadily.
    pub fn note_time(&mut self, now_ms: u64) {
        if let Some(pace) = &mut self.pace {
            if now_ms.saturating_sub(pace.sent) >= u64::from(pace.pause) {
                pace.left = BEGINNING;
            }
            pace.sent = now_ms;
        }
    }

    /// The most bytes of the next record.
    pub(crate) fn record_limit(&self) -> usize {
        let short = self.pace.as_ref().filter(|pace| pace.left > 0).map(|pace| pace.short);
        short.unwrap_or(RECORD).min(self.longest as usize)
    }

    /// So much has gone into a record.
    pub(crate) fn note_record(&mut self, count: usize) {
        if let Some(pace) = &mut self.pace {
            pace.left = pace.left.saturating_sub(count);
        }
    }
}
