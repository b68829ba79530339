//! The cast matrix between sample types.

use crate::value::{Bytes, Type, Value};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

impl Type {
    /// Whether values of type `self` can ever become values of type `to`; checked when expressions
    /// are parsed.
    pub fn casts_to(self, to: Type) -> bool {
        use Type::{Addr, Any, Bin, Bool, Int, Ipv4, Ipv6, Meth, Str};
        match (self, to) {
            (_, Any) | (Any, _) => true,
            (from, to) if from == to => true,
            (Bool, Int | Str | Bin) => true,
            (Int, Bool | Addr | Ipv4 | Ipv6 | Str | Bin) => true,
            (Addr | Ipv4 | Ipv6, Addr | Ipv4 | Ipv6 | Str | Bin) => true,
            (Addr | Ipv4, Int) => true,
            (Str, _) => true,
            (Bin, Str | Meth) => true,
            (Meth, Str | Bin) => true,
            _ => false,
        }
    }
}

/// The integer at the beginning of `text`, the rest ignored; an empty text has none, `abc` is 0.
pub(crate) fn leading_int(text: &[u8]) -> Option<i64> {
    let (first, _) = text.split_first()?;
    let digits = if matches!(first, b'-' | b'+') { &text[1..] } else { text };
    let mut value: i64 = 0;
    for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        let digit = i64::from(digit - b'0');
        value = if *first == b'-' {
            value.saturating_mul(10).saturating_sub(digit)
        } else {
            value.saturating_mul(10).saturating_add(digit)
        };
    }
    Some(value)
}

/// A decimal number; beyond 64 bits it is the nearest that there is.
pub(crate) fn integer(word: &str) -> Option<i64> {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if decimal { leading_int(word.as_bytes()) } else { None }
}

/// The dotted address at the beginning of `text`; text behind it, such as a port, is ignored, but a
/// fifth number is an error.
fn leading_ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let (mut octets, mut rest) = ([0u8; 4], text);
    for (part, octet) in octets.iter_mut().enumerate() {
        if part > 0 {
            rest = rest.strip_prefix(b".")?;
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, behind) = rest.split_at(digits);
        *octet = u8::try_from(leading_int(number)?).ok()?;
        rest = behind;
    }
    (rest.first() != Some(&b'.')).then(|| Ipv4Addr::from(octets))
}

impl<'a> Value<'a> {
    /// This value as type `to`; `None` if it cannot be converted.
    pub fn cast(self, to: Type) -> Option<Value<'a>> {
        match to {
            Type::Any => Some(self),
            Type::Bool => self.to_int().map(|int| Value::Bool(int != 0)),
            Type::Int => self.to_int().map(Value::Int),
            Type::Addr => self.to_addr().map(Value::from),
            Type::Ipv4 => self.as_ipv4().map(Value::Ipv4),
            Type::Ipv6 => self.to_ipv6().map(Value::Ipv6),
            Type::Str => self.to_str().map(Value::Str),
            Type::Bin => self.to_bin().map(Value::Bin),
            Type::Meth => match self {
                Value::Meth(bytes) | Value::Str(bytes) => Some(Value::Meth(bytes)),
                Value::Bin(bytes) => Some(Value::Meth(until_nul(bytes))),
                _ => None,
            },
        }
    }

    /// The integer this value means.
    pub fn to_int(&self) -> Option<i64> {
        match self {
            Value::Bool(b) => Some(i64::from(*b)),
            Value::Int(i) => Some(*i),
            Value::Ipv4(address) => Some(i64::from(u32::from(*address))),
            Value::Str(text) => leading_int(text),
            Value::Ipv6(_) | Value::Bin(_) | Value::Meth(_) => None,
        }
    }

    /// The address this value means, of either family.
    pub fn to_addr(&self) -> Option<IpAddr> {
        match self {
            Value::Ipv4(address) => Some(IpAddr::V4(*address)),
            Value::Ipv6(address) => Some(IpAddr::V6(*address)),
            // Only the low 32 bits of an integer are an address.
            Value::Int(int) => Some(IpAddr::V4(Ipv4Addr::from(*int as u32))),
            Value::Str(text) => match leading_ipv4(text) {
                Some(v4) => Some(IpAddr::V4(v4)),
                None => std::str::from_utf8(text).ok()?.parse().ok().map(IpAddr::V6),
            },
            _ => None,
        }
    }

    /// The IPv4 address that this value is: of IPv6 addresses, the mapped ones (`::ffff:a.b.c.d`)
    /// alone, and none in a text.
    fn as_ipv4(&self) -> Option<Ipv4Addr> {
        match (self, self.to_addr()?) {
            (_, IpAddr::V4(v4)) => Some(v4),
            (Value::Ipv6(_), IpAddr::V6(v6)) => v6.to_ipv4_mapped(),
            _ => None,
        }
    }

    /// The IPv4 address that patterns compare this value as: of IPv6 addresses, the mapped,
    /// compatible and 6to4 ones have one.
    pub fn to_ipv4(&self) -> Option<Ipv4Addr> {
        match self.to_addr()? {
            IpAddr::V4(v4) => Some(v4),
            IpAddr::V6(v6) => v6_to_v4(v6),
        }
    }

    /// The IPv6 address this value means; IPv4 ones become `::ffff:a.b.c.d`.
    pub fn to_ipv6(&self) -> Option<Ipv6Addr> {
        match self.to_addr()? {
            IpAddr::V4(v4) => Some(v4.to_ipv6_mapped()),
            IpAddr::V6(v6) => Some(v6),
        }
    }

    /// The text of this value.
    pub fn to_str(self) -> Option<Bytes<'a>> {
        Some(match self {
            Value::Str(bytes) | Value::Meth(bytes) => bytes,
            Value::Bin(bytes) => until_nul(bytes),
            Value::Bool(b) => Bytes::Borrowed(if b { b"1" } else { b"0" }),
            scalar => {
                let mut text = Vec::with_capacity(20);
                scalar.write_text(&mut text);
                Bytes::Owned(text)
            }
        })
    }

    /// The bytes of this value: integers as 8 bytes, addresses as 4 or 16, all big-endian.
    pub fn to_bin(self) -> Option<Bytes<'a>> {
        Some(match self {
            Value::Str(bytes) | Value::Bin(bytes) | Value::Meth(bytes) => bytes,
            Value::Bool(b) => Bytes::Owned(i64::from(b).to_be_bytes().to_vec()),
            Value::Int(i) => Bytes::Owned(i.to_be_bytes().to_vec()),
            Value::Ipv4(address) => Bytes::Owned(address.octets().to_vec()),
            Value::Ipv6(address) => Bytes::Owned(address.octets().to_vec()),
        })
    }

    /// Appends the text of this value to `out` without building it elsewhere first.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Str(bytes) | Value::Meth(bytes) => out.extend_from_slice(bytes),
            Value::Bin(bytes) => {
                let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
                out.extend_from_slice(&bytes[..end]);
            }
            Value::Bool(b) => out.push(if *b { b'1' } else { b'0' }),
            Value::Int(int) => write_int(out, *int),
            Value::Ipv4(address) => write_address(out, IpAddr::V4(*address)),
            Value::Ipv6(address) => write_address(out, IpAddr::V6(*address)),
        }
    }
}

/// Appends an address as text.
pub(crate) fn write_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => {
            for (i, octet) in v4.octets().into_iter().enumerate() {
                if i > 0 {
                    out.push(b'.');
                }
                write_int(out, octet.into());
            }
        }
        IpAddr::V6(v6) => write!(out, "{v6}").expect("a vector takes every write"),
    }
}

/// Appends `number` in decimal with zeros before it up to `width` digits; `width` is at most 8.
pub fn write_padded(out: &mut Vec<u8>, mut number: u32, width: usize) {
    let mut digits = [b'0'; 8];
    if number >= 10u32.pow(width as u32) {
        return write_int(out, number.into());
    }
    for digit in digits[..width].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[..width]);
}

/// Appends `int` in decimal.
pub fn write_int(out: &mut Vec<u8>, int: i64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = int.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if int < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// The IPv4 address inside a mapped (`::ffff:a.b.c.d`), compatible (`::a.b.c.d`) or 6to4 address.
fn v6_to_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    let octets = address.octets();
    if octets[..12] == [0; 12] {
        return Some(Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]));
    }
    (octets[..2] == [0x20, 0x02]).then(|| Ipv4Addr::new(octets[2], octets[3], octets[4], octets[5]))
}

fn until_nul(bytes: Bytes<'_>) -> Bytes<'_> {
    match memchr::memchr(0, &bytes) {
        Some(end) => bytes.slice(0, end),
        None => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_follow_the_matrix() {
        let cases: &[(Value<'_>, Type, Option<Value<'_>>)] = &[
            (Value::Bool(true), Type::Int, Some(Value::Int(1))),
            (Value::Bool(true), Type::Str, Some(Value::str(b"1"))),
            (Value::Bool(true), Type::Bin, Some(Value::bin(&[0, 0, 0, 0, 0, 0, 0, 1]))),
            (Value::Int(5), Type::Bool, Some(Value::Bool(true))),
            (Value::Int(0x7f00_0001), Type::Ipv4, Some(Value::Ipv4(Ipv4Addr::LOCALHOST))),
            (Value::Int(-12), Type::Str, Some(Value::str(b"-12"))),
            (Value::Ipv4(Ipv4Addr::LOCALHOST), Type::Int, Some(Value::Int(0x7f00_0001))),
            (Value::Ipv4(Ipv4Addr::LOCALHOST), Type::Bin, Some(Value::bin(&[127, 0, 0, 1]))),
            (Value::Ipv6(Ipv6Addr::LOCALHOST), Type::Str, Some(Value::str(b"::1"))),
            (Value::str(b"12abc"), Type::Int, Some(Value::Int(12))),
            (Value::str(b"abc"), Type::Int, Some(Value::Int(0))),
            (Value::str(b""), Type::Int, None),
            (Value::str(b"-7"), Type::Int, Some(Value::Int(-7))),
            (Value::str(b"1.2.3.4"), Type::Addr, Some(Value::Ipv4(Ipv4Addr::new(1, 2, 3, 4)))),
            (Value::str(b"10.1.1.1:80"), Type::Addr, Some(Value::Ipv4(Ipv4Addr::new(10, 1, 1, 1)))),
            (Value::str(b"1.2.3.4/24"), Type::Ipv4, Some(Value::Ipv4(Ipv4Addr::new(1, 2, 3, 4)))),
            (
                Value::str(b"01.002.0003.4 x"),
                Type::Addr,
                Some(Value::Ipv4(Ipv4Addr::new(1, 2, 3, 4))),
            ),
            (Value::str(b"1.2.3.4::1"), Type::Addr, Some(Value::Ipv4(Ipv4Addr::new(1, 2, 3, 4)))),
            (Value::str(b"1.2.3.4.5"), Type::Addr, None),
            (Value::str(b"1.2.3.256"), Type::Addr, None),
            (Value::str(b"1.2.3."), Type::Addr, None),
            (Value::str(b"1.2.3"), Type::Addr, None),
            (Value::str(b" 1.2.3.4"), Type::Addr, None),
            (Value::str(b"-1.2.3.4"), Type::Addr, None),
            (Value::str(b"[::1]"), Type::Addr, None),
            (Value::str(b"::1 "), Type::Addr, None),
            (Value::str(b"::1"), Type::Addr, Some(Value::Ipv6(Ipv6Addr::LOCALHOST))),
            (
                Value::Ipv6("::ffff:1.2.3.4".parse().unwrap()),
                Type::Ipv4,
                Some(Value::Ipv4(Ipv4Addr::new(1, 2, 3, 4))),
            ),
            (Value::Ipv6("::1.2.3.4".parse().unwrap()), Type::Ipv4, None),
            (Value::Ipv6("2002:102:304::".parse().unwrap()), Type::Ipv4, None),
            (Value::Ipv6(Ipv6Addr::LOCALHOST), Type::Ipv4, None),
            (Value::str(b"::ffff:1.2.3.4"), Type::Ipv4, None),
            (Value::str(b"GET"), Type::Meth, Some(Value::Meth(Bytes::Borrowed(b"GET")))),
            (Value::bin(b"A\0B"), Type::Str, Some(Value::str(b"A"))),
            (Value::bin(b"12"), Type::Int, None),
            (Value::Meth(Bytes::Borrowed(b"GET")), Type::Str, Some(Value::str(b"GET"))),
            (Value::Meth(Bytes::Borrowed(b"GET")), Type::Int, None),
        ];
        for (from, to, expected) in cases {
            assert_eq!(&from.clone().cast(*to), expected, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn impossible_casts_are_known_at_parse_time() {
        assert!(!Type::Bin.casts_to(Type::Int));
        assert!(!Type::Bin.casts_to(Type::Addr));
        assert!(!Type::Bool.casts_to(Type::Addr));
        assert!(!Type::Meth.casts_to(Type::Int));
        assert!(!Type::Ipv6.casts_to(Type::Int));
        assert!(Type::Str.casts_to(Type::Int) && Type::Any.casts_to(Type::Bin));
    }

    #[test]
    fn numbers_are_padded_and_addresses_print() {
        let mut out = Vec::new();
        write_padded(&mut out, 7, 2);
        write_padded(&mut out, 0, 3);
        write_padded(&mut out, 12345, 4);
        write_address(&mut out, IpAddr::V4(Ipv4Addr::new(1, 20, 255, 0)));
        write_address(&mut out, IpAddr::V6(Ipv6Addr::LOCALHOST));
        assert_eq!(out, b"07000123451.20.255.0::1");
    }

    #[test]
    fn integers_saturate_and_print() {
        assert_eq!(leading_int(b"99999999999999999999"), Some(i64::MAX));
        assert_eq!(leading_int(b"-99999999999999999999"), Some(i64::MIN));
        for int in [0, 7, -1, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_int(&mut out, int);
            assert_eq!(out, int.to_string().into_bytes());
        }
    }
}
