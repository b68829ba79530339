//! Regular expressions with PCRE2 semantics, as HAProxy builds have them.
//!
//! A search that may take long is counted, and given up when its message has used all steps that it
//! may use ([`effort`]). Such a search counts as no match; a caller that decides on access must
//! check whether the search was given up.

use ffi::Counted;
use shape::Shape;
use std::cell::RefCell;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub mod effort;
mod shape;

/// A compiled expression.
pub struct Regex {
    inner: pcre2::bytes::Regex,
    text: String,
    ignore_case: bool,
    shape: Shape,
    /// The same with counted steps, compiled when it is first needed.
    counted: OnceLock<Option<Counted>>,
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Regex({:?})", self.text)
    }
}

/// Groups that a replacement may name, `\0` to `\9`.
const GROUPS: usize = 10;
/// The spans of groups.
type Groups = [Option<(usize, usize)>; GROUPS];

/// Patterns of a configuration that are tried for [`catastrophic`]: of more, a warning says enough.
const TRIED: usize = 1_000;
/// Steps that a subject of some 50 bytes may take.
const PATIENCE: u64 = 200_000;
/// The library's errors for searches that have exceeded one of its limits (pcre2api(3)): stack of
/// the just-in-time code, groups entered, recursion, depth, heap.
const LIMITS: [i32; 5] = [-46, -47, -52, -53, -63];

thread_local! {
    /// Patterns that were compiled on this thread and may take long, and how many were tried.
    static CATASTROPHIC: RefCell<(Vec<String>, usize)> = const { RefCell::new((Vec::new(), 0)) };
}

/// The patterns compiled on this thread since the last call that a short subject can occupy for
/// long: for warnings.
pub fn take_catastrophic() -> Vec<String> {
    CATASTROPHIC.with_borrow_mut(|(found, _)| std::mem::take(found))
}

/// The version of the library, such as `10.46`.
pub fn version() -> String {
    let (major, minor) = pcre2::version();
    format!("{major}.{minor}")
}

/// Whether an expression has been compiled.
static COMPILED: AtomicBool = AtomicBool::new(false);

/// Whether expressions are in use that the system forbids to compile to machine code, such as by
/// `MemoryDenyWriteExecute` of systemd: they are matched several times slower then.
pub fn jit_is_forbidden() -> bool {
    COMPILED.load(Ordering::Relaxed)
        && pcre2::is_jit_available()
        && pcre2::bytes::RegexBuilder::new().jit(true).build("a").is_err()
}

/// A regular expression that does not compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegexError {
    /// The expression as written.
    pub pattern: String,
    /// The library's message.
    pub message: String,
    /// The offset of the error in the expression, in bytes.
    pub offset: usize,
}

impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, message, offset } = self;
        write!(f, "regex '{pattern}' is invalid (error={message}, erroffset={offset})")
    }
}

impl std::error::Error for RegexError {}

impl Regex {
    /// Compiles `pattern`; just-in-time code is used where the machine allows it.
    pub fn new(pattern: &str, ignore_case: bool) -> Result<Regex, RegexError> {
        COMPILED.store(true, Ordering::Relaxed);
        let limit = format!("(*LIMIT_MATCH={})", shape::GROUPS);
        pcre2::bytes::RegexBuilder::new()
            .jit_if_available(true)
            .caseless(ignore_case)
            .build(&format!("{limit}{pattern}"))
            .map(|inner| {
                let (text, shape) = (pattern.to_owned(), Shape::of(pattern));
                let regex = Regex { inner, text, ignore_case, shape, counted: OnceLock::new() };
                regex.note_catastrophic();
                regex
            })
            .map_err(|error| {
                let offset = error.offset().unwrap_or(0).saturating_sub(limit.len());
                let full = error.to_string();
                let message = full.rsplit_once(": ").map_or(&*full, |(_, message)| message);
                let (pattern, message) = (pattern.to_owned(), message.to_owned());
                RegexError { pattern, message, offset }
            })
    }

    /// Compiles `pattern`, whose bytes need not be text.
    pub fn from_bytes(pattern: &[u8], ignore_case: bool) -> Result<Regex, RegexError> {
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
        if self.shape.is_simple(subject.len()) {
            match self.inner.is_match(subject) {
                Ok(matches) => return matches,
                Err(error) if !LIMITS.contains(&error.code()) => return false,
                Err(_) => {}
            }
        }
        self.search(subject, 0, &mut [None])
    }

    /// A search that counts its steps.
    fn search(&self, subject: &[u8], start: usize, groups: &mut [Option<(usize, usize)>]) -> bool {
        let counted = self.counted.get_or_init(|| Counted::new(&self.text, self.ignore_case));
        let before = effort::left();
        let mut left = before;
        let result = match counted {
            Some(counted) if left > 0 => counted.search(subject, start, groups, &mut left),
            _ => Err(ffi::GivenUp),
        };
        effort::charge(before - left, result.is_err());
        result.unwrap_or(false)
    }

    /// Tries short subjects, if the pattern may take long for any.
    fn note_catastrophic(&self) {
        if !self.shape.may_loop() || CATASTROPHIC.with_borrow(|(_, tried)| *tried >= TRIED) {
            return;
        }
        let subjects = shape::probes(&self.text);
        let takes_long = |subject: &Vec<u8>| {
            let counted = self.counted.get_or_init(|| Counted::new(&self.text, self.ignore_case));
            let mut steps = PATIENCE;
            let search = |it: &Counted| it.search(subject, 0, &mut [None], &mut steps).is_err();
            counted.as_ref().is_some_and(search)
        };
        let found = subjects.iter().any(takes_long);
        CATASTROPHIC.with_borrow_mut(|(known, tried)| {
            *tried += 1;
            known.extend(found.then(|| self.text.clone()));
        });
    }

    /// The first match at or after `start`, as spans of the groups.
    fn groups(&self, subject: &[u8], start: usize) -> Option<Groups> {
        let mut groups = [None; GROUPS];
        if !self.shape.is_simple(subject.len()) {
            return self.search(subject, start, &mut groups).then_some(groups);
        }
        let mut locations = self.inner.capture_locations();
        match self.inner.captures_read_at(&mut locations, subject, start) {
            Ok(found) => drop(found?),
            Err(error) if !LIMITS.contains(&error.code()) => return None,
            Err(_) => return self.search(subject, start, &mut groups).then_some(groups),
        }
        for (i, group) in groups.iter_mut().enumerate().take(locations.len()) {
            *group = locations.get(i);
        }
        Some(groups)
    }

    /// The spans of the first match and of its groups up to the last one that took part.
    pub fn spans(&self, subject: &[u8]) -> Option<Vec<Option<(usize, usize)>>> {
        let groups = self.groups(subject, 0)?;
        let last = groups.iter().rposition(Option::is_some)?;
        Some(groups[..=last].to_vec())
    }

    /// The first match in `subject` and its first two captures, as spans. The first span is that of
    /// the whole match.
    pub fn first_captures(&self, subject: &[u8]) -> Option<[Option<(usize, usize)>; 3]> {
        let groups = self.groups(subject, 0)?;
        Some([groups[0], groups[1], groups[2]])
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
            // `\K` may have the match begin behind its end; the library calls that an error.
            let Some((from, to)) = groups[0].filter(|(from, _)| *from >= at) else { break };
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
fn expand_into(subject: &[u8], groups: &Groups, template: &[u8], out: &mut Vec<u8>) {
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
    fn a_search_that_is_given_up_is_noted_and_costs_a_bounded_time() {
        let regex = Regex::new("^(a+)+$", false).expect("a valid expression");
        effort::open(1);
        assert!(regex.is_match(b"aaaa") && !effort::is_exhausted());
        for _ in 0..1_000 {
            assert!(!regex.is_match(&[&[b'a'; 40][..], b"!"].concat()));
        }
        assert!(effort::is_exhausted() && effort::left() == 0);
        effort::close(1);
        effort::open(2);
        assert!(regex.is_match(b"aaaa") && !effort::is_exhausted());
        let stacked = Regex::new("^(a|b)*[yz]", false).expect("a valid expression");
        assert!(stacked.is_match(("ab".repeat(8_000) + "z").as_bytes()), "the stack is not enough");
        let twice = Regex::new("(a+)+b", false).expect("a valid expression");
        let mut out = Vec::new();
        twice.replace(&[b'a'; 3_000], b"x", true, &mut out);
        assert!(effort::is_exhausted() || out == [b'a'; 3_000]);
        effort::close(2);
    }

    #[test]
    fn patterns_that_backtrack_catastrophically_are_reported() {
        let told = |pattern: &str| {
            Regex::new(pattern, false).expect("a valid expression");
            !take_catastrophic().is_empty()
        };
        for pattern in [
            "(a+)+$",
            "^/x/([a-z]+)*$",
            "^(a|aa)+$",
            "^(\\w+\\s?)+$",
            "^(([a-z])+.)+[A-Z]([a-z])+$",
            "(?:x(?:[0-9]+)*y?)+z",
        ] {
            assert!(told(pattern), "{pattern}");
        }
        for pattern in [
            "^/api/v[0-9]+/",
            "^([a-z0-9-]+\\.)*example\\.com$",
            "^(?:[^\"]|\\\\.)*$",
            "foo.*bar.*baz",
            "^(/[^/]+)+/x$",
            "(\\.jpe?g|\\.png)+$",
        ] {
            assert!(!told(pattern), "{pattern}");
        }
    }

    #[test]
    fn errors_are_pcre2s() {
        let error = Regex::new("(", false).expect_err("unclosed");
        assert_eq!(
            error.to_string(),
            "regex '(' is invalid (error=missing closing parenthesis, erroffset=1)"
        );
    }
}
