//! The place of a server that tracks another one.

/// A server, by its backend and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// Number of the backend.
    pub backend: usize,
    /// Slot of the server there.
    pub slot: usize,
}
