//! Options of connections to a server, beyond its address.

use sample::Expr;
use std::net::SocketAddr;
use std::sync::Arc;

/// Options of the sockets of connections; the namespace is a name.
pub type ConnectOptions = stdx::socket::ConnectOptions<Arc<str>>;

/// Options of the connections to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The PROXY protocol header at the start of the connections.
    pub announce: Option<Announce>,
    /// Socket options.
    pub dial: ConnectOptions,
    /// Whether connections use the network namespace of their client (`namespace *`).
    pub follows_namespace: bool,
    /// Foreign source address of the connections.
    pub disguise: Disguise,
    /// Range of source ports.
    pub ports: Option<Ports>,
    /// The SOCKS4 proxy that the connections use.
    pub socks4: Option<SocketAddr>,
    /// Parts of the client's destination that replace the server's address.
    pub follows: Follows,
    /// TLS of the connections; `None` in clear.
    pub encryption: Option<Encryption>,
}

/// TLS of the connections to a server.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// TLS settings of the server.
    pub connector: Arc<tls::Connector>,
    /// Server name in the handshake (`sni`, `check-sni`).
    pub name: ServerName,
    /// ALPN protocols in wire format, in place of those of the server line (`check-alpn`).
    pub alpn: Option<Arc<[u8]>>,
}

/// Server name in a handshake.
#[derive(Clone, Debug)]
pub enum ServerName {
    /// No server name.
    None,
    /// A fixed name.
    Fixed(String),
    /// The value of a sample expression.
    Sample(Arc<Expr>),
}

impl PartialEq for Encryption {
    /// Whether both have the same connector, that is, come from the same line.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.connector, &other.connector)
    }
}

impl Eq for Encryption {}

/// Foreign source address of connections (`usesrc`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Disguise {
    /// No foreign address.
    #[default]
    None,
    /// A fixed address.
    Address(SocketAddr),
    /// The client's address and port.
    Client,
    /// The client's address.
    ClientIp,
    /// The address in a header of this name, in lower case; occurrences count from 1, negative ones
    /// from the end.
    Header(String, i32),
}

/// Parts of the client's destination address that replace those of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follows {
    /// The IP address, for a server without an address (`*`).
    pub ip: bool,
    /// The port plus this offset.
    pub port: Option<i32>,
}

/// A range of source ports, which the connections to a server take in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    low: u16,
    high: u16,
}

impl Ports {
    /// The range from `low` to `high`, both inclusive.
    pub fn new(low: u16, high: u16) -> Self {
        Self { low: low.min(high), high: low.max(high) }
    }

    /// Ports in the range.
    pub fn count(self) -> u32 {
        u32::from(self.high - self.low) + 1
    }

    /// The port of the connection with this number: behind the last port comes the first one.
    pub fn at(self, number: u32) -> u16 {
        // The sum is at most `high`, which is a port.
        (u32::from(self.low) + number % self.count()) as u16
    }
}

impl Link {
    /// Whether all options have their defaults.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A PROXY protocol header (`send-proxy`, `send-proxy-v2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announce {
    /// A line of text.
    V1,
    /// A block of bytes, with these values.
    V2(Values),
}

/// TLVs of a PROXY v2 header (`proxy-v2-options`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// `ssl` and its sub-TLVs: TLS version and certificate of the client's connection, if it has
    /// TLS.
    pub tls: bool,
    /// `cert-cn`: the common name of the client's certificate.
    pub common_name: bool,
    /// `ssl-cipher`
    pub cipher: bool,
    /// `cert-sig`: the signature algorithm of the certificate sent to the client.
    pub signature: bool,
    /// `cert-key`: the key type of that certificate.
    pub key: bool,
    /// `authority`: the host name that the client requested, if known.
    pub authority: bool,
    /// `crc32c`
    pub checksum: bool,
    /// `unique-id`
    pub unique_id: bool,
    /// Headers of health checks carry addresses in place of the LOCAL command
    /// (`pp2-never-send-local`).
    pub never_local: bool,
}

/// Headers in front of the first byte of a listener's connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// A PROXY protocol header.
    pub proxy: bool,
    /// A NetScaler header.
    pub netscaler: bool,
    /// Magic number of NetScaler headers.
    pub magic: u32,
}

impl Expected {
    /// Whether any header is expected.
    pub fn any(self) -> bool {
        self.proxy || self.netscaler
    }
}

/// Headers and TLS in front of the first byte of a listener's connections.
#[derive(Clone, Debug, Default)]
pub struct Preamble {
    /// Expected headers.
    pub expects: Expected,
    /// TLS behind these headers; `None` in clear.
    pub tls: Option<Arc<tls::Acceptor>>,
}

impl Preamble {
    /// Whether a header or TLS is expected.
    pub fn any(&self) -> bool {
        self.expects.any() || self.tls.is_some()
    }
}
