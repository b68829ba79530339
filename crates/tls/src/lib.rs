//! TLS on both sides, over the library that is linked. Never opens a socket and never reads a clock.
//!
//! [`Store`] holds certificates, authorities and revocation lists by the names of their files.
//! [`Acceptor`] is what a bind line makes of them: which certificate a client gets, and on which
//! conditions. [`Connector`] is the same for a server. Both make [`Conn`]s: one connection's
//! session, which reads and writes records through a [`Wire`] that is lent for one call.

#![forbid(unsafe_code)]

mod acceptor;
mod ahead;
mod authority;
mod captured;
mod certificate;
mod conn;
mod connector;
mod context;
mod crt_list;
mod der;
mod details;
mod dh;
mod early;
mod fault;
mod forge;
mod hello;
mod ignored;
mod inquiry;
mod issuers;
mod key;
mod options;
mod outcome;
mod pace;
mod provider;
mod replay;
pub mod runtime;
mod scratch;
mod secrets;
mod shown;
mod sni;
mod staple;
mod store;
mod table;
mod tickets;
mod together;
mod version;

#[cfg(test)]
mod tests;

pub use acceptor::{Acceptor, load_trust};
pub use authority::Purpose;
pub use captured::Offer;
pub use certificate::Certificate;
pub use conn::{Conn, Step};
pub use connector::Connector;
pub use crt_list::{Filter, Listed, MISPLACED, parse as parse_crt_list};
pub use details::{Details, Link, Revocations};
pub use fault::{Fault, Reason};
pub use ffi::{Wire, providers, response_text};
pub use hello::server_name;
pub use ignored::Ignored;
pub use options::{BindSettings, Defaults, Generates, Given, Options, ServerSettings, Verify};
pub use outcome::Checked;
pub use provider::{lacks, load_provider, needs_not, prefer_providers, set_provider_path};
pub use runtime::Runtime;
pub use scratch::Scratch;
pub use shown::{NamePart, Shown};
pub use store::{Extras, Files, NoFiles, SYSTEM_AUTHORITIES, Store};
pub use tickets::{KeyFlaw, TicketKeys};
pub use version::{Version, Versions};

/// The version of OpenSSL that the library that is linked stands for, such as `3.6.3`.
pub fn api_version() -> &'static str {
    ffi::api_version()
}

/// The library that is linked, such as `OpenSSL 3.6.3 9 Jun 2026`.
pub fn library() -> &'static str {
    openssl::version::version()
}

/// Puts a directory in front of a name that is relative (`crt-base`, `ca-base`).
pub fn within(base: &Option<String>, name: &mut String) {
    if let Some(base) = base
        && !name.starts_with(['/', '@'])
    {
        *name = format!("{base}/{name}");
    }
}
