//! Taking window back from unread streams, so that the connection's window is left to streams that
//! are read.
//!
//! A peer divides the window of a connection among its streams as it likes. If unread streams
//! (whose requests are queued, or whose servers do not read) hold most of it, the others starve.
//! Then SETTINGS_INITIAL_WINDOW_SIZE 0 is sent, which takes the windows of all streams back (RFC
//! 9113 section 6.9.2). After the acknowledgement, a stream gets window when it is read, and the
//! connection gets window in addition to held payload.

use super::conn::H2Conn;
use super::stream::{RecvPhase, Stream};
use crate::Ready;
use stdx::Key;
use wire::h2::{Setting, encode};

/// Whether new streams may send payload before they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Squeeze {
    /// New streams have the usual window.
    Open,
    /// A window of 0 was announced to the peer, which has not acknowledged it.
    Asked,
    /// New streams have no window.
    Narrow,
}

impl H2Conn {
    /// The initial stream window announced last.
    pub(super) fn announced_window(&self) -> u32 {
        match self.squeeze {
            Squeeze::Open => self.settings.announced.initial_window_size,
            Squeeze::Asked | Squeeze::Narrow => 0,
        }
    }

    /// Whether streams may wait for window that the peer lacks: if so, [`H2Conn::want`] may add
    /// output.
    pub fn is_short(&self) -> bool {
        self.squeeze == Squeeze::Narrow || self.credit.is_short()
    }

    /// Gives window to a stream that has begun to wait while window is short.
    pub(super) fn give_window_if_starved(&mut self, key: Key) {
        match self.squeeze {
            Squeeze::Narrow if self.streams.get(key).is_some_and(is_starved) => {
                self.fill_stream_window(key);
                self.return_window();
            }
            _ => self.begin_squeeze(),
        }
    }

    /// Takes the windows of streams back if some starve while others hold most of the connection's
    /// window.
    pub(super) fn begin_squeeze(&mut self) {
        let may = self.squeeze == Squeeze::Open && self.unacknowledged == 0;
        if may && self.credit.is_short() && self.is_blocked() {
            self.squeeze = Squeeze::Asked;
            self.send_window_setting();
        }
    }

    /// Whether a stream waits for payload while others hold most of the window.
    fn is_blocked(&self) -> bool {
        let (mut starved, mut stuck) = (false, 0);
        self.streams.each(|stream| {
            starved |= is_starved(stream);
            stuck += if is_stuck(stream) { stream.unread().len() as i64 } else { 0 };
        });
        starved && stuck > self.credit.least() / 2
    }

    /// Handles the acknowledgement: streams that wait for payload get window of their own.
    pub(super) fn finish_squeeze(&mut self) {
        if self.squeeze == Squeeze::Asked {
            self.squeeze = Squeeze::Narrow;
            for key in self.streams.keys_where(is_starved) {
                self.fill_stream_window(key);
            }
            self.return_window();
        }
    }

    /// Gives new streams the usual window again once little payload is held.
    pub(super) fn end_squeeze(&mut self) {
        let little = self.credit.held() < self.credit.least() / 4;
        if self.squeeze == Squeeze::Narrow && little && self.unacknowledged == 0 {
            self.squeeze = Squeeze::Open;
            let window = self.announced_window();
            // The peer may use it before its acknowledgement arrives.
            for key in self.streams.keys_where(|_| true) {
                let stream = self.streams.get_mut(key);
                stream.into_iter().for_each(|stream| stream.recv_window += i64::from(window));
            }
            self.stream_window = window;
            self.send_window_setting();
        }
    }

    fn send_window_setting(&mut self) {
        if self.broken.is_none() {
            self.unacknowledged += 1;
            let window = (Setting::InitialWindowSize, self.announced_window());
            encode::setting(window, &mut self.out);
        }
    }
}

/// Whether a stream's reader waits for payload.
fn is_starved(stream: &Stream) -> bool {
    let waits = stream.wants & Ready::READ.0 != 0 && stream.reset.is_none();
    waits && stream.recv == RecvPhase::Body && stream.unread().is_empty()
}

/// Whether a stream's user waits for something other than its unread payload.
fn is_stuck(stream: &Stream) -> bool {
    stream.wants != 0 && stream.wants & Ready::READ.0 == 0
}
