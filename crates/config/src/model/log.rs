//! Where logs go and in which envelope (section 4.2 `log`).
use super::LogTransport;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// One log target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTarget {
    /// Where to send.
    pub address: LogAddress,
    /// `len`: longest message in bytes, 80 to 65535; 1024 by default.
    pub max_len: usize,
    /// `format`: the envelope.
    pub transport: LogTransport,
    /// `sample`: which messages go to this target.
    pub sample: Option<LogSample>,
    /// Syslog facility.
    pub facility: Facility,
    /// Messages less severe than this are dropped.
    pub level: LogLevel,
    /// Messages more severe than this are sent as this.
    pub min_level: LogLevel,
    /// True when no `format` was given.
    pub default_transport: bool,
}

/// Where a log target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogAddress {
    /// UDP; port 514 unless given.
    Udp(SocketAddr),
    /// Datagram unix socket.
    Unix(PathBuf),
    /// A descriptor: `stdout` is 1, `stderr` is 2, `fd@N`.
    Fd(i32),
    /// `ring@`: a ring, by its name.
    Ring(Arc<str>),
}

/// `sample <ranges>:<size>`: of each `size` messages, those whose number is in `ranges`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSample {
    /// Numbers from 1, inclusive, ascending and disjoint.
    pub ranges: Vec<(u32, u32)>,
    /// Messages in one round.
    pub size: u32,
}

/// Syslog facility number, 0 to 23.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facility(pub u8);

/// Names of the facilities, by number.
pub(crate) const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "auth2",
    "ftp", "ntp", "audit", "alert", "cron2", "local0", "local1", "local2", "local3", "local4",
    "local5", "local6", "local7",
];

/// Syslog severity, 0 (emerg) to 7 (debug).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogLevel(pub u8);

/// Names of the levels, by number.
pub(crate) const LEVELS: [&str; 8] =
    ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// The predefined log formats (section 8.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogStyle {
    /// Neither option: "Connect from ...", section 8.2.1.
    #[default]
    Connect,
    /// `option tcplog`, section 8.2.2.
    Tcp,
    /// `option httplog`, section 8.2.3.
    Http,
    /// `option httplog clf`.
    HttpClf,
    /// `option httplog json`: an object per line.
    HttpJson,
    /// `option httpslog`, section 8.2.4.
    Https,
}
