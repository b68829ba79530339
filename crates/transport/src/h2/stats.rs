//! Counters of the statistics module `h2`, per side of a proxy.

use mux::h2::Counters;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A counter of the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
#[allow(missing_docs, reason = "each variant is the field of the same name; see NAMES")]
pub enum Field {
    HeadersReceived,
    DataReceived,
    SettingsReceived,
    ResetsReceived,
    GoAwaysReceived,
    ConnectionErrors,
    StreamErrors,
    ResetsSent,
    GoAwaysSent,
    OpenConnections,
    OpenStreams,
    TotalConnections,
    TotalStreams,
}

/// Every field with its name and description.
pub const FIELDS: [(Field, &str, &str); 13] = [
    (Field::HeadersReceived, "h2_headers_rcvd", "Total number of received HEADERS frames"),
    (Field::DataReceived, "h2_data_rcvd", "Total number of received DATA frames"),
    (Field::SettingsReceived, "h2_settings_rcvd", "Total number of received SETTINGS frames"),
    (Field::ResetsReceived, "h2_rst_stream_rcvd", "Total number of received RST_STREAM frames"),
    (Field::GoAwaysReceived, "h2_goaway_rcvd", "Total number of received GOAWAY frames"),
    (
        Field::ConnectionErrors,
        "h2_detected_conn_protocol_errors",
        "Total number of connection protocol errors",
    ),
    (
        Field::StreamErrors,
        "h2_detected_strm_protocol_errors",
        "Total number of stream protocol errors",
    ),
    (Field::ResetsSent, "h2_rst_stream_resp", "Total number of RST_STREAM sent on detected error"),
    (Field::GoAwaysSent, "h2_goaway_resp", "Total number of GOAWAY sent on detected error"),
    (Field::OpenConnections, "h2_open_connections", "Count of currently open connections"),
    (Field::OpenStreams, "h2_backend_open_streams", "Count of currently open streams"),
    (Field::TotalConnections, "h2_total_connections", "Total number of connections"),
    (Field::TotalStreams, "h2_backend_total_streams", "Total number of streams"),
];

/// The counters of one side of a proxy.
#[derive(Debug, Default)]
pub struct Stats([AtomicU64; FIELDS.len()]);

/// Both sides of a proxy.
#[derive(Debug, Default)]
pub struct Sides {
    /// Of clients.
    pub front: Stats,
    /// Of servers.
    pub back: Stats,
}

impl Stats {
    /// A value.
    pub fn get(&self, field: Field) -> u64 {
        self.0[field as usize].load(Relaxed)
    }

    fn add(&self, field: Field, count: u32) {
        if count > 0 {
            self.0[field as usize].fetch_add(u64::from(count), Relaxed);
        }
    }

    /// Starts all counts from zero, except those of open connections and streams.
    pub fn clear(&self) {
        for (field, ..) in FIELDS {
            if !matches!(field, Field::OpenConnections | Field::OpenStreams) {
                self.0[field as usize].store(0, Relaxed);
            }
        }
    }

    /// A connection begins.
    pub fn open(&self) {
        self.add(Field::OpenConnections, 1);
        self.add(Field::TotalConnections, 1);
    }

    /// A connection has ended.
    pub fn close(&self) {
        self.0[Field::OpenConnections as usize].fetch_sub(1, Relaxed);
    }

    /// A stream begins.
    pub fn open_stream(&self) {
        self.add(Field::OpenStreams, 1);
        self.add(Field::TotalStreams, 1);
    }

    /// A stream has ended.
    pub fn close_stream(&self) {
        self.0[Field::OpenStreams as usize].fetch_sub(1, Relaxed);
    }

    /// Adds the counters of a connection.
    pub fn count(&self, counters: &Counters) {
        self.add(Field::HeadersReceived, counters.headers);
        self.add(Field::DataReceived, counters.data);
        self.add(Field::SettingsReceived, counters.settings);
        self.add(Field::ResetsReceived, counters.resets);
        self.add(Field::GoAwaysReceived, counters.go_aways);
        self.add(Field::ConnectionErrors, counters.connection_errors);
        self.add(Field::StreamErrors, counters.stream_errors);
        self.add(Field::ResetsSent, counters.resets_sent);
        self.add(Field::GoAwaysSent, counters.go_aways_sent);
    }
}
