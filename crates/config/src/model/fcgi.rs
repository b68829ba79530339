//! FastCGI applications (section 10.1).
use super::LogTarget;
use ::rules::FcgiApp;
use std::sync::Arc;

/// The application of a backend (`use-fcgi-app`).
#[derive(Clone, Debug)]
pub struct BackendApp {
    /// Its section.
    pub app: Arc<FcgiApp>,
    /// `log-stderr` lines.
    pub logs: Arc<[LogTarget]>,
}
