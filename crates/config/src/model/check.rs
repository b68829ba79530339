//! Health checks (section 4.2 `option httpchk`, `http-check`). Never sends one.

/// How the servers of a backend are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HealthCheck {
    /// A connection is enough.
    #[default]
    Connect,
    /// HTTP requests and what to expect of the replies.
    Http(Vec<CheckStep>),
}

/// One step of an HTTP check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckStep {
    /// Send a request.
    Send(CheckSend),
    /// Judge the reply.
    Expect(Expect),
}

/// The request of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckSend {
    /// Method.
    pub method: String,
    /// Request target.
    pub uri: String,
    /// Version as written, `HTTP/1.0` by default.
    pub version: String,
    /// Header names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Body, empty for none.
    pub body: String,
}

impl Default for CheckSend {
    fn default() -> Self {
        Self {
            method: "OPTIONS".to_owned(),
            uri: "/".to_owned(),
            version: "HTTP/1.0".to_owned(),
            headers: Vec::new(),
            body: String::new(),
        }
    }
}

/// What a reply must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// True with `!`: the match makes the check fail.
    pub negated: bool,
    /// Statuses that match.
    pub status: StatusSet,
}

/// A list of status codes and ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSet(pub Vec<(u16, u16)>);

impl StatusSet {
    /// True when the status is in the list.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|(low, high)| (*low..=*high).contains(&status))
    }
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
    /// `port`: checked instead of the server's.
    pub port: Option<u16>,
    /// `addr`: checked instead of the server's.
    pub addr: Option<std::net::IpAddr>,
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
        }
    }
}
