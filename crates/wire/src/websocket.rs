//! Keys of the websocket handshake (RFC 6455 sections 4.1 and 4.2.2), for translations between
//! HTTP/1, which has them, and HTTP/2, which does not.

use sha1::{Digest as _, Sha1};
use stdx::base64;

/// Suffix of the key in the computation of the accept value.
const APPENDED: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// `Sec-WebSocket-Key`.
pub type Key = [u8; 24];

/// `Sec-WebSocket-Accept`.
pub type Accept = [u8; 28];

/// A key: sixteen bytes in base64.
pub fn key(random: u128) -> Key {
    let mut text = [0; 24];
    base64::encode_into(&random.to_be_bytes(), base64::STANDARD, &mut text);
    text
}

/// The accept value for a key, which is not checked.
pub fn accept(key: &[u8]) -> Accept {
    let mut hash = Sha1::new();
    hash.update(key);
    hash.update(APPENDED);
    let mut text = [0; 28];
    base64::encode_into(&hash.finalize(), base64::STANDARD, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_the_rfc() {
        assert_eq!(&accept(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn keys_are_sixteen_bytes_in_base64() {
        assert_eq!(&key(0), b"AAAAAAAAAAAAAAAAAAAAAA==");
        assert_eq!(&key(u128::MAX), b"/////////////////////w==");
        let nonce = u128::from_be_bytes(*b"the sample nonce");
        assert_eq!(&key(nonce), b"dGhlIHNhbXBsZSBub25jZQ==", "the one of the RFC");
    }
}
