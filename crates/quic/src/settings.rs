//! Settings of the connections of a listener.

use crate::congestion::ObservedFactory;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{IdleTimeout, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::Duration;

/// The congestion control of a listener (`quic-cc-algo`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CongestionControl {
    /// RFC 9438.
    #[default]
    Cubic,
    /// RFC 9002 section 7.
    NewReno,
    /// Bottleneck bandwidth and round-trip time.
    Bbr,
}

/// Settings of the connections of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicSettings {
    /// Congestion control.
    pub congestion: CongestionControl,
    /// Idle time after which a connection ends, in milliseconds; the smaller value of the peers
    /// holds.
    pub idle_ms: u32,
    /// Requests of a client at the same time.
    pub streams: u32,
    /// Bytes that a connection may have sent without acknowledgement.
    pub send_window: u64,
    /// Bytes that a client may send on a stream before they are read.
    pub stream_window: u32,
    /// Clients have to repeat their first packet with a token (Retry) before anything is done for
    /// them.
    pub always_retries: bool,
    /// Handshakes under way from which on clients get a Retry.
    pub retry_threshold: u32,
    /// Secret of tokens, of stateless resets and of connection IDs.
    pub secret: Vec<u8>,
}

impl Default for QuicSettings {
    fn default() -> Self {
        Self {
            congestion: CongestionControl::Cubic,
            idle_ms: 30_000,
            streams: 100,
            send_window: 30 * 16_384,
            stream_window: 64 * 1_024,
            always_retries: false,
            retry_threshold: 100,
            secret: Vec::new(),
        }
    }
}

/// Unidirectional streams that a client may have open: its control stream, two of QPACK, and some
/// whose types are ignored. The transport keeps a record for each.
const UNIDIRECTIONAL: u32 = 6;

impl QuicSettings {
    /// The transport's settings.
    pub(crate) fn transport(&self) -> TransportConfig {
        let mut config = TransportConfig::default();
        let idle = IdleTimeout::from(VarInt::from_u32(self.idle_ms));
        let total = u64::from(self.stream_window) * u64::from(self.streams.clamp(1, 64));
        config
            .max_idle_timeout((self.idle_ms > 0).then_some(idle))
            .max_concurrent_bidi_streams(VarInt::from_u32(self.streams))
            .max_concurrent_uni_streams(VarInt::from_u32(UNIDIRECTIONAL))
            .stream_receive_window(VarInt::from_u32(self.stream_window))
            .receive_window(VarInt::from_u64(total).unwrap_or(VarInt::MAX))
            .send_window(self.send_window)
            .datagram_receive_buffer_size(None);
        let congestion: Arc<dyn ControllerFactory + Send + Sync> = match self.congestion {
            CongestionControl::Cubic => Arc::new(CubicConfig::default()),
            CongestionControl::NewReno => Arc::new(NewRenoConfig::default()),
            CongestionControl::Bbr => Arc::new(BbrConfig::default()),
        };
        config.congestion_controller_factory(Arc::new(ObservedFactory(congestion)));
        config
    }

    /// The idle time.
    pub fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms.into())
    }
}
