//! The park protocol over loom's atomics. Never differs from the product's.

pub(crate) mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering, fence};
}

#[path = "../../src/park.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is public, and the model never unparks")]
pub(crate) mod park;
