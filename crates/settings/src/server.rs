//! Servers, their checks, and the name servers that find them (configuration manual, sections 5.2 and 5.3).

use crate::*;

/// One server as the data plane needs it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name, number, weight and limits.
    pub balance: balance::ServerSettings,
    /// Where it is at first.
    pub address: Address,
    /// Its value in the persistence cookie.
    pub cookie: Option<Vec<u8>>,
    /// Where clients are sent that only ask for something, up to the path (`redir`).
    pub redirect: Option<Arc<[u8]>>,
    /// Requests that may wait for it; 0 for no limit.
    pub max_queue: u32,
    /// The lowest that its connection limit sinks to (`minconn`); 0 for a limit that stays.
    pub minconn: u32,
    /// Idle connections kept; `None` for no limit.
    pub pool_max: Option<u32>,
    /// Threads take no idle connection from others while there are fewer (`pool-low-conn`).
    pub pool_low: u32,
    /// How often idle connections are thinned out; 0 keeps none.
    pub pool_purge: u32,
    /// How often a connection may be used again; `None` for no limit.
    pub max_reuse: Option<u32>,
    /// What its connections speak.
    pub speech: Speeches,
    /// `stick` rules never store it.
    pub non_stick: bool,
    /// The address that is checked, if it is another one (`addr`).
    pub check_ip: Option<IpAddr>,
    /// The port that is checked, if it is another one (`port`).
    pub check_port: Option<u16>,
    /// What else there is to its connections.
    pub link: Link,
    /// What else there is to connections of checks.
    pub check_link: Link,
    /// What its connections could be encrypted with, also those of steps of checks that say so
    /// themselves.
    pub connector: Option<Arc<tls::Connector>>,
    /// Its connections are never encrypted (`no-ssl`).
    pub refuses_tls: bool,
    /// Whether rules or other servers name it, so that it cannot be deleted.
    pub referenced: bool,
    /// Whether `id` gave it its number.
    pub forced_id: bool,
    /// Whether it was added while the program ran.
    pub dynamic: bool,
    /// The words that added it, without name, number and address: servers of a backend with the
    /// same words have the same settings.
    pub words: Option<Arc<str>>,
    /// Its agent, if it has one.
    pub agent: Option<Agent>,
    /// The name of the host, if it is found by one.
    pub host: Option<String>,
    /// How its name is resolved while the process serves, if it is.
    pub resolve: Option<Arc<dns::ResolveSettings>>,
    /// Its streams end when it goes down (`on-marked-down shutdown-sessions`).
    pub ends_streams: bool,
    /// Those of backup servers end when it comes up (`on-marked-up shutdown-backup-sessions`).
    pub relieves_backups: bool,
    /// The state that a process before has left of it.
    pub restored: Option<balance::Restored>,
    /// Where its checks go at first, if that is not where the configuration says.
    pub checked_at: (Option<IpAddr>, Option<u16>),
    /// Its checks are suspended at first, its agent is left alone at first.
    pub off: (bool, bool),
}

/// A `resolvers` section.
#[derive(Clone, Debug)]
pub struct Resolvers {
    /// Its name.
    pub name: String,
    /// Whom it asks.
    pub nameservers: Vec<NameServer>,
    /// Times and sizes.
    pub dns: dns::Settings,
}

/// A name server.
#[derive(Clone, Debug)]
pub struct NameServer {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: SocketAddr,
    /// Whether it is asked over TCP.
    pub stream: bool,
    /// How that is done, also where an answer did not fit into a datagram.
    pub streams: Streams,
}

/// Connections to a name server.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// The most at once; 0 for no limit.
    pub maxconn: u32,
    /// What is asked of each.
    pub dial: reactor::ConnectOptions,
    /// What they are encrypted with.
    pub encryption: Option<Encryption>,
}

impl Server {
    /// A server with what the manual says holds for one of which nothing more is said.
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
            speech: Speeches::default(),
            non_stick: false,
            check_ip: None,
            check_port: None,
            link: Link::default(),
            check_link: Link::default(),
            connector: None,
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
    /// What stands for no server: requests go to `address`, or without one to where their clients
    /// wanted to go.
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
    /// Its own address (`agent-addr`); without one it is where the server is, wherever that goes.
    pub ip: Option<IpAddr>,
    /// Its port (`agent-port`), which a path has not.
    pub port: u16,
    /// What it is told first (`agent-send`).
    pub send: Vec<u8>,
    /// Milliseconds between checks (`agent-inter`).
    pub inter_ms: u32,
}

/// How the servers of a backend are checked.
#[derive(Clone, Debug, Default)]
pub enum Check {
    /// A connection is enough.
    #[default]
    Connect,
    /// An HTTP exchange.
    Http(HttpCheck),
    /// What a script says.
    Script(Arc<rules::check::Script>),
    /// A program of the operator's.
    External(Arc<External>),
}

/// `external-check`
#[derive(Clone, Debug, Default)]
pub struct External {
    /// The program.
    pub command: String,
    /// Its `PATH`.
    pub path: String,
    /// Whether programs may be started at all (`insecure-fork-wanted`).
    pub permitted: bool,
}

/// The exchange of an HTTP check.
#[derive(Clone, Debug)]
pub struct HttpCheck {
    /// The whole request, as sent.
    pub request: Vec<u8>,
    /// Statuses looked for: inclusive ranges.
    pub statuses: Vec<(u16, u16)>,
    /// Finding one makes the check fail instead.
    pub negated: bool,
}
