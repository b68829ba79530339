//! Targets of log lines (configuration manual, `log`).

use crate::*;

/// Where log lines go and how they look.
#[derive(Debug, Default)]
pub struct Logs {
    /// The targets.
    pub targets: Vec<LogTarget>,
    /// The program's name in log lines.
    pub tag: String,
    /// The host name in log lines, where it is sent.
    pub hostname: Option<String>,
}

/// One log target.
#[derive(Debug)]
pub struct LogTarget {
    /// Where to send.
    pub address: LogAddress,
    /// The envelope.
    pub transport: LogTransport,
    /// Forwarded messages keep the envelope that they came in: none was asked for.
    pub keeps: bool,
    /// Longest message in bytes.
    pub max_len: usize,
    /// Syslog facility, 0 to 23.
    pub facility: u8,
    /// Messages less severe than this are dropped.
    pub level: u8,
    /// Messages more severe than this are sent as this.
    pub min_level: u8,
    /// Which messages go to this target.
    pub sample: Option<LogSample>,
}

/// Where a log target is.
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

/// The envelope of a log line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogTransport {
    /// Like rfc3164, without the host name.
    #[default]
    Local,
    /// RFC 3164.
    Rfc3164,
    /// RFC 5424.
    Rfc5424,
    /// Only the priority.
    Priority,
    /// Only the level.
    Short,
    /// The level and a time stamp.
    Timed,
    /// An ISO date, the tag.
    Iso,
    /// None.
    Raw,
}

/// Of each `size` messages, those whose number is in `ranges`.
#[derive(Debug)]
pub struct LogSample {
    /// Numbers from 1, inclusive, ascending.
    pub ranges: Vec<(u32, u32)>,
    /// Messages in one round.
    pub size: u32,
    /// Messages seen; shared by all threads, for the order is what is asked for.
    pub seen: std::sync::atomic::AtomicU32,
}

impl LogSample {
    /// Whether the next message is one that the target gets.
    pub fn takes_next(&self) -> bool {
        let number =
            self.seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % self.size.max(1) + 1;
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&number))
    }
}
