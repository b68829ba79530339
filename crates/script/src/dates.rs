//! Dates of HTTP in their three forms (RFC 9110 section 5.6.7), as seconds since 1970.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Days from 1970 to a date of the Gregorian calendar; months count from 1.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn seconds(year: &str, month: &str, day: &str, clock: &str) -> Option<i64> {
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let (year, day): (i64, i64) = (year.parse().ok()?, day.parse().ok()?);
    let mut parts = clock.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let fits = (1..=31).contains(&day) && (0..24).contains(&hour) && (0..60).contains(&minute);
    let fits = fits && (0..=60).contains(&second) && parts.next().is_none();
    fits.then(|| days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
pub(crate) fn imf(text: &str) -> Option<i64> {
    match text.split(' ').collect::<Vec<_>>()[..] {
        [_, day, month, year, clock, "GMT"] => seconds(year, month, day, clock),
        _ => None,
    }
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`; two digits of a year below 70 are of this century.
pub(crate) fn rfc850(text: &str) -> Option<i64> {
    let [_, date, clock, "GMT"] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
    let [day, month, year] = date.split('-').collect::<Vec<_>>()[..] else { return None };
    let short: i64 = year.parse().ok()?;
    let year = if short < 70 {
        short + 2_000
    } else if short < 100 {
        short + 1_900
    } else {
        short
    };
    seconds(&year.to_string(), month, day, clock)
}

/// `Sun Nov  6 08:49:37 1994`
pub(crate) fn asctime(text: &str) -> Option<i64> {
    match text.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [_, month, day, clock, year] => seconds(year, month, day, clock),
        _ => None,
    }
}

/// Any of the three.
pub(crate) fn http(text: &str) -> Option<i64> {
    imf(text).or_else(|| rfc850(text)).or_else(|| asctime(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_a_date_are_the_same_second() {
        assert_eq!(http("Mon, 20 Feb 1995 00:34:12 GMT"), Some(793_240_452));
        assert_eq!(http("Monday, 20-Feb-95 00:34:12 GMT"), Some(793_240_452));
        assert_eq!(http("Mon Feb 20 00:34:12 1995"), Some(793_240_452));
        for bad in ["", "xx", "Mon, 20 Foo 1995 00:34:12 GMT", "Mon, 40 Feb 1995 00:34:12 GMT"] {
            assert_eq!(http(bad), None, "{bad}");
        }
    }
}
