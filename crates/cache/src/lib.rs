//! The HTTP cache (manual section 6, RFC 9111): storage in blocks, and decisions about messages.
//!
//! Reading order: [`request`] (may a request be answered or its response be stored), [`key`] and
//! [`vary`] (what a response is found by), [`response`] (may it be stored, and for how long),
//! [`store`] (objects in blocks, the index, eviction), [`storing`] (an object on its way in),
//! [`hit`] (an object on its way out), [`answer`] (of it all, 304 of [`conditional`], 206 of
//! [`range`]), [`validation`] (with the server), [`fetches`] (one fetch per missing key).
//! `docs/cache.md` has the RFC's requirements with the tests that show them.
//!
//! Invariant: no I/O and no clock (`cargo xtask tidy`). Times are milliseconds on one monotonic
//! clock; dates are seconds since the epoch.
#![forbid(unsafe_code)]

pub mod answer;
pub mod conditional;
pub mod directives;
pub mod fetches;
pub mod hit;
pub mod http_date;
pub mod key;
mod object;
pub mod range;
pub mod request;
pub mod response;
mod shard;
pub mod store;
pub mod storing;
pub mod validation;
pub mod vary;

pub use answer::StoredAnswer;
pub use fetches::{FetchTicket, FetchTurn, WaitTicket};
pub use hit::Hit;
pub use key::CacheKey;
pub use shard::CacheCounters;
pub use store::{Cache, CacheSettings, ClearWalk, ListedObject, Lookup};
pub use storing::{StoreFault, Storing};
pub use vary::Selecting;

#[cfg(test)]
mod tests;
