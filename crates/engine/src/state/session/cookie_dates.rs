//! The dates in a persistence cookie: when it was last seen, and when first (`maxidle`, `maxlife`).
//!
//! The format, as measured: `value|last` or `value|last|first`, each date five digits of base 64.

use settings::Cookie;

/// The byte before a date.
pub const DELIMITER: u8 = b'|';

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LENGTH: usize = 5;

/// A date this far in the future is invalid, in seconds.
const FUTURE: i64 = 86_400;

/// The dates of a cookie in spans of four seconds since 1970; 0 for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dates {
    last: u32,
    first: u32,
}

impl Dates {
    /// Parses the dates after the value of a cookie.
    pub fn parse(text: &[u8]) -> Self {
        let mut parts = text.split(|byte| *byte == DELIMITER).skip(1).map(decode);
        let mut next = || parts.next().flatten().unwrap_or(0);
        Self { last: next(), first: next() }
    }

    /// Why the cookie is stale at `now`: `O` for one that is too old, `E` for one that was not seen
    /// for too long.
    pub fn are_stale(self, cookie: &Cookie, now: u32) -> Option<u8> {
        let stale = |date: u32, limit: u32| {
            let age = i64::from(now) - i64::from(date) * 4;
            limit > 0 && date > 0 && (age > i64::from(limit) || age < -FUTURE)
        };
        if stale(self.first, cookie.max_life) {
            return Some(b'O');
        }
        stale(self.last, cookie.max_idle).then_some(b'E')
    }

    /// The dates to send to a client that has these, if they have to be sent, or if they are of no
    /// use any more.
    pub fn refreshed(self, cookie: &Cookie, now: u32) -> Option<Self> {
        let next = self.first(cookie, now);
        let idle = cookie.max_idle > 0 && next.last != self.last;
        let life = cookie.max_life > 0 && self.first == 0;
        let useless = cookie.max_idle + cookie.max_life == 0 && self != Self::default();
        (idle || life || useless).then_some(next)
    }

    /// Seen now; for the first time unless it was before.
    pub fn first(self, cookie: &Cookie, now: u32) -> Self {
        let now = now >> 2;
        let first = if self.first == 0 && cookie.max_life > 0 { now } else { self.first };
        Self { last: now, first }
    }

    /// Appends the dates that follow the value.
    pub fn write(self, cookie: &Cookie, out: &mut Vec<u8>) {
        if cookie.max_idle + cookie.max_life == 0 {
            return;
        }
        encode(self.last, out);
        if cookie.max_life > 0 {
            encode(self.first, out);
        }
    }
}

fn encode(date: u32, out: &mut Vec<u8>) {
    out.push(DELIMITER);
    for digit in (0..LENGTH).rev() {
        out.push(DIGITS[(date >> (6 * digit)) as usize & 63]);
    }
}

fn decode(text: &[u8]) -> Option<u32> {
    let text = text.get(..LENGTH)?;
    let digit = |byte: &u8| DIGITS.iter().position(|it| it == byte);
    text.iter().try_fold(0, |date: u32, byte| Some(date << 6 | digit(byte)? as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(max_idle: u32, max_life: u32) -> Cookie {
        Cookie { max_idle, max_life, ..Cookie::default() }
    }

    #[test]
    fn dates_are_written_as_measured() {
        let now = 1_795_285_047;
        for (idle, life, expected) in
            [(100, 0, "|awHgN"), (0, 100, "|awHgN|awHgN"), (50, 100, "|awHgN|awHgN"), (0, 0, "")]
        {
            let mut text = Vec::new();
            let cookie = cookie(idle, life);
            let dates = Dates::default().first(&cookie, now);
            dates.write(&cookie, &mut text);
            assert_eq!(text, expected.as_bytes());
            let read = Dates::parse(&text);
            assert_eq!(read.last, if idle + life > 0 { now >> 2 } else { 0 });
            assert_eq!(read.first, if life > 0 { now >> 2 } else { 0 });
        }
    }

    #[test]
    fn old_unseen_and_future_dates_do_not_count() {
        let now = 1_000_000;
        let at = |last: u32, first: u32| Dates { last: last >> 2, first: first >> 2 };
        let both = cookie(50, 100);
        for (dates, expected) in [
            (at(now - 20, now - 70), None),
            (at(now - 70, now - 20), Some(b'E')),
            (at(now - 20, now - 170), Some(b'O')),
            (at(now - 170, now - 170), Some(b'O')),
            (at(now + 80_000, now), None),
            (at(now + 90_000, now), Some(b'E')),
            (at(0, 0), None),
        ] {
            assert_eq!(dates.are_stale(&both, now), expected, "{dates:?}");
        }
        assert_eq!(at(now - 70, now - 170).are_stale(&cookie(0, 0), now), None);
    }

    #[test]
    fn only_changed_dates_are_sent_again() {
        let now = 1_000_000;
        let at = |last: u32, first: u32| Dates { last: last >> 2, first: first >> 2 };
        assert_eq!(at(0, 0).refreshed(&cookie(100, 0), now), Some(at(now, 0)));
        assert_eq!(at(now, 0).refreshed(&cookie(100, 0), now), None);
        assert_eq!(at(0, now - 9).refreshed(&cookie(0, 100), now), None, "the first date stays");
        assert_eq!(at(now - 9, 0).refreshed(&cookie(0, 100), now), Some(at(now, now)));
        let both = cookie(50, 100);
        assert_eq!(at(now - 20, now - 70).refreshed(&both, now), Some(at(now, now - 70)));
        let none = cookie(0, 0);
        assert!(
            at(now, 0).refreshed(&none, now).is_some() && at(0, 0).refreshed(&none, now).is_none()
        );
    }

    #[test]
    fn no_text_panics() {
        for text in ["", "|", "|||", "|aaa", "|aaaaaaa|", "|~~~~~|aaaaa"] {
            let _ = Dates::parse(text.as_bytes());
        }
        assert_eq!(Dates::parse(b"|/////|AAAAB"), Dates { last: (1 << 30) - 1, first: 1 });
    }
}
