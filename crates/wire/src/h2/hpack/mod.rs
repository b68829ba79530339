//! Header compression (RFC 7541): field lists to and from header blocks.

mod decode;
mod encode;
pub(crate) mod huffman;
mod huffman_code;
pub(crate) mod integer;
pub(crate) mod static_table;
pub(crate) mod table;

pub use decode::{DecodeError, Decoder, InvalidBlock};
pub use encode::{field, indexed_name, size_update, status};

/// Size of a dynamic table entry in addition to its text (RFC 7541 section 4.1).
pub const ENTRY_OVERHEAD: usize = 32;

#[cfg(test)]
mod tests;
