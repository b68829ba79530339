//! Names that are resolved while the process serves (sections 5.2 and 5.3).
use super::{At, Network, ServerOptions};
use crate::diag::Place;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A `resolvers` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolvers {
    /// Its name.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// Name servers of `nameserver` lines and of `parse-resolv-conf`.
    pub nameservers: Vec<NameServer>,
    /// Times and sizes.
    pub dns: dns::Settings,
}

/// A name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServer {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: SocketAddr,
    /// Whether queries are sent over TCP.
    pub stream: bool,
    /// Options of its connections: `source`, `maxconn`, TLS (section 5.2).
    pub options: Option<Box<ServerOptions>>,
    /// Its side of TLS, if the line has TLS options.
    pub tls: Option<Arc<tls::Connector>>,
    /// Its line.
    pub place: Place,
}

/// Options of a `server` line about its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveOptions {
    /// `resolvers`: the name of a section.
    pub resolvers: Option<At<String>>,
    /// `resolve-prefer`; IPv6 by default.
    pub family: dns::RecordType,
    /// `resolve-net`
    pub networks: Vec<Network>,
    /// `resolve-opts allow-dup-ip`
    pub shares: bool,
    /// `resolve-opts ignore-weight`
    pub keeps_weight: bool,
    /// `init-addr`, in order.
    pub init: Option<Vec<InitAddr>>,
}

impl Default for ResolveOptions {
    fn default() -> Self {
        Self {
            resolvers: None,
            family: dns::RecordType::V6,
            networks: Vec::new(),
            shares: false,
            keeps_weight: false,
            init: None,
        }
    }
}

/// One method of `init-addr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitAddr {
    /// The address in the state file.
    Last,
    /// The address that the system's resolver finds.
    Libc,
    /// No address: the server starts without one.
    None,
    /// A fixed address.
    Ip(IpAddr),
}
