//! Keys of entries.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Deref;

/// The type of a table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// IPv4 addresses.
    Ip,
    /// IPv6 addresses.
    Ipv6,
    /// Unsigned 32-bit integers.
    Integer,
    /// Texts, cut to this length.
    Text(usize),
    /// Blocks of this length, cut or filled with zeros.
    Binary(usize),
}

impl KeyKind {
    /// The longest text or block when the configuration does not say, in bytes.
    pub const DEFAULT_LEN: usize = 32;

    /// The name in configurations and listings.
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Ip => "ip",
            KeyKind::Ipv6 => "ipv6",
            KeyKind::Integer => "integer",
            KeyKind::Text(_) => "string",
            KeyKind::Binary(_) => "binary",
        }
    }

    /// Parses a key as operators write it; `None` if the text is no key of this type. Binary keys
    /// cannot be written.
    pub fn parse(self, text: &str) -> Option<Key<'_>> {
        match self {
            KeyKind::Ip => text.parse().ok().map(Key::ip),
            KeyKind::Ipv6 => text
                .parse()
                .ok()
                .or_else(|| text.parse().ok().map(|v4: Ipv4Addr| v4.to_ipv6_mapped()))
                .map(Key::ipv6),
            KeyKind::Integer => text.parse::<i64>().ok().map(Key::integer),
            KeyKind::Text(len) => Some(Key::text(text.as_bytes(), len)),
            KeyKind::Binary(_) => None,
        }
    }

    /// The number that a stored key stands for, if its type is that of integers.
    pub fn number(self, key: &[u8]) -> Option<u32> {
        matches!(self, KeyKind::Integer).then(|| u32::from_be_bytes(array(key)))
    }

    /// Writes a stored key as listings show it.
    pub fn show(self, key: &[u8], out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            KeyKind::Ip => write!(out, "{}", Ipv4Addr::from(array::<4>(key))),
            KeyKind::Ipv6 => write!(out, "{}", Ipv6Addr::from(array::<16>(key))),
            KeyKind::Integer => write!(out, "{}", u32::from_be_bytes(array(key))),
            KeyKind::Text(_) => show_text(key, out),
            KeyKind::Binary(_) => key.iter().try_for_each(|byte| write!(out, "{byte:02X}")),
        }
    }
}

/// The first bytes of a key; what is missing is zero.
fn array<const N: usize>(key: &[u8]) -> [u8; N] {
    let mut bytes = [0; N];
    let len = key.len().min(N);
    bytes[..len].copy_from_slice(&key[..len]);
    bytes
}

/// A text in which blanks, backslashes and unprintable bytes are escaped, so that it stays one
/// word.
fn show_text(key: &[u8], out: &mut impl fmt::Write) -> fmt::Result {
    for byte in key {
        match byte {
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            0x1b => out.write_str("\\e")?,
            b' ' | b'\\' | b'=' => write!(out, "\\{}", *byte as char)?,
            b'!'..=b'~' => out.write_char(*byte as char)?,
            _ => write!(out, "\\x{byte:02X}")?,
        }
    }
    Ok(())
}

/// Keys up to this length are kept without memory of their own.
const SHORT: usize = 32;

/// A key to look up.
#[derive(Debug, Clone)]
pub enum Key<'k> {
    /// Up to 32 bytes.
    #[doc(hidden)]
    Short([u8; SHORT], u8),
    /// Borrowed bytes.
    #[doc(hidden)]
    Borrowed(&'k [u8]),
    /// Bytes that had to be built.
    #[doc(hidden)]
    Owned(Vec<u8>),
}

impl<'k> Key<'k> {
    fn short(bytes: &[u8]) -> Key<'static> {
        let mut short = [0; SHORT];
        short[..bytes.len()].copy_from_slice(bytes);
        Key::Short(short, bytes.len() as u8)
    }

    /// An IPv4 address.
    pub fn ip(address: Ipv4Addr) -> Key<'static> {
        Key::short(&address.octets())
    }

    /// An IPv6 address.
    pub fn ipv6(address: Ipv6Addr) -> Key<'static> {
        Key::short(&address.octets())
    }

    /// The low 32 bits of an integer.
    pub fn integer(value: i64) -> Key<'static> {
        Key::short(&(value as u32).to_be_bytes())
    }

    /// The first `len` bytes of a text. The empty text is a key like others: a client could evade
    /// a limit by an empty header if it were none.
    pub fn text(bytes: &'k [u8], len: usize) -> Key<'k> {
        Key::Borrowed(&bytes[..bytes.len().min(len)])
    }

    /// A block of `len` bytes, all zeros when `bytes` is empty.
    pub fn binary(bytes: &'k [u8], len: usize) -> Key<'k> {
        if bytes.len() >= len {
            return Key::Borrowed(&bytes[..len]);
        }
        if len <= SHORT {
            let mut short = [0; SHORT];
            short[..bytes.len()].copy_from_slice(bytes);
            return Key::Short(short, len as u8);
        }
        let mut padded = bytes.to_vec();
        padded.resize(len, 0);
        Key::Owned(padded)
    }

    /// The same key without borrowed bytes; long keys are copied.
    pub fn into_owned(self) -> Key<'static> {
        match self {
            Key::Short(bytes, len) => Key::Short(bytes, len),
            Key::Borrowed(bytes) if bytes.len() <= SHORT => Key::short(bytes),
            Key::Borrowed(bytes) => Key::Owned(bytes.to_vec()),
            Key::Owned(bytes) => Key::Owned(bytes),
        }
    }
}

impl Deref for Key<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Key::Short(bytes, len) => &bytes[..usize::from(*len)],
            Key::Borrowed(bytes) => bytes,
            Key::Owned(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: KeyKind, text: &str) -> String {
        let mut out = String::new();
        kind.show(&kind.parse(text).expect("a key"), &mut out).expect("strings take every write");
        out
    }

    #[test]
    fn keys_are_shown_as_they_are_written() {
        assert_eq!(shown(KeyKind::Ip, "10.0.0.1"), "10.0.0.1");
        assert_eq!(shown(KeyKind::Ipv6, "2001:db8::1"), "2001:db8::1");
        assert_eq!(shown(KeyKind::Ipv6, "192.168.1.0"), "::ffff:192.168.1.0");
        assert_eq!(shown(KeyKind::Integer, "5"), "5");
        assert_eq!(shown(KeyKind::Integer, "-3"), "4294967293");
        assert_eq!(shown(KeyKind::Text(8), "0123456789"), "01234567");
        assert_eq!(shown(KeyKind::Text(8), "a b"), "a\\ b");
        assert_eq!(shown(KeyKind::Text(8), ""), "");
        assert!(KeyKind::Ip.parse("x").is_none() && KeyKind::Integer.parse("").is_none());
    }

    #[test]
    fn blocks_are_cut_or_filled() {
        let show = |bytes: &[u8], len| {
            let mut out = String::new();
            let key = Key::binary(bytes, len).into_owned();
            KeyKind::Binary(len).show(&key, &mut out).expect("strings take every write");
            out
        };
        assert_eq!(show(b"abc", 8), "6162630000000000");
        assert_eq!(show(b"abcdefghijk", 8), "6162636465666768");
        assert_eq!(show(b"a", 40).len(), 80);
        assert_eq!(show(b"", 8), "0000000000000000");
    }
}
