//! Why an address of the configuration is refused.

use super::MAX_UNIX_PATH;
use std::fmt;

/// Why an address is refused: always the configuration's fault. `address` is the whole word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AddressError {
    /// The word `written` is empty once its variables have their values.
    Empty { written: String },
    /// A prefix asks for datagrams.
    Datagram { address: String },
    /// A prefix asks for a stream.
    Stream { address: String },
    /// A prefix of QUIC elsewhere than on a `bind` line of a proxy.
    Quic { address: String },
    /// A kind of address that is not implemented.
    NotImplemented { what: &'static str, address: String },
    /// A file descriptor where none is accepted.
    NoDescriptor { address: String },
    /// A path where none is accepted.
    NoPath { address: String },
    /// A pair of sockets as the destination of datagrams.
    NoPair { address: String },
    /// A family other than IPv4 and IPv6 where none else is accepted.
    Family { address: String },
    /// The host is not an address, and its name has no address of the wanted family.
    Host { host: String, address: String },
    /// The text behind `fd@` is not a number.
    Descriptor { digits: String, address: String },
    /// The port is missing.
    MissingPort { address: String },
    /// The port is no number from 1 to 65535.
    Port { port: String },
    /// A range of ports is malformed or empty.
    PortRange { range: String },
    /// A range of ports where one port is accepted.
    NoPortRange { address: String },
    /// A character in a port number.
    PortCharacter { character: char, port: String, address: String },
    /// An offset from the client's port that is no number.
    PortOffset { port: String, address: String },
    /// An offset from the client's port where a port is needed.
    NoPortOffset { address: String },
    /// The name in the abstract namespace is missing.
    MissingName { address: String },
    /// The path is missing.
    MissingPath { address: String },
    /// The path is longer than the kernel accepts.
    LongPath { path: String },
    /// A host name that no resolver can be asked for, of this server.
    Unresolvable { server: String },
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { written } => {
                let why = "resolves to an empty address (environment variable missing?)";
                write!(f, "'{written}' {why}")
            }
            Self::Datagram { address } => {
                write!(f, "dgram-type address not acceptable in '{address}'")
            }
            Self::Stream { address } => {
                write!(f, "stream-type address not acceptable in '{address}'")
            }
            Self::Quic { address } => {
                let where_to = "'quic4@' or 'quic6@' on a 'bind' line of a proxy";
                write!(f, "QUIC is only acceptable as {where_to}, not in '{address}'")
            }
            Self::NotImplemented { what, address } => {
                write!(f, "{what} is not implemented yet in '{address}'")
            }
            Self::NoDescriptor { address } => {
                write!(f, "a file descriptor is not acceptable here in '{address}'")
            }
            Self::NoPath { address } => write!(f, "a path is not acceptable here in '{address}'"),
            Self::NoPair { address } => write!(f, "a pair takes no datagrams in '{address}'"),
            Self::Family { address } => write!(f, "unsupported protocol family in '{address}'"),
            Self::Host { host, address } => write!(f, "invalid address: '{host}' in '{address}'"),
            Self::Descriptor { digits, address } => {
                write!(f, "file descriptor '{digits}' is not a valid integer in '{address}'")
            }
            Self::MissingName { address } => write!(f, "missing name in '{address}'"),
            Self::MissingPath { address } => write!(f, "missing socket path in '{address}'"),
            Self::LongPath { path } => {
                write!(f, "socket path '{path}' too long (max {MAX_UNIX_PATH})")
            }
            Self::Unresolvable { server } => {
                write!(f, "Can't create DNS resolution for server '{server}'")
            }
            _ => self.port_error(f),
        }
    }
}

impl AddressError {
    fn port_error(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingPort { address } => {
                write!(f, "missing port specification in '{address}'")
            }
            Self::Port { port } => write!(f, "invalid port '{port}'"),
            Self::PortRange { range } => write!(f, "invalid port range '{range}'"),
            Self::NoPortRange { address } => {
                write!(f, "port range not permitted here in '{address}'")
            }
            Self::PortCharacter { character, port, address } => {
                let what = format_args!("invalid character '{character}' in port number '{port}'");
                write!(f, "{what} in '{address}'")
            }
            Self::PortOffset { port, address } => {
                write!(f, "invalid port offset '{port}' in '{address}'")
            }
            Self::NoPortOffset { address } => {
                write!(f, "port offset not permitted here in '{address}'")
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for AddressError {}
