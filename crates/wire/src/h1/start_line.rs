//! Start lines (RFC 9112 sections 3 and 4).

use htx::{Head, Version};

use super::chars::{blank_len, crlf, is_blank, is_target, target_len, token_len};
use super::error::{Reason, SyntaxError};
use super::field::no_nul;
use super::{Exceptions, Limits};

/// Begins `head` with a complete request line at the front of `text` in its usual form: a frequent
/// method, single spaces, HTTP/1.1, CRLF. Returns its length; `None` for any other line, which
/// [`request`] handles, and `head` is unchanged.
#[inline]
pub(super) fn usual_request(text: &[u8], head: &mut Head) -> Option<usize> {
    let method_len = match text.first_chunk::<5>()? {
        b"POST " | b"HEAD " => 4,
        [b'G', b'E', b'T', b' ', _] | [b'P', b'U', b'T', b' ', _] => 3,
        _ => return None,
    };
    let uri_len = target_len(&text[method_len + 1..]);
    let end = method_len + 1 + uri_len;
    if uri_len == 0 || !text[end..].starts_with(REQUEST_END) {
        return None;
    }
    let line = &text[..end + REQUEST_END.len()];
    head.begin_request(line, method_len, Version::Http11);
    Some(line.len())
}

const REQUEST_END: &[u8] = b" HTTP/1.1\r\n";

/// The same for a status line: HTTP/1.1, single spaces, CRLF; [`status`] handles others.
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

/// Whether an incomplete line can still become a request line.
pub(super) fn may_become_request(text: &[u8]) -> bool {
    let len = token_len(text);
    len > 0 && text.get(len).is_none_or(|&next| is_blank(next))
}

/// Whether an incomplete line can still become a status line.
pub(super) fn may_become_status(text: &[u8], limits: Limits) -> bool {
    limits.lenient || text.iter().zip(b"HTTP/").all(|(byte, expected)| byte == expected)
}

/// Parses a request line (RFC 9112 section 3), with any run of blanks between the parts. Returns
/// whether it ends the head: with `lenient`, a line without a version is accepted, after which no
/// fields follow (HTTP/0.9).
pub(super) fn request(
    text: &[u8],
    offset: usize,
    limits: Limits,
    head: &mut Head,
) -> Result<bool, SyntaxError> {
    let method_len = token_len(text);
    let blanks = blank_len(&text[method_len..]);
    if method_len == 0 || blanks == 0 {
        return Err(Reason::Method.at(offset + method_len));
    }
    let uri_start = method_len + blanks;
    let rest = &text[uri_start..];
    let fragments = limits.lenient || limits.exceptions.has(Exceptions::FRAGMENTS);
    let fits = |&b: &u8| is_target(b) || (b == b'#' && fragments) || (b >= 0x80 && limits.lenient);
    let uri_len = rest.iter().position(|b| !fits(b)).unwrap_or(rest.len());
    let blanks = blank_len(&rest[uri_len..]);
    if uri_len == 0 || (blanks == 0 && uri_len < rest.len()) {
        return Err(Reason::Target.at(offset + uri_start + uri_len));
    }
    let version_start = uri_start + uri_len + blanks;
    let word = &text[version_start..];
    let simple = limits.lenient && word.is_empty();
    let version = match simple {
        true => Version::Http10,
        false => version(word, offset + version_start, limits)?,
    };
    head.set_request(&text[..method_len], &rest[..uri_len], version);
    Ok(simple)
}

/// Parses a status line (RFC 9112 section 4), with any run of blanks between the parts and an
/// optional reason.
pub(super) fn status(
    text: &[u8],
    offset: usize,
    limits: Limits,
    head: &mut Head,
) -> Result<(), SyntaxError> {
    let version_len = text.iter().position(|&b| is_blank(b)).unwrap_or(text.len());
    let version = version(&text[..version_len], offset, limits)?;
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
    no_nul(reason, offset + text.len() - reason.len(), limits)?;
    let status = code.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0'));
    head.set_response(version, status, reason);
    Ok(())
}

/// Parses `HTTP/` digit `.` digit, case-sensitive, any digits. With `lenient`, any word of capital
/// letters, digits, `/` and `.` is accepted and treated as HTTP/1.0.
fn version(text: &[u8], offset: usize, limits: Limits) -> Result<Version, SyntaxError> {
    let odd = |&b: &u8| !(b.is_ascii_uppercase() || b.is_ascii_digit() || matches!(b, b'/' | b'.'));
    match text {
        b"HTTP/1.1" => Ok(Version::Http11),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Ok(Version::new(major - b'0', minor - b'0'))
        }
        _ if limits.lenient && !text.is_empty() && !text.iter().any(odd) => Ok(Version::Http10),
        _ => Err(Reason::Version.at(offset)),
    }
}
