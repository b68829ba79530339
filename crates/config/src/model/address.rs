//! Addresses to bind and to connect to.
use stdx::socket::Address;

/// Where a listener binds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BindAddress {
    /// An address to bind.
    At(Address),
    /// An inherited socket, already bound (`fd@N`).
    Inherited(i32),
}

/// The port of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerPort {
    /// Always this one.
    Fixed(u16),
    /// The port that the client connected to, plus this.
    FromClient(i32),
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    /// The address; its port is 0 unless `port` is fixed.
    pub address: Address,
    /// How the port is found; `Fixed(0)` for unix sockets.
    pub port: ServerPort,
    /// The host part as written.
    pub host: String,
}

impl ServerAddress {
    /// Whether it is no address in particular: `*`, or nothing before the colon.
    pub(crate) fn is_anywhere(&self) -> bool {
        matches!(&self.address, Address::Inet(address) if address.ip().is_unspecified())
    }
}
