//! Numbers, times and sets as HAProxy writes them (section 2.5).

use std::fmt;

/// The longest time that HAProxy's timers hold, in ms, or in seconds where those are its unit.
const MOST: u64 = i32::MAX as u64;

/// Mistakes in a time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ValueError {
    /// An unexpected character at this byte.
    Unexpected { at: usize, found: char },
    /// Larger than any value allowed.
    Overflow,
    /// The same, of a time that is kept in seconds.
    TooManySeconds,
}

impl ValueError {
    /// Where to point in the word.
    pub(crate) fn offset(&self) -> usize {
        match self {
            Self::Unexpected { at, .. } => *at,
            _ => 0,
        }
    }

    /// HAProxy's words for it; `subject` names the value in the message, e.g. `'timeout connect'`.
    pub(crate) fn message(&self, text: &str, subject: &str) -> String {
        match self {
            Self::Unexpected { found, .. } => {
                format!("unexpected character '{found}' in {subject}")
            }
            Self::Overflow => format!(
                "timer overflow in argument '{text}' to {subject} (maximum value is 2147483647 ms or ~24.8 days)"
            ),
            Self::TooManySeconds => format!(
                "timer overflow in argument '{text}' to {subject} (maximum value is 2147483647 s or ~68 years)"
            ),
        }
    }
}

/// The unit of a time without suffix.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Seconds,
}

/// A time, and a warning about text behind its unit, which is ignored as in HAProxy.
pub(crate) type Timed<T> = Result<(T, Option<String>), ValueError>;

/// A time in milliseconds, rounded up.
pub(crate) fn time(text: &str, default: Unit) -> Timed<u64> {
    let (micros, odd) = micros(text, default)?;
    let ms = micros.div_ceil(1_000);
    if ms > MOST { Err(ValueError::Overflow) } else { Ok((ms, odd)) }
}

/// A time in seconds, rounded up; without a suffix it is in seconds.
pub(crate) fn seconds(text: &str) -> Timed<u32> {
    let (micros, odd) = micros(text, Unit::Seconds).map_err(|error| match error {
        ValueError::Overflow => ValueError::TooManySeconds,
        other => other,
    })?;
    let seconds = Some(micros.div_ceil(1_000_000)).filter(|seconds| *seconds <= MOST);
    seconds.map(|seconds| (seconds as u32, odd)).ok_or(ValueError::TooManySeconds)
}

/// A time in microseconds.
fn micros(text: &str, default: Unit) -> Timed<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unexpected =
        |at: usize| ValueError::Unexpected { at, found: text[at..].chars().next().unwrap_or(' ') };
    if digits == 0 {
        return Err(unexpected(0));
    }
    let number: u64 = text[..digits].parse().map_err(|_| ValueError::Overflow)?;
    let suffix = &text[digits..];
    let (unit, per_unit) = match stdx::leading_number::unit(suffix) {
        Some(unit) => unit,
        None if !suffix.is_empty() => return Err(unexpected(digits)),
        None if default == Unit::Seconds => ("", 1_000_000),
        None => ("", 1_000),
    };
    let micros = number.checked_mul(per_unit).ok_or(ValueError::Overflow)?;
    Ok((micros, stdx::leading_number::behind_unit(text, &suffix[unit.len()..])))
}

/// A decimal number without sign.
pub(crate) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A number, possibly followed by `k`, `m` or `g`; the error is the offset of the mistake.
pub(crate) fn size(text: &str) -> Result<u32, usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    u32::try_from(large_size(text)?).map_err(|_| digits)
}

/// The same without a bound of 4 GiB.
pub(crate) fn large_size(text: &str) -> Result<u64, usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let shift = match &text[digits..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return Err(digits),
    };
    let number: u64 = text[..digits].parse().map_err(|_| 0usize)?;
    number.checked_shl(shift).filter(|size| size >> shift == number).ok_or(digits)
}

/// Why a set of numbers is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NumberSetError {
    /// A word that is neither a number nor a range.
    Malformed { text: String },
    /// A number of the set is 0 or above the limit.
    OutOfRange { text: String, most: u16 },
}

impl fmt::Display for NumberSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { text } => write!(f, "'{text}' is not a valid number/range."),
            Self::OutOfRange { text, most } => write!(
                f,
                "'{text}' is not a valid number/range. It supports numbers from 1 to {most}."
            ),
        }
    }
}

impl std::error::Error for NumberSetError {}

/// A set of numbers from 1 to `most`, ascending: `all`, `odd`, `even`, a number or a range, whose
/// upper bound may be left out.
pub(crate) fn numbers(text: &str, most: u16) -> Result<Vec<u16>, NumberSetError> {
    let (low, high) = match text {
        "all" => return Ok((1..=most).collect()),
        "odd" => return Ok((1..=most).step_by(2).collect()),
        "even" => return Ok((2..=most).step_by(2).collect()),
        _ => text.split_once('-').unwrap_or((text, text)),
    };
    let beyond = || NumberSetError::OutOfRange { text: text.to_owned(), most };
    if low.is_empty() {
        return Err(beyond());
    }
    let high = if high.is_empty() { Some(u32::from(most)) } else { number(high) };
    let bounds = number::<u32>(low).zip(high);
    let (low, high) = bounds.ok_or_else(|| NumberSetError::Malformed { text: text.to_owned() })?;
    let (low, high) = (low.min(high), low.max(high));
    if low == 0 || high > u32::from(most) {
        return Err(beyond());
    }
    Ok((low as u16..=high as u16).collect())
}

/// Whether a character may be in the name of a proxy, a server or an ACL (section 4).
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, value) in [
            ("0", Ok(0)),
            ("1500", Ok(1500)),
            ("5s", Ok(5000)),
            ("2m", Ok(120_000)),
            ("1h", Ok(3_600_000)),
            ("1d", Ok(86_400_000)),
            ("1500us", Ok(2)),
            ("1us", Ok(1)),
            ("25d", Err(ValueError::Overflow)),
            ("99999999999999999999", Err(ValueError::Overflow)),
            ("5x", Err(ValueError::Unexpected { at: 1, found: 'x' })),
            ("10u", Err(ValueError::Unexpected { at: 2, found: 'u' })),
            ("1.5s", Err(ValueError::Unexpected { at: 1, found: '.' })),
            ("", Err(ValueError::Unexpected { at: 0, found: ' ' })),
            ("-1", Err(ValueError::Unexpected { at: 0, found: '-' })),
        ] {
            assert_eq!(time(text, Unit::Milliseconds), value.map(|ms| (ms, None)), "{text}");
        }
        for (text, ms, found) in [
            ("15min", 900_000, 'i'),
            ("5sé", 5_000, 'é'),
            ("5msx", 5, 'x'),
            ("1h30m", 3_600_000, '3'),
            ("1s[", 1_000, '['),
            ("10us1", 1, '1'),
        ] {
            let (read, odd) = time(text, Unit::Milliseconds).expect("a time with something behind");
            let start = format!("unexpected character '{found}' after the timer value '{text}'");
            assert!(read == ms && odd.is_some_and(|odd| odd.starts_with(&start)), "{text}");
        }
        assert_eq!(time("5", Unit::Seconds), Ok((5000, None)));
        for (text, value) in [
            ("5", Ok(5)),
            ("1500ms", Ok(2)),
            ("30d", Ok(2_592_000)),
            ("24856d", Err(ValueError::TooManySeconds)),
            ("99999999999999999999", Err(ValueError::TooManySeconds)),
            ("5x", Err(ValueError::Unexpected { at: 1, found: 'x' })),
        ] {
            assert_eq!(seconds(text), value.map(|seconds| (seconds, None)), "{text}");
        }
    }

    #[test]
    fn numbers_and_sets() {
        assert_eq!(number::<u32>("+5"), None);
        for (text, set) in [
            ("all", vec![1, 2, 3, 4, 5]),
            ("odd", vec![1, 3, 5]),
            ("even", vec![2, 4]),
            ("5", vec![5]),
            ("4-2", vec![2, 3, 4]),
            ("3-", vec![3, 4, 5]),
        ] {
            assert_eq!(numbers(text, 5), Ok(set), "{text}");
        }
        for bad in ["0", "6", "1-6", "x", "", "-", "-3", "1-x", "1,2", "0-1"] {
            assert!(numbers(bad, 5).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(
            [size("20"), size("1k"), size("2M"), size("1g")],
            [Ok(20), Ok(1 << 10), Ok(2 << 20), Ok(1 << 30)]
        );
        assert_eq!([size("x"), size("5x"), size("5g"), size("")], [Err(0), Err(1), Err(1), Err(0)]);
    }
}
