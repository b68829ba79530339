//! Typed samples. A value borrows from the message whenever it can; it owns only what it has built.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Deref;
use std::sync::Arc;

/// The types of samples (manual section 7.3), as `haproxy -dKfet` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any type: `var`, and converters that pass their input on.
    Any,
    /// `bool`
    Bool,
    /// `sint`, a signed 64-bit integer.
    Int,
    /// `addr`, an address of either family.
    Addr,
    /// `ipv4`
    Ipv4,
    /// `ipv6`
    Ipv6,
    /// `str`
    Str,
    /// `bin`
    Bin,
    /// `meth`, an HTTP method.
    Meth,
}

impl Type {
    /// The name in keyword listings and messages.
    pub fn name(self) -> &'static str {
        match self {
            Type::Any => "any",
            Type::Bool => "bool",
            Type::Int => "sint",
            Type::Addr => "addr",
            Type::Ipv4 => "ipv4",
            Type::Ipv6 => "ipv6",
            Type::Str => "str",
            Type::Bin => "bin",
            Type::Meth => "meth",
        }
    }
}

/// Bytes of a sample: borrowed from a message, built by a converter, or shared with a variable.
#[derive(Debug, Clone)]
pub enum Bytes<'a> {
    /// A slice of the message or of the configuration.
    Borrowed(&'a [u8]),
    /// Built by a converter.
    Owned(Vec<u8>),
    /// The content of a variable; cloning costs a reference count.
    Shared(Arc<[u8]>),
}

impl Bytes<'_> {
    /// The bytes as a new vector, without copying when they are owned already.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Bytes::Owned(vec) => vec,
            other => other.to_vec(),
        }
    }

    /// The bytes in shared form, as variables keep them.
    pub fn into_shared(self) -> Arc<[u8]> {
        match self {
            Bytes::Shared(shared) => shared,
            Bytes::Owned(vec) => vec.into(),
            Bytes::Borrowed(slice) => slice.into(),
        }
    }
}

impl<'a> Bytes<'a> {
    /// The part `from..to` of these bytes, borrowed where the whole is borrowed. Bounds are
    /// clipped.
    #[must_use]
    pub fn slice(self, from: usize, to: usize) -> Bytes<'a> {
        let to = to.min(self.len());
        let from = from.min(to);
        match self {
            Bytes::Borrowed(slice) => Bytes::Borrowed(&slice[from..to]),
            Bytes::Owned(mut vec) => {
                vec.truncate(to);
                vec.drain(..from);
                Bytes::Owned(vec)
            }
            Bytes::Shared(shared) if from == 0 && to == shared.len() => Bytes::Shared(shared),
            Bytes::Shared(shared) => Bytes::Owned(shared[from..to].to_vec()),
        }
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Borrowed(slice) => slice,
            Bytes::Owned(vec) => vec,
            Bytes::Shared(shared) => shared,
        }
    }
}

impl PartialEq for Bytes<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes<'_> {}

impl<'a> From<&'a [u8]> for Bytes<'a> {
    fn from(slice: &'a [u8]) -> Self {
        Bytes::Borrowed(slice)
    }
}

impl From<Vec<u8>> for Bytes<'_> {
    fn from(vec: Vec<u8>) -> Self {
        Bytes::Owned(vec)
    }
}

/// A sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// A string: bytes without an announced encoding.
    Str(Bytes<'a>),
    /// A binary block.
    Bin(Bytes<'a>),
    /// An HTTP method by its name.
    Meth(Bytes<'a>),
}

impl<'a> Value<'a> {
    /// A string borrowed from somewhere that outlives the evaluation.
    pub fn str(bytes: &'a [u8]) -> Value<'a> {
        Value::Str(Bytes::Borrowed(bytes))
    }

    /// A binary block borrowed from somewhere that outlives the evaluation.
    pub fn bin(bytes: &'a [u8]) -> Value<'a> {
        Value::Bin(Bytes::Borrowed(bytes))
    }

    /// The type of this value; never [`Type::Any`] nor [`Type::Addr`].
    pub fn kind(&self) -> Type {
        match self {
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Ipv4(_) => Type::Ipv4,
            Value::Ipv6(_) => Type::Ipv6,
            Value::Str(_) => Type::Str,
            Value::Bin(_) => Type::Bin,
            Value::Meth(_) => Type::Meth,
        }
    }

    /// A copy without borrowed bytes, as variables store it.
    pub fn into_shared(self) -> Value<'static> {
        match self {
            Value::Bool(b) => Value::Bool(b),
            Value::Int(i) => Value::Int(i),
            Value::Ipv4(a) => Value::Ipv4(a),
            Value::Ipv6(a) => Value::Ipv6(a),
            Value::Str(b) => Value::Str(Bytes::Shared(b.into_shared())),
            Value::Bin(b) => Value::Bin(Bytes::Shared(b.into_shared())),
            Value::Meth(b) => Value::Meth(Bytes::Shared(b.into_shared())),
        }
    }
}

impl From<IpAddr> for Value<'_> {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Value::Ipv4(v4),
            IpAddr::V6(v6) => Value::Ipv6(v6),
        }
    }
}

/// Why there is no sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// There is none: the whole expression is undefined.
    Absent,
    /// There is none yet, more bytes may bring it: `tcp-request content` waits.
    NotYet,
}

/// A sample or the reason why there is none.
pub type Outcome<'a> = Result<Value<'a>, Missing>;
