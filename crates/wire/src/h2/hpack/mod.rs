//! Header compression (RFC 7541): lists of fields to and from header blocks. Never knows what a
//! field means.

mod decode;
mod encode;
mod huffman;
mod huffman_code;
mod integer;
mod static_table;
mod table;

pub use decode::{Broken, Decoder, Stopped};
pub use encode::{field, indexed_name, size_update, status};

/// What an entry of the dynamic table counts beside its text (section 4.1).
pub const ENTRY_OVERHEAD: usize = 32;

#[cfg(test)]
mod tests;
