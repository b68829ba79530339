//! Clients and their requests: the data that listeners, connections and stages work on.

pub(crate) mod client;
pub(crate) mod client_cold_state;
pub(crate) mod client_h2;
pub(crate) mod cookie_dates;
pub(crate) mod credentials;
pub(crate) mod listening;
pub(crate) mod lookup;
pub(crate) mod request_buffers;
pub(crate) mod sticking;
pub mod stream_list;
pub(crate) mod transaction;
