//! Base64 (RFC 4648 sections 4 and 5).

/// The digits of an encoding, by value.
#[derive(Clone, Copy, Debug)]
pub struct Alphabet {
    digits: &'static [u8; 64],
    /// Value of each byte; [`INVALID`] for bytes that are no digits.
    values: &'static [u8; 256],
}

/// Value of a byte that is no digit.
const INVALID: u8 = u8::MAX;

const STANDARD_DIGITS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE_DIGITS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The standard alphabet (RFC 4648 section 4).
pub const STANDARD: Alphabet =
    Alphabet { digits: STANDARD_DIGITS, values: &values(STANDARD_DIGITS) };
/// The alphabet for URLs and file names (RFC 4648 section 5).
pub const URL_SAFE: Alphabet =
    Alphabet { digits: URL_SAFE_DIGITS, values: &values(URL_SAFE_DIGITS) };

const fn values(digits: &[u8; 64]) -> [u8; 256] {
    let mut values = [INVALID; 256];
    let mut value = 0;
    while value < digits.len() {
        values[digits[value] as usize] = value as u8;
        value += 1;
    }
    values
}

/// Whether encoded text has padding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Padding {
    /// The length is a multiple of four.
    Required,
    /// There is none.
    None,
    /// Decoding accepts text with and without padding; encoding adds it.
    Optional,
}

/// Encodes bytes.
pub fn encode(bytes: &[u8], alphabet: Alphabet, padding: Padding) -> Vec<u8> {
    let mut text = vec![0; bytes.len().div_ceil(3) * 4];
    encode_into(bytes, alphabet, &mut text);
    if padding == Padding::None {
        text.truncate((bytes.len() * 4).div_ceil(3));
    }
    text
}

/// Encodes bytes with padding into `text`, as much as it has room for.
pub fn encode_into(bytes: &[u8], alphabet: Alphabet, text: &mut [u8]) {
    for (group, place) in bytes.chunks(3).zip(text.as_chunks_mut::<4>().0) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (at, digit) in place.iter_mut().enumerate() {
            let used = at <= group.len();
            *digit =
                if used { alphabet.digits[(bits >> (18 - 6 * at) & 63) as usize] } else { b'=' };
        }
    }
}

/// Decodes text; `None` if it has an invalid byte, length or padding.
pub fn decode(text: &[u8], alphabet: Alphabet, padding: Padding) -> Option<Vec<u8>> {
    if padding == Padding::Required && !text.len().is_multiple_of(4) {
        return None;
    }
    let most = if padding == Padding::None { 0 } else { 2 };
    let padded = text.iter().rev().take(most).take_while(|byte| **byte == b'=').count();
    let digits = &text[..text.len() - padded];
    if digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0;
        for at in 0..4 {
            let value = group.get(at).map_or(0, |byte| alphabet.values[usize::from(*byte)]);
            if value == INVALID {
                return None;
            }
            bits = bits << 6 | u32::from(value);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn vectors_of_the_rfc() {
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (len, text) in vectors.into_iter().enumerate() {
            let bytes = &b"foobar"[..len];
            assert_eq!(encode(bytes, STANDARD, Padding::Required), text.as_bytes());
            assert_eq!(decode(text.as_bytes(), STANDARD, Padding::Required).unwrap(), bytes);
            let bare = text.trim_end_matches('=').as_bytes();
            assert_eq!(encode(bytes, STANDARD, Padding::None), bare);
            for padding in [Padding::None, Padding::Optional] {
                assert_eq!(decode(bare, STANDARD, padding).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn invalid_texts_are_refused() {
        for (text, padding) in [
            ("Zg", Padding::Required),
            ("Zg==", Padding::None),
            ("Z===", Padding::Required),
            ("Z", Padding::Optional),
            ("Zm9v-_", Padding::Optional),
            ("Zm=v", Padding::Required),
        ] {
            assert_eq!(decode(text.as_bytes(), STANDARD, padding), None, "{text} {padding:?}");
        }
        assert_eq!(decode(b"-_-_", URL_SAFE, Padding::None).unwrap(), [0xfb, 0xff, 0xbf]);
    }

    proptest! {
        #[test]
        fn encoded_bytes_are_decoded(bytes: Vec<u8>) {
            for padding in [Padding::Required, Padding::None, Padding::Optional] {
                let text = encode(&bytes, URL_SAFE, padding);
                prop_assert_eq!(&decode(&text, URL_SAFE, padding).unwrap(), &bytes);
            }
        }
    }
}
