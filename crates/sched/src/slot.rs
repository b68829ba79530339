//! What the scheduler keeps per task. Never visible outside this crate.

use crate::profile::Function;
use crate::{Class, Wake};
use std::future::Future;
use std::pin::Pin;
use stdx::Tick;

/// The future of a task; it never leaves its thread, so it need not be `Send`.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()>>>;

/// One task. The future is absent exactly while it runs.
pub(crate) struct Slot {
    pub(crate) future: Option<Work>,
    /// What it runs.
    pub(crate) function: &'static Function,
    /// When it wants to be woken. The wheel may be armed earlier, never later.
    pub(crate) deadline: Option<Tick>,
    pub(crate) reasons: Wake,
    /// Whether it stands in a run queue.
    pub(crate) queued: bool,
    /// Whether its future is to be dropped instead of polled.
    pub(crate) killed: bool,
    /// A mark of the user, which survives wake-ups.
    pub(crate) marked: bool,
    /// -1024 (first) to 1024 (last) in the normal class.
    pub(crate) nice: i16,
    /// The class that its own yield asked for.
    pub(crate) yields_to: Option<Class>,
}

impl Slot {
    pub(crate) fn new(future: Work, function: &'static Function) -> Self {
        Self {
            future: Some(future),
            function,
            deadline: None,
            reasons: Wake::INIT,
            queued: false,
            killed: false,
            marked: false,
            nice: 0,
            yields_to: None,
        }
    }
}
