//! Whether and with which key a backend computes the cookies of its servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use stdx::Mutex;

/// Cookies computed from addresses (`dynamic-cookie-key`).
#[derive(Debug, Default)]
pub struct DynamicCookie {
    off: AtomicBool,
    key: Mutex<Option<Arc<str>>>,
}

impl DynamicCookie {
    pub(crate) fn new(settings: &settings::Backend) -> Self {
        Self {
            off: AtomicBool::new(!settings.dynamic_cookie),
            key: Mutex::new(settings.cookie_key.clone()),
        }
    }

    /// Uses them, or not.
    pub fn switch(&self, on: bool) {
        self.off.store(!on, Relaxed);
    }

    /// Computes them with this key from now on.
    pub fn set_key(&self, key: &str) {
        *self.key.lock() = Some(key.into());
    }

    /// The key that they are computed with; `None` if they are not used.
    pub fn key(&self) -> Option<Arc<str>> {
        if self.off.load(Relaxed) {
            return None;
        }
        self.key.lock().clone()
    }
}
