//! The PROXY protocol, versions 1 and 2: what a proxy says of a connection before its first byte. Never
//! guesses whether a header is there: who decodes expects one.
//!
//! Follows "The PROXY protocol" of 2020/03/05 (sections 2.1 and 2.2). Headers that arrive in pieces
//! are waited for; what cannot become a header any more is refused at once.

mod v1;
mod v2;

use std::net::{IpAddr, SocketAddr};

pub use v1::encode as encode_v1;
pub use v2::{MAX_LEN, encode as encode_v2};

/// The longest authority taken (a host name, RFC 1035).
pub const MAX_AUTHORITY: usize = 255;
/// The longest unique id (section 2.2.5).
pub const MAX_UNIQUE_ID: usize = 128;

/// Why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// They begin with neither signature.
    Foreign,
    /// They begin as a header and break its rules.
    Invalid,
    /// A header of version 1 for a protocol that nobody knows.
    Unhandled,
}

/// How far decoding has come.
#[expect(clippy::large_enum_variant, reason = "lives for a moment, and without memory of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The header goes on.
    Partial,
    /// It is complete.
    Complete {
        /// What it says.
        header: Header<'a>,
        /// Its length: the connection's own bytes follow.
        len: usize,
    },
}

/// Both ends of a connection: where it comes from, where it was meant to go.
pub type Ends = (SocketAddr, SocketAddr);

/// What a header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header<'a> {
    /// The ends of the connection that it speaks for. Absent where it speaks for none (`LOCAL`,
    /// `UNKNOWN`) or for one that has no internet addresses: those of this connection hold.
    pub ends: Option<Ends>,
    /// `PP2_TYPE_ALPN`: the protocol inside.
    pub alpn: Option<&'a [u8]>,
    /// `PP2_TYPE_AUTHORITY`: the host name that the client asked for.
    pub authority: Option<&'a [u8]>,
    /// Whether a checksum goes with it (`PP2_TYPE_CRC32C`); one received is verified.
    pub checksum: bool,
    /// `PP2_TYPE_UNIQUE_ID`
    pub unique_id: Option<&'a [u8]>,
    /// `PP2_TYPE_SSL`: how the client's connection was encrypted.
    pub tls: Option<Tls<'a>>,
    /// `PP2_TYPE_NETNS`: the name of the namespace.
    pub namespace: Option<&'a [u8]>,
}

/// How a client's connection was encrypted (section 2.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tls<'a> {
    /// It was encrypted (`PP2_CLIENT_SSL`).
    pub encrypted: bool,
    /// The client has shown a certificate: on this connection, in this session.
    pub certificate: (bool, bool),
    /// 0 if the certificate was verified.
    pub verify: u32,
    /// The version, e.g. `TLSv1.3`.
    pub version: Option<&'a [u8]>,
    /// The common name of the client's certificate.
    pub common_name: Option<&'a [u8]>,
    /// The cipher.
    pub cipher: Option<&'a [u8]>,
    /// The algorithm of our certificate's signature.
    pub signature: Option<&'a [u8]>,
    /// The algorithm of our certificate's key.
    pub key: Option<&'a [u8]>,
}

/// Decodes the header at the beginning of `input`, which version it may have.
///
/// # Errors
/// It is none, or it is not to be trusted: the connection has to be given up (section 2).
pub fn decode(input: &[u8]) -> Result<Step<'_>, Error> {
    if begins_like(input, v2::SIGNATURE) {
        return v2::decode(input);
    }
    if begins_like(input, v1::SIGNATURE) {
        return v1::decode(input);
    }
    Err(Error::Foreign)
}

/// Whether `input` begins with the signature, as far as both go.
fn begins_like(input: &[u8], signature: &[u8]) -> bool {
    let common = input.len().min(signature.len());
    input[..common] == signature[..common]
}

/// Two ends of one family: where one is IPv6, the other is written as an IPv6 address too.
fn aligned((from, to): Ends) -> Ends {
    let mapped = |end: SocketAddr| match end.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), end.port()),
        IpAddr::V6(_) => end,
    };
    if from.is_ipv4() == to.is_ipv4() { (from, to) } else { (mapped(from), mapped(to)) }
}

#[cfg(test)]
mod tests;
