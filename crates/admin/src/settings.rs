//! The settings that the boot gives to runtime sockets and pages.

use crate::row_memory::RowMemory;
use engine::state::runtime::Backend;
use sample::pattern::Dictionaries;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use stdx::Mutex;

/// The rights of a runtime socket's users (management.txt 9.3, `level`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Level {
    /// Reads what is not sensitive.
    User,
    /// Reads everything, and changes only what is not critical (`clear counters`, frequencies).
    #[default]
    Operator,
    /// Everything.
    Admin,
}

impl Level {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// How the severity of a message is shown in front of it (`severity-output`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SeverityOutput {
    /// Not at all.
    #[default]
    None,
    /// Its syslog number, `[3]: `.
    Number,
    /// Its name, `[err]: `.
    Text,
}

/// A runtime socket, as `show cli sockets` lists it.
#[derive(Clone, Debug, Default)]
pub struct CliSocket {
    /// Its address with the prefix of its family, such as `unix@/run/weir.sock`.
    pub address: String,
    /// The level that it allows.
    pub level: Level,
    /// How its sessions show severities at first.
    pub severity: SeverityOutput,
    /// Whether it hands over listening sockets (`expose-fd listeners`).
    pub exposes: bool,
    /// Whether the client is a master, whose socket outlives the soft stop.
    pub of_master: bool,
    /// The headers and handshakes before the first command.
    pub preamble: settings::Preamble,
    /// Its sessions at once; 0 for no limit of its own.
    pub maxconn: u32,
}

/// A listening socket that another process may take over.
#[derive(Clone, Debug)]
pub struct ListeningSocket {
    /// The line of text by which the other process identifies the socket.
    pub name: String,
    /// The socket.
    pub handle: reactor::Handle,
}

/// A line of the configuration, as the dashboard shows it.
#[derive(Clone, Debug)]
pub struct ConfigurationLine {
    /// The name of its file.
    pub file: Arc<str>,
    /// Its number there, from 1.
    pub line: u32,
    /// The words of the line, without secrets.
    pub text: String,
    /// Whether it opens a section.
    pub opens: bool,
}

/// The configuration, as the dashboard shows it.
#[derive(Clone, Debug, Default)]
pub struct ConfigurationText {
    /// The lines that count.
    pub lines: Vec<ConfigurationLine>,
    /// Lines that are left out because there are too many.
    pub left_out: u32,
}

/// A start or a reload of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reload {
    /// When it ended, in seconds since 1970.
    pub at: u64,
    /// The worker that it started, or the master where it failed.
    pub pid: u32,
    /// Whether the previous worker continues to serve.
    pub failed: bool,
    /// The message of the master about the reload.
    pub text: String,
}

/// The last reloads, oldest first.
#[derive(Debug, Default)]
pub struct Reloads(Mutex<Vec<Reload>>);

impl Reloads {
    /// How many are kept.
    pub const MOST: usize = 50;

    /// These, as far as they are kept.
    pub fn new(list: Vec<Reload>) -> Self {
        let reloads = Self::default();
        list.into_iter().for_each(|reload| reloads.add(reload));
        reloads
    }

    /// Adds one, and forgets the oldest beyond [`Self::MOST`].
    pub fn add(&self, reload: Reload) {
        let mut list = self.0.lock();
        if list.len() >= Self::MOST {
            list.remove(0);
        }
        list.push(reload);
    }

    /// All that are kept.
    pub fn list(&self) -> Vec<Reload> {
        self.0.lock().clone()
    }
}

/// The settings that all runtime sockets and pages share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The version shown.
    pub version: String,
    /// The date of the version, `YYYY/MM/DD`.
    pub date: String,
    /// The messages about the configuration at the start.
    pub startup_logs: String,
    /// All runtime sockets.
    pub sockets: Vec<CliSocket>,
    /// The sockets that `_getsocks` hands over.
    pub handed: Vec<ListeningSocket>,
    /// Milliseconds that a session may be silent (`stats timeout`); `None` forever.
    pub timeout_ms: Option<u32>,
    /// Sessions at once on all sockets but a master's (`stats maxconn`).
    pub max_sessions: usize,
    /// The configuration, if a proxy has a page to show it on.
    pub configuration: Arc<ConfigurationText>,
    /// The last reloads.
    pub reloads: Arc<Reloads>,
    /// The rows that browsers of the dashboard have.
    pub rows: Arc<RowMemory>,
    /// The key that hashes names in the anonymized mode (`anonkey`); 0 for a key of its own.
    pub anon_key: Arc<AtomicU32>,
    /// Descriptors that the process may open.
    pub max_files: u64,
    /// Bytes of memory that the process may use (`-m`); 0 for no limit.
    pub max_memory: u64,
    /// The environment: names and values.
    pub environment: Vec<(String, String)>,
    /// The patterns of ACLs and maps.
    pub dictionaries: Arc<Dictionaries>,
    /// Certificates and authorities, which change while the program runs.
    pub tls: Arc<tls::Runtime>,
    /// Some streams of a worker from a place on, for `show sess`.
    pub streams:
        fn(&engine::state::worker::Worker, u32) -> engine::state::session::stream_list::Part,
    /// Raises a signal in this process, for a master that may not send it.
    pub raise: fn(i32) -> std::io::Result<()>,
    /// Makes the settings of a server that `add server` adds, from its backend, its name, and the
    /// words from its address on.
    pub server: MakeServer,
}

/// See [`Settings::server`]; an error is the message for the operator.
#[derive(Clone)]
pub struct MakeServer(pub Arc<MakesServer>);

type MakesServer =
    dyn Fn(&Backend, &str, &[String]) -> Result<settings::Server, String> + Send + Sync;

impl std::fmt::Debug for MakeServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MakeServer")
    }
}

impl Default for Settings {
    /// As without any `stats` line in the configuration.
    fn default() -> Self {
        Self {
            version: String::new(),
            date: String::new(),
            startup_logs: String::new(),
            sockets: Vec::new(),
            handed: Vec::new(),
            timeout_ms: Some(10_000),
            max_sessions: 10,
            configuration: Arc::default(),
            reloads: Arc::default(),
            rows: Arc::default(),
            anon_key: Arc::default(),
            max_files: 0,
            max_memory: 0,
            environment: Vec::new(),
            dictionaries: Arc::default(),
            tls: Arc::default(),
            streams: |_, _| Default::default(),
            raise: |_| Err(std::io::ErrorKind::Unsupported.into()),
            server: MakeServer(Arc::new(|_, _, _| Err("no servers can be made".to_owned()))),
        }
    }
}
