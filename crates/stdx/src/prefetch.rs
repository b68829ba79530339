//! Asks for memory ahead of its use. Never reads or writes it.
//!
//! A thread that serves hundreds of connections has lost the state of each from its cache by the
//! time that the next bytes come. What is asked for all at once arrives together, and meanwhile the
//! kernel can be asked for those bytes; what is met one pointer after the other is waited for each
//! time.

/// Bytes of a value that are asked for at most: what is used first stands in front.
const LIMIT: usize = 512;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for a value that will be used soon: its first 512 bytes.
#[inline]
pub fn soon<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<i8>();
    for offset in (0..size_of_val(value).min(LIMIT)).step_by(LINE) {
        line(start.wrapping_add(offset));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn line(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch accesses nothing that a program could observe, and faults at no address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// Other processors fetch when the value is used.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn line(_: *const i8) {}

#[cfg(test)]
mod tests {
    //! There is nothing to see but that values of all sizes are taken.
    use super::*;

    #[test]
    fn any_value_will_do() {
        soon(&());
        soon(&1_u8);
        soon(&[0_u8; 4 * LIMIT]);
        soon("text");
        soon::<[u64]>(&[]);
        let object: Box<dyn Fn() -> u32> = Box::new(|| 1);
        soon(&*object);
        assert_eq!(object(), 1);
    }
}
