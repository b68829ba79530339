//! The few foreign functions of the TLS library and of PCRE2 that their crates lack, each wrapped safely.
//!
//! This is the only crate of the TLS layer that may be unsafe, and the only one that knows which
//! library is linked; what must hold is written at each place.

mod aead;
mod attached;
mod channel;
mod context;
mod errors;
mod flavour;
mod hello;
mod name;
mod ocsp;
mod print;
mod quic;
mod regex;
mod session;
mod store;
mod ticket;
mod time;

pub use aead::{Aead, AeadContext, NONCE, Purpose, TAG};
pub use attached::Attached;
pub use channel::{Channel, Wire};
pub use context::{
    clear_options, client_random, has_pending, peer_signature, server_random, session_error,
    set_options,
};
pub use errors::forget_errors;
pub use flavour::*;
pub use hello::{FirstMessage, Prefers, Refused, Watch, enabled_ciphers, watch_messages};
pub use name::{one_line, rfc2253};
pub use ocsp::{certificate_id, response_text, single_responses, unix_time};
pub use print::extension_text;
pub use quic::{HandshakeOutput, Level, QuicHandshake, TrafficSecret};
pub use regex::{Counted, GivenUp};
pub use session::Resumer;
pub use store::{add_crl, crl_signature, crl_version, trusted_certificate, verified, version};
pub use ticket::{TicketKey, Tickets, Wanted};
pub use time::date_text;
