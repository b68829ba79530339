//! The PROXY protocol, versions 1 and 2: headers that describe the client's connection.
//!
//! Follows "The PROXY protocol" of 2020/03/05 (sections 2.1 and 2.2). Incomplete headers are waited
//! for; bytes that cannot become a header are refused at once.

mod v1;
mod v2;

use std::net::{IpAddr, SocketAddr};

pub use v1::encode as encode_v1;
pub use v2::{MAX_LEN, encode as encode_v2};

/// Longest authority accepted (a host name, RFC 1035).
pub const MAX_AUTHORITY: usize = 255;
/// Longest unique id (section 2.2.5).
pub const MAX_UNIQUE_ID: usize = 128;

/// Reason why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderError {
    /// The bytes begin with neither signature.
    Foreign,
    /// The bytes begin as a header but are malformed.
    Invalid,
    /// A version 1 header for an unknown protocol.
    Unhandled,
}

/// Result of decoding.
#[expect(clippy::large_enum_variant, reason = "lives for a moment, and without memory of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderStep<'a> {
    /// The header is incomplete.
    Partial,
    /// The header is complete.
    Complete {
        /// The decoded header.
        header: ProxyHeader<'a>,
        /// Length of the header: the connection's own bytes follow.
        len: usize,
    },
}

/// Source and destination address of a connection.
pub type Addresses = (SocketAddr, SocketAddr);

/// The content of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyHeader<'a> {
    /// Addresses of the proxied connection. `None` for `LOCAL` and `UNKNOWN`, and for connections
    /// without internet addresses: then those of this connection apply.
    pub ends: Option<Addresses>,
    /// `PP2_TYPE_ALPN`: the application protocol.
    pub alpn: Option<&'a [u8]>,
    /// `PP2_TYPE_AUTHORITY`: the host name that the client sent (SNI).
    pub authority: Option<&'a [u8]>,
    /// Whether there is a checksum (`PP2_TYPE_CRC32C`); a received one was verified.
    pub checksum: bool,
    /// `PP2_TYPE_UNIQUE_ID`
    pub unique_id: Option<&'a [u8]>,
    /// `PP2_TYPE_SSL`: TLS parameters of the client's connection.
    pub tls: Option<ProxyTls<'a>>,
    /// `PP2_TYPE_NETNS`: name of the namespace.
    pub namespace: Option<&'a [u8]>,
}

/// TLS parameters of a client's connection (section 2.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyTls<'a> {
    /// The connection used TLS (`PP2_CLIENT_SSL`).
    pub encrypted: bool,
    /// The client has presented a certificate: on this connection, in this session.
    pub certificate: (bool, bool),
    /// Result of the certificate's verification; 0 if it is valid.
    pub verify: u32,
    /// The version, e.g. `TLSv1.3`.
    pub version: Option<&'a [u8]>,
    /// The common name of the client's certificate.
    pub common_name: Option<&'a [u8]>,
    /// Cipher name.
    pub cipher: Option<&'a [u8]>,
    /// Signature algorithm of our certificate.
    pub signature: Option<&'a [u8]>,
    /// Key algorithm of our certificate.
    pub key: Option<&'a [u8]>,
}

/// Decodes the header at the beginning of `input`, of either version.
///
/// # Errors
/// There is no valid header: the connection has to be closed (section 2).
pub fn decode(input: &[u8]) -> Result<ProxyHeaderStep<'_>, ProxyHeaderError> {
    if begins_like(input, v2::SIGNATURE) {
        return v2::decode(input);
    }
    if begins_like(input, v1::SIGNATURE) {
        return v1::decode(input);
    }
    Err(ProxyHeaderError::Foreign)
}

/// Whether `input` begins with the signature, as far as both reach.
fn begins_like(input: &[u8], signature: &[u8]) -> bool {
    let common = input.len().min(signature.len());
    input[..common] == signature[..common]
}

/// Both addresses in one family: if one is IPv6, the other becomes an IPv4-mapped address.
fn aligned((from, to): Addresses) -> Addresses {
    let mapped = |end: SocketAddr| match end.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), end.port()),
        IpAddr::V6(_) => end,
    };
    if from.is_ipv4() == to.is_ipv4() { (from, to) } else { (mapped(from), mapped(to)) }
}

#[cfg(test)]
mod tests;
