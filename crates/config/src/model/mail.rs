//! Mails about servers (sections 3.6 and 4.2 `email-alert`).
use super::LogLevel;
use crate::diag::Place;
use std::net::SocketAddr;
use std::sync::Arc;

/// A `mailers` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailers {
    /// Its name.
    pub name: Arc<str>,
    /// Its line.
    pub place: Place,
    /// `timeout mail`, ms; 10 s by default.
    pub timeout: u64,
    /// `mailer` lines.
    pub mailers: Vec<Mailer>,
}

/// A server that takes mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailer {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: SocketAddr,
}

/// `email-alert` of one proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailAlert {
    /// `from`.
    pub from: String,
    /// `to`.
    pub to: String,
    /// `myhostname`: the host name that mailers get; that of the system when not set.
    pub hostname: Option<String>,
    /// `level`: nothing less severe is sent; `alert` by default.
    pub level: LogLevel,
    /// `mailers`.
    pub mailers: Arc<Mailers>,
}
