//! A congestion controller that knows which packets the peer has acknowledged, which the transport
//! does not report.

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Makes controllers that note acknowledgements.
pub(crate) struct ObservedFactory(pub(crate) Arc<dyn ControllerFactory + Send + Sync>);

impl ControllerFactory for ObservedFactory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = self.0.clone().build(now, current_mtu);
        Box::new(ObservedController { inner, seen: Acknowledgements::default() })
    }
}

/// The packets that a peer has acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledgements {
    /// The number of the last packet sent.
    pub(crate) sent: u64,
    /// The highest number acknowledged.
    pub(crate) acknowledged: Option<u64>,
    /// Bytes under way when the last acknowledgement came, those of packets included that were
    /// found to be lost because of it.
    pub(crate) under_way: u64,
}

impl Acknowledgements {
    /// Those of a connection. The controller is copied, because the transport lends it as an
    /// interface only: a call is for the end of a connection.
    pub(crate) fn of(controller: &dyn Controller) -> Self {
        let copy = controller.clone_box().into_any().downcast::<ObservedController>();
        copy.map_or_else(|_| Self::default(), |controller| controller.seen)
    }

    /// Whether the peer has all that was sent up to a packet which it has to acknowledge. Frames of
    /// lost packets are under way again before another acknowledgement comes.
    pub(crate) fn covers(&self, packet: u64) -> bool {
        self.under_way == 0 && self.acknowledged.is_some_and(|highest| highest >= packet)
    }
}

/// A controller that passes every event on to another one.
struct ObservedController {
    inner: Box<dyn Controller>,
    seen: Acknowledgements,
}

impl Controller for ObservedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.seen.sent = last_packet_number;
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.seen.under_way = in_flight;
        self.seen.acknowledged = largest_packet_num_acked;
        self.inner.on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), seen: self.seen })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
