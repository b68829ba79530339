//! Health checks (sections 4.2 and 5.2).

use rules::check::Script;
use std::sync::Arc;

/// How the servers of a backend are checked.
#[derive(Clone, Debug, Default)]
pub enum HealthCheck {
    /// A connection is enough.
    #[default]
    Connect,
    /// The answers to a script.
    Script(Arc<Script>),
    /// The exit status of a program.
    External {
        /// `external-check command`
        command: String,
        /// `external-check path`
        path: String,
    },
}

/// How one server is checked: the check options of a `server` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// `check`: whether it is checked.
    pub enabled: bool,
    /// `inter`, ms; 2000 by default.
    pub inter: u64,
    /// `fastinter`, ms: between UP and DOWN; `inter` when not set.
    pub fastinter: Option<u64>,
    /// `downinter`, ms: when DOWN; `inter` when not set.
    pub downinter: Option<u64>,
    /// `rise`: successes to go UP; 2 by default.
    pub rise: u32,
    /// `fall`: failures to go DOWN; 3 by default.
    pub fall: u32,
    /// `port`: checks connect to this port instead of the server's.
    pub port: Option<u16>,
    /// `addr`: checked instead of the server's.
    pub addr: Option<std::net::IpAddr>,
    /// `check-send-proxy`: a PROXY protocol header goes first even where the port or the address is
    /// another than the server's.
    pub send_proxy: bool,
    /// `check-proto`: the protocol of checks, if the line sets one.
    pub protocol: Option<super::Protocol>,
    /// `check-via-socks4`: checks go through the server's proxy.
    pub via_socks4: bool,
    /// `agent-check` and its parameters.
    pub agent: AgentCheck,
}

/// The settings of an agent check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCheck {
    /// `agent-check`: whether it is.
    pub enabled: bool,
    /// `agent-addr`; the server's when not set.
    pub addr: Option<std::net::IpAddr>,
    /// `agent-port`
    pub port: Option<u16>,
    /// `agent-inter`, ms; 2000 by default.
    pub inter: u64,
    /// `agent-send`
    pub send: Vec<u8>,
}

impl Default for AgentCheck {
    fn default() -> Self {
        Self { enabled: false, addr: None, port: None, inter: 2000, send: Vec::new() }
    }
}

impl Default for Check {
    fn default() -> Self {
        Self {
            enabled: false,
            inter: 2000,
            fastinter: None,
            downinter: None,
            rise: 2,
            fall: 3,
            port: None,
            addr: None,
            send_proxy: false,
            protocol: None,
            via_socks4: false,
            agent: AgentCheck::default(),
        }
    }
}
