//! A fixed request and response on which expressions are evaluated.

use htx::{Head, Version};
use sample::{Facts, Side};
use std::net::SocketAddr;

/// A request, a response and some bytes.
pub(crate) struct World {
    request: Head,
    response: Head,
    body: Vec<u8>,
}

impl World {
    /// The messages, with `body` as the body and as a header's value.
    pub(crate) fn new(body: &[u8]) -> World {
        let value: Vec<u8> =
            body.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).take(4096).collect();
        let (mut request, mut response) = (Head::default(), Head::default());
        request.set_request(b"POST", b"http://u@h.example:81/p/a.html?x=1&y=&x=2", Version::Http11);
        request.push(b"host", b"www.example.com:8080");
        request.push(b"cookie", b"a=1; b=2");
        request.push(b"x-value", &value);
        response.set_response(Version::Http11, 200, b"OK");
        response.push(b"set-cookie", b"s=9; path=/");
        response.push(b"x-value", &value);
        World { request, response, body: body.to_vec() }
    }
}

impl Facts for World {
    fn request(&self) -> Option<&Head> {
        Some(&self.request)
    }

    fn response(&self) -> Option<&Head> {
        Some(&self.response)
    }

    fn body(&self, _: Side) -> Option<&[u8]> {
        Some(&self.body)
    }

    fn payload(&self, _: Side) -> Option<&[u8]> {
        Some(&self.body)
    }

    fn source(&self) -> Option<SocketAddr> {
        "192.0.2.1:4567".parse().ok()
    }

    fn destination(&self) -> Option<SocketAddr> {
        "[2001:db8::1]:80".parse().ok()
    }
}
