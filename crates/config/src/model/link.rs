//! Parameters of connections to a server, and the headers that they begin with (section 5.2).

use super::Disguise;
use std::net::{IpAddr, SocketAddr};

/// Everything about connections to a server beyond its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// `send-proxy` and its family.
    pub announce: Announce,
    /// `source`, `interface`, `usesrc`; that of the backend when not set.
    pub source: Option<ConnectSource>,
    /// `tcp-ut`, ms; 0 for the system's.
    pub tcp_ut: u32,
    /// `tfo`
    pub tfo: bool,
    /// `namespace`
    pub namespace: Option<String>,
    /// `socks4`: where the proxy is that connections go through.
    pub socks4: Option<SocketAddr>,
}

/// Version and contents of the PROXY protocol header: `send-proxy*` and `proxy-v2-options`.
///
/// Each keyword sets what it names, and its `no-` form clears just that, so that what is left may
/// be odd: any of these without version 2 gives a header of version 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announce {
    /// `send-proxy`
    pub v1: bool,
    /// `send-proxy-v2`
    pub v2: bool,
    /// `ssl`
    pub ssl: bool,
    /// `cert-cn`
    pub cert_cn: bool,
    /// `ssl-cipher`
    pub ssl_cipher: bool,
    /// `cert-sig`
    pub cert_sig: bool,
    /// `cert-key`
    pub cert_key: bool,
    /// `authority`
    pub authority: bool,
    /// `crc32c`
    pub crc32c: bool,
    /// `unique-id`
    pub unique_id: bool,
}

impl Announce {
    /// Whether a header is sent.
    pub fn any(self) -> bool {
        self != Self::default()
    }

    /// Whether the PROXY header has TLVs about the client's TLS session.
    pub fn tls(self) -> bool {
        self.ssl || self.cert_cn || self.ssl_cipher || self.cert_sig || self.cert_key
    }
}

/// The source address of connections (`source`, `interface`, `usesrc`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectSource {
    /// The address; `None` leaves the address to the system.
    pub address: Option<IpAddr>,
    /// The ports taken in turn, both included; `None` leaves the ports to the system.
    pub ports: Option<(u16, u16)>,
    /// `interface`
    pub interface: Option<String>,
    /// `usesrc`
    pub disguise: Disguise,
}

impl KeepAlive {
    /// The probes, if there are to be any.
    pub fn probes(self) -> Option<stdx::socket::KeepAlive> {
        let Self { enabled, count, idle, interval } = self;
        enabled.then_some(stdx::socket::KeepAlive { count, idle, interval })
    }
}

/// TCP keep-alive probes of one side; what is absent is left to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// `option tcpka` and its family.
    pub enabled: bool,
    /// `*tcpka-cnt`
    pub count: Option<u32>,
    /// `*tcpka-idle`, seconds.
    pub idle: Option<u32>,
    /// `*tcpka-intvl`, seconds.
    pub interval: Option<u32>,
}
