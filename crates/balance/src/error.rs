//! The error of a choice among servers.

/// Why no server was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoServer {
    /// No server is usable: answer 503 or wait for one.
    Unusable,
    /// Usable servers exist but all are full: queue in the backend.
    Full,
}
