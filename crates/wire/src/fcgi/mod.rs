//! The syntax of FastCGI 1.0, as a client of applications needs it: records, name-value pairs,
//! management records, and the head of an answer (RFC 3875 section 6).
//!
//! Invariant: encoded reserved bytes are zero and no record is padded, so that no record contains
//! memory that was not written.

pub mod answer;
pub mod pairs;
pub mod record;
pub mod values;

pub use answer::{AnswerError, AnswerParser};
pub use pairs::{PairError, Pairs};
pub use record::{EndRequest, EndStatus, RecordError, RecordHeader, RecordType};
pub use values::Capacity;

/// Largest content of a record.
pub const MAX_CONTENT: usize = 0xffff;

#[cfg(test)]
mod tests;
