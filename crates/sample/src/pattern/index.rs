//! The index of a layer of patterns, one shape per match method.

use super::Match;
use super::error::PatternError;
use super::nets::Nets;
use super::number::parse_range;
use super::table::Table;
use crate::encoding::from_hex;
use crate::regex::Regex;
use crate::value::Value;
use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem::Finder;
use std::sync::Arc;

/// A matching pattern: how specific it is (only trees compare that) and its number.
pub(super) type Hit = (usize, u32);

/// Substrings fewer than this are searched one by one.
const FEW: usize = 4;

/// Patterns in the shape that makes their method fast.
#[derive(Debug)]
pub(super) enum Index {
    /// `found`: patterns play no part.
    Found,
    /// `bool`: neither do they; how many there are (manual section 7.1.1).
    Truth(u32),
    /// `int`, `len`: closed ranges in order.
    Ranges { on_len: bool, ranges: Vec<(i64, i64)> },
    /// `ip`
    Nets(Nets),
    /// `str`, `bin`
    Exact { hex: bool, texts: Table },
    /// `beg`, `end`: texts by length, the longest first.
    Edges { at_end: bool, texts: Table, lengths: Vec<usize> },
    /// `sub`, `dir`, `dom`
    Parts(Parts),
    /// `reg`
    Regexes(Vec<Arc<Regex>>, bool),
}

impl Index {
    pub(super) fn new(method: Match, ignore_case: bool) -> Index {
        let ranges = |on_len| Index::Ranges { on_len, ranges: Vec::new() };
        let edges =
            |at_end| Index::Edges { at_end, texts: Table::new(ignore_case), lengths: Vec::new() };
        let parts = |delimiters| Index::Parts(Parts::new(delimiters, ignore_case));
        match method {
            Match::Found => Index::Found,
            Match::Bool => Index::Truth(0),
            Match::Int => ranges(false),
            Match::Len => ranges(true),
            Match::Ip => Index::Nets(Nets::default()),
            Match::Bin => Index::Exact { hex: true, texts: Table::new(false) },
            Match::Str => Index::Exact { hex: false, texts: Table::new(ignore_case) },
            Match::Beg => edges(false),
            Match::End => edges(true),
            Match::Sub => parts(b""),
            Match::Dir => parts(b"/?"),
            Match::Dom => parts(b"/?.:"),
            Match::Reg => Index::Regexes(Vec::new(), ignore_case),
        }
    }

    /// Makes room for `count` patterns before the first is added.
    pub(super) fn reserve(&mut self, count: usize) {
        if let Index::Exact { texts, .. } | Index::Edges { texts, .. } = self {
            texts.reserve(count);
        }
    }

    /// Adds a pattern with its number; numbers are given in rising order from 0.
    pub(super) fn push(&mut self, pattern: &[u8], number: u32) -> Result<(), PatternError> {
        let shown = || String::from_utf8_lossy(pattern);
        match self {
            Index::Found => {}
            Index::Truth(count) => *count += 1,
            Index::Ranges { ranges, .. } => ranges.push(parse_range(&shown())?),
            Index::Nets(nets) => nets.push(&shown(), number)?,
            Index::Exact { hex, texts } => {
                let bytes = if *hex {
                    from_hex(pattern).ok_or_else(|| PatternError::Hex(shown().into_owned()))?
                } else {
                    return texts.push(pattern, number).then_some(()).ok_or(PatternError::TooMany);
                };
                texts.push(&bytes, number).then_some(()).ok_or(PatternError::TooMany)?;
            }
            Index::Edges { texts, lengths, .. } => {
                texts.push(pattern, number).then_some(()).ok_or(PatternError::TooMany)?;
                if let Err(at) = lengths.binary_search_by(|len| pattern.len().cmp(len)) {
                    lengths.insert(at, pattern.len());
                }
            }
            Index::Parts(parts) => parts.push(pattern),
            Index::Regexes(regexes, ignore_case) => {
                regexes.push(Arc::new(Regex::from_bytes(pattern, *ignore_case)?));
            }
        }
        Ok(())
    }

    /// Prepares the parts of look-ups that need all patterns.
    pub(super) fn finish(&mut self) -> Result<(), PatternError> {
        match self {
            Index::Nets(nets) => nets.finish(),
            Index::Parts(parts) => parts.finish()?,
            _ => {}
        }
        Ok(())
    }

    /// Whether it compares how specific matches are: the longest wins, not the first.
    pub(super) fn is_tree(&self) -> bool {
        matches!(self, Index::Nets(_) | Index::Edges { at_end: false, .. })
    }

    /// The best living pattern that matches: the longest in a tree, else the first.
    pub(super) fn find(&self, value: &Value<'_>, alive: &dyn Fn(u32) -> bool) -> Option<Hit> {
        let first = |mut numbers: &mut dyn Iterator<Item = usize>| {
            (&mut numbers).map(|number| number as u32).find(|number| alive(*number))
        };
        let number = match self {
            Index::Found => Some(0),
            // A boolean is itself the result, whatever the pattern.
            Index::Truth(_) if value.to_int()? == 0 => None,
            Index::Truth(0) => Some(0),
            Index::Truth(count) => (0..*count).find(|number| alive(*number)),
            Index::Ranges { on_len, ranges } => {
                let int = if *on_len {
                    with_text(value, |text| text.len() as i64)?
                } else {
                    value.to_int()?
                };
                let around = |range: &(usize, &(i64, i64))| range.1.0 <= int && int <= range.1.1;
                first(&mut ranges.iter().enumerate().filter(around).map(|range| range.0))
            }
            Index::Nets(nets) => return nets.find(value.to_addr()?, alive),
            Index::Exact { hex: true, texts } => {
                texts.find(&value.clone().to_bin()?).find(|number| alive(*number))
            }
            Index::Exact { texts, .. } => {
                with_text(value, |text| texts.find(text).find(|number| alive(*number)))?
            }
            Index::Edges { at_end, texts, lengths } => {
                return with_text(value, |text| edge(text, *at_end, texts, lengths, alive))?;
            }
            Index::Parts(parts) => with_text(value, |text| parts.find(text, alive))?,
            Index::Regexes(regexes, _) => with_text(value, |text| {
                first(&mut regexes.iter().enumerate().filter(|r| r.1.is_match(text)).map(|r| r.0))
            })?,
        };
        number.map(|number| (0, number))
    }

    /// The expression of pattern `number`.
    pub(super) fn regex(&self, number: u32) -> Option<&Regex> {
        match self {
            Index::Regexes(regexes, _) => regexes.get(number as usize).map(|regex| &**regex),
            _ => None,
        }
    }

    /// All expressions, by number.
    pub(super) fn regexes(&self) -> Option<&[Arc<Regex>]> {
        match self {
            Index::Regexes(regexes, _) => Some(regexes),
            _ => None,
        }
    }

    /// Adds an expression that is compiled.
    pub(super) fn push_regex(&mut self, regex: Arc<Regex>) {
        if let Index::Regexes(regexes, _) = self {
            regexes.push(regex);
        }
    }
}

/// The text of `value`, without a copy when it is one already.
pub(super) fn with_text<T>(value: &Value<'_>, look: impl FnOnce(&[u8]) -> T) -> Option<T> {
    match value {
        Value::Str(bytes) | Value::Meth(bytes) => Some(look(bytes)),
        other => Some(look(&other.clone().to_str()?)),
    }
}

/// The longest beginning of `text`, or the first pattern that ends it.
fn edge(
    text: &[u8],
    at_end: bool,
    texts: &Table,
    lengths: &[usize],
    alive: &dyn Fn(u32) -> bool,
) -> Option<Hit> {
    let fitting = lengths.iter().copied().filter(|len| *len <= text.len());
    let mut hits = fitting.filter_map(|len| {
        let part = if at_end { &text[text.len() - len..] } else { &text[..len] };
        Some((len, texts.find(part).find(|number| alive(*number))?))
    });
    if at_end { hits.min_by_key(|hit| hit.1).map(|hit| (0, hit.1)) } else { hits.next() }
}

/// Texts searched inside of a sample, perhaps only between delimiters.
#[derive(Debug)]
pub(super) struct Parts {
    delimiters: &'static [u8],
    ignore_case: bool,
    /// The patterns without their outer delimiters.
    texts: Vec<Box<[u8]>>,
    search: Search,
}

#[derive(Debug)]
enum Search {
    /// Patterns that are compared one by one, in order.
    Each(Vec<Finder<'static>>),
    /// All at once.
    All(Box<AhoCorasick>),
}

impl Parts {
    fn new(delimiters: &'static [u8], ignore_case: bool) -> Parts {
        Parts { delimiters, ignore_case, texts: Vec::new(), search: Search::Each(Vec::new()) }
    }

    fn is_delimiter(&self, byte: u8) -> bool {
        self.delimiters.contains(&byte)
    }

    fn push(&mut self, pattern: &[u8]) {
        let inner = |byte: &u8| !self.is_delimiter(*byte);
        let from = pattern.iter().position(inner).unwrap_or(pattern.len());
        let to = pattern.iter().rposition(inner).map_or(from, |at| at + 1);
        self.texts.push(pattern[from..to].into());
    }

    fn finish(&mut self) -> Result<(), PatternError> {
        self.search = if self.texts.len() < FEW && !self.ignore_case {
            Search::Each(self.texts.iter().map(|text| Finder::new(text).into_owned()).collect())
        } else {
            let all = AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .ascii_case_insensitive(self.ignore_case)
                .build(&self.texts)
                .map_err(|error| PatternError::TooManyTexts(error.to_string()))?;
            Search::All(Box::new(all))
        };
        Ok(())
    }

    /// Whether a match at `from..to` counts: any does for `sub`, the other methods need a non-empty
    /// word between delimiters.
    fn counts(&self, text: &[u8], from: usize, to: usize) -> bool {
        let edge = |byte: Option<&u8>| byte.is_none_or(|byte| self.is_delimiter(*byte));
        let before = from.checked_sub(1).and_then(|at| text.get(at));
        self.delimiters.is_empty() || (from < to && edge(before) && edge(text.get(to)))
    }

    /// The first living pattern that `text` contains.
    fn find(&self, text: &[u8], alive: &dyn Fn(u32) -> bool) -> Option<u32> {
        match &self.search {
            Search::Each(finders) => finders.iter().zip(0..).find_map(|(finder, number)| {
                let len = finder.needle().len();
                let mut places = finder.find_iter_overlapping(text, len);
                (alive(number) && places.any(|at| self.counts(text, at, at + len)))
                    .then_some(number)
            }),
            Search::All(all) => all
                .find_overlapping_iter(text)
                .filter(|found| self.counts(text, found.start(), found.end()))
                .map(|found| found.pattern().as_u32())
                .filter(|number| alive(*number))
                .min(),
        }
    }
}

/// All places of a needle, overlapping ones too: only the second occurrence of `a/a` may be between
/// delimiters.
trait Overlapping {
    fn find_iter_overlapping<'t>(
        &'t self,
        text: &'t [u8],
        len: usize,
    ) -> impl Iterator<Item = usize> + 't;
}

impl Overlapping for Finder<'static> {
    fn find_iter_overlapping<'t>(
        &'t self,
        text: &'t [u8],
        len: usize,
    ) -> impl Iterator<Item = usize> + 't {
        let next = move |from: usize| Some(from + self.find(text.get(from..)?)?);
        std::iter::successors(next(0), move |at| if len == 0 { None } else { next(at + 1) })
    }
}
