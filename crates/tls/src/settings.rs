//! Settings of bind lines, of servers and of the whole process that concern TLS (manual sections 3.2, 5.1 and 5.2).

use crate::crt_list::CrtListEntry;
use crate::options::Options;
use crate::record_size::{RECORD, RecordSize};
use crate::tickets::TicketKeys;
use std::sync::Arc;

/// A bind line with `ssl`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindSettings {
    /// Certificates in order.
    pub certificates: Vec<CrtListEntry>,
    /// Lists among them, including empty ones, with their numbers of lines.
    pub lists: Vec<(String, u32)>,
    /// `generate-certificates`
    pub generates: Option<Generates>,
    /// `tls-ticket-keys`
    pub ticket_keys: Option<Arc<TicketKeys>>,
    /// `strict-sni`: a client whose host name no certificate has is refused.
    pub strict_sni: bool,
    /// The options of certificates that have no options of their own.
    pub options: Options,
}

/// Certificates are generated for names that no certificate serves.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Generates {
    /// `ca-sign-file`: the authority that signs them, with its key.
    pub authority: String,
    /// `ca-sign-pass`: the password of the key.
    pub password: Option<String>,
}

impl std::fmt::Debug for Generates {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Generates").field(&self.authority).finish()
    }
}

/// A server line with `ssl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// `verify`: its certificate has to be fine.
    pub verify: bool,
    /// `verifyhost`: the name that its certificate has to be for.
    pub verify_host: Option<String>,
    /// `crt`: the certificate that it is shown.
    pub certificate: Option<String>,
    /// Sessions are resumed, unless `no-ssl-reuse`.
    pub reuse: bool,
    /// The options of the session.
    pub options: Options,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            verify: true,
            verify_host: None,
            certificate: None,
            reuse: true,
            options: Options::default(),
        }
    }
}

/// The settings of the whole process (`tune.ssl.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// `tune.ssl.cachesize`: sessions that a bind line remembers.
    pub cache_size: u32,
    /// `tune.ssl.lifetime`: how long, in seconds.
    pub lifetime: u32,
    /// `tune.ssl.maxrecord`: bytes in a record while a transfer begins; 0 for as many as fit.
    pub max_record: u32,
    /// `tune.ssl.hard-maxrecord`: the same for all records.
    pub hard_max_record: u32,
    /// `tune.idletimer`: milliseconds after which a transfer that has paused begins again; 0 for
    /// never.
    pub pause: u32,
    /// `tune.ssl.ssl-ctx-cache-size`: generated certificates that a bind line remembers.
    pub generated: u32,
    /// Threads, each of which remembers a session of each server.
    pub threads: usize,
    /// `tune.ssl.capture-buffer-size`: bytes of a client's first message that are kept.
    pub capture: u32,
    /// `tune.ssl.keylog`: secrets are kept.
    pub keeps_secrets: bool,
    /// `tune.ssl.own-records`: this process protects the records of clients' sessions once their
    /// handshakes are over, and the library's objects are freed.
    pub own_records: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            cache_size: 20_000,
            lifetime: 7_200,
            max_record: 0,
            hard_max_record: 0,
            pause: 1_000,
            generated: 1_000,
            threads: 1,
            capture: 0,
            keeps_secrets: false,
            own_records: false,
        }
    }
}

impl Defaults {
    /// Whether records of clients' sessions are protected by this process.
    pub(crate) fn protects_records(&self) -> bool {
        self.own_records && ffi::HANDS_OVER
    }

    /// The most bytes of any record.
    pub(crate) fn longest_record(&self) -> usize {
        if self.hard_max_record == 0 { RECORD } else { RECORD.min(self.hard_max_record as usize) }
    }

    /// How records are made while a transfer begins, if that is not as later.
    pub(crate) fn record_size(&self) -> Option<RecordSize> {
        let short = self.max_record as usize;
        (1..self.longest_record()).contains(&short).then(|| RecordSize::new(short, self.pause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_limit_of_records_counts() {
        let limits = |max_record, hard_max_record| {
            let defaults = Defaults { max_record, hard_max_record, ..Defaults::default() };
            (defaults.longest_record(), defaults.record_size().is_some())
        };
        assert_eq!(limits(0, 0), (RECORD, false));
        assert_eq!(limits(20_000, 20_000), (RECORD, false));
        assert_eq!(limits(0, 7), (7, false));
        assert_eq!(limits(7, 0), (RECORD, true));
        assert_eq!(limits(7, 8), (8, true));
        assert_eq!(limits(8, 7), (7, false));
    }
}
