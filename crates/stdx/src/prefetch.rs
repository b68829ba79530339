//! Prefetches memory that will be used soon.
//!
//! With hundreds of connections per thread, the state of each has left the cache by the time its
//! next bytes come. Lines prefetched together arrive together, and meanwhile the kernel is asked
//! for those bytes; lines found by following pointers cost a miss each.

/// Most bytes prefetched of a value: types keep their most used fields in front.
const LIMIT: usize = 512;
/// Bytes per cache line.
const LINE: usize = 64;

/// Prefetches the first 512 bytes of a value.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of_val(value).min(LIMIT)).step_by(LINE) {
        line(start.wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn line(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch has no effect that a program can observe, and faults at no address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// On other processors, the line is loaded when it is used.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn line(_: *const i8) {}

#[cfg(test)]
mod tests {
    //! Only tests that values of all sizes are accepted, because the effect cannot be observed.
    use super::*;

    #[test]
    fn values_of_any_size_can_be_prefetched() {
        prefetch(&());
        prefetch(&1_u8);
        prefetch(&[0_u8; 4 * LIMIT]);
        prefetch("text");
        prefetch::<[u64]>(&[]);
        let object: Box<dyn Fn() -> u32> = Box::new(|| 1);
        prefetch(&*object);
        assert_eq!(object(), 1);
    }
}
