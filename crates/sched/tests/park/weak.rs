//! The park protocol with a planted bug: acquire and release instead of the sequentially consistent
//! fence.

pub(crate) mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};

    pub(crate) fn fence(_: Ordering) {
        loom::sync::atomic::fence(Ordering::AcqRel);
    }
}

#[path = "../../src/park.rs"]
#[allow(dead_code, unreachable_pub, reason = "it is public, and the model never unparks")]
pub(crate) mod park;
