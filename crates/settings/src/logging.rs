//! Targets of log lines (configuration manual, `log`).

use crate::*;

/// Targets and tags of log lines.
#[derive(Debug, Default)]
pub struct Logs {
    /// The targets.
    pub targets: Vec<LogTarget>,
    /// The program's name in log lines.
    pub tag: String,
    /// The host name in log lines; `None` where lines carry none.
    pub hostname: Option<String>,
}

/// One log target.
#[derive(Debug)]
pub struct LogTarget {
    /// Address of the target.
    pub address: LogAddress,
    /// Format of the syslog header.
    pub transport: LogTransport,
    /// Whether forwarded messages keep the header that they arrived with, as the `log` line names
    /// no format.
    pub keeps: bool,
    /// Longest message in bytes.
    pub max_len: usize,
    /// Syslog facility, 0 to 23.
    pub facility: u8,
    /// The least severe level that is sent; less severe messages are dropped.
    pub level: u8,
    /// The most severe level that is sent; more severe messages are sent with this level.
    pub min_level: u8,
    /// Sampling of messages (`sample`); `None` sends all.
    pub sample: Option<LogSample>,
}

/// Address of a log target.
#[derive(Clone, Debug)]
pub enum LogAddress {
    /// A syslog server.
    Udp(SocketAddr),
    /// A local syslog socket.
    Unix(PathBuf),
    /// An inherited descriptor.
    Fd(i32),
    /// A ring, by its index among those of the process.
    Ring(usize),
}

/// Format of the syslog header of a log line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogTransport {
    /// RFC 3164 without the host name.
    #[default]
    Local,
    /// RFC 3164.
    Rfc3164,
    /// RFC 5424.
    Rfc5424,
    /// The priority alone.
    Priority,
    /// The level alone.
    Short,
    /// The level and a time stamp.
    Timed,
    /// An ISO date and the tag.
    Iso,
    /// No header.
    Raw,
}

/// Sampling: of each `size` messages, those whose number is in `ranges`.
#[derive(Debug)]
pub struct LogSample {
    /// Ranges of message numbers: from 1, inclusive, ascending.
    pub ranges: Vec<(u32, u32)>,
    /// Messages in one round of sampling.
    pub size: u32,
    /// Number among the samples of the process, from 0: each counts the messages of its target.
    pub number: usize,
}

impl LogSample {
    /// Whether the target gets the message with this number, from 0.
    pub fn takes(&self, number: u32) -> bool {
        let place = number % self.size.max(1) + 1;
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&place))
    }
}
