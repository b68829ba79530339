//! Compiled rule sets and actions. Returns a verdict; never does I/O and never waits.
//!
//! Reading order: [`RuleSet`] (rules in order, evaluated against a [`Context`]), [`action`] (what a
//! rule does: one table entry per keyword), [`reply`] and [`redirect`] (local answers),
//! [`switching`] (`use_backend`). Manual section 4.
#![forbid(unsafe_code)]

pub mod action;
pub mod bandwidth;
pub mod check;
mod context;
mod crypt;
pub mod error_file;
pub mod fcgi;
pub mod redirect;
pub mod reply;
mod rule_set_kind;
mod ruleset;
mod script_call;
mod section;
mod service;
pub mod spoe;
pub mod sticking;
pub mod switching;
#[cfg(test)]
mod testing;
pub mod userlist;
mod verdict;

pub use action::{Action, edit};
pub use bandwidth::{BandwidthLimit, BandwidthScope, BandwidthValues};
pub use context::{Context, Family, Limit, LogLevel};
pub use error_file::{ErrorFile, ErrorFileError};
pub use fcgi::FcgiApp;
pub use redirect::Redirect;
pub use reply::{ErrorAnswer, ErrorFiles, NoErrorFiles, Rendered, Reply};
pub use rule_set_kind::RuleSetKind;
pub use ruleset::{
    Rule, RuleSet, parse_http_after_response, parse_http_request, parse_http_response,
    parse_redirect, parse_tcp_connection, parse_tcp_request, parse_tcp_response, parse_tcp_session,
};
pub use script_call::{ScriptCall, ScriptFilter, ScriptStep};
pub use section::{Persistence, Rules, Selection, Switching};
pub use service::{ScriptService, Service};
pub use spoe::{SpoeAgent, SpoeEngine, SpoeEvent, SpoeGroup, SpoeMessage, SpoeVariables};
pub use sticking::{StickRule, parse_stick};
pub use switching::{BackendName, UseBackend, parse_use_backend, parse_use_server};
pub use userlist::{Password, User, UserList};
pub use verdict::{Cursor, Need, Spoken, Verdict};
