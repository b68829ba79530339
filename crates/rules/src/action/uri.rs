//! Actions that edit the request line.

use super::header::{expand, format, regex, with_value};
use super::host::follow_target;
use super::{Action, Input, Outcome};
use crate::context::Context;
use htx::Head;
use htx::target::Target;
use sample::logformat::percent_encode;
use sample::regex::Regex;
use sample::{LogFormat, ParseError, Side};

/// The part of the request line that an action edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Method,
    Uri,
    Path,
    PathAndQuery,
    Query,
}

/// A compiled edit.
#[derive(Debug)]
pub struct UriEdit {
    part: Part,
    /// The part must match, and the format names its groups.
    regex: Option<Regex>,
    format: LogFormat,
}

impl UriEdit {
    pub(super) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        with_value(&self.format, cx, |value, cx| {
            let room = cx.rewrite_room(Side::Request);
            let Some(head) = cx.head_mut(Side::Request) else { return Outcome::Next };
            let Some(regex) = &self.regex else { return apply(self.part, value, room, head) };
            let mut expanded = Vec::new();
            let Some(subject) = self.part.of(head) else { return Outcome::Next };
            if !expand(regex, subject, value, &mut expanded) {
                return Outcome::Next;
            }
            percent_encode(0, &mut expanded);
            apply(self.part, &expanded, room, head)
        })
    }
}

/// Replaces a part of the request line.
pub(super) fn apply<'r>(part: Part, value: &[u8], room: usize, head: &mut Head) -> Outcome<'r> {
    if part == Part::Method {
        if value.len().saturating_sub(head.method().len()) > room {
            return Outcome::NoRoom;
        }
        head.set_method(value);
        return Outcome::Next;
    }
    let uri = part.replaced(head, value);
    if uri.len().saturating_sub(head.uri().len()) > room {
        return Outcome::NoRoom;
    }
    head.set_uri(&uri);
    if part == Part::Uri {
        follow_target(head);
    }
    Outcome::Next
}

/// The target in three pieces: scheme and authority, path, query with its question mark. A target
/// without a path, such as `*`, is the first piece.
fn pieces(head: &Head) -> (&[u8], &[u8], &[u8]) {
    let uri = head.uri();
    let path_and_query = head.target().path_and_query().unwrap_or_default();
    let (origin, rest) = uri.split_at(uri.len().saturating_sub(path_and_query.len()));
    let mark = rest.iter().position(|byte| *byte == b'?').unwrap_or(rest.len());
    let (path, query) = rest.split_at(mark);
    (origin, path, query)
}

/// The target with another path.
fn with_path(head: &Head, path: &[u8], query: &[u8]) -> Vec<u8> {
    let (origin, ..) = pieces(head);
    match head.target() {
        // As HAProxy was seen to do.
        Target::Authority(_) | Target::Asterisk if !path.is_empty() => [path, query].concat(),
        // A path behind an authority has a slash (RFC 3986 section 3.3), or it would be a part of
        // it.
        Target::Absolute { .. } if !matches!(path, [] | [b'/' | b'?', ..]) => {
            [origin, b"/", path, query].concat()
        }
        _ => [origin, path, query].concat(),
    }
}

impl Part {
    /// The part of the target that the regex searches; `None` where the target has no path.
    fn of(self, head: &Head) -> Option<&[u8]> {
        let (origin, path, query) = pieces(head);
        let uri = head.uri();
        match self {
            Part::Path | Part::PathAndQuery if path.is_empty() => None,
            Part::Method => Some(head.method()),
            Part::Uri => Some(uri),
            Part::Path => Some(path),
            Part::PathAndQuery => Some(&uri[origin.len()..]),
            Part::Query => Some(query.strip_prefix(b"?").unwrap_or(query)),
        }
    }

    fn replaced(self, head: &Head, value: &[u8]) -> Vec<u8> {
        let (origin, path, query) = pieces(head);
        match self {
            Part::Method | Part::Uri => value.to_vec(),
            Part::Path => with_path(head, value, query),
            Part::PathAndQuery => with_path(head, value, b""),
            // A question mark stays, also in front of nothing.
            Part::Query if value.is_empty() && query.is_empty() => [origin, path].concat(),
            Part::Query => [origin, path, b"?", value].concat(),
        }
    }
}

fn set(part: Part, input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    let format = format(input, "expects exactly 1 argument <format>")?;
    Ok(Action::Uri(UriEdit { part, regex: None, format }))
}

fn replace(part: Part, input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    const EXPECTED: &str = "expects exactly 2 arguments <match-regex> and <replace-format>";
    let regex = regex(input, EXPECTED)?;
    let format = format(input, EXPECTED)?;
    Ok(Action::Uri(UriEdit { part, regex: Some(regex), format }))
}

pub(super) fn set_method(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    set(Part::Method, input)
}

pub(super) fn set_uri(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    set(Part::Uri, input)
}

pub(super) fn set_path(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    set(Part::Path, input)
}

pub(super) fn set_pathq(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    set(Part::PathAndQuery, input)
}

pub(super) fn set_query(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    set(Part::Query, input)
}

pub(super) fn replace_uri(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    replace(Part::Uri, input)
}

pub(super) fn replace_path(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    replace(Part::Path, input)
}

pub(super) fn replace_pathq(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    replace(Part::PathAndQuery, input)
}
