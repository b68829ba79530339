//! Heads of responses and decoded query values, for the statistics page and the exporter.

use htx::{Head, Version};

/// The head of a response that is not to be cached.
pub(crate) fn response(status: u16, reason: &str, content_type: &str) -> Head {
    let mut head = Head::default();
    head.set_response(Version::Http11, status, reason.as_bytes());
    head.push(b"cache-control", b"no-cache");
    head.push(b"content-type", content_type.as_bytes());
    head
}

/// Decodes `%41` and `+`.
pub(crate) fn decode(text: &str) -> String {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match (byte, after) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [high, low, after @ ..]) => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => {
                    bytes.push((high * 16 + low) as u8);
                    rest = after;
                }
                _ => bytes.push(b'%'),
            },
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
