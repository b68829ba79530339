//! Parses the log lines of transactions.

/// The log format of all scenarios, which [`Line::read`] parses.
pub(crate) const FORMAT: &str = "%ST %tsc %s %rc %Tw %sq %bq %cp %HU";

/// One log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Number of the request; `None` for a request that was not parsed.
    pub(crate) id: Option<u64>,
    /// -1 for none.
    pub(crate) status: i32,
    /// Termination state: the side and the phase.
    pub(crate) ending: String,
    pub(crate) server: String,
    /// Retries as logged.
    pub(crate) retries: String,
    /// Milliseconds in queues; -1 for none.
    pub(crate) waited: i64,
    /// Requests ahead in the server's queue, and in the backend's.
    pub(crate) queues: (u32, u32),
    /// Port of the client.
    pub(crate) port: u16,
}

impl Line {
    /// Parses one datagram. `None`: it reports that a TLS handshake has failed.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).expect("log lines are text");
        if text.contains("SSL handshake") {
            return None;
        }
        let words: Vec<_> = text.split_whitespace().collect();
        let [status, ending, server, retries, waited, server_queue, backend_queue, port, uri] =
            words[..]
        else {
            panic!("not a line of a transaction: {text:?}");
        };
        Some(Self {
            // HTTP/2 and HTTP/3 have whole URIs.
            id: uri.rsplit_once("/r/").map(|(_, id)| id.parse().expect("a number")),
            status: status.parse().expect("a status"),
            ending: ending[..2].to_owned(),
            server: server.to_owned(),
            retries: retries.to_owned(),
            waited: waited.parse().expect("milliseconds"),
            queues: (server_queue.parse().unwrap(), backend_queue.parse().unwrap()),
            port: port.parse().expect("a port"),
        })
    }

    /// Whether the line reports success.
    pub(crate) fn is_fine(&self) -> bool {
        self.ending == "--"
    }

    /// Whether the status is one of the proxy's own error statuses.
    pub(crate) fn is_own_error(&self) -> bool {
        matches!(self.status, 400 | 408 | 502 | 503 | 504)
    }
}
