//! Field lines (RFC 9112 section 5) of heads and trailers.

use htx::{Fields, HeaderId, ShortName};

use super::chars::{blank_len, crlf, is_blank, near_colon, token_len, trailing_blank_len};
use super::error::{Reason, SyntaxError};
use super::line::Line;
use super::{Limits, MAX_NAME};

/// Result of parsing one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// The empty line after the last field.
    End,
    /// A field or its continuation; `gap` bytes (blanks and line end) were dropped after it, which
    /// become spaces if a folded line follows.
    Field { gap: u16 },
}

/// The gap after a line parsed by [`usual`].
pub(super) const USUAL_GAP: u16 = 2;

/// Parses a complete field line at the front of `text` in its usual form: `name: value` CRLF, no
/// further blanks around the value, no control characters in it. Returns its length; `None` for any
/// other line, which [`parse`] handles, and `fields` is unchanged.
#[inline]
pub(super) fn usual(text: &[u8], fields: &mut Fields) -> Option<usize> {
    let name_len = near_colon(text)?;
    let value = text.get(name_len..)?.strip_prefix(b": ")?;
    let value_len = crlf(value)?;
    let (&first, &last) = (value.first()?, value.get(value_len.wrapping_sub(1))?);
    if is_blank(first) || is_blank(last) {
        return None;
    }
    let line = text.get(..name_len + 2 + value_len + 2)?;
    match ShortName::of_line(line, name_len) {
        Some(name) => fields.push_known_line(line, name),
        None if !(1..=MAX_NAME).contains(&name_len) => return None,
        None if token_len(line) != name_len => return None,
        None => fields.push_line(line, name_len),
    }
    Some(line.len())
}

/// Parses one complete line into `fields`. `gap` is the result of the previous line; `None` before
/// the first field.
pub(super) fn parse(
    input: &[u8],
    line: Line,
    gap: Option<u16>,
    limits: Limits,
    fields: &mut Fields,
) -> Result<Parsed, SyntaxError> {
    let text = line.text(input);
    match (text.first(), gap) {
        (None, _) => Ok(Parsed::End),
        (Some(&first), Some(gap)) if is_blank(first) => {
            no_nul(text, line.start, limits)?;
            if fields.last_id() == Some(HeaderId::Host) && !limits.lenient {
                return Err(Reason::FoldedHost.at(line.start));
            }
            Ok(fold(text, line, usize::from(gap), fields))
        }
        (Some(&first), None) if is_blank(first) && !limits.lenient => {
            Err(Reason::FoldWithoutField.at(line.start))
        }
        _ => field(input, line, limits, fields),
    }
}

fn field(
    input: &[u8],
    line: Line,
    limits: Limits,
    fields: &mut Fields,
) -> Result<Parsed, SyntaxError> {
    let text = line.text(input);
    let name_len =
        name(text, limits.lenient).map_err(|at| Reason::FieldName.at(line.start + at))?;
    let rest = &text[name_len + 1..];
    let value = &rest[blank_len(rest)..];
    no_nul(value, line.end - value.len(), limits)?;
    let trailing = trailing_blank_len(value);
    fields.push(&text[..name_len], &value[..value.len() - trailing]);
    Ok(Parsed::Field { gap: clamp(trailing + line.eol_len()) })
}

/// Length of the name before a colon; `Err` with the first invalid position.
fn name(text: &[u8], lenient: bool) -> Result<usize, usize> {
    let len = match lenient {
        true => text.iter().position(|&b| b == b':').unwrap_or(text.len()),
        false => token_len(text),
    };
    let ends = text.get(len) == Some(&b':');
    if ends && (1..=MAX_NAME).contains(&len) { Ok(len) } else { Err(len.min(MAX_NAME)) }
}

/// Whether an incomplete line can still become a field line.
pub(super) fn may_become_field(text: &[u8], limits: Limits) -> bool {
    let len = token_len(text);
    limits.lenient
        || (len == text.len() && len <= MAX_NAME)
        || text.first().is_some_and(|&first| is_blank(first))
        || name(text, false).is_ok()
}

/// Refuses NUL: a value with one must be refused or changed (RFC 9110 section 5.5).
pub(super) fn no_nul(text: &[u8], offset: usize, limits: Limits) -> Result<(), SyntaxError> {
    match memchr::memchr(0, text) {
        Some(at) if !limits.lenient => Err(Reason::Nul.at(offset + at)),
        _ => Ok(()),
    }
}

/// Obsolete line folding: every byte of the fold stands for a space (RFC 9112 section 5.2).
fn fold(text: &[u8], line: Line, gap: usize, fields: &mut Fields) -> Parsed {
    let blanks = trailing_blank_len(text);
    if blanks == text.len() {
        return Parsed::Field { gap: clamp(gap + blanks + line.eol_len()) };
    }
    fields.fold_last(gap, &text[..text.len() - blanks]);
    Parsed::Field { gap: clamp(blanks + line.eol_len()) }
}

fn clamp(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}
