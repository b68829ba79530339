//! `Host`: all that a script may ask of the process.

use crate::error::ScriptError;
use crate::surroundings;
use htx::{Head, Version};
use mlua::RegistryKey;
use rules::Context;
use sample::{Facts, Side};

/// Names and values of header lines.
pub type HeaderLines = Vec<(Vec<u8>, Vec<u8>)>;

/// An answer that a script gives in place of a server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocalReply {
    /// The status.
    pub status: u16,
    /// The reason; that of the status if it is left out.
    pub reason: Option<Vec<u8>>,
    /// Names and values.
    pub headers: HeaderLines,
    /// The body.
    pub body: Vec<u8>,
}

impl LocalReply {
    /// Makes `head` the head of the answer, without the length of its body.
    pub fn write_head(&self, head: &mut Head) {
        head.clear();
        head.set_response(Version::Http11, self.status, self.reason.as_deref().unwrap_or(b"x"));
        if self.reason.is_none() {
            head.set_status(self.status);
        }
        for (name, value) in &self.headers {
            head.push(&name.to_ascii_lowercase(), value);
        }
    }
}

/// Values that scripts keep with a transaction: one per state.
#[derive(Debug, Default)]
pub struct Private(pub(crate) Vec<(u32, RegistryKey)>);

impl Private {
    /// Forgets all values.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bytes of one direction of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChannelBytes {
    /// The bytes that have arrived and not left.
    pub bytes: Vec<u8>,
    /// Bytes at their front that scripts have forwarded.
    pub passed: usize,
}

/// The fill level of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelState {
    /// Bytes that wait for a decision.
    pub input: usize,
    /// Bytes that scripts have forwarded.
    pub output: usize,
    /// Bytes that may be added.
    pub room: usize,
    /// Whether more may arrive.
    pub open: bool,
    /// Whether the message ends behind the input.
    pub last: bool,
}

/// The surroundings of a running script.
pub trait Host {
    /// The message as expressions see it.
    fn facts(&self) -> Option<&dyn Facts> {
        None
    }

    /// The transaction, where it may be changed.
    fn context(&mut self) -> Option<&mut dyn Context> {
        None
    }

    /// Logs a line; without a level at the one that `txn:deflog` has.
    fn log(&mut self, level: Option<u8>, text: &[u8]) {
        if let Some(here) = surroundings::here() {
            here.log(level, text);
        }
    }

    /// Seconds since 1970 and microseconds.
    fn wall(&self) -> (i64, u32) {
        surroundings::here().map_or((0, 0), |here| here.wall())
    }

    /// Values that scripts keep with the transaction.
    fn private(&mut self) -> Option<&mut Private> {
        None
    }

    /// The fill level of a direction.
    ///
    /// # Errors
    /// There is none here.
    fn channel_state(&self, _side: Side) -> Result<ChannelState, ScriptError> {
        Err(ScriptError::refused("there is no channel here"))
    }

    /// The bytes of a direction.
    ///
    /// # Errors
    /// They are none that scripts may see.
    fn channel(&self, _side: Side) -> Result<ChannelBytes, ScriptError> {
        Err(ScriptError::refused("there is no channel here"))
    }

    /// Replaces the bytes of a direction.
    ///
    /// # Errors
    /// They are none that scripts may change, or too many.
    fn edit_channel(&mut self, _side: Side, _to: ChannelBytes) -> Result<(), ScriptError> {
        Err(ScriptError::refused("there is no channel here"))
    }

    /// `txn:done`: the transaction ends, with this answer if there is one.
    ///
    /// # Errors
    /// There is nothing to end.
    fn done(&mut self, _reply: Option<LocalReply>) -> Result<(), ScriptError> {
        Err(ScriptError::Unavailable("done".to_owned()))
    }

    /// Whether a filter sees the payload of a direction.
    ///
    /// # Errors
    /// There is no filter here.
    fn data_filter(&mut self, _side: Side, _on: bool) -> Result<(), ScriptError> {
        Err(ScriptError::refused("there is no filter here"))
    }

    /// Sets whether the message ends after the filter's output.
    ///
    /// # Errors
    /// A filter cannot change the end here.
    fn end_message(&mut self, _side: Side, _on: bool) -> Result<(), ScriptError> {
        Err(ScriptError::refused("the end of the message cannot be changed here"))
    }

    /// `act:wake_time`
    ///
    /// # Errors
    /// No function runs again here.
    fn wake_after(&mut self, _span: u64) -> Result<(), ScriptError> {
        Err(ScriptError::Unavailable("wake_time".to_owned()))
    }

    /// `applet:start_response`
    ///
    /// # Errors
    /// This is no service, or it has answered already.
    fn start_response(&mut self, _reply: LocalReply) -> Result<(), ScriptError> {
        Err(ScriptError::Unavailable("start_response".to_owned()))
    }
}

/// A host that answers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {}
