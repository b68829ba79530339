//! Options of connections to a server, beyond its address.

use reactor::ConnectOptions;
use sample::Expr;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI8, AtomicU32, Ordering::Relaxed};

/// What is special about connections to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The PROXY protocol header that they begin with.
    pub announce: Option<Announce>,
    /// What is asked of their sockets.
    pub dial: ConnectOptions,
    /// Whether they belong to the network namespace that their client comes from (`namespace *`).
    pub follows_namespace: bool,
    /// Whose address they pretend to come from.
    pub disguise: Disguise,
    /// The source ports taken in turn.
    pub ports: Option<Ports>,
    /// The SOCKS4 proxy that they go through.
    pub socks4: Option<SocketAddr>,
    /// What of the client's own destination they go to.
    pub follows: Follows,
    /// What they are encrypted with.
    pub encryption: Option<Encryption>,
}

/// What encrypts the connections to a server.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// The server's side of TLS.
    pub connector: Arc<tls::Connector>,
    /// The name that it is asked by (`sni`, `check-sni`).
    pub name: ServerName,
    /// What is offered instead of the line's own protocols (`check-alpn`), in wire format.
    pub alpn: Option<Arc<[u8]>>,
    /// Whether it is done at all.
    pub switch: Arc<Switch>,
}

/// Whether connections are encrypted that could be (`set server ssl`).
#[derive(Debug)]
pub struct Switch(AtomicI8);

impl Switch {
    /// It is on, or has never been.
    pub fn new(on: bool) -> Arc<Self> {
        Arc::new(Self(AtomicI8::new(if on { 1 } else { NEVER })))
    }

    /// Turns it.
    pub fn turn(&self, on: bool) {
        self.0.store(i8::from(on), Relaxed);
    }

    /// Turns it as another one is.
    pub fn follow(&self, other: &Switch) {
        self.0.store(other.number(), Relaxed);
    }

    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        self.number() > 0
    }

    /// As `show servers state` tells it: 1 for on, 0 for off, -1 if it has never been on.
    pub fn number(&self) -> i8 {
        self.0.load(Relaxed)
    }
}

/// What `show servers state` says of a server that may not be encrypted (`no-ssl`).
pub const NEVER: i8 = -1;

/// The name that a server is asked by.
#[derive(Clone, Debug)]
pub enum ServerName {
    /// None.
    None,
    /// Always this one.
    Fixed(String),
    /// What an expression says.
    Sample(Arc<Expr>),
}

impl PartialEq for Encryption {
    /// Whether they are of the same line.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.connector, &other.connector)
    }
}

impl Eq for Encryption {}

/// Whose address connections pretend to come from (`usesrc`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Disguise {
    /// Nobody's.
    #[default]
    None,
    /// This one's.
    Address(SocketAddr),
    /// The client's address and port.
    Client,
    /// The client's address.
    ClientIp,
    /// The address in a header of this name, in lower case; its occurrence counts from 1, or from
    /// the end below 0.
    Header(String, i32),
}

/// What of the address that the client connected to is taken for the server's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follows {
    /// Its IP address: the server has none of its own (`*`).
    pub ip: bool,
    /// Its port, plus this.
    pub port: Option<i32>,
}

/// A range of ports taken in turn by all threads.
#[derive(Clone, Debug)]
pub struct Ports {
    /// The first.
    pub low: u16,
    /// The last.
    pub high: u16,
    next: Arc<AtomicU32>,
}

impl Ports {
    /// The range from `low` to `high`, both included.
    pub fn new(low: u16, high: u16) -> Self {
        Self { low: low.min(high), high: low.max(high), next: Arc::default() }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        u32::from(self.high - self.low) + 1
    }

    /// The next in turn.
    pub fn next(&self) -> u16 {
        let place = self.next.fetch_add(1, Relaxed) % self.count();
        // No more than `high`, a port.
        (u32::from(self.low) + place) as u16
    }
}

impl PartialEq for Ports {
    fn eq(&self, other: &Self) -> bool {
        (self.low, self.high) == (other.low, other.high)
    }
}

impl Eq for Ports {}

impl Link {
    /// Whether there is nothing special about them.
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

/// What a header of version 2 says beyond addresses (`proxy-v2-options`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// `ssl` and all that belongs to it: how the client's connection is encrypted, if it is.
    pub tls: bool,
    /// `cert-cn`: the common name of the client's certificate.
    pub common_name: bool,
    /// `ssl-cipher`
    pub cipher: bool,
    /// `cert-sig`: the signature of the certificate that the client was shown.
    pub signature: bool,
    /// `cert-key`: the key of that certificate.
    pub key: bool,
    /// `authority`: the host name that the client asked for, as far as it is known.
    pub authority: bool,
    /// `crc32c`
    pub checksum: bool,
    /// `unique-id`
    pub unique_id: bool,
    /// A health check's header says who connects, not that nobody does (`pp2-never-send-local`).
    pub never_local: bool,
}

/// What connections of a listener begin with, before their first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// A PROXY protocol header.
    pub proxy: bool,
    /// A NetScaler header.
    pub netscaler: bool,
    /// The magic number of such headers.
    pub magic: u32,
}

impl Expected {
    /// Whether anything is.
    pub fn any(self) -> bool {
        self.proxy || self.netscaler
    }
}

/// What goes before the first byte of all connections of a listener.
#[derive(Clone, Debug, Default)]
pub struct Preamble {
    /// What they begin with.
    pub expects: Expected,
    /// What they are encrypted with then.
    pub tls: Option<Arc<tls::Acceptor>>,
}

impl Preamble {
    /// Whether anything does.
    pub fn any(&self) -> bool {
        self.expects.any() || self.tls.is_some()
    }
}
