//! Regular expressions with PCRE2 semantics, as HAProxy builds have them. Never panics on a pattern or a subject.

use std::fmt;

/// A compiled expression. A search that exceeds PCRE2's match limits counts as no match.
pub struct Regex {
    inner: pcre2::bytes::Regex,
    text: String,
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.text)
    }
}

/// Groups that a replacement may name, `\0` to `\9`.
const GROUPS: usize = 10;

impl Regex {
    /// Compiles `pattern`; just-in-time code is used where the machine allows it.
    pub fn new(pattern: &str, ignore_case: bool) -> Result<Regex, String> {
        pcre2::bytes::RegexBuilder::new()
            .jit_if_available(true)
            .caseless(ignore_case)
            .build(pattern)
            .map(|inner| Regex { inner, text: pattern.to_owned() })
            .map_err(|error| {
                let offset = error.offset().unwrap_or(0);
                let full = error.to_string();
                let message = full.rsplit_once(": ").map_or(&*full, |(_, message)| message);
                format!("regex '{pattern}' is invalid (error={message}, erroffset={offset})")
            })
    }

    /// Compiles `pattern`, whose bytes need not be text.
    pub fn from_bytes(pattern: &[u8], ignore_case: bool) -> Result<Regex, String> {
        use std::fmt::Write;
        if let Ok(text) = std::str::from_utf8(pattern) {
            return Regex::new(text, ignore_case);
        }
        // The library takes text alone, but any byte can be written as a number.
        let mut text = String::with_capacity(pattern.len() * 2);
        for byte in pattern {
            if byte.is_ascii() {
                text.push(char::from(*byte));
            } else {
                let _ = write!(text, "\\x{{{byte:02x}}}");
            }
        }
        Regex::new(&text, ignore_case)
    }

    /// The expression as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the expression matches anywhere in `subject`.
    pub fn is_match(&self, subject: &[u8]) -> bool {
        self.inner.is_match(subject).unwrap_or(false)
    }

    /// The first match at or after `start`, as spans of the groups.
    fn groups(&self, subject: &[u8], start: usize) -> Option<[Option<(usize, usize)>; GROUPS]> {
        let mut locations = self.inner.capture_locations();
        self.inner.captures_read_at(&mut locations, subject, start).ok()??;
        let mut groups = [None; GROUPS];
        for (i, group) in groups.iter_mut().enumerate().take(locations.len()) {
            *group = locations.get(i);
        }
        Some(groups)
    }

    /// Appends to `out` the expansion of `template` for the first match in `subject`: the whole
    /// result is the expansion alone, as `replace-header` and `map_regm` want it. False without a
    /// match.
    pub fn expand(&self, subject: &[u8], template: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(groups) = self.groups(subject, 0) else { return false };
        expand_into(subject, &groups, template, out);
        true
    }

    /// Appends `subject` to `out` with the first match (or all of them) replaced by the expansion
    /// of `template`.
    pub fn replace(&self, subject: &[u8], template: &[u8], all: bool, out: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(groups) = self.groups(subject, at) {
            let ended = at >= subject.len();
            let (from, to) = groups[0].expect("group 0 is the match itself");
            out.extend_from_slice(&subject[at..from]);
            expand_into(subject, &groups, template, out);
            if to > from {
                at = to;
            } else {
                // An empty match consumes one byte so that the search advances.
                out.extend(subject.get(to));
                at = (to + 1).min(subject.len());
            }
            // The end is searched too, once.
            if !all || ended {
                break;
            }
        }
        out.extend_from_slice(subject.get(at..).unwrap_or_default());
    }
}

/// `\N` is group N, `\xHH` a byte, a backslash before anything else that character.
fn expand_into(
    subject: &[u8],
    groups: &[Option<(usize, usize)>; GROUPS],
    template: &[u8],
    out: &mut Vec<u8>,
) {
    let mut rest = template;
    while let Some(position) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..position]);
        let Some(&escaped) = rest.get(position + 1) else {
            out.push(b'\\');
            return;
        };
        rest = &rest[position + 2..];
        match escaped {
            b'0'..=b'9' => {
                if let Some((from, to)) = groups[usize::from(escaped - b'0')] {
                    out.extend_from_slice(&subject[from..to]);
                }
            }
            b'x' => match rest.first_chunk::<2>().and_then(hex_byte) {
                Some(byte) => {
                    out.push(byte);
                    rest = &rest[2..];
                }
                None => out.push(b'x'),
            },
            other => out.push(other),
        }
    }
    out.extend_from_slice(rest);
}

fn hex_byte(digits: &[u8; 2]) -> Option<u8> {
    let high = char::from(digits[0]).to_digit(16)?;
    let low = char::from(digits[1]).to_digit(16)?;
    Some((high * 16 + low) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, subject: &str, template: &str, all: bool) -> String {
        let mut out = Vec::new();
        let regex = Regex::new(pattern, false).expect("a valid expression");
        regex.replace(subject.as_bytes(), template.as_bytes(), all, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn replaces_first_or_all() {
        assert_eq!(replaced("/+", "/////a///b/c/xzxyz/", "/", true), "/a/b/c/xzxyz/");
        assert_eq!(replaced("a", "banana", "o", false), "bonana");
        assert_eq!(replaced("(foo|bar)([0-9]+)?", "xbar12y", r"\2\1", false), "x12bary");
        assert_eq!(replaced("x*", "ab", "-", true), "-a-b-");
        assert_eq!(replaced("x*", "", "-", true), "-");
        assert_eq!(replaced("X*", "aXb", "-", true), "-a--b-");
        assert_eq!(replaced("c*", "abc", "-", true), "-a-b--");
        assert_eq!(replaced("c$", "abc", "-", true), "ab-");
        assert_eq!(replaced("$", "abc", "X", true), "abcXX");
        assert_eq!(replaced("^", "abc", "X", true), "Xabc");
        assert_eq!(replaced("z", "ab", "-", true), "ab");
    }

    #[test]
    fn errors_are_pcre2s() {
        let error = Regex::new("(", false).expect_err("unclosed");
        assert_eq!(error, "regex '(' is invalid (error=missing closing parenthesis, erroffset=1)");
    }
}
