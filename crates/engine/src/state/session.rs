//! Clients and their requests: the data that listeners, connections and stages work on.

pub mod bandwidth_limits;
pub mod cache_use;
pub mod client;
pub mod client_cold_state;
pub mod client_h2;
pub mod client_quic;
pub mod cookie_dates;
pub mod credentials;
pub(crate) mod listening;
pub mod lookup;
pub mod pending;
pub mod quic_line;
pub mod quic_view;
pub mod request_buffers;
pub mod rules_at_hand;
pub mod script_filters;
pub mod sticking;
pub mod stream_list;
pub mod transaction;
