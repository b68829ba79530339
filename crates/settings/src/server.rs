//! Servers, their checks, and the name servers that resolve their addresses (configuration manual,
//! sections 5.2 and 5.3).

use crate::*;

/// Settings of one server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name, number, weight and limits.
    pub balance: balance::ServerSettings,
    /// Initial address.
    pub address: Address,
    /// Value of the persistence cookie.
    pub cookie: Option<Vec<u8>>,
    /// Redirect target of GET and HEAD requests, up to the path (`redir`).
    pub redirect: Option<Arc<[u8]>>,
    /// Requests that may wait for the server; 0 for no limit.
    pub max_queue: u32,
    /// Lower bound of the dynamic connection limit (`minconn`); 0 for a fixed limit.
    pub minconn: u32,
    /// The most idle connections; `None` for no limit (`pool-max-conn`).
    pub pool_max: Option<u32>,
    /// Connections below which threads take no idle connection from other threads
    /// (`pool-low-conn`).
    pub pool_low: u32,
    /// Milliseconds between purges of idle connections; 0 keeps none (`pool-purge-delay`).
    pub pool_purge: u32,
    /// Reuses of a connection; `None` for no limit (`max-reuse`).
    pub max_reuse: Option<u32>,
    /// HTTP versions of its connections.
    pub speech: ServerProtocols,
    /// Whether `stick` rules leave the server out (`non-stick`).
    pub non_stick: bool,
    /// Address of its checks, if it differs (`addr`).
    pub check_ip: Option<IpAddr>,
    /// Port of its checks, if it differs (`port`).
    pub check_port: Option<u16>,
    /// Options of its connections.
    pub link: Link,
    /// Options of the connections of its checks.
    pub check_link: Link,
    /// TLS settings of its connections and of check steps that ask for TLS.
    pub connector: Option<Arc<tls::Connector>>,
    /// Whether its connections use TLS from the start; commands change it (`set server ssl`).
    pub encrypts: bool,
    /// Whether TLS can never be turned on (`no-ssl`).
    pub refuses_tls: bool,
    /// Whether rules or other servers refer to the server, so that it cannot be deleted.
    pub referenced: bool,
    /// Whether `id` gave it its number.
    pub forced_id: bool,
    /// Whether it was added at run time.
    pub dynamic: bool,
    /// The words of `add server` without name, number and address: servers of a backend with the
    /// same words have the same settings.
    pub words: Option<Arc<str>>,
    /// The agent of the server.
    pub agent: Option<Agent>,
    /// Host name, for a server whose address is resolved.
    pub host: Option<String>,
    /// Resolution of the host name at run time.
    pub resolve: Option<Arc<dns::ResolveSettings>>,
    /// Whether its streams end when it goes down (`on-marked-down shutdown-sessions`).
    pub ends_streams: bool,
    /// Whether the streams of backup servers end when it comes up (`on-marked-up
    /// shutdown-backup-sessions`).
    pub relieves_backups: bool,
    /// State of the server in the previous process (server state file).
    pub restored: Option<balance::Restored>,
    /// Initial address and port of its checks, where the state file differs from the configuration.
    pub checked_at: (Option<IpAddr>, Option<u16>),
    /// Whether the server's health checks and agent checks are suspended at the start.
    pub off: (bool, bool),
}

/// A `resolvers` section.
#[derive(Clone, Debug)]
pub struct Resolvers {
    /// Its name.
    pub name: String,
    /// Name servers.
    pub nameservers: Vec<NameServer>,
    /// Times and sizes.
    pub dns: dns::Settings,
}

/// A name server.
#[derive(Clone, Debug)]
pub struct NameServer {
    /// Its name.
    pub name: String,
    /// Address of the name server.
    pub address: SocketAddr,
    /// Whether queries go over TCP.
    pub stream: bool,
    /// Its TCP connections, also for responses that do not fit into a datagram.
    pub streams: Streams,
}

/// Connections to a name server.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The most concurrent connections; 0 for no limit.
    pub maxconn: u32,
    /// Socket options.
    pub dial: ConnectOptions,
    /// TLS of the connections; `None` in clear.
    pub encryption: Option<Encryption>,
}

impl Server {
    /// A server with the defaults of the manual.
    pub fn new(balance: balance::ServerSettings, address: Address) -> Self {
        Self {
            balance,
            address,
            cookie: None,
            redirect: None,
            max_queue: 0,
            minconn: 0,
            pool_max: None,
            pool_low: 0,
            pool_purge: 5_000,
            max_reuse: None,
            speech: ServerProtocols::default(),
            non_stick: false,
            check_ip: None,
            check_port: None,
            link: Link::default(),
            check_link: Link::default(),
            connector: None,
            encrypts: false,
            refuses_tls: false,
            referenced: false,
            forced_id: false,
            dynamic: false,
            words: None,
            agent: None,
            host: None,
            resolve: None,
            ends_streams: false,
            relieves_backups: false,
            restored: None,
            checked_at: (None, None),
            off: (false, false),
        }
    }
}

impl Server {
    /// The destination of `dispatch` or `option transparent` in place of servers: `address`, or the
    /// client's destination without one.
    pub fn direct(address: Option<Address>, link: Link) -> Self {
        let balance = balance::ServerSettings::new(0, "<NOSRV>");
        let follows = Follows { ip: address.is_none(), port: address.is_none().then_some(0) };
        let anywhere = Address::Inet(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));
        Self {
            link: Link { follows, ..link },
            non_stick: true,
            ..Self::new(balance, address.unwrap_or(anywhere))
        }
    }
}

/// The agent of a server (`agent-check`).
#[derive(Clone, Debug)]
pub struct Agent {
    /// Address of the agent (`agent-addr`); `None` for the server's current address.
    pub ip: Option<IpAddr>,
    /// Port of the agent (`agent-port`); unused with a path.
    pub port: u16,
    /// Bytes sent first (`agent-send`).
    pub send: Vec<u8>,
    /// Milliseconds between checks (`agent-inter`).
    pub inter_ms: u32,
}

/// Health check of the servers of a backend.
#[derive(Clone, Debug, Default)]
pub enum Check {
    /// A connection.
    #[default]
    Connect,
    /// An HTTP exchange.
    Http(HttpCheck),
    /// A script of `tcp-check` or `http-check` steps.
    Script(Arc<rules::check::Script>),
    /// An external program.
    External(Arc<External>),
}

/// `external-check`
#[derive(Clone, Debug, Default)]
pub struct External {
    /// Path of the program.
    pub command: String,
    /// `PATH` of the program.
    pub path: String,
    /// Whether programs may be started at all (`insecure-fork-wanted`).
    pub permitted: bool,
}

/// The exchange of an HTTP check.
#[derive(Clone, Debug)]
pub struct HttpCheck {
    /// The whole request as sent.
    pub request: Vec<u8>,
    /// Expected statuses: inclusive ranges.
    pub statuses: Vec<(u16, u16)>,
    /// Whether a match fails the check.
    pub negated: bool,
}
