//! The values of one entry on a connection (peers.txt, "Entry update").

use crate::definition::{Column, Definition, KeyType};
use crate::dictionary::{ReceivedTexts, SentTexts};
use crate::message::{UpdateKind, WireError};
use crate::varint;
use table::{DataKind, Exported, KeyKind, LearnedValue, MAX_ARRAY, RateValue, Value};

/// Milliseconds by which the clocks of a peer's threads may differ.
const SKEW: u64 = 60_000;

/// An entry that a peer teaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update<'a> {
    /// The number of the update; `None` if it is the number of the last update plus one.
    pub number: Option<u32>,
    /// Milliseconds that the entry has left, if the peer sends them.
    pub expires_in: Option<u64>,
    /// The key.
    pub key: &'a [u8],
}

/// The part in front of the values of an update that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading<'a> {
    /// The number of the update; `None` if it is the number of the last update plus one.
    pub number: Option<u32>,
    /// Milliseconds that the entry has left; nothing for a whole span.
    pub expires_in: Option<u64>,
    /// The key.
    pub key: &'a [u8],
    /// The type of the key.
    pub key_kind: KeyKind,
}

impl Heading<'_> {
    /// The kind of the message.
    pub fn kind(&self) -> UpdateKind {
        UpdateKind { incremental: self.number.is_none(), timed: self.expires_in.is_some() }
    }

    /// Appends the body of the message.
    pub fn write(&self, values: &Exported, texts: &mut SentTexts, out: &mut Vec<u8>) {
        if let Some(number) = self.number {
            out.extend_from_slice(&number.to_be_bytes());
        }
        if let Some(left) = self.expires_in {
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            out.extend_from_slice(&left.to_be_bytes());
        }
        if matches!(self.key_kind, KeyKind::Text(_)) {
            varint::put(out, self.key.len() as u64);
        }
        out.extend_from_slice(self.key);
        for value in &values.values {
            write_value(value, texts, out);
        }
    }
}

fn write_value(value: &Value, texts: &mut SentTexts, out: &mut Vec<u8>) {
    match value {
        Value::Number(number) => varint::put(out, *number),
        Value::Rate(rate) => {
            varint::put(out, rate.age);
            varint::put(out, rate.current.into());
            varint::put(out, rate.past.into());
        }
        Value::Text(text) => texts.write(text.as_ref(), out),
    }
}

impl<'a> Update<'a> {
    /// Reads the body of the message. Appends the values to `values` and remembers the texts. Bytes
    /// behind the values are those of data types that are not known.
    pub fn read(
        kind: UpdateKind,
        mut body: &'a [u8],
        definition: &Definition,
        key: KeyType,
        texts: &mut ReceivedTexts,
        values: &mut Vec<LearnedValue>,
    ) -> Result<Update<'a>, WireError> {
        let body = &mut body;
        let number = if kind.incremental { None } else { Some(word(body)?) };
        let expires_in = if kind.timed { Some(word(body)?.into()) } else { None };
        let len = match key {
            KeyType::Integer => 4,
            KeyType::Text => varint::take(body)?,
            KeyType::Ip | KeyType::Ipv6 | KeyType::Binary => definition.key_len,
        };
        let len = usize::try_from(len).map_err(|_| WireError::Protocol)?;
        let (key, rest) = body.split_at_checked(len).ok_or(WireError::Protocol)?;
        *body = rest;
        for column in &definition.columns {
            read_column(column, body, texts, values)?;
        }
        Ok(Update { number, expires_in, key })
    }
}

fn word(body: &mut &[u8]) -> Result<u32, WireError> {
    let (word, rest) = body.split_first_chunk().ok_or(WireError::Protocol)?;
    *body = rest;
    Ok(u32::from_be_bytes(*word))
}

/// Every element takes a byte at least, so the body bounds the loop.
fn read_column(
    column: &Column,
    body: &mut &[u8],
    texts: &mut ReceivedTexts,
    values: &mut Vec<LearnedValue>,
) -> Result<(), WireError> {
    for index in 0..column.count {
        let value = match column.data.kind() {
            DataKind::Count | DataKind::Long => Value::Number(varint::take(body)?),
            DataKind::Text => Value::Text(texts.read(body)?),
            DataKind::Rate => {
                let age = age(varint::take(body)?);
                let (current, past) = (varint::take(body)?, varint::take(body)?);
                Value::Rate(RateValue { age, current: current as u32, past: past as u32 })
            }
        };
        if index < u64::from(MAX_ARRAY) {
            values.push(LearnedValue { data: column.data, index: index as u32, value });
        }
    }
    Ok(())
}

/// The age of a period. HAProxy computes it in 32 bits, from clocks of two of its threads: a period
/// may have begun a little after now.
fn age(sent: u64) -> u64 {
    let before_now = u64::from(u32::MAX).saturating_sub(sent);
    if sent <= u64::from(u32::MAX) && before_now < SKEW { 0 } else { sent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use table::{DataType, Settings};

    fn of_type(kind: KeyKind, types: &[(DataType, u32)]) -> Definition {
        let mut settings = Settings::new("t", kind, 10);
        for (data, count) in types {
            let period = if data.kind() == DataKind::Rate { 1_000 } else { 0 };
            settings.add(*data, *count, period);
        }
        Definition::of(1, "t", &settings)
    }

    fn body(heading: &Heading<'_>, values: Vec<Value>) -> Vec<u8> {
        let exported = Exported { values, expires_in: 0 };
        let mut out = Vec::new();
        heading.write(&exported, &mut SentTexts::default(), &mut out);
        out
    }

    fn rate(age: u64, current: u32, past: u32) -> Value {
        Value::Rate(RateValue { age, current, past })
    }

    // Bytes that HAProxy 2.7 sends, one data type or key type each.
    #[test]
    fn updates_are_those_of_haproxy() {
        let ip = Heading {
            number: Some(1),
            expires_in: Some(0x2709),
            key: &[1, 2, 3, 4],
            key_kind: KeyKind::Ip,
        };
        let number = body(&ip, vec![Value::Number(300)]);
        assert_eq!(number, b"\0\0\0\x01\0\0\x27\x09\x01\x02\x03\x04\xfc\x03");
        let tags = body(&ip, vec![Value::Number(0); 5]);
        assert_eq!(tags[12..], [0; 5]);
        assert_eq!(body(&ip, vec![rate(7, 300, 0)])[12..], [0x07, 0xfc, 0x03, 0]);
        assert_eq!(body(&ip, vec![Value::Text(None)])[12..], [0]);
        let text = Heading { key: b"abcdefg", key_kind: KeyKind::Text(7), ..ip };
        assert_eq!(body(&text, vec![Value::Number(5)])[8..], *b"\x07abcdefg\x05");
        let kinds = [(Some(1), Some(1), 0x85), (None, Some(1), 0x86), (Some(1), None, 0x80)];
        for (number, expires_in, byte) in kinds.into_iter().chain([(None, None, 0x81)]) {
            assert_eq!(Heading { number, expires_in, ..ip }.kind().byte(), byte);
        }
    }

    // HAProxy 2.6 sends an age of -2 ms if another thread has touched the rate.
    #[test]
    fn a_period_that_begins_after_now_is_a_new_one() {
        let definition = of_type(KeyKind::Integer, &[(DataType::Gpc0Rate, 1)]);
        let read = |sent: u64| {
            let mut body = vec![0, 0, 0, 5];
            [sent, 7, 3].iter().for_each(|number| varint::put(&mut body, *number));
            let kind = UpdateKind { incremental: true, timed: false };
            let (mut texts, mut values) = (ReceivedTexts::default(), Vec::new());
            Update::read(kind, &body, &definition, KeyType::Integer, &mut texts, &mut values)
                .expect("it is whole");
            values.pop().expect("a rate").value
        };
        assert_eq!([read(4_294_967_294), read(u32::MAX.into())], [rate(0, 7, 3), rate(0, 7, 3)]);
        let old = u64::from(u32::MAX) - SKEW;
        assert_eq!([read(old), read(1 << 32)], [rate(old, 7, 3), rate(1 << 32, 7, 3)]);
    }

    #[test]
    fn updates_that_end_early_are_refused() {
        let types = [(DataType::Gpc0, 1), (DataType::ServerKey, 1), (DataType::GpcRate, 2)];
        let definition = of_type(KeyKind::Text(8), &types);
        let heading = Heading {
            number: Some(9),
            expires_in: Some(500),
            key: b"key",
            key_kind: KeyKind::Text(8),
        };
        let values = vec![
            Value::Number(1 << 20),
            Value::Text(Some("srv".into())),
            rate(1, 2, 3),
            rate(400, 500, 600),
        ];
        let whole = body(&heading, values);
        let kind = heading.kind();
        for end in 0..whole.len() {
            let mut texts = ReceivedTexts::default();
            let cut = &whole[..end];
            let read = Update::read(kind, cut, &definition, KeyType::Text, &mut texts, &mut vec![]);
            assert_eq!(read, Err(WireError::Protocol), "{end}");
        }
    }

    #[test]
    fn arrays_of_any_announced_size_are_bounded_by_the_message() {
        let mut definition = of_type(KeyKind::Integer, &[(DataType::Gpt, 1)]);
        definition.columns[0].count = u64::MAX;
        let (mut texts, mut values) = (ReceivedTexts::default(), Vec::new());
        let kind = UpdateKind { incremental: true, timed: false };
        let body = [7; 1_000];
        let read =
            Update::read(kind, &body, &definition, KeyType::Integer, &mut texts, &mut values);
        assert_eq!(read, Err(WireError::Protocol));
        assert_eq!(values.len(), MAX_ARRAY as usize);
    }

    fn value(kind: DataKind) -> BoxedStrategy<Value> {
        match kind {
            DataKind::Count => any::<u32>().prop_map(|it| Value::Number(it.into())).boxed(),
            DataKind::Long => any::<u64>().prop_map(Value::Number).boxed(),
            DataKind::Text => proptest::option::of("[a-z]{0,9}")
                .prop_map(|it| Value::Text(it.map(Into::into)))
                .boxed(),
            DataKind::Rate => (0..u32::MAX - SKEW as u32, any::<u32>(), any::<u32>())
                .prop_map(|(age, current, past)| rate(age.into(), current, past))
                .boxed(),
        }
    }

    fn stored() -> impl Strategy<Value = Vec<(DataType, u32, Vec<Value>)>> {
        let one = |(data, _, kind): &(DataType, &str, DataKind)| {
            let (data, kind, most) = (*data, *kind, if data.is_array() { 4 } else { 1 });
            proptest::option::of(proptest::collection::vec(value(kind), 1..=most))
                .prop_map(move |values| values.map(|values| (data, values.len() as u32, values)))
        };
        DataType::TABLE
            .iter()
            .map(one)
            .collect::<Vec<_>>()
            .prop_map(|all| all.into_iter().flatten().collect())
    }

    proptest! {
        #[test]
        fn values_of_any_types_come_back(
            stored in stored(),
            kind in prop_oneof![
                Just(KeyKind::Integer), Just(KeyKind::Ip), Just(KeyKind::Ipv6),
                Just(KeyKind::Text(20)), Just(KeyKind::Binary(20)),
            ],
            key in proptest::collection::vec(any::<u8>(), 20),
            number in proptest::option::of(any::<u32>()),
            expires_in in proptest::option::of(any::<u32>()),
        ) {
            let len = match kind { KeyKind::Integer | KeyKind::Ip => 4, KeyKind::Ipv6 => 16, _ => 20 };
            let types: Vec<_> = stored.iter().map(|(data, count, _)| (*data, *count)).collect();
            let definition = of_type(kind, &types);
            let mut described = Vec::new();
            definition.write(&mut described);
            let definition = Definition::read(&described).expect("a definition of ours");
            let expires_in = expires_in.map(u64::from);
            let heading = Heading { number, expires_in, key: &key[..len], key_kind: kind };
            let values = stored.iter().flat_map(|(_, _, values)| values.clone()).collect();
            let bytes = body(&heading, values);
            let (mut texts, mut learned) = (ReceivedTexts::default(), Vec::new());
            let (key_type, _) = KeyType::of(kind);
            let read = Update::read(
                heading.kind(), &bytes, &definition, key_type, &mut texts, &mut learned,
            );
            prop_assert_eq!(read, Ok(Update { number, expires_in, key: &key[..len] }));
            let expected: Vec<LearnedValue> = stored
                .iter()
                .flat_map(|(data, _, values)| values.iter().enumerate().map(|(index, value)| {
                    LearnedValue { data: *data, index: index as u32, value: value.clone() }
                }))
                .collect();
            prop_assert_eq!(learned, expected);
        }
    }
}
