//! The number that a text begins with, as C's `atol` finds it. Never judges what stands behind it.

/// Cuts `text` into the number that it begins with, sign included, and the rest. A text that begins
/// with no digit has no number: C reads 0.
pub fn split(text: &str) -> (&str, &str) {
    let signs = usize::from(text.starts_with(['+', '-']));
    let digits = text.bytes().skip(signs).take_while(u8::is_ascii_digit).count();
    text.split_at(if digits == 0 { 0 } else { signs + digits })
}

/// The number that `text` begins with, 0 if none, and how to tell that it has something else in it;
/// nothing if it is too large, or negative for a type without sign.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_front_count() {
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
    fn what_is_ignored_is_told() {
        assert_eq!(number::<u32>("10"), Some((10, None)));
        let said = "'10k' is read as 10: what follows the digits is ignored";
        assert_eq!(number::<u32>("10k"), Some((10, Some(said.into()))));
        let said = "'k' is read as 0: it does not begin with a digit";
        assert_eq!(number::<u32>("k"), Some((0, Some(said.into()))));
        assert_eq!((number::<u32>("-5x"), number::<u32>("99999999999")), (None, None));
        assert_eq!(number::<i32>("-5").map(|it| it.0), Some(-5));
    }
}
