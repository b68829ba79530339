//! The payload of `tcp-check send` and its variants.

use sample::{Facts, LogFormat};

/// The bytes of a `send` step.
#[derive(Debug)]
pub enum Send {
    /// `send`, `send-binary`
    Bytes(Box<[u8]>),
    /// `send-lf`
    Format(LogFormat),
    /// `send-binary-lf`: hexadecimal digits.
    HexFormat(LogFormat),
}

impl Send {
    /// The bytes; `None` if what a format gave is no hexadecimal text.
    pub fn build(&self, facts: &dyn Facts) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Some(bytes.to_vec()),
            Self::Format(format) => Some(written(format, facts)),
            Self::HexFormat(format) => from_hex(&written(format, facts)),
        }
    }
}

/// The current result of a format.
pub(super) fn written(format: &LogFormat, facts: &dyn Facts) -> Vec<u8> {
    let mut out = Vec::new();
    format.write(facts, &mut out);
    out
}

/// Decodes pairs of hexadecimal digits.
pub(super) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(*high)? * 16 + digit(*low)?) as u8),
        _ => None,
    };
    text.chunks(2).map(pair).collect()
}
