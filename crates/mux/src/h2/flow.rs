//! Flow control (RFC 9113 section 5.2) in both directions, and the order in which streams send.

use super::conn::{ConnectionError, H2Conn, OUTPUT};
use super::flood::cost;
use super::squeeze::Squeeze;
use super::stream::{RecvPhase, SendPhase};
use crate::Ready;
use stdx::Key;
use wire::h2::{DEFAULT_FRAME_SIZE, ErrorCode, MAX_WINDOW, encode};

/// Window updates and DATA frames with fewer bytes count as glitches.
pub(super) const TINY: u32 = 64;

impl H2Conn {
    /// Handles the peer's acknowledgement of a smaller initial window: its streams lose the
    /// difference, and their windows may become negative (RFC 9113 section 6.9.2).
    pub(super) fn apply_own_window(&mut self) {
        let window = self.announced_window();
        let by = i64::from(std::mem::replace(&mut self.stream_window, window)) - i64::from(window);
        if by == 0 {
            return;
        }
        for key in self.streams.keys_where(|_| true) {
            self.streams.get_mut(key).into_iter().for_each(|stream| stream.recv_window -= by);
        }
    }

    /// Sends a window update for the connection once it is due.
    pub(super) fn return_window(&mut self) {
        if self.broken.is_some() {
            return;
        }
        let due = self.credit.take_due(self.squeeze == Squeeze::Narrow);
        if due > 0 {
            encode::window_update(0, due, &mut self.out);
        }
    }

    /// Returns window for payload that was read or dropped, on the connection and on the stream.
    pub(super) fn return_stream_window(&mut self, key: Key) {
        self.return_window();
        self.fill_stream_window(key);
    }

    /// Sends a window update for a stream once half of its window is used and read, or nothing is
    /// left to read, so that a waiting peer continues.
    pub(super) fn fill_stream_window(&mut self, key: Key) {
        let full = i64::from(self.settings.announced.initial_window_size);
        let broken = self.broken.is_some();
        let Some(stream) = self.streams.get_mut(key) else { return };
        let more = full - stream.recv_window - stream.unread().len() as i64;
        // Some clients wait for an update even after the end of their message: HAProxy sends it.
        let ended = stream.send == SendPhase::Ended && stream.recv == RecvPhase::Ended;
        let open = !ended && stream.reset.is_none() && !broken;
        if more > 0 && open && (more >= full / 2 || stream.unread().is_empty()) {
            stream.recv_window += more;
            // No window exceeds 2^31-1, so the increment fits.
            encode::window_update(stream.id, more as u32, &mut self.out);
        }
    }

    /// Handles a window update of the connection.
    pub(super) fn window_update(&mut self, increment: u32) -> Result<(), ConnectionError> {
        if increment == 0 {
            return Err(self.fail(ErrorCode::PROTOCOL_ERROR, "window update of nothing"));
        }
        if increment < TINY {
            self.glitch_free(cost::TINY)?;
        }
        self.send_window += i64::from(increment);
        if self.send_window > i64::from(MAX_WINDOW) {
            return Err(self.fail(ErrorCode::FLOW_CONTROL_ERROR, "window too large"));
        }
        self.call_waiting_streams();
        Ok(())
    }

    /// Handles a window update of a stream.
    pub(super) fn stream_window_update(
        &mut self,
        key: Key,
        increment: u32,
    ) -> Result<(), ConnectionError> {
        if increment < TINY {
            self.glitch_free(cost::TINY)?;
        }
        if increment == 0 {
            return self.stream_error(key, ErrorCode::PROTOCOL_ERROR);
        }
        let Some(stream) = self.streams.get_mut(key) else { return Ok(()) };
        stream.send_window += i64::from(increment);
        if stream.send_window > i64::from(MAX_WINDOW) {
            return self.stream_error(key, ErrorCode::FLOW_CONTROL_ERROR);
        }
        self.wake(key, Ready::WRITE);
        Ok(())
    }

    /// Applies a change of the peer's initial window to all streams (RFC 9113 section 6.9.2).
    pub(super) fn shift_windows(&mut self, by: i64) -> Result<(), ConnectionError> {
        if by == 0 {
            return Ok(());
        }
        for key in self.streams.keys_where(|_| true) {
            let Some(stream) = self.streams.get_mut(key) else { continue };
            stream.send_window += by;
            if stream.send_window > i64::from(MAX_WINDOW) {
                return Err(self.fail(ErrorCode::FLOW_CONTROL_ERROR, "window too large"));
            }
            if by > 0 {
                self.wake(key, Ready::WRITE);
            }
        }
        Ok(())
    }

    /// Bytes that streams may add to the output now.
    pub(super) fn room(&self) -> usize {
        OUTPUT.saturating_sub(self.pending())
    }

    /// Queues a stream that has to wait for its turn.
    pub(super) fn queue_to_send(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(key)
            && !std::mem::replace(&mut stream.queued, true)
        {
            self.send_queue.push_back(key);
        }
    }

    /// Ends the turn of a stream that was called, used or not.
    pub(super) fn end_turn(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(key)
            && std::mem::take(&mut stream.called)
        {
            self.streams_called -= 1;
        }
    }

    /// Calls the first streams of the line, as many as there is room for.
    pub(super) fn call_waiting_streams(&mut self) {
        // After a half-close no window update comes, so waiting streams are woken to notice that.
        if self.send_queue.is_empty() || (self.send_window <= 0 && !self.has_input_ended()) {
            return;
        }
        let mut turns = self.room() / DEFAULT_FRAME_SIZE as usize;
        while turns > 0 {
            let Some(key) = self.send_queue.pop_front() else { return };
            if let Some(stream) = self.streams.get_mut(key) {
                (stream.queued, stream.served, stream.called) = (false, false, true);
                self.streams_called += 1;
                turns -= 1;
                self.wake(key, Ready::WRITE);
            }
        }
    }
}
