//! Programs that a master starts beside its workers (section 3.7).
use std::sync::Arc;

/// A `program` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: Arc<str>,
    /// `command`: the program with its arguments.
    pub command: Vec<String>,
    /// `user`, resolved.
    pub uid: Option<u32>,
    /// `group`, resolved.
    pub gid: Option<u32>,
    /// `option start-on-reload`: a reload replaces it.
    pub restarts: bool,
}
