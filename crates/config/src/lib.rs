//! Configuration text to a validated immutable model, with diagnostics.
//!
//! Two storeys: [`load`] cuts text into words with spans and fills drafts by explicit tables of
//! sections and keywords; then references are resolved and the [`model`] comes out, or alerts do.
//! Reading order: `source` (files), `lex` (words), `cond` and `directive` (`.if`), `line`
//! (arguments and faults), `parse` (keywords), `section` (kinds of sections), `reader` (lines of a
//! file), `validate` (references), `build` (the order of all checks), `load`, `model`, `data_plane`
//! (the settings of running objects).
#![forbid(unsafe_code)]

mod addr;
mod area;
mod blame_column;
mod build;
mod cond;
mod context;
pub mod data_plane;
mod diag;
mod directive;
mod draft;
mod dump;
mod dynamic_server;
mod env;
mod features;
mod keyword;
mod known;
mod later;
mod lex;
mod line;
mod load;
mod migration;
pub mod model;
mod output;
mod parse;
mod reader;
mod reference;
mod render;
mod section;
mod shown_text;
mod source;
mod state_file;
mod suggest;
#[cfg(test)]
mod tests;
mod traps;
mod validate;
mod value;

pub use addr::{Family, Resolver, SystemResolver};
pub use area::area;
pub use cond::{ConditionError, check_condition};
pub use context::{LocalPeer, Scripts, Setup};
pub use diag::{Diagnostic, Diagnostics, Place, Severity};
pub use dynamic_server::{DynamicServerError, Host, dynamic_server};
pub use env::Environment;
pub use features::Features;
pub use lex::{MAX_LINE, Spanned, words};
pub use load::{Loaded, Verdict, listing, load};
pub use migration::summary;
pub use model::Model;
pub use output::{Format, document};
pub use reference::{KeywordDoc, SectionDoc, Since, filters, keywords, known_names, sections};
pub use render::{Style, line, one, report, report_before_quiet};
pub use source::{Disk, Files, MAX_FILE, MAX_READ, Source, collect};
pub use suggest::nearest;
pub use validate::tls::ConnectorError;
