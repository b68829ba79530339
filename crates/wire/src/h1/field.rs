//! Field lines (RFC 9112 section 5), of heads and of trailers alike. Never counts them and never
//! judges a value.

use htx::{Fields, ShortName};

use super::chars::{blank_len, crlf, is_blank, near_colon, token_len, trailing_blank_len};
use super::error::{Error, Reason};
use super::line::Line;

/// What one line did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// The empty line after the last field.
    End,
    /// A field, or a continuation of one; `gap` bytes (blanks and line end) were dropped after it
    /// and become spaces if a folded line follows.
    Field { gap: u16 },
}

/// What [`parse`] reports as the gap after a line that [`usual`] took.
pub(super) const USUAL_GAP: u16 = 2;

/// Takes the field line at the front of `text` when it is complete and has the form that nearly all
/// have: `name: value` CRLF, no other blank around the value, no control character in it. Its
/// length; `None`, and nothing done, for any other line, which [`parse`] then judges.
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
        None if name_len == 0 || token_len(line) != name_len => return None,
        None => fields.push_line(line, name_len),
    }
    Some(line.len())
}

/// Parses one complete line into `fields`. `gap` is what the line before reported; `None` before
/// the first field.
pub(super) fn parse(
    input: &[u8],
    line: Line,
    gap: Option<u16>,
    fields: &mut Fields,
) -> Result<Parsed, Error> {
    let text = line.text(input);
    match text.first() {
        None => Ok(Parsed::End),
        Some(&first) if is_blank(first) => fold(text, line, gap, fields),
        Some(_) => field(input, line, fields),
    }
}

fn field(input: &[u8], line: Line, fields: &mut Fields) -> Result<Parsed, Error> {
    let text = line.text(input);
    let name_len = token_len(text);
    if name_len == 0 || text.get(name_len) != Some(&b':') {
        return Err(Reason::FieldName.at(line.start + name_len));
    }
    let rest = &text[name_len + 1..];
    let value = &rest[blank_len(rest)..];
    let trailing = trailing_blank_len(value);
    fields.push(&text[..name_len], &value[..value.len() - trailing]);
    Ok(Parsed::Field { gap: clamp(trailing + line.eol_len()) })
}

/// Obsolete line folding: every byte of the fold stands for a space (RFC 9112 section 5.2).
fn fold(text: &[u8], line: Line, gap: Option<u16>, fields: &mut Fields) -> Result<Parsed, Error> {
    let Some(gap) = gap.map(usize::from) else {
        return Err(Reason::FoldWithoutField.at(line.start));
    };
    let blanks = trailing_blank_len(text);
    if blanks == text.len() {
        return Ok(Parsed::Field { gap: clamp(gap + blanks + line.eol_len()) });
    }
    fields.fold_last(gap, &text[..text.len() - blanks]);
    Ok(Parsed::Field { gap: clamp(blanks + line.eol_len()) })
}

fn clamp(n: usize) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}
