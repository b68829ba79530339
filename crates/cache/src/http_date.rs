//! Dates in header fields (RFC 9110 section 5.6.7), as seconds since the epoch.

/// Month names, in lower case.
const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// The date in a field's value, in one of the three forms that recipients must accept; `None` for
/// other forms. `now` places years of two digits: none is more than 50 years ahead.
pub fn parse(text: &[u8], now: i64) -> Option<i64> {
    let text = htx::list::trim(text);
    match text.iter().position(|&byte| byte == b',') {
        Some(3) => fixdate(&text[4..]),
        Some(6..=9) => rfc850(text, now),
        None => asctime(text),
        _ => None,
    }
}

/// ` 06 Nov 1994 08:49:37 GMT`
fn fixdate(text: &[u8]) -> Option<i64> {
    let [b' ', day @ .., b' ', b'G' | b'g', b'M' | b'm', b'T' | b't'] = text else { return None };
    let [d1, d2, b' ', m1, m2, m3, b' ', y1, y2, y3, y4, b' ', time @ ..] = day else {
        return None;
    };
    let year = number(&[*y1, *y2, *y3, *y4])?;
    seconds(year, &[*m1, *m2, *m3], number(&[*d1, *d2])?, time)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850(text: &[u8], now: i64) -> Option<i64> {
    let comma = text.iter().position(|&byte| byte == b',')?;
    let [b' ', day @ .., b' ', b'G' | b'g', b'M' | b'm', b'T' | b't'] = &text[comma + 1..] else {
        return None;
    };
    let [d1, d2, b'-', m1, m2, m3, b'-', y1, y2, b' ', time @ ..] = day else { return None };
    let (month, day) = ([*m1, *m2, *m3], number(&[*d1, *d2])?);
    let this_year = 1970 + now.div_euclid(31_556_952);
    let short = number(&[*y1, *y2])?;
    let year = this_year - this_year.rem_euclid(100) + short;
    let year = if year > this_year + 50 { year - 100 } else { year };
    seconds(year, &month, day, time)
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &[u8]) -> Option<i64> {
    let [_, _, _, b' ', m1, m2, m3, b' ', d1, d2, b' ', rest @ ..] = text else { return None };
    let [time @ .., b' ', y1, y2, y3, y4] = rest else { return None };
    let day = number(&[if *d1 == b' ' { b'0' } else { *d1 }, *d2])?;
    seconds(number(&[*y1, *y2, *y3, *y4])?, &[*m1, *m2, *m3], day, time)
}

fn number(digits: &[u8]) -> Option<i64> {
    let add =
        |n: i64, &digit: &u8| digit.is_ascii_digit().then(|| n * 10 + i64::from(digit - b'0'));
    digits.iter().try_fold(0, add)
}

/// The second of a day of the Gregorian calendar and a time `08:49:37`.
fn seconds(year: i64, month: &[u8; 3], day: i64, time: &[u8]) -> Option<i64> {
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))?;
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = time else { return None };
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[m1, m2])?, number(&[s1, s2])?);
    // A leap second is the second 60.
    let fits =
        (1..=days_of(year, month)).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    fits.then(|| (day_number(year, month as i64, day) * 24 + hour) * 3600 + minute * 60 + second)
}

fn days_of(year: i64, month: usize) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
}

/// Days from the epoch. Years begin in March, so that the leap day is the last one of its year.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 10) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_000_000; // in 2026

    #[test]
    fn the_three_forms_of_the_rfc_are_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            " sun, 06 nov 1994 08:49:37 gmt ",
        ] {
            assert_eq!(parse(text.as_bytes(), NOW), Some(784_111_777), "{text}");
        }
        assert_eq!(parse(b"Thu, 01 Jan 1970 00:00:00 GMT", NOW), Some(0));
        assert_eq!(parse(b"Tue, 29 Feb 2000 00:00:00 GMT", NOW), Some(951_782_400));
        assert_eq!(parse(b"Fri, 31 Dec 9999 23:59:59 GMT", NOW), Some(253_402_300_799));
        assert_eq!(parse(b"Thu, 01 Jan 0000 00:00:00 GMT", NOW), Some(-62_167_219_200));
    }

    #[test]
    fn years_of_two_digits_are_at_most_fifty_years_ahead() {
        let year =
            |text: &str| parse(text.as_bytes(), NOW).map(|s| 1970 + s.div_euclid(31_556_952));
        assert_eq!(year("Monday, 15-Jun-76 00:00:00 GMT"), Some(2076));
        assert_eq!(year("Monday, 15-Jun-77 00:00:00 GMT"), Some(1977));
    }

    #[test]
    fn garbage_is_no_date() {
        for text in [
            "",
            "0",
            "-1",
            "garbage",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "Thu, 29 Feb 1900 00:00:00 GMT",
            "Sun, 06 Nox 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 19941 08:49:37 GMT",
            "Sun Nov 6 08:49:37 1994",
            "Sun, 06 Nov +994 08:49:37 GMT",
        ] {
            assert_eq!(parse(text.as_bytes(), NOW), None, "{text:?}");
        }
    }
}
