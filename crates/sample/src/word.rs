//! Words of a configuration as text, though their bytes may be none.
//!
//! `"\xE0"` is a legal word. Words travel through all parsers as `str`, so a byte that belongs to
//! no UTF-8 character becomes one of the last 128 code points (`U+10FF80` for `0x80` and so on),
//! which stand for nothing else: where the text itself holds one of these, each of its bytes is
//! escaped in the same way. [`to_bytes`] returns exactly the input of [`from_bytes`]: code that
//! uses a word as content, and not as a name, calls it.

use std::borrow::Cow;

/// Where escaped bytes begin: the code point for `0x80`.
const BASE: u32 = 0x10ff80;
/// The first byte of the UTF-8 form of every escaped byte.
const LEAD: u8 = 0xf4;

fn escape(byte: u8, out: &mut String) {
    // Bytes below 0x80 are ASCII and never escaped.
    out.extend(char::from_u32(BASE + u32::from(byte.saturating_sub(0x80))));
}

/// The byte that a code point encodes, if any.
pub fn byte_of(c: char) -> Option<u8> {
    u8::try_from(u32::from(c).checked_sub(BASE)?).ok().map(|low| low + 0x80)
}

/// The word that encodes `bytes`.
pub fn from_bytes(bytes: Vec<u8>) -> String {
    let plain = match String::from_utf8(bytes) {
        Ok(text) if !text.as_bytes().contains(&LEAD) => return text,
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let mut out = String::with_capacity(plain.len() + 16);
    for chunk in plain.utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte_of(c) {
                None => out.push(c),
                Some(_) => c.encode_utf8(&mut [0; 4]).bytes().for_each(|b| escape(b, &mut out)),
            }
        }
        chunk.invalid().iter().for_each(|byte| escape(*byte, &mut out));
    }
    out
}

/// The bytes that `word` encodes.
pub fn to_bytes(word: &str) -> Cow<'_, [u8]> {
    if !word.as_bytes().contains(&LEAD) {
        return Cow::Borrowed(word.as_bytes());
    }
    let mut out = Vec::with_capacity(word.len());
    for c in word.chars() {
        match byte_of(c) {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_text_is_unchanged() {
        for text in ["", "abc", "é\u{1f600}"] {
            assert_eq!(from_bytes(text.as_bytes().to_vec()), text);
            assert_eq!(to_bytes(text), text.as_bytes());
        }
        assert_eq!(from_bytes(b"a\xe0b".to_vec()), "a\u{10ffe0}b");
    }

    proptest::proptest! {
        #[test]
        fn bytes_come_back(bytes: Vec<u8>, tail in "[a\u{10ff80}\u{10ffff}\u{10fffe}é]{0,6}") {
            let mut bytes = bytes;
            bytes.extend_from_slice(tail.as_bytes());
            let word = from_bytes(bytes.clone());
            proptest::prop_assert_eq!(&*to_bytes(&word), &bytes[..]);
        }
    }
}
