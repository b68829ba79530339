//! Compression of response bodies: encoders, the choice of one, and limits.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`).
//!
//! [`RequestFacts`] and [`decide`] say whether and how a response is compressed, [`Plan::edits`]
//! how its head changes, [`Limits`] whether the process can afford it; [`Encoder`] encodes the
//! body. The default encoder holds no memory between two calls but its own value; its hash table is
//! a
//! [`Scratch`] that a thread lends to one call at a time.
#![forbid(unsafe_code)]

mod accept_encoding;
mod algorithm;
mod brotli;
mod decision;
mod encoder;
mod framing;
mod head_edit;
mod limits;
mod list;
mod progress;
mod stateless;
mod tuning;
mod user_agent;
mod waiting;
mod zlib;
mod zstd;

pub use accept_encoding::{Choice, MAX_ALGORITHMS};
pub use algorithm::{ALGORITHMS, Algorithm, AlgorithmEntry};
pub use decision::{Body, Plan, Refusal, RequestFacts, ResponseFacts, decide};
pub use encoder::Encoder;
pub use framing::Framing;
pub use head_edit::{HeadEdit, OFFLOAD};
pub use limits::{LevelControl, LimitReached, Limits, Load};
pub use progress::{EncodeError, Flush, Progress};
pub use stateless::Scratch;
pub use tuning::Tuning;
