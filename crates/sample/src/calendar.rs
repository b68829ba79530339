//! Dates as logs and headers print them.

use crate::cast::{write_int, write_padded};
use std::io::Write;

mod strftime;

/// Month names, from January.
pub const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MONTHS_LONG: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Day names, from Sunday.
pub const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const DAYS_LONG: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A date of the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Year.
    pub year: i64,
    /// Month, 0 to 11.
    pub month: usize,
    /// Day of the month, from 1.
    pub day: u32,
    /// Hour, 0 to 23.
    pub hour: u32,
    /// Minute, 0 to 59.
    pub minute: u32,
    /// Second, 0 to 59.
    pub second: u32,
    /// Day of the week, 0 is Sunday.
    pub weekday: usize,
    /// Day of the year, from 0.
    pub yearday: u32,
    /// Seconds east of UTC.
    pub offset: i32,
    /// Seconds since the epoch.
    pub epoch: i64,
}

/// Years beyond these are clamped so that arithmetic never overflows.
const MAX_SECS: i64 = 253_402_300_799; // the last second of year 9999

impl Date {
    /// The date `secs` after the epoch, seen `offset` seconds east of UTC. Times after year 9999
    /// are clamped.
    pub fn new(secs: i64, offset: i32) -> Date {
        let epoch = secs.clamp(-MAX_SECS, MAX_SECS);
        let local = epoch + i64::from(offset);
        let days = local.div_euclid(86_400);
        let seconds = local.rem_euclid(86_400) as u32;
        let (year, month, day) = civil(days);
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][month];
        Date {
            year,
            month,
            day,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            weekday: (days + 4).rem_euclid(7) as usize,
            yearday: before + u32::from(leap && month > 1) + day - 1,
            offset,
            epoch,
        }
    }

    /// `21/Nov/2026:10:52:01`
    pub fn write_clf(&self, out: &mut Vec<u8>) {
        write_padded(out, self.day, 2);
        out.push(b'/');
        out.extend_from_slice(MONTHS[self.month].as_bytes());
        out.push(b'/');
        match u32::try_from(self.year) {
            Ok(year) => write_padded(out, year, 4),
            Err(_) => write_int(out, self.year),
        }
        out.push(b':');
        self.write_time(out);
    }

    /// `Nov 21 11:20:33`, the day without a leading zero (RFC 3164 section 4.1.2).
    pub fn write_syslog(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MONTHS[self.month].as_bytes());
        out.extend_from_slice(if self.day < 10 { b"  " } else { b" " });
        write_int(out, self.day.into());
        out.push(b' ');
        self.write_time(out);
    }

    /// `2026-11-21T11:20:33.123456+01:00` (RFC 5424 section 6.2.3).
    pub fn write_iso(&self, micros: u32, out: &mut Vec<u8>) {
        write_int(out, self.year);
        out.push(b'-');
        write_padded(out, self.month as u32 + 1, 2);
        out.push(b'-');
        write_padded(out, self.day, 2);
        out.push(b'T');
        self.write_time(out);
        out.push(b'.');
        write_padded(out, micros, 6);
        out.push(if self.offset < 0 { b'-' } else { b'+' });
        let minutes = self.offset.unsigned_abs() / 60;
        write_padded(out, minutes / 60, 2);
        out.push(b':');
        write_padded(out, minutes % 60, 2);
    }

    /// `11:20:33`
    fn write_time(&self, out: &mut Vec<u8>) {
        write_padded(out, self.hour, 2);
        out.push(b':');
        write_padded(out, self.minute, 2);
        out.push(b':');
        write_padded(out, self.second, 2);
    }

    /// `+0200`
    pub fn write_zone(&self, out: &mut Vec<u8>) {
        let minutes = self.offset.unsigned_abs() / 60;
        out.push(if self.offset < 0 { b'-' } else { b'+' });
        write_padded(out, minutes / 60, 2);
        write_padded(out, minutes % 60, 2);
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7); meant for dates in UTC.
    pub fn write_http(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(DAYS[self.weekday].as_bytes());
        out.extend_from_slice(b", ");
        write_padded(out, self.day, 2);
        out.push(b' ');
        out.extend_from_slice(MONTHS[self.month].as_bytes());
        out.push(b' ');
        match u32::try_from(self.year) {
            Ok(year) => write_padded(out, year, 4),
            Err(_) => drop(write!(out, "{:04}", self.year)),
        }
        for (before, number) in [(b' ', self.hour), (b':', self.minute), (b':', self.second)] {
            out.push(before);
            write_padded(out, number, 2);
        }
        out.extend_from_slice(b" GMT");
    }

    /// ISO 8601 year and week.
    fn iso_week(&self) -> (i64, u32) {
        let monday_based = (self.weekday as i64 + 6) % 7;
        // The week belongs to the year that holds its Thursday.
        let thursday = self.epoch.saturating_add((3 - monday_based) * 86_400);
        let thursday = civil((thursday + i64::from(self.offset)).div_euclid(86_400));
        let first = days_from_civil(thursday.0);
        let day = (self.epoch + i64::from(self.offset)).div_euclid(86_400) + 3 - monday_based;
        (thursday.0, ((day - first) / 7 + 1) as u32)
    }
}

/// Year, month (0 to 11) and day of the month of a day counted from the epoch.
/// Eras of 400 years begin on 1 March, so that the leap day is the last one of its year.
fn civil(days: i64) -> (i64, usize, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = ((month_from_march + 2) % 12) as usize;
    (year_of_era + era * 400 + i64::from(month < 2), month, day)
}

/// Days from the epoch to 1 January of `year`.
fn days_from_civil(year: i64) -> i64 {
    let before = year - 1;
    let era = before.div_euclid(400);
    let year_of_era = before.rem_euclid(400);
    // 1 January is day 306 of the year that began in March.
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + 306 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strftime(secs: i64, offset: i32, format: &str) -> String {
        let mut out = Vec::new();
        Date::new(secs, offset).write_strftime(format, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn known_dates() {
        let mut out = Vec::new();
        Date::new(784_111_777, 0).write_http(&mut out);
        assert_eq!(out, b"Sun, 06 Nov 1994 08:49:37 GMT");
        out.clear();
        Date::new(951_782_400, 7200).write_clf(&mut out);
        assert_eq!(out, b"29/Feb/2000:02:00:00");
        assert_eq!(strftime(0, 0, "%Y%m%d%H%M%S %j %a"), "19700101000000 001 Thu");
        assert_eq!(strftime(-1, 0, "%F %T"), "1969-12-31 23:59:59");
        assert_eq!(strftime(1_735_603_200, -3600, "%G-W%V %u %z"), "2025-W01 1 -0100");
        assert_eq!(strftime(1_483_228_800, 0, "%G-W%V %U %W %%"), "2016-W52 01 00 %");
        assert_eq!(strftime(i64::MAX, 0, "%Y"), "9999");
        assert_eq!(strftime(0, 0, "%"), "%");
    }
}
