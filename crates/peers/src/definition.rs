//! The description of a table on a connection: key, data types, expiry (peers.txt, "Stick-table
//! definition").

use crate::message::WireError;
use crate::varint;
use table::{DataKind, DataType, KeyKind, Settings};

/// The type of a key as messages number it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum KeyType {
    /// Four bytes, a number in network order.
    Integer = 2,
    /// Four bytes.
    Ip = 4,
    /// Sixteen bytes.
    Ipv6 = 5,
    /// A length and that many bytes.
    Text = 6,
    /// As many bytes as the definition says.
    Binary = 7,
}

impl KeyType {
    /// Type and length of a table's keys. The length of texts includes the byte that ends them in
    /// HAProxy.
    pub fn of(kind: KeyKind) -> (KeyType, u64) {
        match kind {
            KeyKind::Integer => (KeyType::Integer, 4),
            KeyKind::Ip => (KeyType::Ip, 4),
            KeyKind::Ipv6 => (KeyType::Ipv6, 16),
            KeyKind::Text(len) => (KeyType::Text, len as u64 + 1),
            KeyKind::Binary(len) => (KeyType::Binary, len as u64),
        }
    }

    fn numbered(number: u64) -> Option<KeyType> {
        let all = [KeyType::Integer, KeyType::Ip, KeyType::Ipv6, KeyType::Text, KeyType::Binary];
        all.into_iter().find(|key| *key as u64 == number)
    }
}

/// A data type whose values are in updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The data type.
    pub data: DataType,
    /// Elements of an array; 1 where the definition has none.
    pub count: u64,
    /// Milliseconds that a rate covers; 0 where the peer did not say.
    pub period: u64,
}

/// A table in the description of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The number of the table in messages of this side.
    pub id: u64,
    /// The name of the table in the protocol.
    pub name: Vec<u8>,
    /// The type of its keys; nothing if it is not known, so that updates cannot be read.
    pub key: Option<KeyType>,
    /// The length of its keys.
    pub key_len: u64,
    /// Milliseconds that an entry lives untouched; 0 forever.
    pub expire: u64,
    /// The data types in the order of their values.
    pub columns: Vec<Column>,
}

impl Definition {
    /// How we describe a table.
    pub fn of(id: u64, name: &str, settings: &Settings) -> Definition {
        let (key, key_len) = KeyType::of(settings.kind);
        let column = |(data, ..): &(DataType, &str, DataKind)| {
            let stored = settings.store.iter().find(|stored| stored.data == *data)?;
            let (count, period) = (stored.count.into(), stored.period.into());
            Some(Column { data: *data, count, period })
        };
        Definition {
            id,
            name: name.into(),
            key: Some(key),
            key_len,
            expire: settings.expire.unwrap_or(0).into(),
            columns: DataType::TABLE.iter().filter_map(column).collect(),
        }
    }

    /// The data types as bits.
    pub fn data_bits(&self) -> u64 {
        self.columns.iter().fold(0, |bits, column| bits | 1u64 << column.data as u8)
    }

    /// Appends the body of the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        varint::put(out, self.id);
        varint::put(out, self.name.len() as u64);
        out.extend_from_slice(&self.name);
        varint::put(out, self.key.map_or(0, |key| key as u64));
        varint::put(out, self.key_len);
        varint::put(out, self.data_bits());
        varint::put(out, self.expire);
        for column in &self.columns {
            let (array, rate) = (column.data.is_array(), column.data.kind() == DataKind::Rate);
            if array || rate {
                varint::put(out, column.data as u64);
            }
            if array {
                varint::put(out, column.count);
            }
            if rate {
                varint::put(out, column.period);
            }
        }
    }

    /// Reads the body of the message. Unknown data types follow the known ones, and are skipped.
    pub fn read(mut body: &[u8]) -> Result<Definition, WireError> {
        let body = &mut body;
        let id = varint::take(body)?;
        let len = usize::try_from(varint::take(body)?).map_err(|_| WireError::Protocol)?;
        let (name, rest) = body.split_at_checked(len).ok_or(WireError::Protocol)?;
        *body = rest;
        let key = KeyType::numbered(varint::take(body)?);
        let key_len = varint::take(body)?;
        let bits = varint::take(body)?;
        // Versions before 2.0 end here.
        let expire = if body.is_empty() { 0 } else { varint::take(body)? };
        let known = DataType::TABLE.iter().filter(|(data, ..)| bits >> *data as u8 & 1 == 1);
        let column = |(data, ..): &(DataType, _, _)| Column { data: *data, count: 1, period: 0 };
        let mut columns: Vec<Column> = known.map(column).collect();
        read_arguments(body, &mut columns)?;
        Ok(Definition { id, name: name.to_vec(), key, key_len, expire, columns })
    }
}

/// Reads sizes of arrays and periods of rates.
fn read_arguments(body: &mut &[u8], columns: &mut [Column]) -> Result<(), WireError> {
    let mut arrays = columns.iter().filter(|column| column.data.is_array()).count();
    while !body.is_empty() {
        let number = varint::take(body)?;
        let Some(column) = columns.iter_mut().find(|column| column.data as u64 == number) else {
            break;
        };
        if column.data.is_array() {
            column.count = varint::take(body)?;
            arrays = arrays.saturating_sub(1);
        }
        if column.data.kind() == DataKind::Rate {
            column.period = varint::take(body)?;
        }
    }
    // Without the size of an array the values behind it cannot be found.
    if arrays > 0 { Err(WireError::Protocol) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(definition: &Definition) -> Vec<u8> {
        let mut out = Vec::new();
        definition.write(&mut out);
        out
    }

    // Bytes that HAProxy 2.7 sends for these tables.
    #[test]
    fn definitions_are_those_of_haproxy() {
        let mut settings = Settings::new("t", KeyKind::Ip, 1_024);
        settings.expire = Some(10_000);
        settings.add(DataType::Gpc0, 1, 0);
        settings.add(DataType::ConnCur, 1, 0);
        settings.add(DataType::HttpReqRate, 1, 10_000);
        settings.add(DataType::ServerKey, 1, 0);
        let definition = Definition::of(1, "/t", &settings);
        let expected = b"\x01\x02/t\x04\x04\xf4\xb5\xff\x00\xf0\xe2\x03\x0a\xf0\xe2\x03";
        assert_eq!(bytes(&definition), expected);
        assert_eq!(Definition::read(expected), Ok(definition));

        let mut settings = Settings::new("fe", KeyKind::Text(16), 1_024);
        settings.expire = Some(60_000);
        for (data, count, period) in [
            (DataType::ServerId, 1, 0),
            (DataType::Gpc0, 1, 0),
            (DataType::Gpc0Rate, 1, 5_000),
            (DataType::BytesOutCnt, 1, 0),
            (DataType::Gpt, 3, 0),
            (DataType::ConnCur, 1, 0),
            (DataType::HttpReqCnt, 1, 0),
        ] {
            settings.add(data, count, period);
        }
        let definition = Definition::of(2, "fe", &settings);
        let expected = b"\x02\x02fe\x06\x11\xfd\x95\x8f\x0f\xf0\x97\x1c\x03\xf8\xa9\x01\x16\x03";
        assert_eq!(bytes(&definition), expected);
        assert_eq!(Definition::read(expected), Ok(definition));
    }

    #[test]
    fn definitions_of_every_type_come_back() {
        for kind in
            [KeyKind::Integer, KeyKind::Ip, KeyKind::Ipv6, KeyKind::Text(7), KeyKind::Binary(300)]
        {
            let mut settings = Settings::new("t", kind, 10);
            for (data, _, kind) in DataType::TABLE {
                let count = if data.is_array() { 5 } else { 1 };
                settings.add(*data, count, if *kind == DataKind::Rate { 1_000 } else { 0 });
            }
            let definition = Definition::of(300, "a/b", &settings);
            let body = bytes(&definition);
            assert_eq!(Definition::read(&body), Ok(definition));
            for end in 0..body.len() {
                // Cut in front of the periods of rates it is that of an old version.
                let _ = Definition::read(&body[..end]);
            }
        }
    }

    #[test]
    fn unknown_data_types_and_extensions_are_passed_over() {
        let body = b"\x09\x02/n\x02\x04\xf6\xf1\xff\xff\xff\x0f\x00\x7f\x01\x02";
        let read = Definition::read(body).expect("valid");
        let columns =
            [DataType::Gpt0, DataType::Gpc0].map(|data| Column { data, count: 1, period: 0 });
        assert_eq!(read.columns[..2], columns);
    }

    #[test]
    fn truncated_definitions_are_refused() {
        for body in [&b""[..], b"\x09", b"\x09\x02/", b"\x09\x02/n", b"\x09\x02/n\x02\x04"] {
            assert_eq!(Definition::read(body), Err(WireError::Protocol));
        }
        // An array without its size.
        let mut body = b"\x09\x02/n\x02\x04".to_vec();
        varint::put(&mut body, 1 << 22);
        varint::put(&mut body, 0);
        assert_eq!(Definition::read(&body), Err(WireError::Protocol));
    }
}
