//! Texts that are sent once per connection and referred to by number afterwards.
//!
//! Each direction has its own numbers, 1 to 128. A text that gets a number anew is sent with it.

use crate::message::WireError;
use crate::varint;
use std::collections::HashMap;
use std::sync::Arc;

/// Texts that are known at the same time.
pub const CAPACITY: usize = 128;

/// The texts that we have sent.
#[derive(Debug, Default)]
pub struct SentTexts {
    /// By number less one: the text, and when it was used last.
    slots: Vec<(Arc<str>, u64)>,
    numbers: HashMap<Arc<str>, usize>,
    uses: u64,
}

impl SentTexts {
    /// The texts that have a number, from the first number on.
    pub fn all(&self) -> impl Iterator<Item = &Arc<str>> {
        self.slots.iter().map(|(text, _)| text)
    }

    /// Appends a text, by its number alone if it was sent before.
    pub fn write(&mut self, text: Option<&Arc<str>>, out: &mut Vec<u8>) {
        let Some(text) = text else { return varint::put(out, 0) };
        self.uses += 1;
        let mut body = Vec::with_capacity(text.len() + 8);
        if let Some(at) = self.numbers.get(text) {
            self.slots[*at].1 = self.uses;
            varint::put(&mut body, *at as u64 + 1);
        } else {
            varint::put(&mut body, self.remember(text.clone()) as u64 + 1);
            varint::put(&mut body, text.len() as u64);
            body.extend_from_slice(text.as_bytes());
        }
        varint::put(out, body.len() as u64);
        out.extend_from_slice(&body);
    }

    /// Gives a text a number: a free one, or that of the text that was used longest ago.
    fn remember(&mut self, text: Arc<str>) -> usize {
        let slot = (text.clone(), self.uses);
        let at = if self.slots.len() < CAPACITY {
            self.slots.push(slot);
            self.slots.len() - 1
        } else {
            let oldest = self.slots.iter().enumerate().min_by_key(|(_, (_, used))| *used);
            let at = oldest.map_or(0, |(at, _)| at);
            self.numbers.remove(&self.slots[at].0);
            self.slots[at] = slot;
            at
        };
        self.numbers.insert(text, at);
        at
    }

    /// Forgets all texts, so that they are sent again.
    pub fn clear(&mut self) {
        *self = SentTexts::default();
    }
}

/// The texts that the peer has sent.
#[derive(Debug, Default)]
pub struct ReceivedTexts(Vec<Option<Arc<str>>>);

impl ReceivedTexts {
    /// The texts by number, from the first number on.
    pub fn all(&self) -> &[Option<Arc<str>>] {
        &self.0
    }

    /// Reads a text off the front of an update. `None` if no text is stored, or if the number was
    /// not announced.
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<Arc<str>>, WireError> {
        let len = usize::try_from(varint::take(bytes)?).map_err(|_| WireError::Protocol)?;
        let (mut body, rest) = bytes.split_at_checked(len).ok_or(WireError::Protocol)?;
        *bytes = rest;
        if body.is_empty() {
            return Ok(None);
        }
        let number = usize::try_from(varint::take(&mut body)?).map_err(|_| WireError::Protocol)?;
        if number == 0 || number > CAPACITY {
            return Err(WireError::Protocol);
        }
        if body.is_empty() {
            return Ok(self.0.get(number - 1).cloned().flatten());
        }
        let len = usize::try_from(varint::take(&mut body)?).map_err(|_| WireError::Protocol)?;
        let text = body.get(..len).ok_or(WireError::Protocol)?;
        let text: Arc<str> = String::from_utf8_lossy(text).into();
        if self.0.len() < number {
            self.0.resize(number, None);
        }
        self.0[number - 1] = Some(text.clone());
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_those_of_haproxy() {
        let mut sent = SentTexts::default();
        let mut bytes = Vec::new();
        sent.write(Some(&"127.0.0.1:9002".into()), &mut bytes);
        assert_eq!(bytes, b"\x10\x01\x0e127.0.0.1:9002");
        bytes.clear();
        sent.write(Some(&"127.0.0.1:9002".into()), &mut bytes);
        sent.write(None, &mut bytes);
        assert_eq!(bytes, [1, 1, 0]);
    }

    #[test]
    fn numbers_out_of_range_and_truncated_texts_are_refused() {
        let read = |bytes: &[u8]| ReceivedTexts::default().read(&mut &*bytes);
        assert_eq!(read(&[1, 9]), Ok(None), "not announced");
        assert_eq!(read(&[2, 1, 0]), Ok(Some("".into())));
        for bytes in [&[][..], &[1, 0], &[1, 129], &[5, 1], &[3, 1, 9, b'a'], &[1, 0xff]] {
            assert_eq!(read(bytes), Err(WireError::Protocol), "{bytes:?}");
        }
        let mut beyond = vec![];
        varint::put(&mut beyond, u64::MAX);
        assert_eq!(read(&beyond), Err(WireError::Protocol));
    }

    proptest! {
        #[test]
        fn receivers_have_the_texts_of_senders(texts in proptest::collection::vec(0u32..300, 0..2_000)) {
            let (mut sent, mut received) = (SentTexts::default(), ReceivedTexts::default());
            for text in texts {
                let text: Option<Arc<str>> = (text > 0).then(|| format!("server{text}").into());
                let mut bytes = Vec::new();
                sent.write(text.as_ref(), &mut bytes);
                prop_assert_eq!(received.read(&mut &bytes[..]), Ok(text));
            }
        }
    }
}
