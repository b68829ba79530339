//! Comma-separated header values (RFC 9110 section 5.6.1), as slices of the value.

/// The items of a comma-separated value, trimmed of spaces and tabs; commas inside double quotes do
/// not split and empty items are skipped.
pub fn items(value: &[u8]) -> Items<'_> {
    Items { rest: value }
}

/// Iterator of [`items`].
#[derive(Clone, Debug)]
pub struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let end = item_end(self.rest);
            let item = trim(&self.rest[..end]);
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            if !item.is_empty() {
                return Some(item);
            }
        }
        None
    }
}

/// End of the first item of a comma-separated value: a comma outside double quotes, or the end of
/// the value.
pub fn item_end(value: &[u8]) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (i, &byte) in value.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return i,
            _ => {}
        }
    }
    value.len()
}

/// Whether a comma-separated value contains this token, in any case.
pub fn has_token(value: &[u8], token: &[u8]) -> bool {
    items(value).any(|item| item.eq_ignore_ascii_case(token))
}

/// A value without surrounding blanks.
#[inline]
pub fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_split_and_trimmed() {
        let all = |v: &'static str| {
            items(v.as_bytes()).map(|i| String::from_utf8_lossy(i).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(all("a, b ,\tc"), ["a", "b", "c"]);
        assert_eq!(all(",,a,,"), ["a"]);
        assert_eq!(all(r#""a,b", c"#), [r#""a,b""#, "c"]);
        assert_eq!(all(r#""a\",b",c"#), [r#""a\",b""#, "c"]);
        assert!(all("  ").is_empty());
        assert!(has_token(b"Keep-Alive, Close", b"close"));
        assert!(!has_token(b"closed", b"close"));
    }
}
