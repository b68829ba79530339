//! Strings and typed data (SPOE.txt, section 3.1).

use std::net::{Ipv4Addr, Ipv6Addr};

use stdx::varint;

use crate::Status;

const TRUE: u8 = 0x10;

/// A typed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the type of the same name")]
pub enum Data<'a> {
    Null,
    Bool(bool),
    Int32(i32),
    Uint32(u32),
    Int64(i64),
    Uint64(u64),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    String(&'a [u8]),
    Binary(&'a [u8]),
}

impl<'a> Data<'a> {
    /// Appends the value.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut number = |kind: u8, value: u64| {
            out.push(kind);
            varint::put(out, value);
        };
        match *self {
            Self::Null => out.push(0),
            Self::Bool(value) => out.push(1 | if value { TRUE } else { 0 }),
            // Negative numbers extend their sign to 64 bits.
            Self::Int32(value) => number(2, i64::from(value) as u64),
            Self::Uint32(value) => number(3, value.into()),
            Self::Int64(value) => number(4, value as u64),
            Self::Uint64(value) => number(5, value),
            Self::Ipv4(address) => {
                out.push(6);
                out.extend_from_slice(&address.octets());
            }
            Self::Ipv6(address) => {
                out.push(7);
                out.extend_from_slice(&address.octets());
            }
            Self::String(text) => {
                out.push(8);
                put_string(text, out);
            }
            Self::Binary(bytes) => {
                out.push(9);
                put_string(bytes, out);
            }
        }
    }

    /// Takes a value off the front.
    ///
    /// # Errors
    /// [`Status::Invalid`]: an unknown type, or a value that is cut off or out of its range.
    pub fn take(bytes: &mut &'a [u8]) -> Result<Self, Status> {
        let head = take_byte(bytes)?;
        Ok(match head & 0x0f {
            0 => Self::Null,
            1 => Self::Bool(head & TRUE != 0),
            2 => Self::Int32(int32(take_number(bytes)?)?),
            3 => Self::Uint32(take_number(bytes)?.try_into().map_err(|_| Status::Invalid)?),
            4 => Self::Int64(take_number(bytes)? as i64),
            5 => Self::Uint64(take_number(bytes)?),
            6 => Self::Ipv4(take_array::<4>(bytes)?.into()),
            7 => Self::Ipv6(take_array::<16>(bytes)?.into()),
            8 => Self::String(take_string(bytes)?),
            9 => Self::Binary(take_string(bytes)?),
            _ => return Err(Status::Invalid),
        })
    }

    /// The value as an unsigned number, if it is an integer of any type that is not negative.
    pub fn number(self) -> Option<u64> {
        match self {
            Self::Int32(value) => value.try_into().ok(),
            Self::Uint32(value) => Some(value.into()),
            Self::Int64(value) => value.try_into().ok(),
            Self::Uint64(value) => Some(value),
            _ => None,
        }
    }
}

/// A 32-bit number, whose sign may be extended to 64 bits or not.
fn int32(value: u64) -> Result<i32, Status> {
    let extended = i32::try_from(value as i64).ok();
    extended.or_else(|| u32::try_from(value).ok().map(|it| it as i32)).ok_or(Status::Invalid)
}

/// Appends a string with its length.
pub fn put_string(text: &[u8], out: &mut Vec<u8>) {
    varint::put(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Takes a string off the front.
///
/// # Errors
/// [`Status::Invalid`]: its length exceeds the rest.
pub fn take_string<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], Status> {
    let len = usize::try_from(take_number(bytes)?).map_err(|_| Status::Invalid)?;
    let (text, rest) = bytes.split_at_checked(len).ok_or(Status::Invalid)?;
    *bytes = rest;
    Ok(text)
}

pub(crate) fn take_number(bytes: &mut &[u8]) -> Result<u64, Status> {
    varint::take(bytes).map_err(|_| Status::Invalid)
}

pub(crate) fn take_byte(bytes: &mut &[u8]) -> Result<u8, Status> {
    let (&byte, rest) = bytes.split_first().ok_or(Status::Invalid)?;
    *bytes = rest;
    Ok(byte)
}

pub(crate) fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Status> {
    let (&array, rest) = bytes.split_first_chunk().ok_or(Status::Invalid)?;
    *bytes = rest;
    Ok(array)
}
