//! The version-free HTTP message: start line, headers, trailers.
//!
//! Invariant: no I/O (`cargo xtask tidy`); lines are kept in HTTP/1 form so that they can be
//! written out unchanged.
//!
//! Reading order: [`head`] (one message head), [`fields`] (its header lines, also used for
//! trailers), [`header_id`] (well-known names), [`start`] (methods, versions, reasons), [`target`]
//! (request targets), [`authority`] (syntax of hosts), [`list`] (comma-separated values),
//! [`error_replies`] (built-in error responses).
#![forbid(unsafe_code)]

pub mod authority;
pub mod error_replies;
pub mod fields;
pub mod head;
pub mod header_id;
pub mod list;
pub mod start;
pub mod target;

pub use fields::draft::Draft;
pub use fields::{FieldRef, Fields};
pub use head::Head;
pub use header_id::{HeaderId, ShortName};
pub use start::{Method, Version};
pub use target::Target;
