//! A line cut into words: its arguments, and faults that point at a word.
use crate::diag::{Diagnostic, Place, Severity};
use crate::later;
use crate::lex::Word;
use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;
use stdx::leading_number;

/// One line of configuration, ready to be parsed.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) words: Vec<Word<'a>>,
    pub(crate) raw: &'a str,
    pub(crate) place: Place,
    /// Harmless oddities, reported as warnings if the line is read.
    notes: RefCell<Vec<Fault>>,
}

/// The result of a parser.
pub(crate) type Parsed<T = ()> = Result<T, Fault>;

/// A mistake in a line: what and at which word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
    /// The area that it waits for, where it is not implemented yet.
    pub(crate) area: Option<&'static str>,
    /// Word index in the line; beyond the last one means "something is missing at the end".
    word: usize,
    offset: usize,
}

impl Fault {
    pub(crate) fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    pub(crate) fn in_area(mut self, area: Option<&'static str>) -> Self {
        self.area = area;
        self
    }

    /// The fault with a context before its message.
    pub(crate) fn within(mut self, context: &str) -> Self {
        self.message = format!("{context} : {}", self.message);
        self
    }
}

impl<'a> Line<'a> {
    /// A line of these words.
    pub(crate) fn new(words: Vec<Word<'a>>, raw: &'a str, place: Place) -> Self {
        Self { words, raw, place, notes: RefCell::default() }
    }
}

impl Line<'_> {
    /// The oddities found so far, each once.
    pub(crate) fn notes(&self) -> Vec<Fault> {
        self.notes.take()
    }

    /// The words from the first one on.
    pub(crate) fn args(&self) -> Args<'_> {
        Args { line: self, first: 0 }
    }

    /// A diagnostic for a fault in this line.
    pub(crate) fn diagnostic(&self, severity: Severity, fault: Fault) -> Diagnostic {
        let (start, end) = match self.words.get(fault.word) {
            Some(word) => word.span_from(fault.offset),
            None => self.words.last().map_or((0, 1), |last| (last.end, last.end + 1)),
        };
        Diagnostic {
            severity,
            place: Some(self.place.clone()),
            column: start as u32 + 1,
            len: (end.max(start + 1) - start) as u32,
            area: fault.area.or_else(|| crate::area::of_message(&fault.message)),
            message: later::explained(fault.message),
            suggestion: fault.suggestion,
            source: Some(self.raw.to_owned()),
        }
    }
}

/// A keyword and its arguments: a view on the words of a line from the keyword on. Argument 0 is
/// the keyword.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args<'l> {
    line: &'l Line<'l>,
    first: usize,
}

impl<'l> Args<'l> {
    /// The number of argument 0 among the words of the line.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// The same line seen from `n` words further.
    pub(crate) fn from(self, n: usize) -> Self {
        Self { first: self.first + n, ..self }
    }

    /// Argument `n`. An empty one ends the arguments, as in HAProxy, so it reads as absent.
    pub(crate) fn get(self, n: usize) -> Option<&'l str> {
        let word = self.line.words.get(self.first + n)?;
        (!word.text.is_empty()).then_some(&*word.text)
    }

    /// Argument `n`, or nothing.
    pub(crate) fn text(self, n: usize) -> &'l str {
        self.get(n).unwrap_or("")
    }

    /// The number that argument `n` begins with, as C's `atol` reads it; other text is ignored with
    /// a warning. `None` if it is absent or does not fit.
    pub(crate) fn leading<T: FromStr>(self, n: usize) -> Option<T> {
        let (number, odd) = leading_number::number(self.get(n)?)?;
        if let Some(odd) = odd {
            self.note(n, format!("'{}' : {odd}", self.text(n.saturating_sub(1))));
        }
        Some(number)
    }

    /// A warning about argument `n`, unless the line is refused.
    pub(crate) fn note(self, n: usize, message: String) {
        let note = self.fault(n, message);
        let mut notes = self.line.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// The words behind argument `n`, the last that counts, are ignored as in HAProxy, which does
    /// not warn.
    pub(crate) fn ignores_behind(self, n: usize) {
        for (behind, word) in (n + 1..).map_while(|at| Some((at, self.get(at)?))) {
            let message =
                format!("'{word}' is ignored behind the last argument of '{}'", self.text(0));
            self.note(behind, message);
        }
    }

    /// The number at the start of argument `n`, as a C program stores it in an `int`: a number that
    /// does not fit is cut to its lowest bits, with a warning. `None` if the argument is absent.
    pub(crate) fn wrapped(self, n: usize) -> Option<i32> {
        let text = self.get(n)?;
        let (digits, _) = leading_number::split(text);
        let number = match digits.parse::<i64>() {
            Ok(number) => number,
            Err(_) if digits.is_empty() => return self.leading(n),
            Err(_) if digits.starts_with('-') => i64::MIN,
            Err(_) => i64::MAX,
        };
        match i32::try_from(number) {
            Ok(_) => self.leading(n),
            Err(_) => {
                let kept = number as i32;
                let name = self.text(n.saturating_sub(1));
                self.note(n, format!("'{name}' : '{text}' does not fit and is read as {kept}"));
                Some(kept)
            }
        }
    }

    /// Argument `n` even if empty.
    pub(crate) fn raw(self, n: usize) -> Option<&'l str> {
        self.line.words.get(self.first + n).map(|w| &*w.text)
    }

    /// Argument `n` with its spans, and the whole line.
    pub(crate) fn word(self, n: usize) -> Option<(&'l Word<'l>, &'l str)> {
        self.line.words.get(self.first + n).map(|word| (word, self.line.raw))
    }

    /// The first argument from `from` on that contains `text` as a whole name, and the offset in
    /// it; `from` itself if no argument does.
    pub(crate) fn find(self, from: usize, text: &str) -> (usize, usize) {
        let of_name = |b: &u8| b.is_ascii_alphanumeric() || b"_.-".contains(b);
        let found = |word: &str| {
            word.match_indices(text).map(|(at, _)| at).find(|at| {
                let (before, after) =
                    (&word.as_bytes()[..*at], &word.as_bytes()[at + text.len()..]);
                !before.last().is_some_and(of_name) && !after.first().is_some_and(of_name)
            })
        };
        let mut words = self.line.words.iter().enumerate().skip(self.first + from);
        let found = words.find_map(|(n, word)| Some((n - self.first, found(&word.text)?)));
        found.unwrap_or((from, 0))
    }

    /// A fault of the first empty argument that others follow: it would end the arguments, and hide
    /// them.
    pub(crate) fn empty_before_others(self) -> Option<Fault> {
        let words = &self.line.words[self.first..];
        let empty = words.iter().position(|word| word.text.is_empty())?;
        let hidden = words[empty..].iter().find(|word| !word.text.is_empty())?;
        let message = format!(
            "argument {empty} is empty and would hide '{}' and what follows (environment variable missing?)",
            hidden.text
        );
        Some(self.fault(empty, message))
    }

    /// How many words there are, keyword included, up to the first empty one.
    pub(crate) fn len(self) -> usize {
        (0..).take_while(|n| self.get(*n).is_some()).count()
    }

    /// All words from argument `n` on, up to the first empty one.
    pub(crate) fn texts(self, n: usize) -> Vec<&'l str> {
        (n..).map_while(|n| self.get(n)).collect()
    }

    /// All words from argument `n` on, empty ones too.
    pub(crate) fn all_texts(self, n: usize) -> Vec<&'l str> {
        self.line.words.iter().skip(self.first + n).map(|w| &*w.text).collect()
    }

    /// The place of the line.
    pub(crate) fn place(self) -> &'l Place {
        &self.line.place
    }

    /// A fault of argument `n`.
    pub(crate) fn fault(self, n: usize, message: impl fmt::Display) -> Fault {
        self.fault_at(n, 0, message)
    }

    /// A fault inside argument `n`, from byte `offset` of its text on.
    pub(crate) fn fault_at(self, n: usize, offset: usize, message: impl fmt::Display) -> Fault {
        Fault {
            message: message.to_string(),
            suggestion: None,
            area: None,
            word: self.first + n,
            offset,
        }
    }

    /// The line as a diagnostic for a fault.
    pub(crate) fn diagnostic(self, severity: Severity, fault: Fault) -> Diagnostic {
        self.line.diagnostic(severity, fault)
    }

    /// An error unless argument `n` is the first one too many.
    pub(crate) fn no_more_than(self, n: usize) -> Parsed {
        match self.get(n + 1) {
            None => Ok(()),
            Some(extra) => Err(self.fault(
                n + 1,
                format!("'{}' cannot handle unexpected argument '{extra}'.", self.text(0)),
            )),
        }
    }

    /// Argument `n`, or a fault with `message`.
    pub(crate) fn need(self, n: usize, message: impl fmt::Display) -> Parsed<&'l str> {
        self.get(n).ok_or_else(|| self.fault(n, message))
    }
}
