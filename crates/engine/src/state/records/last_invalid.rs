//! The last invalid request and response of a proxy.

use crate::state::runtime::Proxy;
use std::net::SocketAddr;
use std::sync::Arc;
use stdx::Mutex;

/// A message that was refused.
#[derive(Debug)]
pub struct Invalid {
    /// The time of the refusal, in nanoseconds since 1970.
    pub wall: u64,
    /// Messages refused before it.
    pub number: u64,
    /// The frontend, by index.
    pub frontend: usize,
    /// The backend, by index, once there is one.
    pub backend: Option<usize>,
    /// Name and number of the server, once there is one.
    pub server: Option<(String, u32)>,
    /// The client.
    pub source: Option<SocketAddr>,
    /// The received bytes.
    pub bytes: Vec<u8>,
    /// The offset of the first invalid byte.
    pub at: usize,
    /// The reason of the refusal.
    pub reason: &'static str,
    /// Bytes of a buffer.
    pub size: usize,
}

/// The last invalid messages of a proxy.
#[derive(Debug, Default)]
pub struct Captures {
    /// The last request that was refused.
    pub request: Mutex<Option<Arc<Invalid>>>,
    /// The last response that was refused.
    pub response: Mutex<Option<Arc<Invalid>>>,
}

impl Captures {
    /// The last request.
    pub fn request(&self) -> Option<Arc<Invalid>> {
        self.request.lock().clone()
    }

    /// The last response.
    pub fn response(&self) -> Option<Arc<Invalid>> {
        self.response.lock().clone()
    }
}

impl Proxy {
    /// The messages refused at this proxy: the request first, with `true`.
    pub fn refused(&self) -> impl Iterator<Item = (bool, Arc<Invalid>)> {
        let request = self.invalid.request().map(|it| (true, it));
        request.into_iter().chain(self.invalid.response().map(|it| (false, it)))
    }
}
