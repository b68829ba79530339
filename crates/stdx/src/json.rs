//! Writes strings of JSON (RFC 8259, section 7).

use std::fmt::Write as _;

/// Appends a text as a JSON string, quotes included.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// A text as a JSON string, quotes included.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(quoted("a\"b\\c\u{1}\n\r\té/<"), "\"a\\\"b\\\\c\\u0001\\n\\r\\té/<\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
