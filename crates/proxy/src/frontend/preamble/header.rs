//! Headers in front of the first byte of a connection, and their errors.

use wire::netscaler;
use wire::proxy_protocol::{self, Addresses};

/// The expected kind of header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Proxy,
    /// With its magic number.
    NetScaler(u32),
}

/// The reason why no header was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    Closed,
    Broken,
    Late,
    Truncated,
    Foreign,
    Invalid,
    Unhandled,
}

/// A decoded header.
#[derive(Debug)]
pub(super) enum Header<'a> {
    Proxy(proxy_protocol::ProxyHeader<'a>),
    NetScaler(Addresses),
}

/// The header at the front, and its length; `None` while it is incomplete.
///
/// # Errors
/// The bytes are no header of this kind, or a malformed one.
pub(super) fn decode(kind: Kind, input: &[u8]) -> Result<Option<(Header<'_>, usize)>, Problem> {
    match kind {
        Kind::Proxy => proxy(input),
        Kind::NetScaler(magic) => netscaler(magic, input),
    }
}

fn proxy(input: &[u8]) -> Result<Option<(Header<'_>, usize)>, Problem> {
    use proxy_protocol::{ProxyHeaderError, ProxyHeaderStep};
    let step = proxy_protocol::decode(input).map_err(|error| match error {
        ProxyHeaderError::Foreign => Problem::Foreign,
        ProxyHeaderError::Invalid => Problem::Invalid,
        ProxyHeaderError::Unhandled => Problem::Unhandled,
    })?;
    Ok(match step {
        ProxyHeaderStep::Partial => None,
        ProxyHeaderStep::Complete { header, len } => Some((Header::Proxy(header), len)),
    })
}

fn netscaler(magic: u32, input: &[u8]) -> Result<Option<(Header<'_>, usize)>, Problem> {
    use netscaler::{NetscalerError, NetscalerStep};
    let step = netscaler::decode(magic, input).map_err(|error| match error {
        NetscalerError::Magic => Problem::Foreign,
        NetscalerError::Unhandled => Problem::Unhandled,
    })?;
    Ok(match step {
        NetscalerStep::Partial => None,
        NetscalerStep::Complete { ends, len } => Some((Header::NetScaler(ends), len)),
    })
}

/// The number and text of the error, as the manual lists them for `fc_err` and `fc_err_str`.
pub(super) fn words(kind: Kind, problem: Problem) -> (u8, &'static str) {
    match (kind, problem) {
        (Kind::Proxy, Problem::Closed) => {
            (11, "Connection closed while waiting for PROXY protocol header")
        }
        (Kind::Proxy, Problem::Broken) => {
            (12, "Connection error while waiting for PROXY protocol header")
        }
        (Kind::Proxy, Problem::Late) => (13, "Timeout while waiting for PROXY protocol header"),
        (Kind::Proxy, Problem::Truncated) => (14, "Truncated PROXY protocol header received"),
        (Kind::Proxy, Problem::Foreign) => {
            (15, "Received something which does not look like a PROXY protocol header")
        }
        (Kind::Proxy, Problem::Invalid) => (16, "Received an invalid PROXY protocol header"),
        (Kind::Proxy, Problem::Unhandled) => {
            (17, "Received an unhandled protocol in the PROXY protocol header")
        }
        (Kind::NetScaler(_), Problem::Closed) => {
            (18, "Connection closed while waiting for NetScaler Client IP header")
        }
        (Kind::NetScaler(_), Problem::Broken) => {
            (19, "Connection error while waiting for NetScaler Client IP header")
        }
        (Kind::NetScaler(_), Problem::Late) => {
            (20, "Timeout while waiting for a NetScaler Client IP header")
        }
        (Kind::NetScaler(_), Problem::Truncated) => {
            (21, "Truncated NetScaler Client IP header received")
        }
        (Kind::NetScaler(_), Problem::Foreign) => {
            (22, "Received an invalid NetScaler Client IP magic number")
        }
        (Kind::NetScaler(_), Problem::Invalid | Problem::Unhandled) => {
            (23, "Received an unhandled protocol in the NetScaler Client IP header")
        }
    }
}
