//! The few foreign functions of the TLS library that its crate lacks, each wrapped safely. Never a policy.
//!
//! This is the only crate of the TLS layer that may be unsafe; what must hold is written at each
//! place.

mod channel;
mod context;
mod hello;
mod name;
mod next;
mod ocsp;
mod print;
mod provider;
mod session;
mod store;
mod ticket;
mod time;

pub use channel::{Channel, Wire};
pub use context::{
    clear_options, has_pending, peer_signature, set_groups, set_options, set_read_ahead,
    set_session_timeout, version_name,
};
pub use hello::{Watch, extension, watch_messages};
pub use name::{one_line, rfc2253};
pub use next::{advertise_protocols, next_protocol, select_protocol};
pub use ocsp::{certificate_id, response_text};
pub use print::{extension_text, providers};
pub use provider::set_default_properties;
pub use session::Resumer;
pub use store::{add_crl, crl_signature, crl_version, verified};
pub use ticket::{TicketKey, Tickets, Wanted, seal_tickets};
pub use time::date_text;
