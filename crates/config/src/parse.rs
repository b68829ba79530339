//! The keywords of lines, one module per group of them: explicit tables, and what their entries do to a draft.
mod accounts;
mod balance;
mod bandwidth;
pub(crate) mod bind;
mod case;
mod check;
pub(crate) mod compression;
mod cpu_map;
mod email_alert;
mod environment;
pub(crate) mod filter;
pub(crate) mod global;
pub(crate) mod http;
mod http_client;
pub(crate) mod language;
pub(crate) mod link;
pub(crate) mod log;
mod lua;
pub(crate) mod option;
pub(crate) mod proxy;
pub(crate) mod quic_global;
mod removed;
pub(crate) mod server;
pub(crate) mod spoe;
mod spoe_error;
pub(crate) mod spoe_file;
pub(crate) mod stats;
mod stats_socket;
pub(crate) mod stick_table;
mod threads;
pub(crate) mod timeout;
pub(crate) mod tls;
pub(crate) mod tls_global;
pub(crate) mod values;
mod variable;
mod without_effect;

pub(crate) use accounts::{group, user};
pub(crate) use case::read as read_header_case;

/// The warning about a regular expression that takes long for some short text.
pub(crate) fn catastrophic(pattern: &str) -> String {
    format!(
        "the regular expression '{pattern}' backtracks catastrophically: a short text can use all \
         steps that a message may use, which is then refused (status 500)."
    )
}
