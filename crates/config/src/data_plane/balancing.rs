//! The balancing algorithm of a backend, and its hash key.

use crate::model::{Back, Balance, HashFunction};
use settings::{HashKey, Hashing};

/// The algorithm.
pub(super) fn algorithm(from: &Back) -> balance::Algorithm {
    let balance_factor = from.hash_balance_factor;
    match from.balance {
        Balance::RoundRobin => balance::Algorithm::RoundRobin,
        Balance::StaticRr => balance::Algorithm::StaticRr,
        Balance::LeastConn => balance::Algorithm::LeastConn,
        Balance::Random { draws } => balance::Algorithm::Random { draws, balance_factor },
        Balance::PeakEwma => balance::Algorithm::PeakEwma,
        Balance::First => balance::Algorithm::First,
        Balance::Source
        | Balance::Uri(_)
        | Balance::UrlParam { .. }
        | Balance::Header { .. }
        | Balance::Hash(_)
        | Balance::RdpCookie(_) => {
            balance::Algorithm::Hash { method: from.hash_type.method, balance_factor }
        }
    }
}

/// Hash key and function, for algorithms that hash.
pub(super) fn hashing(from: &Back) -> Option<Hashing> {
    let key = match &from.balance {
        Balance::Source => HashKey::Source,
        Balance::Uri(key) => HashKey::Uri(*key),
        Balance::UrlParam { name, check_post } => {
            HashKey::UrlParam { name: name.clone().into_bytes(), check_post: *check_post }
        }
        Balance::Header { name, domain_only } => {
            HashKey::Header { name: name.clone().into_bytes(), domain_only: *domain_only }
        }
        Balance::Hash(expr) => HashKey::Expression { expr: expr.clone(), even_empty: true },
        Balance::RdpCookie(expr) => HashKey::Expression { expr: expr.clone(), even_empty: false },
        _ => return None,
    };
    let function = match from.hash_type.function {
        HashFunction::Sdbm => balance::hash::sdbm,
        HashFunction::Djb2 => balance::hash::djb2,
        HashFunction::Crc32 => balance::hash::crc32,
        HashFunction::Wt6 => balance::hash::wt6,
    };
    Some(Hashing { key, function, avalanche: from.hash_type.avalanche })
}
