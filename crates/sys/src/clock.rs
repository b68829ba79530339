//! The clocks. Never used above the reactor, which hands time out.

use rustix::time::{ClockId, clock_gettime};

fn nanos(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Nanoseconds on the monotonic clock.
pub fn monotonic() -> u64 {
    nanos(ClockId::Monotonic)
}

/// Nanoseconds since 1970-01-01 UTC.
pub fn wall() -> u64 {
    nanos(ClockId::Realtime)
}

/// CPU time that a thread of this process has used, in nanoseconds; 0 if it is gone.
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

/// Local time of day of a moment, for logs that tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// Year, such as 2026.
    pub year: i32,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 60.
    pub second: u8,
    /// Seconds east of Greenwich.
    pub offset: i32,
}

/// The local time at `seconds` since 1970 (UTC), by the machine's time zone.
pub fn local_time(seconds: i64) -> LocalTime {
    // SAFETY: all-zero bytes are a valid `tm`.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values; a year out of range leaves `tm` zeroed.
    unsafe { libc::localtime_r(&seconds, &mut tm) };
    LocalTime {
        year: tm.tm_year + 1900,
        month: tm.tm_mon as u8 + 1,
        day: tm.tm_mday as u8,
        hour: tm.tm_hour as u8,
        minute: tm.tm_min as u8,
        second: tm.tm_sec as u8,
        offset: tm.tm_gmtoff as i32,
    }
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
    fn local_time_agrees_with_its_offset() {
        let t = local_time(1_000_000_000);
        assert!((2001, 9) == (t.year, t.month) && t.minute < 60 && t.offset.abs() <= 14 * 3600);
    }
}
