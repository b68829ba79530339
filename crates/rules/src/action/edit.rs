//! Edits of a message that scripts ask for: those of the actions, with values made at run time.

use super::header::{self, expand, replace_items};
use super::uri;
use super::{Outcome, Side};
use crate::context::Context;
use sample::logformat::encode_line_ends;
use sample::regex::Regex;
use std::fmt;

/// The part of the request line that is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    /// The method.
    Method,
    /// The whole target.
    Uri,
    /// The path.
    Path,
    /// The query, without its question mark.
    Query,
}

/// Why an edit is refused: the fault of the script's author, but for the lack of room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The name is no token.
    Name(String),
    /// The value of the field with this name ends its line.
    Value(String),
    /// The message has no room for the edit.
    NoRoom,
    /// The text cannot be in a request line.
    RequestLine,
    /// An interim status for a final response.
    Interim,
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "'{name}' is no header name"),
            Self::Value(name) => write!(f, "the value of '{name}' ends its line"),
            Self::NoRoom => f.write_str("the message has no room for it (tune.maxrewrite)"),
            Self::RequestLine => {
                f.write_str("blanks and control characters end a part of the request line")
            }
            Self::Interim => f.write_str("a final response has no interim status"),
        }
    }
}

impl std::error::Error for EditError {}

/// A value that cannot end its line.
fn encoded(value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    encode_line_ends(0, &mut value);
    value
}

/// Refuses a name that is no token and a value that ends its line (RFC 9110 section 5).
///
/// # Errors
/// [`EditError::Name`] or [`EditError::Value`].
pub fn check_field(name: &[u8], value: &[u8]) -> Result<(), EditError> {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    if name.is_empty() || !name.iter().all(token) {
        return Err(EditError::Name(String::from_utf8_lossy(name).into_owned()));
    }
    match value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
        true => Err(EditError::Value(String::from_utf8_lossy(name).into_owned())),
        false => Ok(()),
    }
}

/// Adds a header line, or has it replace all of its name.
///
/// # Errors
/// The name is no token, or the message has no room for it.
pub fn write_header(
    side: Side,
    name: &[u8],
    value: &[u8],
    replaces: bool,
    cx: &mut dyn Context,
) -> Result<(), EditError> {
    check_field(name, b"")?;
    let name = name.to_ascii_lowercase();
    let outcome = header::write(side, &name, &encoded(value), replaces, cx);
    fitted(outcome, cx)
}

/// Removes the lines of a name.
pub fn remove_header(side: Side, name: &[u8], cx: &mut dyn Context) {
    if let Some(head) = cx.head_mut(side) {
        head.remove(&name.to_ascii_lowercase());
    }
}

/// Replaces the lines of a name that match.
///
/// # Errors
/// The message has no room for the new values.
pub fn replace_header(
    side: Side,
    name: &[u8],
    (regex, template): (&Regex, &[u8]),
    cx: &mut dyn Context,
) -> Result<(), EditError> {
    changed(side, name, cx, |value, out| expand(regex, value, template, out))
}

/// Replaces the comma-separated values of a name that match.
///
/// # Errors
/// The message has no room for the new values.
pub fn replace_value(
    side: Side,
    name: &[u8],
    (regex, template): (&Regex, &[u8]),
    cx: &mut dyn Context,
) -> Result<(), EditError> {
    changed(side, name, cx, |value, out| replace_items(value, regex, template, out))
}

fn changed(
    side: Side,
    name: &[u8],
    cx: &mut dyn Context,
    change: impl Fn(&[u8], &mut Vec<u8>) -> bool,
) -> Result<(), EditError> {
    fitted(header::replace(side, &name.to_ascii_lowercase(), cx, change), cx)
}

fn fitted(outcome: Outcome<'_>, cx: &mut dyn Context) -> Result<(), EditError> {
    if matches!(outcome, Outcome::NoRoom) {
        cx.count_failed_rewrite();
        return Err(EditError::NoRoom);
    }
    Ok(())
}

/// Replaces the status of the response, with a reason of its own or the usual one.
///
/// # Errors
/// The response is final, and the status is not.
pub fn set_status(
    status: u16,
    reason: Option<&[u8]>,
    cx: &mut dyn Context,
) -> Result<(), EditError> {
    if let Some(head) = cx.head_mut(Side::Response).filter(|head| head.is_response()) {
        if !header::may_become(head, status) {
            return Err(EditError::Interim);
        }
        match reason {
            Some(reason) => head.set_response(head.version(), status, &encoded(reason)),
            None => head.set_status(status),
        }
    }
    Ok(())
}

/// Replaces a part of the request line; `false`: there is no request, or no room.
///
/// # Errors
/// The value cannot be in a request line.
pub fn set_part(part: RequestPart, value: &[u8], cx: &mut dyn Context) -> Result<bool, EditError> {
    if value.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return Err(EditError::RequestLine);
    }
    let room = cx.rewrite_room(Side::Request);
    let Some(head) = cx.head_mut(Side::Request) else { return Ok(false) };
    let part = match part {
        RequestPart::Method => uri::Part::Method,
        RequestPart::Uri => uri::Part::Uri,
        RequestPart::Path => uri::Part::Path,
        RequestPart::Query => uri::Part::Query,
    };
    Ok(!matches!(uri::apply(part, value, room, head), Outcome::NoRoom))
}
