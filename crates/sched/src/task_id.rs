//! Identifiers of tasks.

use stdx::Key;

/// Identifies a task of one scheduler while the task lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct TaskId(pub(crate) Key);

impl TaskId {
    /// An id that no task has.
    pub const NONE: Self = Self(Key::NONE);

    /// The id as one word.
    pub fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// The inverse of [`TaskId::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self(Key::from_bits(bits))
    }
}
