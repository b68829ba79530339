//! The differences between the libraries that can be linked: each has the same functions in a
//! module of its own.

#[cfg(aws_lc)]
#[path = "aws_lc/mod.rs"]
mod linked;
#[cfg(not(aws_lc))]
#[path = "openssl/mod.rs"]
mod linked;

pub(crate) use linked::QuicSession;
pub(crate) use linked::aead::cipher;
pub(crate) use linked::early::{
    begin_early, early_terms, handshake, is_over, read_early, was_early_taken, write_early,
};
pub(crate) use linked::hello::{HelloSource, enabled_cipher};
pub use linked::hello::{choose_by_hello, cipher_name};
pub use linked::next::{advertise_protocols, next_protocol, select_protocol};
pub use linked::provider::{load_provider, providers, set_default_properties, set_provider_path};
pub use linked::quic::HAS_QUIC;
pub(crate) use linked::raw;
pub use linked::settings::{
    add_chain_cert, admit_asides, allow_weak, allow_weak_in, attach, attach_by, error_code,
    has_short_fragments, hashes_itself, hear_early, known_prime, set_ciphersuites, set_groups,
    set_read_ahead, set_session_timeout, set_usual_suite, set_usual_tickets, take_ciphers,
    usual_options,
};
pub(crate) use linked::settings::{option_bits, session_error_number};
pub use linked::ticket::seal_tickets;
pub use linked::{EARLY_ROOM, HANDS_OVER, LACKS, NAME, NEEDS_NOT, TAKES_EARLY_ONCE, api_version};
