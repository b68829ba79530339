//! Patterns of integers: ranges and the operators in front of them (manual section 7.1.3).

use super::error::PatternError;

/// An integer operator; it stays in force for the patterns behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `eq`
    Eq,
    /// `ge`
    Ge,
    /// `gt`
    Gt,
    /// `le`
    Le,
    /// `lt`
    Lt,
}

impl Operator {
    /// The operator that `word` names.
    pub(crate) fn find(word: &str) -> Option<Operator> {
        Some(match word {
            "eq" => Operator::Eq,
            "ge" => Operator::Ge,
            "gt" => Operator::Gt,
            "le" => Operator::Le,
            "lt" => Operator::Lt,
            _ => return None,
        })
    }

    /// The range that `pattern` means behind this operator, as a pattern: `gt 5` is `6:`.
    pub(crate) fn range(self, pattern: &str) -> Result<String, PatternError> {
        let (low, high) = parse_range(pattern)?;
        // A range is one behind every operator (measured).
        if self == Operator::Eq || separator(pattern).is_some() {
            return Ok(pattern.to_owned());
        }
        let never = || PatternError::Beyond(pattern.to_owned());
        Ok(match self {
            Operator::Eq | Operator::Ge => format!("{low}:"),
            Operator::Gt => format!("{}:", low.checked_add(1).ok_or_else(never)?),
            Operator::Le => format!(":{high}"),
            Operator::Lt => format!(":{}", high.checked_sub(1).ok_or_else(never)?),
        })
    }
}

/// The position of a range's separator: a colon, or a dash that is no sign.
fn separator(pattern: &str) -> Option<usize> {
    let mut bytes = pattern.bytes().enumerate();
    bytes.position(|(at, byte)| byte == b':' || (byte == b'-' && at > 0))
}

/// `5`, `5:`, `:5`, `3:5` or `3-5` as closed bounds.
pub(super) fn parse_range(pattern: &str) -> Result<(i64, i64), PatternError> {
    let number = |text: &str| {
        let number = text.parse::<i64>().ok().filter(|_| !text.starts_with('+'));
        number.ok_or_else(|| PatternError::Number(pattern.to_owned()))
    };
    let bounds = separator(pattern).map(|at| (&pattern[..at], &pattern[at + 1..]));
    let (low, high) = match bounds {
        Some(("", "")) => return Err(PatternError::Number(pattern.to_owned())),
        Some(("", high)) => (i64::MIN, number(high)?),
        Some((low, "")) => (number(low)?, i64::MAX),
        Some((low, high)) => (number(low)?, number(high)?),
        None => (number(pattern)?, number(pattern)?),
    };
    if low > high {
        return Err(PatternError::Range(pattern.to_owned()));
    }
    Ok((low, high))
}
