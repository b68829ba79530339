//! The system's clocks. Crates above the reactor get their time from the reactor.

use rustix::thread::nanosleep;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

fn nanos(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Blocks the calling thread for this time, or until a signal comes. Only for a process that does
/// not serve yet.
pub fn sleep(time: Duration) {
    let (tv_sec, tv_nsec) = (time.as_secs() as i64, time.subsec_nanos().into());
    let _ = nanosleep(&Timespec { tv_sec, tv_nsec });
}

/// Nanoseconds on the monotonic clock.
pub fn monotonic() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Nanoseconds since 1970-01-01 UTC.
pub fn wall() -> u64 {
    nanos(ClockId::Realtime)
}

/// CPU time used by a thread of this process, in nanoseconds; 0 if the thread has ended.
pub fn thread_cpu(tid: i32) -> u64 {
    // The kernel's encoding of a per-thread CPU clock: inverted id, then 110.
    let id = (!tid << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to, and an unknown clock is an error, not a fault.
    match unsafe { libc::clock_gettime(id, &mut time) } {
        0 => (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64,
        _ => 0,
    }
}

/// Seconds east of Greenwich in the machine's time zone, at `seconds` since 1970 UTC.
pub fn local_offset(seconds: i64) -> i32 {
    // SAFETY: all-zero bytes are a valid `tm`.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values; a year out of range leaves `tm` zeroed.
    unsafe { libc::localtime_r(&seconds, &mut tm) };
    tm.tm_gmtoff as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward() {
        let (a, b) = (monotonic(), monotonic());
        assert!(a <= b && wall() > 1_700_000_000_000_000_000);
        let tid = crate::cpu::thread_id();
        while thread_cpu(tid) == 0 {}
        assert_eq!(thread_cpu(i32::MAX >> 4), 0);
    }

    #[test]
    fn the_offset_is_one_of_this_planet() {
        assert!(local_offset(1_000_000_000).abs() <= 14 * 3600);
    }
}
