//! The place of a server that tracks another one.

/// A server, by its backend and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) backend: usize,
    pub(crate) slot: usize,
}
