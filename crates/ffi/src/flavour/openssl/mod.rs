//! OpenSSL's line with long-term support. Never another library.

mod early;
mod hello;
mod next;
mod provider;
pub(crate) mod raw;
mod settings;
mod ticket;

pub(crate) use early::{early_room, protocol, read_early, was_early_taken, write_early};
pub use hello::{choose_by_hello, cipher_name, offers};
pub use next::{advertise_protocols, next_protocol, select_protocol};
pub use provider::{load_provider, providers, set_default_properties, set_provider_path};
pub(crate) use settings::option_bits;
pub use settings::{
    add_chain_cert, allow_weak, allow_weak_in, attach, attach_by, client_random, error_code,
    hashes_itself, known_prime, server_random, set_ciphersuites, set_groups, set_max_early_data,
    set_read_ahead, set_session_timeout, take_ciphers, usual_options,
};
pub use ticket::seal_tickets;

/// Keywords for which this library has nothing.
pub const LACKS: &[&str] = &[];
/// As [`LACKS`], where nothing breaks without.
pub const NEEDS_NOT: &[&str] = &[];
/// The version of OpenSSL that it stands for.
pub fn api_version() -> &'static str {
    openssl::version::version().split(' ').nth(1).unwrap_or_default()
}

/// What the library is called.
pub const NAME: &str = "OpenSSL";
