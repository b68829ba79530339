//! The version-free HTTP message: start line, headers, trailers. Never does I/O and never knows a
//! wire format beyond keeping its header lines ready to be written out as they are.
//!
//! Reading order: [`head`] (one message head), [`fields`] (its header lines, also used for
//! trailers), [`header_id`] (well-known names), [`start`] (methods, versions, reasons), [`target`]
//! (request targets), [`authority`] (the form of hosts), [`list`] (comma-separated values),
//! [`error_replies`] (the replies that a proxy makes itself).
#![forbid(unsafe_code)]

pub mod authority;
pub mod draft;
pub mod error_replies;
pub mod fields;
pub mod head;
pub mod header_id;
pub mod list;
pub mod start;
pub mod target;

pub use draft::Draft;
pub use fields::{FieldRef, Fields};
pub use head::Head;
pub use header_id::{HeaderId, ShortName};
pub use start::{Method, Version};
pub use target::Target;
