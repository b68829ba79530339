//! Services that answer requests in the proxy's own name: the statistics page and those that boot
//! adds.

use crate::state::runtime::Proxy;
use crate::state::worker::Worker;
use htx::{Head, Version};
pub use rules::Service;

/// A response made by the proxy itself.
#[derive(Debug)]
pub struct Answer {
    /// Status line and headers, without those that frame the body.
    pub head: Head,
    /// The body.
    pub body: Body,
}

/// The body of an [`Answer`].
pub enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// Chunks of a body that is too long to build at once.
    Pieces(Pieces),
}

/// Appends the next chunk (at most some hundred microseconds of work; may be empty). `false`: it
/// was the last one. Other tasks run between two chunks.
pub type Pieces = Box<dyn FnMut(&Worker, &mut String) -> bool>;

impl Body {
    /// Builds the whole body at once.
    pub fn collect(self, worker: &Worker) -> Vec<u8> {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Pieces(mut next) => {
                let mut text = String::new();
                while next(worker, &mut text) {}
                text.into_bytes()
            }
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(bytes) => f.debug_tuple("Whole").field(&bytes.len()).finish(),
            Self::Pieces(_) => f.write_str("Pieces"),
        }
    }
}

/// A request to the statistics page of a proxy.
pub struct Visit<'a> {
    /// The thread that serves it.
    pub worker: &'a Worker,
    /// The proxy with the page.
    pub proxy: &'a Proxy,
    /// The request.
    pub request: &'a Head,
    /// Whether a `stats admin` condition holds.
    pub admin: bool,
    /// The body, if it was read and fits in a buffer.
    pub form: Option<&'a [u8]>,
}

/// The services of a worker. Implemented above the data plane and handed in by the boot.
pub trait Services {
    /// Answers a request to the statistics page of a proxy, or declines.
    fn statistics(&self, visit: &Visit<'_>) -> Option<Answer>;

    /// Answers a request that `use-service` sends to a service.
    fn serve(&self, service: Service, request: &Head) -> Answer;
}

/// No services at all.
#[derive(Debug, Default)]
pub struct NoServices;

impl Services for NoServices {
    fn statistics(&self, _: &Visit<'_>) -> Option<Answer> {
        None
    }

    fn serve(&self, _: Service, _: &Head) -> Answer {
        let mut head = Head::default();
        head.set_response(Version::Http11, 503, b"Service Unavailable");
        Answer { head, body: Body::Whole(Vec::new()) }
    }
}
