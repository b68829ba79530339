//! How a backend chooses servers (section 4.2 `balance`, `hash-type`).
use super::UriKey;
use ::balance::HashMethod;
use sample::Expr;
use std::sync::Arc;

/// `balance`.
#[derive(Clone, Debug, Default)]
pub enum Balance {
    /// In turns by weight, dynamic.
    #[default]
    RoundRobin,
    /// In turns by weight, static.
    StaticRr,
    /// The least loaded.
    LeastConn,
    /// The least loaded of some drawn at random.
    Random {
        /// How many are drawn; 2 by default.
        draws: u32,
    },
    /// The faster of two servers drawn at random.
    PeakEwma,
    /// The first with a free slot.
    First,
    /// By the client's address.
    Source,
    /// By the URI.
    Uri(UriKey),
    /// By a parameter of the query.
    UrlParam {
        /// Its name.
        name: String,
        /// Whether the body of a POST is looked at when the query has none.
        check_post: bool,
    },
    /// By a header.
    Header {
        /// Its name.
        name: String,
        /// Whether only the label before the last dot counts.
        domain_only: bool,
    },
    /// By an expression.
    Hash(Arc<Expr>),
    /// By the cookie of an RDP connection request.
    RdpCookie(Arc<Expr>),
}

impl Balance {
    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RoundRobin => "roundrobin",
            Self::StaticRr => "static-rr",
            Self::LeastConn => "leastconn",
            Self::Random { .. } => "random",
            Self::PeakEwma => "peak-ewma",
            Self::First => "first",
            Self::Source => "source",
            Self::Uri(_) => "uri",
            Self::UrlParam { .. } => "url_param",
            Self::Header { .. } => "hdr",
            Self::Hash(_) => "hash",
            Self::RdpCookie(_) => "rdp-cookie",
        }
    }

    /// Whether it looks at HTTP requests only.
    pub fn needs_http(&self) -> bool {
        matches!(self, Self::Uri(_) | Self::UrlParam { .. } | Self::Header { .. })
    }
}

/// `hash-type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashType {
    /// How a hash picks a server.
    pub method: HashMethod,
    /// How the key is hashed.
    pub function: HashFunction,
    /// Whether the hash is mixed once more; the default of `consistent` without function.
    pub avalanche: bool,
}

/// Hash functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashFunction {
    /// SDBM, the default.
    #[default]
    Sdbm,
    /// DJB2.
    Djb2,
    /// CRC32.
    Crc32,
    /// WT6.
    Wt6,
}
