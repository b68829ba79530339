//! The receive window of a connection: payload that its peer may send ahead of the streams'
//! readers.

use super::free_list::FreeList;

/// Window in bytes below which a peer may have to wait for an update: a frame of the default size.
const SHORT: i64 = 16 * 1024;

/// Period in milliseconds over which the window follows the received payload.
const PERIOD_MS: u64 = 1_000;

/// Received and unread payload of a connection, and the window that follows it.
///
/// The window begins small and at least doubles with each window that is read, as the sender's
/// congestion window does, while half of it is used within a second and no more than half of it
/// waits for readers. So a connection whose streams are read is never slowed down, and one whose
/// streams are not read holds `least` bytes.
#[derive(Debug)]
pub(super) struct Credit {
    /// Bytes that the peer may send now.
    pub(super) left: i64,
    /// Bytes received and not read.
    held: u64,
    /// Upper bound of unread bytes plus bytes in flight.
    window: i64,
    least: i64,
    most: i64,
    /// Bytes received since `since`, a time in milliseconds.
    recent: i64,
    since: u64,
    /// Whether payload was received: before, the default window is enough.
    is_used: bool,
    /// Whether the peer was given window at least once.
    has_given: bool,
    spares: FreeList,
}

impl Credit {
    /// The window of a peer to which only the default of `told` bytes was announced.
    pub(super) fn new(told: u32, least: u32, most: u32) -> Self {
        let (least, most) = (i64::from(least.min(most)), i64::from(most));
        Self {
            left: i64::from(told),
            held: 0,
            window: least,
            least,
            most,
            recent: 0,
            since: 0,
            is_used: false,
            has_given: false,
            spares: FreeList::default(),
        }
    }

    /// Counts held bytes on the thread of this free list.
    pub(super) fn count_in(&mut self, spares: &FreeList) {
        self.spares = spares.clone();
    }

    /// Adapts the window to the received payload, once per period.
    pub(super) fn advance(&mut self, now_ms: u64) {
        if now_ms.saturating_sub(self.since) < PERIOD_MS {
            return;
        }
        if self.recent < self.window / 4 {
            self.window = (self.window / 2).max(self.least);
        }
        (self.since, self.recent) = (now_ms, 0);
    }

    /// Counts a received DATA frame; `false` if it exceeds the window.
    pub(super) fn receive(&mut self, len: u32) -> bool {
        self.left -= i64::from(len);
        self.recent += i64::from(len);
        self.is_used = true;
        self.left >= 0
    }

    /// Counts payload that waits for its reader.
    pub(super) fn hold(&mut self, count: usize) {
        self.held += count as u64;
        self.spares.hold(count);
    }

    /// Counts payload that was read.
    pub(super) fn read(&mut self, count: usize) {
        self.drop_held(count);
        let (keeps_up, is_busy) = (self.held() <= self.window / 2, self.recent > self.window / 2);
        if keeps_up && is_busy && !self.spares.is_tight() {
            self.window = (self.window + 2 * count as i64).min(self.most);
        }
    }

    /// Counts payload that was dropped unread.
    pub(super) fn drop_held(&mut self, count: usize) {
        self.held -= count as u64;
        self.spares.release(count);
    }

    pub(super) fn held(&self) -> i64 {
        self.held as i64
    }

    pub(super) fn least(&self) -> i64 {
        self.least
    }

    /// Whether the peer may have to wait for a window update.
    pub(super) fn is_short(&self) -> bool {
        self.left < SHORT
    }

    /// The increment of the next window update: once it reaches a quarter of the window or what the
    /// peer has left, but not for a few bytes. `beside`: held payload does not count, because the
    /// streams that hold it get no more window.
    pub(super) fn take_due(&mut self, beside: bool) -> u32 {
        let window = if self.spares.is_tight() { self.least } else { self.window };
        let all = if beside { (window + self.held()).min(self.most) } else { window };
        let due = all - self.held() - self.left;
        let enough = (all / 4).min(self.left).max(SHORT / 2);
        // The first payload is always answered with an update: some clients wait for it, and
        // HAProxy sends it.
        let enough = if self.has_given { enough } else { 1 };
        if due < enough || !self.is_used {
            return 0;
        }
        self.has_given = true;
        self.left += due;
        due as u32
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        self.spares.release(self.held as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credit() -> Credit {
        Credit::new(65_535, 65_535, 1 << 20)
    }

    #[test]
    fn window_grows_while_payload_is_read() {
        let mut credit = credit();
        for _ in 0..100 {
            assert!(credit.receive(16_384));
            credit.hold(16_384);
            credit.read(16_384);
            credit.take_due(false);
        }
        assert_eq!(credit.window, 1 << 20);
        assert!(credit.left >= 1 << 19);
    }

    #[test]
    fn window_stays_small_while_payload_waits() {
        let mut credit = credit();
        while credit.left > 0 {
            let count = credit.left.min(16_384) as u32;
            assert!(credit.receive(count));
            credit.hold(count as usize);
            credit.take_due(false);
        }
        assert_eq!((credit.held(), credit.is_short()), (65_535, true));
        assert!(!credit.receive(1), "no more is allowed");
    }

    #[test]
    fn window_shrinks_when_little_comes() {
        let mut credit = credit();
        credit.window = 1 << 20;
        credit.advance(1_000);
        credit.receive(1_000);
        credit.advance(2_000);
        assert_eq!(credit.window, 1 << 18);
        (3..20).for_each(|second| credit.advance(second * 1_000));
        assert_eq!(credit.window, 65_535);
    }

    #[test]
    fn trickle_of_payload_earns_no_window() {
        let mut credit = credit();
        for second in 0..10_000 {
            credit.advance(second * 1_000);
            assert!(credit.receive(16_384));
            credit.hold(16_384);
            credit.read(16_384);
            credit.take_due(false);
        }
        assert_eq!(credit.window, 65_535);
    }

    #[test]
    fn held_bytes_are_counted_on_the_thread() {
        let spares = FreeList::default();
        let mut credit = credit();
        credit.count_in(&spares);
        credit.hold(100);
        credit.read(40);
        assert_eq!(spares.held(), 60);
        drop(credit);
        assert_eq!(spares.held(), 0);
    }
}
