//! `normalize-uri`: rewriting of a target into one of its equivalent spellings (RFC 3986 section
//! 6.2.2).

use super::{Action, Input, Outcome};
use crate::context::Context;
use crate::verdict::Verdict;
use htx::Head;
use sample::{ParseError, Side};

/// One normalizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalizer {
    /// `fragment-encode`
    FragmentEncode,
    /// `fragment-strip`
    FragmentStrip,
    /// `path-merge-slashes`
    PathMergeSlashes,
    /// `path-strip-dot`
    PathStripDot,
    /// `path-strip-dotdot`, with `full`
    PathStripDotdot(bool),
    /// `percent-decode-unreserved`, with `strict`
    PercentDecodeUnreserved(bool),
    /// `percent-to-uppercase`, with `strict`
    PercentToUppercase(bool),
    /// `query-sort-by-name`
    QuerySortByName,
}

/// The name of a normalizer, its option if any, and its value with or without the option.
type Entry = (&'static str, Option<&'static str>, fn(bool) -> Normalizer);

const TABLE: &[Entry] = &[
    ("fragment-encode", None, |_| Normalizer::FragmentEncode),
    ("fragment-strip", None, |_| Normalizer::FragmentStrip),
    ("path-merge-slashes", None, |_| Normalizer::PathMergeSlashes),
    ("path-strip-dot", None, |_| Normalizer::PathStripDot),
    ("path-strip-dotdot", Some("full"), Normalizer::PathStripDotdot),
    ("percent-decode-unreserved", Some("strict"), Normalizer::PercentDecodeUnreserved),
    ("percent-to-uppercase", Some("strict"), Normalizer::PercentToUppercase),
    ("query-sort-by-name", None, |_| Normalizer::QuerySortByName),
];

impl Normalizer {
    /// Whether it handles fragments, so that targets with a fragment are accepted.
    pub fn treats_fragments(&self) -> bool {
        matches!(self, Normalizer::FragmentEncode | Normalizer::FragmentStrip)
    }

    pub(super) fn run<'r>(self, cx: &mut dyn Context) -> Outcome<'r> {
        let room = cx.rewrite_room(Side::Request);
        let Some(head) = cx.head_mut(Side::Request) else { return Outcome::Next };
        match self.rewrite(head, room) {
            Rewrite::Done => Outcome::Next,
            Rewrite::NoRoom => Outcome::NoRoom,
            Rewrite::Invalid => Outcome::Final(Verdict::BadRequest),
        }
    }

    fn rewrite(self, head: &mut Head, room: usize) -> Rewrite {
        let old = head.uri();
        let Some(tail) = head.target().path_and_query() else { return Rewrite::Done };
        let origin = old.len() - tail.len().min(old.len());
        let Some(new) = self.apply(&old[origin..]) else { return Rewrite::Invalid };
        if new == old[origin..] {
            return Rewrite::Done;
        }
        let uri = [&old[..origin], &new].concat();
        if uri.len().saturating_sub(old.len()) > room {
            return Rewrite::NoRoom;
        }
        head.set_uri(&uri);
        Rewrite::Done
    }

    /// The normalized text; `None` if `strict` is set and the text is invalid.
    fn apply(self, text: &[u8]) -> Option<Vec<u8>> {
        let split = |at: u8| text.iter().position(|byte| *byte == at).unwrap_or(text.len());
        Some(match self {
            Normalizer::FragmentStrip => text[..split(b'#')].to_vec(),
            Normalizer::FragmentEncode => {
                let (before, fragment) = text.split_at(split(b'#'));
                let mut out = before.to_vec();
                for byte in fragment {
                    match byte {
                        b'#' => out.extend_from_slice(b"%23"),
                        byte => out.push(*byte),
                    }
                }
                out
            }
            Normalizer::PercentDecodeUnreserved(strict) => decode_unreserved(text, strict)?,
            Normalizer::PercentToUppercase(strict) => percent_to_uppercase(text, strict)?,
            Normalizer::QuerySortByName => {
                let (path, query) = text.split_at(split(b'?'));
                [path, &sort_query(query)].concat()
            }
            Normalizer::PathMergeSlashes => on_path(text, merge_slashes),
            Normalizer::PathStripDot => on_path(text, strip_dot),
            Normalizer::PathStripDotdot(full) => on_path(text, |path| strip_dotdot(path, full)),
        })
    }
}

/// The outcome of normalizing a target.
enum Rewrite {
    Done,
    NoRoom,
    Invalid,
}

/// A fragment belongs to the path, or to the query, as in HAProxy.
fn on_path(text: &[u8], change: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let end = text.iter().position(|byte| *byte == b'?').unwrap_or(text.len());
    [&change(&text[..end])[..], &text[end..]].concat()
}

fn hex(text: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| (*byte as char).to_digit(16));
    Some((digit(at)? * 16 + digit(at + 1)?) as u8)
}

fn decode_unreserved(text: &[u8], strict: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let decoded = if text[at] == b'%' { hex(text, at + 1) } else { None };
        match (text[at], decoded) {
            (b'%', Some(byte)) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(byte);
                at += 3;
                continue;
            }
            (b'%', None) if strict => return None,
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    Some(out)
}

fn percent_to_uppercase(text: &[u8], strict: bool) -> Option<Vec<u8>> {
    let mut out = text.to_vec();
    let mut at = 0;
    while at < out.len() {
        if out[at] != b'%' {
            at += 1;
        } else if hex(&out, at + 1).is_some() {
            out[at + 1..at + 3].make_ascii_uppercase();
            at += 3;
        } else if strict {
            return None;
        } else {
            at += 1;
        }
    }
    Some(out)
}

/// Parameters in order of their names; those of one name keep theirs. A `&` at the end begins no
/// parameter.
fn sort_query(query: &[u8]) -> Vec<u8> {
    let Some(rest) = query.strip_prefix(b"?") else { return query.to_vec() };
    let rest = rest.strip_suffix(b"&").unwrap_or(rest);
    let mut parameters: Vec<&[u8]> = rest.split(|byte| *byte == b'&').collect();
    parameters.sort_by_key(|parameter| parameter.split(|byte| *byte == b'=').next());
    [b"?", &parameters.join(&b'&')[..]].concat()
}

fn merge_slashes(path: &[u8]) -> Vec<u8> {
    let mut out = path.to_vec();
    out.dedup_by(|a, b| *a == b'/' && *b == b'/');
    out
}

fn strip_dot(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<&[u8]> = Vec::new();
    let mut segments = path.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        match (segment == b".", segments.peek()) {
            (true, Some(_)) => {}
            // The slash before the last dot stays.
            (true, None) => out.push(b""),
            (false, _) => out.push(segment),
        }
    }
    out.join(&b'/')
}

/// Merges `..` with the segment before it; a `..` that would leave the root stays, unless `full`. A
/// target that ends in `..` gets a slash behind it.
fn strip_dotdot(path: &[u8], full: bool) -> Vec<u8> {
    let Some(rest) = path.strip_prefix(b"/") else { return path.to_vec() };
    let mut out: Vec<&[u8]> = Vec::new();
    let mut segments = rest.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        if segment != b".." {
            out.push(segment);
            continue;
        }
        match out.last() {
            Some(before) if *before != b".." => drop(out.pop()),
            _ if full => {}
            _ => out.push(segment),
        }
        if last {
            out.push(b"");
        }
    }
    [b"/", &out.join(&b'/')[..]].concat()
}

pub(super) fn parse(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let word = input.take("missing argument <normalizer>")?;
    let Some((_, option, make)) = TABLE.iter().find(|(name, _, _)| *name == word) else {
        let hint = sample::closest(word, TABLE.iter().map(|(name, _, _)| *name))
            .map_or_else(String::new, |found| format!(". Did you mean '{found}' ?"));
        return Err(input.fail(format!("unknown normalizer '{word}'{hint}")));
    };
    let given = option.is_some_and(|option| input.peek() == Some(option));
    input.at += usize::from(given);
    Ok(Action::Normalize(make(given)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(normalizer: Normalizer, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            let out = normalizer.apply(text.as_bytes());
            let out = out.map_or("400".into(), |out| String::from_utf8(out).expect("ASCII"));
            assert_eq!(out, *expected, "{normalizer:?} {text}");
        }
    }

    #[test]
    fn paths() {
        let slashes = [("//", "/"), ("/foo//bar?//", "/foo/bar?//"), ("/a//#//", "/a/#/")];
        check(Normalizer::PathMergeSlashes, &slashes);
        let dots = [
            ("/.", "/"),
            ("/./bar/", "/bar/"),
            ("/a/./a", "/a/a"),
            ("/.well-known/", "/.well-known/"),
            ("/a/./.", "/a/"),
        ];
        check(Normalizer::PathStripDot, &dots);
        let dotdot = [
            ("/foo/../", "/"),
            ("/foo/../bar/", "/bar/"),
            ("/foo/bar/../", "/foo/"),
            ("/../bar/", "/../bar/"),
            ("/bar/../../", "/../"),
            ("/foo//../", "/foo/"),
            ("/foo/%2E%2E/", "/foo/%2E%2E/"),
            ("/foo/..", "/"),
            ("/foo/bar/..", "/foo/"),
            ("/..", "/../"),
            ("/..?x", "/../?x"),
            ("/..#f", "/..#f"),
            ("/../a", "/../a"),
            ("/../..", "/../../"),
            ("/a/../..", "/../"),
            ("/a/../../..", "/../../"),
            ("/../a/..", "/../"),
            ("/../../a/../..", "/../../../"),
            ("//../..", "/../"),
            ("/.../..", "/"),
            ("/..a/..", "/"),
        ];
        check(Normalizer::PathStripDotdot(false), &dotdot);
        let full = [
            ("/../bar/", "/bar/"),
            ("/bar/../../", "/"),
            ("/..", "/"),
            ("/../..", "/"),
            ("/a/../..", "/"),
            ("/../a", "/a"),
        ];
        check(Normalizer::PathStripDotdot(true), &full);
    }

    #[test]
    fn percents_queries_and_fragments() {
        let decoded = [
            ("/%61dmin", "/admin"),
            ("/foo%3Fbar=baz", "/foo%3Fbar=baz"),
            ("/%%36%36", "/%66"),
            ("/%ZZ", "/%ZZ"),
        ];
        check(Normalizer::PercentDecodeUnreserved(false), &decoded);
        check(Normalizer::PercentDecodeUnreserved(true), &[("/%%36%36", "400"), ("/%5", "400")]);
        check(Normalizer::PercentToUppercase(false), &[("/%6f", "/%6F"), ("/%zz", "/%zz")]);
        check(Normalizer::PercentToUppercase(true), &[("/%zz", "400")]);
        let sorted = [
            ("/?c=3&a=1&b=2", "/?a=1&b=2&c=3"),
            ("/?aaa=3&a=1&aa=2", "/?a=1&aa=2&aaa=3"),
            ("/?a=3&b=4&a=1&b=5&a=2", "/?a=3&a=1&a=2&b=4&b=5"),
            ("/", "/"),
            ("/?", "/?"),
            ("/?&", "/?"),
            ("/?&&", "/?&"),
            ("/?a&", "/?a"),
            ("/?b=2&a=1&", "/?a=1&b=2"),
            ("/?&b&a&", "/?&a&b"),
            ("/?a=1&&b=2&", "/?&a=1&b=2"),
            ("/?b#c&a", "/?a&b#c"),
        ];
        check(Normalizer::QuerySortByName, &sorted);
        check(Normalizer::FragmentStrip, &[("/#foo", "/"), ("/a?b#c", "/a?b")]);
        check(Normalizer::FragmentEncode, &[("/#foo", "/%23foo"), ("/#a#b", "/%23a%23b")]);
    }
}
