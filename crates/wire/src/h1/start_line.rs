//! Start lines (RFC 9112 sections 3 and 4). Never looks for the end of a line that is not of the
//! usual form, and never judges a method or a status.

use htx::{Head, Version};

use super::chars::{blank_len, crlf, graphic_len, is_blank, token_len};
use super::error::{Error, Reason};

/// Begins `head` with the line at the front of `text` when it is complete and has the form that
/// nearly all have: a frequent method, single spaces, HTTP/1.1, CRLF. Its length; `None`, and
/// nothing done, for any other line, which [`request`] then judges.
#[inline]
pub(super) fn usual_request(text: &[u8], head: &mut Head) -> Option<usize> {
    let method_len = match text.first_chunk::<5>()? {
        b"POST " | b"HEAD " => 4,
        [b'G', b'E', b'T', b' ', _] | [b'P', b'U', b'T', b' ', _] => 3,
        _ => return None,
    };
    let uri_len = graphic_len(&text[method_len + 1..]);
    let end = method_len + 1 + uri_len;
    if uri_len == 0 || !text[end..].starts_with(REQUEST_END) {
        return None;
    }
    let line = &text[..end + REQUEST_END.len()];
    head.begin_request(line, method_len, Version::Http11);
    Some(line.len())
}

const REQUEST_END: &[u8] = b" HTTP/1.1\r\n";

/// The same for a status line: HTTP/1.1, single spaces, CRLF; [`status`] judges the others.
#[inline]
pub(super) fn usual_status(text: &[u8], head: &mut Head) -> Option<usize> {
    let (start, rest) = text.split_first_chunk::<13>()?;
    let [version @ .., a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', b' '] = start else {
        return None;
    };
    if version != b"HTTP/1.1 " || is_blank(*rest.first()?) {
        return None;
    }
    let reason_len = crlf(rest)?;
    let line = &text[..start.len() + reason_len + 2];
    let digit = |byte: &u8| u16::from(byte - b'0');
    let status = 100 * digit(a) + 10 * digit(b) + digit(c);
    head.begin_response(line, status, Version::Http11);
    Some(line.len())
}

/// RFC 9112 section 3, with any run of blanks between the parts.
pub(super) fn request(text: &[u8], offset: usize, head: &mut Head) -> Result<(), Error> {
    let method_len = token_len(text);
    let blanks = blank_len(&text[method_len..]);
    if method_len == 0 || blanks == 0 {
        return Err(Reason::Method.at(offset + method_len));
    }
    let uri_start = method_len + blanks;
    let rest = &text[uri_start..];
    let uri_len = graphic_len(rest);
    let blanks = blank_len(&rest[uri_len..]);
    if uri_len == 0 || (blanks == 0 && uri_len < rest.len()) {
        return Err(Reason::Target.at(offset + uri_start + uri_len));
    }
    let version_start = uri_start + uri_len + blanks;
    let version = version(&text[version_start..], offset + version_start)?;
    head.set_request(&text[..method_len], &rest[..uri_len], version);
    Ok(())
}

/// RFC 9112 section 4, with any run of blanks between the parts and the reason optional.
pub(super) fn status(text: &[u8], offset: usize, head: &mut Head) -> Result<(), Error> {
    let version_len = text.iter().position(|&b| is_blank(b)).unwrap_or(text.len());
    let version = version(&text[..version_len], offset)?;
    let start = version_len + blank_len(&text[version_len..]);
    let bad = Reason::Status.at(offset + start);
    let (code, reason) = match &text[start..] {
        [a, b, c] => ([*a, *b, *c], &[][..]),
        [a, b, c, gap, rest @ ..] if is_blank(*gap) => ([*a, *b, *c], &rest[blank_len(rest)..]),
        _ => return Err(bad),
    };
    if !code.iter().all(u8::is_ascii_digit) || code[0] == b'0' {
        return Err(bad);
    }
    let status = code.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0'));
    head.set_response(version, status, reason);
    Ok(())
}

/// `HTTP/` digit `.` digit, case-sensitive; any digits.
fn version(text: &[u8], offset: usize) -> Result<Version, Error> {
    match text {
        b"HTTP/1.1" => Ok(Version::Http11),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Ok(Version::new(major - b'0', minor - b'0'))
        }
        _ => Err(Reason::Version.at(offset)),
    }
}
