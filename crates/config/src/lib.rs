//! Configuration text to a validated immutable model, with diagnostics. Never opens a socket and never runs anything.
//!
//! Two storeys: [`load`] cuts text into words with spans and fills drafts by explicit keyword
//! tables; then references are resolved and the [`model`] comes out, or alerts do. Reading order:
//! `source` (files), `lex` (words), `cond` and `directive` (`.if`), `line` (arguments and faults),
//! `parse` (keywords), `finish` (references), `model`.
#![forbid(unsafe_code)]

mod addr;
mod area;
mod cond;
mod cx;
mod diag;
mod directive;
mod draft;
mod env;
mod features;
mod finish;
mod keyword;
mod known;
mod lex;
mod line;
mod listing;
mod load;
pub mod model;
mod output;
mod parse;
mod point;
mod reference;
mod render;
mod source;
mod state_file;
mod suggest;
#[cfg(test)]
mod tests;
mod value;

pub use addr::{Family, Resolver, SystemResolver};
pub use area::area;
pub use cond::check_condition;
pub use cx::{LocalPeer, Setup};
pub use diag::{Diagnostic, Diagnostics, Place, Severity};
pub use env::Environment;
pub use features::Features;
pub use lex::{MAX_LINE, Spanned, words};
pub use listing::listing;
pub use load::{Loaded, Verdict, load};
pub use model::Model;
pub use output::{Format, document};
pub use parse::{Host, dynamic_server};
pub use reference::{KeywordDoc, keywords, known_names};
pub use render::{Style, line, one, report, report_before_quiet};
pub use source::{Disk, Files, MAX_FILE, MAX_READ, Source, collect};
