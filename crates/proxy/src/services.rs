//! What answers requests in the proxy's own name: the statistics page and what else boot wires in.
//! Never forwards.

use crate::runtime::Proxy;
use crate::worker::Worker;
use htx::{Head, Version};
pub use rules::Service;

/// A complete response made by the proxy itself.
#[derive(Debug)]
pub struct Answer {
    /// Status line and headers, without those that frame the body.
    pub head: Head,
    /// The body.
    pub body: Vec<u8>,
}

/// The services of a worker. Implemented above the data plane and handed in by the boot.
pub trait Services {
    /// Answers a request to the statistics page of `proxy`, or declines.
    fn statistics(&self, worker: &Worker, proxy: &Proxy, request: &Head) -> Option<Answer>;

    /// Answers a request that `use-service` sends to a service.
    fn serve(&self, service: Service, worker: &Worker, request: &Head) -> Answer;
}

/// No services at all.
#[derive(Debug, Default)]
pub struct NoServices;

impl Services for NoServices {
    fn statistics(&self, _: &Worker, _: &Proxy, _: &Head) -> Option<Answer> {
        None
    }

    fn serve(&self, _: Service, _: &Worker, _: &Head) -> Answer {
        let mut head = Head::default();
        head.set_response(Version::Http11, 503, b"Service Unavailable");
        Answer { head, body: Vec::new() }
    }
}
