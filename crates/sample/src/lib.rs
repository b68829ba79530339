//! Expressions: fetches, converters, typed values, patterns, ACLs, log formats. Sees the world only through `Facts`.
//!
//! Everything here is compiled once, when the configuration is read, by `parse` functions that
//! share a
//! [`Parser`] context, and evaluated many times against a [`Facts`]. Evaluation borrows: a fetch
//! that finds its bytes in a message returns a slice of that message. Manual sections 7 (samples,
//! ACLs) and 8.2.6 (log formats).
#![forbid(unsafe_code)]

pub mod acl;
pub mod args;
pub mod calendar;
mod cast;
pub mod condition;
mod condition_index;
mod context;
pub mod conv;
mod encoding;
mod error;
pub mod expr;
mod facts;
pub mod fetch;
mod header_value;
mod known_keywords;
pub mod logformat;
mod name_reference;
mod parser;
pub mod pattern;
mod place;
pub mod regex;
mod script;
mod script_call;
pub mod tables;
#[cfg(test)]
mod testing;
mod value;
pub mod vars;
pub mod word;

pub use acl::{Acl, AclTable, Answer};
pub use cast::{write_int, write_padded};
pub use condition::Condition;
pub use condition_index::{ConditionHits, ConditionIndex};
pub use context::{CaptureSlot, Captures, NeededCapture, ParseContext, PublicKeys, Shared};
pub use error::ParseError;
pub use error::closest;
pub use expr::Expr;
pub use facts::{CertificateFact, Hop, NamePart, Offered, Owner, TlsFact};
pub use facts::{
    Count, Facts, Name, NoFacts, Number, ServerCount, ServerPath, Side, TcpState, Text,
    TransactionRecord, WallTime,
};
pub use logformat::{LogFormat, LogStyle};
pub use name_reference::{NameReference, ReferenceTarget};
pub use parser::Parser;
pub use place::{Place, Places};
pub use script::{PREFIX as SCRIPT_PREFIX, ScriptAction, ScriptFunction, ScriptNames};
pub use stdx::xxhash as hash;
pub use tables::{TableMention, TableNames, TableRef, TableUse};
pub use value::{Bytes, Missing, Outcome, Type, Value};
pub use vars::{Scope, VarName, VarStore, Variables};
