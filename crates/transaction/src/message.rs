//! Heads and bodies of messages: the first bytes of a client, the head of a request, the part of a
//! body that rules look at.

pub(crate) mod body_buffer;
pub mod first_bytes;
pub(crate) mod header_case;
pub(crate) mod read_request;
pub(crate) mod script_facts;
pub mod tls_wait;
