//! Counters of the statistics modules `h3` and `quic`, per frontend.

use mux::h3::H3Counters;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Names and descriptions of the module `h3`. Errors stand in the order of their codes.
pub const H3_FIELDS: [(&str, &str); 27] = [
    ("h3_data", "Total number of DATA frames received"),
    ("h3_headers", "Total number of HEADERS frames received"),
    ("h3_cancel_push", "Total number of CANCEL_PUSH frames received"),
    ("h3_push_promise", "Total number of PUSH_PROMISE frames received"),
    ("h3_max_push_id", "Total number of MAX_PUSH_ID frames received"),
    ("h3_goaway", "Total number of GOAWAY frames received"),
    ("h3_settings", "Total number of SETTINGS frames received"),
    ("h3_no_error", "Total number of H3_NO_ERROR errors sent or received"),
    (
        "h3_general_protocol_error",
        "Total number of H3_GENERAL_PROTOCOL_ERROR errors sent or received",
    ),
    ("h3_internal_error", "Total number of H3_INTERNAL_ERROR errors sent or received"),
    (
        "h3_stream_creation_error",
        "Total number of H3_STREAM_CREATION_ERROR errors sent or received",
    ),
    (
        "h3_closed_critical_stream",
        "Total number of H3_CLOSED_CRITICAL_STREAM errors sent or received",
    ),
    ("h3_frame_unexpected", "Total number of H3_FRAME_UNEXPECTED errors sent or received"),
    ("h3_frame_error", "Total number of H3_FRAME_ERROR errors sent or received"),
    ("h3_excessive_load", "Total number of H3_EXCESSIVE_LOAD errors sent or received"),
    ("h3_id_error", "Total number of H3_ID_ERROR errors sent or received"),
    ("h3_settings_error", "Total number of H3_SETTINGS_ERROR errors sent or received"),
    ("h3_missing_settings", "Total number of H3_MISSING_SETTINGS errors sent or received"),
    ("h3_request_rejected", "Total number of H3_REQUEST_REJECTED errors sent or received"),
    ("h3_request_cancelled", "Total number of H3_REQUEST_CANCELLED errors sent or received"),
    ("h3_request_incomplete", "Total number of H3_REQUEST_INCOMPLETE errors sent or received"),
    ("h3_message_error", "Total number of H3_MESSAGE_ERROR errors sent or received"),
    ("h3_connect_error", "Total number of H3_CONNECT_ERROR errors sent or received"),
    ("h3_version_fallback", "Total number of H3_VERSION_FALLBACK errors sent or received"),
    (
        "pack_decompression_failed",
        "Total number of QPACK_DECOMPRESSION_FAILED errors sent or received",
    ),
    (
        "qpack_encoder_stream_error",
        "Total number of QPACK_ENCODER_STREAM_ERROR errors sent or received",
    ),
    (
        "qpack_decoder_stream_error",
        "Total number of QPACK_DECODER_STREAM_ERROR errors sent or received",
    ),
];

/// The place of the first error in [`H3_FIELDS`], and of the first one of QPACK.
const H3_ERRORS: usize = 7;
const QPACK_ERRORS: usize = 24;

/// Names and descriptions of the module `quic`. Errors stand in the order of their codes.
pub const QUIC_FIELDS: [(&str, &str); 41] = [
    ("quic_rxbuf_full", "Total number of datagrams lost because a queue was full"),
    ("quic_dropped_pkt", "Total number of dropped datagrams"),
    (
        "quic_dropped_pkt_bufoverrun",
        "Total number of dropped datagrams because of a buffer overrun",
    ),
    ("quic_dropped_parsing_pkt", "Total number of dropped datagrams because of a parsing error"),
    ("quic_socket_full", "Total number of datagrams lost because the socket was full"),
    ("quic_sendto_err", "Total number of errors on sending"),
    ("quic_sendto_err_unknwn", "Total number of unknown errors on sending"),
    ("quic_sent_pkt", "Total number of sent packets"),
    ("quic_lost_pkt", "Total number of lost sent packets"),
    ("quic_too_short_dgram", "Total number of too short datagrams with Initial packets"),
    ("quic_retry_sent", "Total number of Retry packets sent"),
    ("quic_retry_validated", "Total number of validated Retry tokens"),
    ("quic_retry_error", "Total number of Retry token errors"),
    ("quic_half_open_conn", "Number of connections whose handshake is under way"),
    ("quic_hdshk_fail", "Total number of failed handshakes"),
    ("quic_stless_rst_sent", "Total number of stateless resets sent"),
    ("quic_conn_migration_done", "Total number of connection migrations"),
    ("quic_transp_err_no_error", "Total number of NO_ERROR errors sent or received"),
    ("quic_transp_err_internal_error", "Total number of INTERNAL_ERROR errors sent or received"),
    (
        "quic_transp_err_connection_refused",
        "Total number of CONNECTION_REFUSED errors sent or received",
    ),
    (
        "quic_transp_err_flow_control_error",
        "Total number of FLOW_CONTROL_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_stream_limit_error",
        "Total number of STREAM_LIMIT_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_stream_state_error",
        "Total number of STREAM_STATE_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_final_size_error",
        "Total number of FINAL_SIZE_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_frame_encoding_error",
        "Total number of FRAME_ENCODING_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_transport_parameter_error",
        "Total number of TRANSPORT_PARAMETER_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_connection_id_limit",
        "Total number of CONNECTION_ID_LIMIT_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_protocol_violation_error",
        "Total number of PROTOCOL_VIOLATION errors sent or received",
    ),
    ("quic_transp_err_invalid_token", "Total number of INVALID_TOKEN errors sent or received"),
    (
        "quic_transp_err_application_error",
        "Total number of APPLICATION_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_crypto_buffer_exceeded",
        "Total number of CRYPTO_BUFFER_EXCEEDED errors sent or received",
    ),
    (
        "quic_transp_err_key_update_error",
        "Total number of KEY_UPDATE_ERROR errors sent or received",
    ),
    (
        "quic_transp_err_aead_limit_reached",
        "Total number of AEAD_LIMIT_REACHED errors sent or received",
    ),
    ("quic_transp_err_no_viable_path", "Total number of NO_VIABLE_PATH errors sent or received"),
    ("quic_transp_err_crypto_error", "Total number of CRYPTO_ERROR errors sent or received"),
    ("quic_transp_err_unknown_error", "Total number of unknown errors sent or received"),
    ("quic_data_blocked", "Total number of DATA_BLOCKED frames received"),
    ("quic_stream_data_blocked", "Total number of STREAM_DATA_BLOCKED frames received"),
    (
        "quic_streams_blocked_bidi",
        "Total number of STREAMS_BLOCKED frames for bidirectional streams received",
    ),
    (
        "quic_streams_blocked_uni",
        "Total number of STREAMS_BLOCKED frames for unidirectional streams received",
    ),
    ("quic_ncbuf_gap_limit", "Total number of failures to keep data that is out of order"),
];

/// The place of the first error in [`QUIC_FIELDS`].
const TRANSPORT_ERRORS: usize = 17;

/// A counter of the module `quic`; the value is its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
#[allow(missing_docs, reason = "each variant is the field of the same name; see QUIC_FIELDS")]
pub enum QuicField {
    ReceiveBufferFull = 0,
    Dropped = 1,
    DroppedParsing = 3,
    SocketFull = 4,
    SendErrors = 5,
    Sent = 7,
    Lost = 8,
    TooShort = 9,
    RetriesSent = 10,
    RetriesValidated = 11,
    RetryErrors = 12,
    HalfOpen = 13,
    FailedHandshakes = 14,
    ResetsSent = 15,
    Migrations = 16,
    DataBlocked = 36,
    StreamDataBlocked = 37,
    StreamsBlockedBidi = 38,
    StreamsBlockedUni = 39,
}

/// The counters of a frontend.
#[derive(Debug)]
pub struct QuicStats {
    h3: [AtomicU64; H3_FIELDS.len()],
    quic: [AtomicU64; QUIC_FIELDS.len()],
    /// Connections after their handshakes; and all connections so far.
    open: AtomicI64,
    total: AtomicU64,
}

impl Default for QuicStats {
    fn default() -> Self {
        Self {
            h3: [const { AtomicU64::new(0) }; H3_FIELDS.len()],
            quic: [const { AtomicU64::new(0) }; QUIC_FIELDS.len()],
            open: AtomicI64::new(0),
            total: AtomicU64::new(0),
        }
    }
}

impl QuicStats {
    /// The values of the module `h3`.
    pub fn h3(&self) -> impl Iterator<Item = u64> {
        self.h3.iter().map(|counter| counter.load(Relaxed))
    }

    /// The values of the module `quic`.
    pub fn quic(&self) -> impl Iterator<Item = u64> {
        self.quic.iter().map(|counter| counter.load(Relaxed))
    }

    /// A value of the module `quic`.
    pub fn get(&self, field: QuicField) -> u64 {
        self.quic[field as usize].load(Relaxed)
    }

    /// Adds to a counter of the module `quic`.
    pub fn add(&self, field: QuicField, count: u64) {
        if count > 0 {
            self.quic[field as usize].fetch_add(count, Relaxed);
        }
    }

    /// Changes the number of handshakes that are under way.
    pub fn add_handshakes(&self, change: i32) {
        self.quic[QuicField::HalfOpen as usize].fetch_add(i64::from(change) as u64, Relaxed);
    }

    /// Starts all counts from zero, except those of open connections and streams.
    pub fn clear(&self) {
        let quic =
            self.quic.iter().enumerate().filter(|(at, _)| *at != QuicField::HalfOpen as usize);
        let counters = self.h3.iter().chain(quic.map(|(_, counter)| counter));
        counters.chain([&self.total]).for_each(|counter| counter.store(0, Relaxed));
    }

    /// A connection begins.
    pub fn open(&self) {
        self.open.fetch_add(1, Relaxed);
        self.total.fetch_add(1, Relaxed);
    }

    /// A connection has ended.
    pub fn close(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    /// Connections now, and in total.
    pub fn connections(&self) -> [u64; 2] {
        [self.open.load(Relaxed).try_into().unwrap_or(0), self.total.load(Relaxed)]
    }

    /// Adds the frames of a connection.
    pub fn count_frames(&self, counters: &H3Counters) {
        let counts = [
            counters.data,
            counters.headers,
            counters.cancelled_pushes,
            0,
            counters.max_push_ids,
            counters.go_aways,
            counters.settings,
        ];
        for (counter, count) in self.h3.iter().zip(counts).filter(|(_, count)| *count > 0) {
            counter.fetch_add(count.into(), Relaxed);
        }
    }

    /// Counts an error of HTTP/3, by its code.
    pub fn count_h3_error(&self, code: u64) {
        let place = match code {
            0x100..0x111 => H3_ERRORS + (code - 0x100) as usize,
            0x200..0x203 => QPACK_ERRORS + (code - 0x200) as usize,
            _ => return,
        };
        self.h3[place].fetch_add(1, Relaxed);
    }

    /// Counts an error of the transport, by its code.
    pub fn count_transport_error(&self, code: u64) {
        let place = match code {
            0..0x11 => code as usize,
            0x100..0x200 => 0x11,
            _ => 0x12,
        };
        self.quic[TRANSPORT_ERRORS + place].fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleared_counts_leave_what_is_open() {
        let stats = QuicStats::default();
        stats.open();
        stats.add_handshakes(2);
        stats.count_h3_error(0x102);
        stats.clear();
        assert_eq!(stats.connections(), [1, 0]);
        assert_eq!((stats.quic().sum::<u64>(), stats.h3().sum::<u64>()), (2, 0));
    }

    #[test]
    fn errors_count_under_their_names() {
        let stats = QuicStats::default();
        let h3 = |name: &str| {
            let place = H3_FIELDS.iter().position(|field| field.0 == name).unwrap();
            stats.h3().nth(place).unwrap()
        };
        for (code, name) in [
            (0x100, "h3_no_error"),
            (0x10c, "h3_request_cancelled"),
            (0x110, "h3_version_fallback"),
            (0x200, "pack_decompression_failed"),
            (0x202, "qpack_decoder_stream_error"),
        ] {
            stats.count_h3_error(code);
            assert_eq!(h3(name), 1, "{name}");
        }
        [0, 0x111, 0x203, u64::MAX].iter().for_each(|code| stats.count_h3_error(*code));
        assert_eq!(stats.h3().sum::<u64>(), 5);
        let quic = |name: &str| {
            let place = QUIC_FIELDS.iter().position(|field| field.0 == name).unwrap();
            stats.quic().nth(place).unwrap()
        };
        for (code, name) in [
            (0, "quic_transp_err_no_error"),
            (0xa, "quic_transp_err_protocol_violation_error"),
            (0x10, "quic_transp_err_no_viable_path"),
            (0x128, "quic_transp_err_crypto_error"),
            (0x999, "quic_transp_err_unknown_error"),
        ] {
            stats.count_transport_error(code);
            assert_eq!(quic(name), 1, "{name}");
        }
    }

    #[test]
    fn places_are_those_of_the_names() {
        for (field, name) in [
            (QuicField::DroppedParsing, "dropped_parsing_pkt"),
            (QuicField::SendErrors, "sendto_err"),
            (QuicField::Lost, "lost_pkt"),
            (QuicField::HalfOpen, "half_open_conn"),
            (QuicField::Migrations, "conn_migration_done"),
            (QuicField::DataBlocked, "data_blocked"),
            (QuicField::StreamsBlockedUni, "streams_blocked_uni"),
        ] {
            assert_eq!(QUIC_FIELDS[field as usize].0, format!("quic_{name}"));
        }
        assert_eq!(QUIC_FIELDS[TRANSPORT_ERRORS].0, "quic_transp_err_no_error");
        assert_eq!(H3_FIELDS[H3_ERRORS].0, "h3_no_error");
        assert_eq!(H3_FIELDS[QPACK_ERRORS].0, "pack_decompression_failed");
    }
}
