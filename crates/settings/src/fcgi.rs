//! The FastCGI application of a backend.

use super::Logs;
use rules::FcgiApp;
use std::sync::Arc;

/// An application, and the targets of its error output.
#[derive(Debug)]
pub struct BackendApp {
    /// The application.
    pub app: Arc<FcgiApp>,
    /// Targets of lines on its error output (`log-stderr`).
    pub logs: Arc<Logs>,
    /// `SERVER_SOFTWARE`.
    pub software: Vec<u8>,
}
