//! TLS on both sides, over the linked library. Invariant: no socket and no clock.
//!
//! [`Store`] holds certificates, authorities and revocation lists by file name. An [`Acceptor`] is
//! the TLS side of a bind line: it chooses the certificate and options of a client's session. A
//! [`Connector`] is the TLS side of a server line. Both make [`Conn`]s, the sessions of single
//! connections, which read and write records through a [`Wire`] that is lent for one call.

#![forbid(unsafe_code)]

mod acceptor;
mod authority;
mod certificate;
mod certificate_fields;
mod certificate_table;
mod certificate_text;
mod client_hello_capture;
mod conn;
mod connector;
mod context;
mod crt_list;
mod der;
mod dh;
mod ecdsa;
mod error;
mod generated;
mod handover;
mod hello;
mod ignored;
mod issuers;
mod key;
mod key_log;
mod options;
mod parallel;
mod parsed_certificate;
mod provider;
mod quic;
mod read_ahead;
mod record_size;
mod replay;
pub mod runtime;
mod scratch;
mod session_facts;
mod session_info;
mod session_kind;
mod settings;
mod setup_error;
mod sni;
mod staple;
mod store;
mod tickets;
mod verify_result;
mod version;

#[cfg(test)]
mod tests;

pub use acceptor::Acceptor;
pub use authority::AuthorityFileError;
pub use authority::Purpose;
pub use certificate::Certificate;
pub use certificate_fields::{CertificateFields, NamePart};
pub use certificate_text::{Details, Link, Revocations};
pub use client_hello_capture::Offer;
pub use conn::{Conn, Step};
pub use connector::Connector;
pub use context::load_trust;
pub use crt_list::{
    CrtListEntry, CrtListError, CrtListFault, Filter, MISPLACED, parse as parse_crt_list,
};
pub use error::{HandshakeError, Reason};
pub use ffi::{HAS_QUIC, HandshakeOutput, Level, TrafficSecret, Wire, providers, response_text};
pub use generated::GeneratorError;
pub use hello::server_name;
pub use ignored::Ignored;
pub use options::{OptionError, OptionFault, OptionKeyword, Options, Verify};
pub use provider::{
    UnavailableKeyword, lacks, load_provider, needs_not, prefer_providers, set_provider_path,
};
pub use quic::{QuicAccept, QuicSuite};
pub use runtime::Runtime;
pub use scratch::Scratch;
pub use session_kind::SessionKind;
pub use settings::{BindSettings, Defaults, Generates, ServerSettings};
pub use setup_error::{CertificateError, RefusedOption, SetupError};
pub use store::{Extras, Files, NoFiles, SYSTEM_AUTHORITIES, Store};
pub use tickets::{KeyFlaw, TicketFileError, TicketKeys};
pub use verify_result::Checked;
pub use version::{Version, Versions};

/// The version of OpenSSL whose interface the linked library offers, such as `3.6.3`.
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
