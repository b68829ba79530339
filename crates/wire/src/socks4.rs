//! SOCKS4, client side: the connect request and its reply.

use std::net::SocketAddrV4;

/// Bytes of a reply.
pub const REPLY_LEN: usize = 8;

/// User id of requests, the same as HAProxy's.
const USER: &[u8] = b"HAProxy\0";

/// Appends a request to connect to `to`.
pub fn encode_request(to: SocketAddrV4, out: &mut Vec<u8>) {
    out.extend_from_slice(&[4, 1]);
    out.extend_from_slice(&to.port().to_be_bytes());
    out.extend_from_slice(&to.ip().octets());
    out.extend_from_slice(USER);
}

/// Whether a reply grants the request.
pub fn is_granted(reply: &[u8; REPLY_LEN]) -> bool {
    reply[0] == 0 && reply[1] == 90
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_its_answers() {
        let mut out = Vec::new();
        encode_request("1.2.3.4:1337".parse().unwrap(), &mut out);
        assert_eq!(out, b"\x04\x01\x05\x39\x01\x02\x03\x04HAProxy\0");
        assert!(is_granted(&[0, 90, 1, 2, 3, 4, 5, 6]));
        assert!(!is_granted(&[0, 91, 0, 0, 0, 0, 0, 0]));
        assert!(!is_granted(&[4, 90, 0, 0, 0, 0, 0, 0]));
    }
}
