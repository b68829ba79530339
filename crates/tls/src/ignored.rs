//! Sets of verification errors that a line ignores (`ca-ignore-err`, `crt-ignore-err`).

/// The highest error that a list may name.
pub(crate) const LAST: u32 = 94;

/// A set of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored(u128);

impl Ignored {
    /// Reads `all`, or numbers joined by commas.
    ///
    /// # Errors
    /// The number that is out of range, as it was understood.
    pub fn parse(text: &str) -> Result<Self, i64> {
        if text == "all" {
            return Ok(Self(u128::MAX));
        }
        let mut set = 0;
        for word in text.split(',') {
            let digits = word.bytes().take_while(u8::is_ascii_digit).count();
            let number: i64 = word[..digits].parse().unwrap_or(0);
            if !(1..=i64::from(LAST)).contains(&number) {
                return Err(number);
            }
            set |= 1 << number;
        }
        Ok(Self(set))
    }

    /// Whether this error is ignored.
    pub fn has(self, error: u32) -> bool {
        error < u128::BITS && self.0 & (1 << error) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_numbers_or_all() {
        let some = Ignored::parse("10,23").unwrap();
        assert!(some.has(10) && some.has(23) && !some.has(18));
        assert!(Ignored::parse("all").unwrap().has(18));
        assert_eq!(Ignored::parse("foo"), Err(0));
        assert_eq!(Ignored::parse("1,95"), Err(95));
        assert!(!Ignored::default().has(0));
    }
}
