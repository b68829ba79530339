//! Hash keys of balancing algorithms (configuration manual, `balance`).

use crate::*;

/// Hash key and hash function of an algorithm (`balance`, `hash-type`).
#[derive(Clone, Debug)]
pub struct Hashing {
    /// The part of a request that is hashed.
    pub key: HashKey,
    /// The hash function.
    pub function: fn(&[u8]) -> u32,
    /// Whether the hash is mixed a second time (`avalanche`).
    pub avalanche: bool,
}

/// The part of a request that is hashed.
#[derive(Clone, Debug)]
pub enum HashKey {
    /// The client's address, as a number.
    Source,
    /// A part of the URI.
    Uri(UriKey),
    /// A parameter of the query.
    UrlParam {
        /// Name of the parameter.
        name: Vec<u8>,
        /// Whether the body of a POST is searched when the query lacks the parameter.
        check_post: bool,
    },
    /// The first item of a header.
    Header {
        /// Name of the header, in lower case.
        name: Vec<u8>,
        /// Whether only the label before the last dot is hashed.
        domain_only: bool,
    },
    /// The value of a sample expression.
    Expression {
        /// The expression.
        expr: Arc<sample::Expr>,
        /// Whether an empty value is hashed too.
        even_empty: bool,
    },
}

/// The hashed part of a URI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UriKey {
    /// The most bytes hashed.
    pub len: Option<u32>,
    /// The most slashes in the hashed part.
    pub depth: Option<u32>,
    /// Whether the query is hashed too.
    pub whole: bool,
    /// Whether scheme and authority are left out.
    pub path_only: bool,
}
