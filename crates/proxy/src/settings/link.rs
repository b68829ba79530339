//! How connections to a server begin, beyond its address. Data only.

/// What is special about connections to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// The PROXY protocol header that they begin with.
    pub announce: Option<Announce>,
}

impl Link {
    /// Whether there is nothing special about them.
    pub fn is_plain(&self) -> bool {
        self.announce.is_none()
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
