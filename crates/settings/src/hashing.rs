//! What a balancing algorithm hashes (configuration manual, `balance`).

use crate::*;

/// What an algorithm hashes, and how (`balance`, `hash-type`).
#[derive(Clone, Debug)]
pub struct Hashing {
    /// What is hashed.
    pub key: HashKey,
    /// The hash function.
    pub function: fn(&[u8]) -> u32,
    /// Whether the hash is mixed once more.
    pub avalanche: bool,
}

/// What is hashed.
#[derive(Clone, Debug)]
pub enum HashKey {
    /// The client's address, as a number.
    Source,
    /// A part of the URI.
    Uri(UriKey),
    /// A parameter of the query.
    UrlParam {
        /// Its name.
        name: Vec<u8>,
        /// Whether the body of a POST is looked at when the query has none.
        check_post: bool,
    },
    /// The first item of a header.
    Header {
        /// Its name, in lower case.
        name: Vec<u8>,
        /// Whether only the label before the last dot counts.
        domain_only: bool,
    },
    /// What an expression yields.
    Expression {
        /// The expression.
        expr: Arc<sample::Expr>,
        /// Whether an empty text is a key too.
        even_empty: bool,
    },
}

/// Which part of a URI is hashed.
#[derive(Clone, Copy, Debug, Default)]
pub struct UriKey {
    /// The most bytes.
    pub len: Option<u32>,
    /// The most slashes.
    pub depth: Option<u32>,
    /// With the query.
    pub whole: bool,
    /// Without scheme and authority.
    pub path_only: bool,
}
