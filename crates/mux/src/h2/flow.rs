//! Flow control (RFC 9113 section 5.2): what either side may still send, and whose turn it is.
//! Never moves payload.

use super::abuse::price;
use super::conn::{Broken, Conn, OUTPUT, Ready};
use super::squeeze::Squeeze;
use super::stream::{Recv, Send};
use stdx::Key;
use wire::h2::{Code, DEFAULT_FRAME_SIZE, MAX_WINDOW, encode};

/// A window update of fewer bytes, or a frame of fewer for want of a window, is odd.
pub(super) const TINY: u32 = 64;

impl Conn {
    /// The peer has taken note of our settings: if the windows of its streams are smaller now than
    /// it had to assume, they lose the difference, and may have nothing or less left (section
    /// 6.9.2).
    pub(super) fn narrow_streams(&mut self) {
        let window = self.told_window();
        let by = i64::from(std::mem::replace(&mut self.stream_window, window)) - i64::from(window);
        if by == 0 {
            return;
        }
        for key in self.streams.keys_where(|_| true) {
            self.streams.get_mut(key).into_iter().for_each(|stream| stream.recv_window -= by);
        }
    }

    /// Gives the connection's window back to the peer once that is as much as the peer has left.
    pub(super) fn return_window(&mut self) {
        if self.broken.is_some() {
            return;
        }
        let due = self.credit.take_due(self.squeeze == Squeeze::Narrow);
        if due > 0 {
            encode::window_update(0, due, &mut self.out);
        }
    }

    /// Payload of a stream was read, or dropped: the peer gets window for more, on the connection
    /// and on the stream.
    pub(super) fn return_stream_window(&mut self, key: Key) {
        self.return_window();
        self.fill_stream_window(key);
    }

    /// Opens a stream's window again once half of it is used and read, or the stream has nothing
    /// left to read, so that no peer waits for nothing.
    pub(super) fn fill_stream_window(&mut self, key: Key) {
        let full = i64::from(self.settings.announced.initial_window_size);
        let broken = self.broken.is_some();
        let Some(stream) = self.streams.get_mut(key) else { return };
        let more = full - stream.recv_window - stream.unread().len() as i64;
        // Some clients wait for an update even behind the end of their message: HAProxy sends it.
        let ended = stream.send == Send::Ended && stream.recv == Recv::Ended;
        let open = !ended && stream.reset.is_none() && !broken;
        if more > 0 && open && (more >= full / 2 || stream.unread().is_empty()) {
            stream.recv_window += more;
            // No window is larger than 2^31-1, and no stream has less than that to make up for.
            encode::window_update(stream.id, more as u32, &mut self.out);
        }
    }

    /// The peer lets us send more on all streams together.
    pub(super) fn widen(&mut self, increment: u32) -> Result<(), Broken> {
        if increment == 0 {
            return Err(self.fail(Code::PROTOCOL_ERROR, "window update of nothing"));
        }
        if increment < TINY {
            self.glitch_free(price::TINY)?;
        }
        self.send_window += i64::from(increment);
        if self.send_window > i64::from(MAX_WINDOW) {
            return Err(self.fail(Code::FLOW_CONTROL_ERROR, "window too large"));
        }
        self.call_next();
        Ok(())
    }

    /// The peer lets us send more on one stream.
    pub(super) fn widen_stream(&mut self, key: Key, increment: u32) -> Result<(), Broken> {
        if increment < TINY {
            self.glitch_free(price::TINY)?;
        }
        if increment == 0 {
            return self.stream_error(key, Code::PROTOCOL_ERROR);
        }
        let Some(stream) = self.streams.get_mut(key) else { return Ok(()) };
        stream.send_window += i64::from(increment);
        if stream.send_window > i64::from(MAX_WINDOW) {
            return self.stream_error(key, Code::FLOW_CONTROL_ERROR);
        }
        self.wake(key, Ready::WRITE);
        Ok(())
    }

    /// The peer's initial window changes: so does every stream's (section 6.9.2).
    pub(super) fn shift_windows(&mut self, by: i64) -> Result<(), Broken> {
        if by == 0 {
            return Ok(());
        }
        for key in self.streams.keys_where(|_| true) {
            let Some(stream) = self.streams.get_mut(key) else { continue };
            stream.send_window += by;
            if stream.send_window > i64::from(MAX_WINDOW) {
                return Err(self.fail(Code::FLOW_CONTROL_ERROR, "window too large"));
            }
            if by > 0 {
                self.wake(key, Ready::WRITE);
            }
        }
        Ok(())
    }

    /// Bytes that streams may put into the output now.
    pub(super) fn room(&self) -> usize {
        OUTPUT.saturating_sub(self.pending())
    }

    /// A stream has to wait for its turn.
    pub(super) fn queue(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(key)
            && !std::mem::replace(&mut stream.queued, true)
        {
            self.line.push_back(key);
        }
    }

    /// A stream that was called has its turn, or needs none.
    pub(super) fn answer_call(&mut self, key: Key) {
        if let Some(stream) = self.streams.get_mut(key)
            && std::mem::take(&mut stream.called)
        {
            self.called -= 1;
        }
    }

    /// Those at the front of the line may send, as many as there is room for.
    pub(super) fn call_next(&mut self) {
        // Who waits for a window of a peer that says nothing more had better know.
        if self.line.is_empty() || (self.send_window <= 0 && !self.has_input_ended()) {
            return;
        }
        let mut turns = self.room() / DEFAULT_FRAME_SIZE as usize;
        while turns > 0 {
            let Some(key) = self.line.pop_front() else { return };
            if let Some(stream) = self.streams.get_mut(key) {
                (stream.queued, stream.served, stream.called) = (false, false, true);
                self.called += 1;
                turns -= 1;
                self.wake(key, Ready::WRITE);
            }
        }
    }
}
