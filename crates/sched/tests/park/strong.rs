//! The park protocol of the product over loom's atomics.

pub(crate) mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering, fence};
}

#[path = "../../src/park.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is public, and the model never unparks")]
pub(crate) mod park;
