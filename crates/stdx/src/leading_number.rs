//! Numbers at the start of a text, as C's `atol` parses them.

/// Splits `text` into its leading number, with the sign, and the rest. The number is empty if no
/// digit leads; C reads 0 then.
pub fn split(text: &str) -> (&str, &str) {
    let signs = usize::from(text.starts_with(['+', '-']));
    let digits = text.bytes().skip(signs).take_while(u8::is_ascii_digit).count();
    text.split_at(if digits == 0 { 0 } else { signs + digits })
}

/// The leading number of `text`, 0 if there is none, with a warning if the text has anything else.
/// `None` if the number is too large, or negative for an unsigned type.
pub fn number<T: std::str::FromStr>(text: &str) -> Option<(T, Option<String>)> {
    let (digits, rest) = split(text);
    let said = match (digits, rest) {
        (_, "") => None,
        ("", _) => Some(format!("'{text}' is read as 0: it does not begin with a digit")),
        _ => Some(format!("'{text}' is read as {digits}: what follows the digits is ignored")),
    };
    let digits = if digits.is_empty() { "0" } else { digits };
    Some((digits.parse().ok()?, said))
}

/// The unit of time at the start of `text`, with its length in microseconds.
pub fn unit(text: &str) -> Option<(&'static str, u64)> {
    const UNITS: [(&str, u64); 6] = [
        ("us", 1),
        ("ms", 1_000),
        ("s", 1_000_000),
        ("m", 60_000_000),
        ("h", 3_600_000_000),
        ("d", 86_400_000_000),
    ];
    UNITS.into_iter().find(|(name, _)| text.starts_with(name))
}

/// HAProxy's warning about `rest`, which follows the unit of the time `text` and is ignored.
pub fn behind_unit(text: &str, rest: &str) -> Option<String> {
    let found = rest.chars().next()?;
    Some(format!(
        "unexpected character '{found}' after the timer value '{text}', only (us=microseconds,\
         ms=milliseconds,s=seconds,m=minutes,h=hours,d=days) are supported. This will be reported \
         as an error in next versions."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_digits_are_the_number() {
        for (text, cut) in [
            ("10k", ("10", "k")),
            ("20.2%", ("20", ".2%")),
            ("-5x", ("-5", "x")),
            ("+5", ("+5", "")),
            ("-x", ("", "-x")),
            ("0x10", ("0", "x10")),
            ("", ("", "")),
            ("\u{e9}1", ("", "\u{e9}1")),
        ] {
            assert_eq!(split(text), cut, "{text}");
        }
    }

    #[test]
    fn times_have_one_unit() {
        for (text, name) in [("us", "us"), ("ms1", "ms"), ("min", "m"), ("s[", "s"), ("d2", "d")] {
            assert_eq!(unit(text).map(|it| it.0), Some(name), "{text}");
        }
        assert_eq!((unit(""), unit("u"), unit("x"), unit("M")), (None, None, None, None));
        assert_eq!(behind_unit("1s", ""), None);
        let said = behind_unit("1h30m", "30m").expect("something is ignored");
        assert!(said.starts_with("unexpected character '3' after the timer value '1h30m', only ("));
    }

    #[test]
    fn ignored_text_gives_a_warning() {
        assert_eq!(number::<u32>("10"), Some((10, None)));
        let said = "'10k' is read as 10: what follows the digits is ignored";
        assert_eq!(number::<u32>("10k"), Some((10, Some(said.into()))));
        let said = "'k' is read as 0: it does not begin with a digit";
        assert_eq!(number::<u32>("k"), Some((0, Some(said.into()))));
        assert_eq!((number::<u32>("-5x"), number::<u32>("99999999999")), (None, None));
        assert_eq!(number::<i32>("-5").map(|it| it.0), Some(-5));
    }
}
