//! Error files: raw HTTP responses parsed at load (manual section 4.2, `errorfile`).

use htx::{Head, Version};
use std::fmt;

/// Why a content is no HTTP response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFileError {
    /// There is no line.
    NoStatusLine,
    /// The first line is no status line.
    StatusLine,
    /// A line is no header field.
    Field,
    /// No empty line ends the head.
    Unended,
    /// `Content-Length` is not the length of the body, which is this many bytes.
    Length(usize),
}

impl fmt::Display for ErrorFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStatusLine => f.write_str("missing status line"),
            Self::StatusLine => f.write_str("invalid status line"),
            Self::Field => f.write_str("invalid header line"),
            Self::Unended => f.write_str("the headers do not end with an empty line"),
            Self::Length(length) => {
                write!(f, "content-length differs from the {length} bytes of the body")
            }
        }
    }
}

impl std::error::Error for ErrorFileError {}

/// A parsed error file.
#[derive(Debug)]
pub struct ErrorFile {
    head: Head,
    body: Box<[u8]>,
    silent: bool,
}

impl ErrorFile {
    /// Parses the content of a file. An empty one means closing without a byte. Lines end with LF
    /// or CRLF.
    ///
    /// # Errors
    ///
    /// A line cannot be parsed, or the length is not the body's.
    pub fn parse(content: &[u8]) -> Result<ErrorFile, ErrorFileError> {
        let mut head = Head::default();
        if content.is_empty() {
            return Ok(ErrorFile { head, body: Box::default(), silent: true });
        }
        let mut lines = Lines { rest: content };
        let start = lines.next().ok_or(ErrorFileError::NoStatusLine)?;
        let (version, status, reason) = status_line(start).ok_or(ErrorFileError::StatusLine)?;
        head.set_response(version, status, reason);
        let mut ended = false;
        for line in lines.by_ref() {
            if line.is_empty() {
                ended = true;
                break;
            }
            let (name, value) = field(line).ok_or(ErrorFileError::Field)?;
            head.push(name, value);
        }
        if !ended {
            return Err(ErrorFileError::Unended);
        }
        let body = lines.rest;
        if let Some(announced) = head.get(b"content-length") {
            let announced =
                std::str::from_utf8(announced).ok().and_then(|n| n.parse::<usize>().ok());
            if announced != Some(body.len()) {
                return Err(ErrorFileError::Length(body.len()));
            }
        }
        Ok(ErrorFile { head, body: body.into(), silent: false })
    }

    /// The status code written in the file, 0 for an empty one.
    pub fn status(&self) -> u16 {
        self.head.status()
    }

    /// Whether the connection is to be closed without a byte.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// Copies the reply into `head` and appends its body to `body`.
    pub fn render(&self, head: &mut Head, body: &mut Vec<u8>) {
        head.clear();
        head.set_response(self.head.version(), self.head.status(), self.head.reason());
        for field in self.head.fields() {
            head.push(field.name, field.value);
        }
        if self.head.get(b"content-length").is_none() {
            // Without a length a file asks for the end of its connection.
            head.push(b"connection", b"close");
        }
        body.extend_from_slice(&self.body);
    }
}

struct Lines<'c> {
    rest: &'c [u8],
}

impl<'c> Iterator for Lines<'c> {
    type Item = &'c [u8];

    fn next(&mut self) -> Option<&'c [u8]> {
        let end = self.rest.iter().position(|byte| *byte == b'\n')?;
        let line = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn status_line(line: &[u8]) -> Option<(Version, u16, &[u8])> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let [major @ b'0'..=b'9', b'.', minor @ b'0'..=b'9', b' ', rest @ ..] = rest else {
        return None;
    };
    let status = std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok()?;
    let reason = match rest.get(3) {
        None => &rest[3..],
        Some(b' ') => &rest[4..],
        Some(_) => return None,
    };
    (100..=599)
        .contains(&status)
        .then(|| (Version::new(major - b'0', minor - b'0'), status, reason))
}

fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = &line[..colon];
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    (!name.is_empty() && name.iter().all(token))
        .then(|| (name, htx::list::trim(&line[colon + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_manual_are_parsed() {
        let file = ErrorFile::parse(b"HTTP/1.0 404 Nope\r\nX-A: b\r\nContent-Length: 2\r\n\r\nhi")
            .expect("valid");
        let (mut head, mut body) = (Head::default(), Vec::new());
        file.render(&mut head, &mut body);
        assert_eq!((head.status(), head.reason(), &body[..]), (404, &b"Nope"[..], &b"hi"[..]));
        assert_eq!(head.get(b"x-a"), Some(&b"b"[..]));
        assert_eq!(head.get(b"connection"), None);
        let file = ErrorFile::parse(b"HTTP/1.0 503 Away\r\n\r\nhi").expect("valid");
        file.render(&mut head, &mut body);
        assert_eq!(head.get(b"connection"), Some(&b"close"[..]), "delimited by its end");
        assert!(ErrorFile::parse(b"").expect("valid").is_silent());
        assert_eq!(ErrorFile::parse(b"HTTP/1.1 200\n\n").expect("bare LF").status(), 200);
    }

    #[test]
    fn error_files_that_would_confuse_clients_are_refused() {
        for bad in [
            &b"hello"[..],
            b"HTTP/1.0 404 Nope\r\nContent-Length: 3\r\n\r\nhi",
            b"HTTP/1.0 404 Nope\r\nno colon\r\n\r\n",
            b"HTTP/1.0 404 Nope\r\nA: b\r\n",
            b"HTTP/1.0 999 Nope\r\n\r\n",
        ] {
            assert!(ErrorFile::parse(bad).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
