//! Decryption, digests and signature checks that expressions use, over the linked library.
//!
//! Invariant: no I/O and no sessions (`cargo xtask tidy`).

#![forbid(unsafe_code)]

mod cipher;
mod digest;
mod jws;

pub use cipher::{KeySize, decrypt_gcm};
pub use digest::{digest, has_digest, hmac};
pub use jws::{Algorithm, PublicKey, Verdict, verify};
