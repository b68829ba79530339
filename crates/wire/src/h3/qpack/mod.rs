//! Field compression (RFC 9204): field lists to and from field sections.
//!
//! The encoder uses the static table only, so its sections never wait for anything. The decoder has
//! a dynamic table of the size that was announced.

mod decode;
mod encode;
mod integer;
mod static_table;

pub use decode::{InvalidInstruction, QpackDecoder, SectionError, SectionPrefix};
pub use encode::{field, prefix, status};

#[cfg(test)]
mod tests;
