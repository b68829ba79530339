//! Lua patterns (reference manual of Lua 5.4, section 6.4.1), matched within a number of steps.
//!
//! The matcher of the interpreter's own library cannot be interrupted, and a pattern with several
//! repetitions takes a power of the subject's length: a header field would occupy the thread.

/// The most captures of a pattern.
const CAPTURES: usize = 32;
/// The most items of a pattern that wait for the rest of it.
const DEPTH: usize = 200;
const ESCAPE: u8 = b'%';

/// A pattern that cannot be used, or cannot be matched within its steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PatternError {
    /// The pattern is malformed; the text is that of the reference interpreter.
    Malformed(String),
    /// The steps were not enough.
    OutOfSteps,
}

fn malformed<T>(text: &str) -> Result<T, PatternError> {
    Err(PatternError::Malformed(text.to_owned()))
}

/// The extent of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// Its end is not found yet.
    Open,
    /// The position alone: `()`.
    Position,
    /// So many bytes.
    Length(usize),
}

#[derive(Clone, Copy, Debug)]
struct CaptureStart {
    start: usize,
    extent: Extent,
}

/// A captured part of the subject.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Captured {
    /// Bytes from here to there.
    Text(usize, usize),
    /// A position, from 1.
    Position(usize),
}

/// A match of one pattern against one subject.
#[derive(Debug)]
pub(crate) struct Matcher<'m> {
    subject: &'m [u8],
    pattern: &'m [u8],
    captures: [CaptureStart; CAPTURES],
    level: usize,
    depth: usize,
    /// Steps taken, and the limit.
    pub(crate) steps: u64,
    limit: u64,
}

impl<'m> Matcher<'m> {
    /// A matcher that gives up after `limit` steps.
    pub(crate) fn new(subject: &'m [u8], pattern: &'m [u8], limit: u64) -> Matcher<'m> {
        let none = CaptureStart { start: 0, extent: Extent::Open };
        let captures = [none; CAPTURES];
        Matcher { subject, pattern, captures, level: 0, depth: 0, steps: 0, limit }
    }

    /// The end of the match at this place of the subject, if there is one.
    pub(crate) fn at(&mut self, place: usize) -> Result<Option<usize>, PatternError> {
        (self.level, self.depth) = (0, 0);
        self.rest(place, 0)
    }

    /// The number of captures of the last match.
    pub(crate) fn captures(&self) -> usize {
        self.level
    }

    /// A capture of the last match, from 0; without any, the first one is the whole match.
    pub(crate) fn capture(
        &self,
        index: usize,
        whole: (usize, usize),
    ) -> Result<Captured, PatternError> {
        if index >= self.level {
            return match index {
                0 => Ok(Captured::Text(whole.0, whole.1)),
                _ => malformed(&format!("invalid capture index %{}", index + 1)),
            };
        }
        let CaptureStart { start, extent } = self.captures[index];
        match extent {
            Extent::Open => malformed("unfinished capture"),
            Extent::Position => Ok(Captured::Position(start + 1)),
            Extent::Length(length) => Ok(Captured::Text(start, start + length)),
        }
    }

    fn step(&mut self) -> Result<(), PatternError> {
        self.steps += 1;
        if self.steps > self.limit { Err(PatternError::OutOfSteps) } else { Ok(()) }
    }

    /// Matches the rest of the pattern.
    fn rest(&mut self, s: usize, p: usize) -> Result<Option<usize>, PatternError> {
        if self.depth == DEPTH {
            return malformed("pattern too complex");
        }
        self.depth += 1;
        let found = self.items(s, p);
        self.depth -= 1;
        found
    }

    fn items(&mut self, mut s: usize, mut p: usize) -> Result<Option<usize>, PatternError> {
        loop {
            self.step()?;
            let Some(first) = self.pattern.get(p) else { return Ok(Some(s)) };
            match (*first, self.pattern.get(p + 1)) {
                (b'(', Some(b')')) => return self.open(s, p + 2, Extent::Position),
                (b'(', _) => return self.open(s, p + 1, Extent::Open),
                (b')', _) => return self.close(s, p + 1),
                (b'$', None) => return Ok((s == self.subject.len()).then_some(s)),
                (ESCAPE, Some(b'b')) => {
                    let Some(end) = self.balance(s, p + 2)? else { return Ok(None) };
                    (s, p) = (end, p + 4);
                }
                (ESCAPE, Some(b'f')) => {
                    let Some(end) = self.frontier(s, p + 2)? else { return Ok(None) };
                    p = end;
                }
                (ESCAPE, Some(digit @ b'0'..=b'9')) => {
                    let Some(end) = self.back_reference(s, *digit)? else { return Ok(None) };
                    (s, p) = (end, p + 2);
                }
                _ => {
                    let end = self.class_end(p)?;
                    let once = self.single(s, p, end);
                    match self.pattern.get(end) {
                        Some(b'?') => {
                            if once && let Some(found) = self.rest(s + 1, end + 1)? {
                                return Ok(Some(found));
                            }
                            p = end + 1;
                        }
                        Some(b'+') if !once => return Ok(None),
                        Some(b'+') => return self.most(s + 1, p, end),
                        Some(b'*') => return self.most(s, p, end),
                        Some(b'-') => return self.fewest(s, p, end),
                        _ if !once => return Ok(None),
                        _ => (s, p) = (s + 1, end),
                    }
                }
            }
        }
    }

    /// As many repetitions as the rest allows.
    fn most(&mut self, s: usize, p: usize, end: usize) -> Result<Option<usize>, PatternError> {
        let mut count = 0;
        while self.single(s + count, p, end) {
            self.step()?;
            count += 1;
        }
        loop {
            if let Some(found) = self.rest(s + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    /// As few repetitions as the rest allows.
    fn fewest(
        &mut self,
        mut s: usize,
        p: usize,
        end: usize,
    ) -> Result<Option<usize>, PatternError> {
        loop {
            if let Some(found) = self.rest(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.single(s, p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, extent: Extent) -> Result<Option<usize>, PatternError> {
        if self.level == CAPTURES {
            return malformed("too many captures");
        }
        self.captures[self.level] = CaptureStart { start: s, extent };
        self.level += 1;
        let found = self.rest(s, p)?;
        if found.is_none() {
            self.level -= 1;
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Result<Option<usize>, PatternError> {
        let open = self.captures[..self.level].iter().rposition(|own| own.extent == Extent::Open);
        let Some(index) = open else { return malformed("invalid pattern capture") };
        self.captures[index].extent = Extent::Length(s - self.captures[index].start);
        let found = self.rest(s, p)?;
        if found.is_none() {
            self.captures[index].extent = Extent::Open;
        }
        Ok(found)
    }

    /// `%bxy`
    fn balance(&mut self, s: usize, p: usize) -> Result<Option<usize>, PatternError> {
        let (Some(open), Some(close)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return malformed("malformed pattern (missing arguments to '%b')");
        };
        if self.subject.get(s) != Some(open) {
            return Ok(None);
        }
        let mut depth = 1;
        for at in s + 1..self.subject.len() {
            self.step()?;
            let byte = self.subject[at];
            if byte == *close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == *open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`: the end of the item where the set begins to hold.
    fn frontier(&self, s: usize, p: usize) -> Result<Option<usize>, PatternError> {
        if self.pattern.get(p) != Some(&b'[') {
            return malformed("missing '[' after '%f' in pattern");
        }
        let end = self.class_end(p)?;
        let before = s.checked_sub(1).map_or(0, |at| self.subject[at]);
        let here = self.subject.get(s).copied().unwrap_or(0);
        let begins = !self.in_set(before, p, end - 1) && self.in_set(here, p, end - 1);
        Ok(begins.then_some(end))
    }

    /// `%1` to `%9`
    fn back_reference(&mut self, s: usize, digit: u8) -> Result<Option<usize>, PatternError> {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let capture = self.captures[..self.level].get(index);
        let Some(CaptureStart { start, extent: Extent::Length(length) }) = capture.copied() else {
            let shown = index.wrapping_add(1);
            return malformed(&format!("invalid capture index %{shown}"));
        };
        self.steps += length as u64;
        let captured = &self.subject[start..start + length];
        Ok(self.subject[s..].starts_with(captured).then_some(s + length))
    }

    /// The end of the single character class that begins here.
    fn class_end(&self, p: usize) -> Result<usize, PatternError> {
        match self.pattern[p] {
            ESCAPE if p + 1 == self.pattern.len() => malformed("malformed pattern (ends with '%')"),
            ESCAPE => Ok(p + 2),
            b'[' => self.set_end(p + 1),
            _ => Ok(p + 1),
        }
    }

    fn set_end(&self, p: usize) -> Result<usize, PatternError> {
        let mut at = p + usize::from(self.pattern.get(p) == Some(&b'^'));
        // The first character of a set is one of it, even if it is the bracket.
        loop {
            match self.pattern.get(at) {
                None => return malformed("malformed pattern (missing ']')"),
                Some(&ESCAPE) if at + 1 < self.pattern.len() => at += 2,
                Some(_) => at += 1,
            }
            if self.pattern.get(at) == Some(&b']') {
                return Ok(at + 1);
            }
        }
    }

    fn single(&self, s: usize, p: usize, end: usize) -> bool {
        let Some(byte) = self.subject.get(s) else { return false };
        match self.pattern[p] {
            b'.' => true,
            ESCAPE => in_class(*byte, self.pattern[p + 1]),
            b'[' => self.in_set(*byte, p, end - 1),
            own => own == *byte,
        }
    }

    /// Whether a byte is in the set between this bracket and that one.
    fn in_set(&self, byte: u8, open: usize, close: usize) -> bool {
        let negated = self.pattern.get(open + 1) == Some(&b'^');
        let mut at = open + 1 + usize::from(negated);
        while at < close {
            let range = self.pattern.get(at + 1) == Some(&b'-') && at + 2 < close;
            let (hit, length) = match self.pattern[at] {
                ESCAPE if at + 1 < close => (in_class(byte, self.pattern[at + 1]), 2),
                low if range => ((low..=self.pattern[at + 2]).contains(&byte), 3),
                own => (own == byte, 1),
            };
            if hit {
                return !negated;
            }
            at += length;
        }
        negated
    }
}

/// Whether a byte is in the class of this letter; other characters stand for themselves.
fn in_class(byte: u8, class: u8) -> bool {
    let inside = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'g' => byte.is_ascii_graphic(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, 9..=13 | b' '),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        _ => return class == byte,
    };
    inside != class.is_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(subject: &str, pattern: &str) -> Option<Vec<String>> {
        let anchored = pattern.strip_prefix('^');
        let last = if anchored.is_some() { 0 } else { subject.len() };
        let pattern = anchored.unwrap_or(pattern).as_bytes();
        let mut matcher = Matcher::new(subject.as_bytes(), pattern, 1_000_000);
        for start in 0..=last {
            if let Some(end) = matcher.at(start).expect("a good pattern") {
                let count = matcher.captures().max(1);
                let text = |index| match matcher.capture(index, (start, end)).expect("closed") {
                    Captured::Text(from, to) => subject[from..to].to_owned(),
                    Captured::Position(place) => format!("@{place}"),
                };
                return Some((0..count).map(text).collect());
            }
        }
        None
    }

    #[test]
    fn patterns_match_as_the_manual_says() {
        for (subject, pattern, expected) in [
            ("hello world", "o w", Some("o w")),
            ("key = value", "(%w+)%s*=%s*(%w+)", Some("key|value")),
            ("  trim  ", "^%s*(.-)%s*$", Some("trim")),
            ("aXb", "%u", Some("X")),
            ("THE (quick) fox", "%((%a+)%)", Some("quick")),
            ("f(a(b)c)d", "%b()", Some("(a(b)c)")),
            ("THE (quick) fox", "%f[%a]%a+%f[%A]", Some("THE")),
            ("a]b", "[]]", Some("]")),
            ("a-b", "[a%-]+", Some("a-")),
            ("x^y", "[%^x]+", Some("x^")),
            ("abc", "[^a-b]", Some("c")),
            ("\"quoted\" 'x'", "([\"'])(.-)%1", Some("\"|quoted")),
            ("hello", "()ll()", Some("@3|@5")),
            ("abab", "a?b?a?b?$", Some("abab")),
            ("price$", "e$$", Some("e$")),
            ("a.b", "%.", Some(".")),
            ("abc", "x*", Some("")),
            ("abc", "d", None),
            ("aaa", "^a-$", Some("aaa")),
        ] {
            let got = found(subject, pattern).map(|captures| captures.join("|"));
            assert_eq!(got.as_deref(), expected, "{subject} {pattern}");
        }
    }

    #[test]
    fn malformed_patterns_are_named_in_the_words_of_lua() {
        for (pattern, expected) in [
            ("%", "malformed pattern (ends with '%')"),
            ("[a", "malformed pattern (missing ']')"),
            ("[%", "malformed pattern (missing ']')"),
            ("%bx", "malformed pattern (missing arguments to '%b')"),
            ("%fa", "missing '[' after '%f' in pattern"),
            ("%1", "invalid capture index %1"),
            ("%0", "invalid capture index %0"),
            (")", "invalid pattern capture"),
        ] {
            let mut matcher = Matcher::new(b"aaa", pattern.as_bytes(), 1_000);
            let expected = PatternError::Malformed(expected.to_owned());
            assert_eq!(matcher.at(0), Err(expected), "{pattern}");
        }
        let mut matcher = Matcher::new(b"aaa", b"(a", 1_000);
        assert_eq!(matcher.at(0), Ok(Some(1)));
        assert!(matcher.capture(0, (0, 1)).is_err(), "unfinished");
        let deep = "a?".repeat(300);
        let mut matcher = Matcher::new(&[b'a'; 300], deep.as_bytes(), 1_000_000);
        assert!(matches!(matcher.at(0), Err(PatternError::Malformed(_))));
    }

    #[test]
    fn a_pattern_that_takes_too_long_is_given_up() {
        let subject = vec![b'a'; 5_000];
        let mut matcher = Matcher::new(&subject, b"a-a-a-b", 100_000);
        assert_eq!(matcher.at(0), Err(PatternError::OutOfSteps));
        assert!(matcher.steps <= 100_001, "{}", matcher.steps);
    }

    proptest! {
        #[test]
        fn arbitrary_patterns_never_panic(
            subject in proptest::collection::vec(any::<u8>(), 0..20),
            pattern in "[ab%()\\[\\]^$.*+?f0-9-]{0,12}",
        ) {
            let mut matcher = Matcher::new(&subject, pattern.as_bytes(), 10_000);
            for start in 0..=subject.len() {
                if let Ok(Some(end)) = matcher.at(start) {
                    assert!(end >= start && end <= subject.len());
                    let _ = matcher.capture(0, (start, end));
                }
            }
        }
    }
}
