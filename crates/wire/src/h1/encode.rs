//! Writes heads, chunk framing and trailers. The mux has set the fields before.

use htx::{Fields, Head, Method};

use crate::sink::Sink;

/// Bytes that [`head`] writes.
pub fn head_len(head: &Head) -> usize {
    head.wire_len() + 2
}

/// Writes a head with its final empty line. An unedited head is two copies: itself and the empty
/// line.
pub fn head(head: &Head, out: &mut impl Sink) {
    if head.is_normalized() {
        start_line(head, out);
        head.field_runs().for_each(|run| out.put(run));
    } else {
        head.runs().for_each(|run| out.put(run));
    }
    out.put(b"\r\n");
}

/// Writes the start line for an HTTP/1 server. A target that is absolute only because HTTP/2 names
/// scheme and authority becomes its path.
fn start_line(head: &Head, out: &mut impl Sink) {
    let Some(target) = head.origin_form() else { return out.put(head.start_line()) };
    out.put(head.method());
    out.put(b" ");
    // An empty path becomes a slash, or an asterisk for OPTIONS (RFC 9112 section 3.2).
    match target.first() {
        Some(b'/') => {}
        None if head.method_id() == Method::Options => out.put(b"*"),
        _ => out.put(b"/"),
    }
    out.put(target);
    out.put(b" ");
    out.put(head.version().h1_token().as_bytes());
    out.put(b"\r\n");
}

/// As [`head`], with field names in the case that `adjust` returns (`h1-case-adjust`); `None` keeps
/// a name in lower case.
pub fn head_with_case<'a>(
    head: &Head,
    adjust: &dyn Fn(&[u8]) -> Option<&'a [u8]>,
    out: &mut impl Sink,
) {
    start_line(head, out);
    for field in head.fields() {
        out.put(adjust(field.name).unwrap_or(field.name));
        out.put(b": ");
        out.put(field.value);
        out.put(b"\r\n");
    }
    out.put(b"\r\n");
}

/// The line end after the data of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// Longest chunk size line: sixteen digits and a line end.
pub const CHUNK_SIZE_MAX: usize = 18;

/// A chunk size line, kept on the stack.
#[derive(Clone, Copy, Debug)]
pub struct ChunkSize {
    bytes: [u8; CHUNK_SIZE_MAX],
    start: u8,
}

impl ChunkSize {
    /// The size line of a chunk with this many bytes of data, at least one: an empty chunk ends the
    /// body, see [`last_chunk`].
    pub fn new(data: u64) -> Self {
        debug_assert!(data > 0, "an empty chunk is the last one");
        let mut bytes = [0; CHUNK_SIZE_MAX];
        bytes[CHUNK_SIZE_MAX - 2..].copy_from_slice(b"\r\n");
        let (mut at, mut rest) = (CHUNK_SIZE_MAX - 2, data);
        loop {
            at -= 1;
            bytes[at] = b"0123456789ABCDEF"[(rest & 15) as usize];
            rest >>= 4;
            if rest == 0 {
                return Self { bytes, start: at as u8 };
            }
        }
    }

    /// The line, `\r\n` included.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

/// Writes the last chunk, the trailers and the final empty line.
pub fn last_chunk(trailers: Option<&Fields>, out: &mut impl Sink) {
    match trailers {
        None => out.put(b"0\r\n\r\n"),
        Some(trailers) => {
            out.put(b"0\r\n");
            for run in trailers.runs() {
                out.put(run);
            }
            out.put(b"\r\n");
        }
    }
}

/// Bytes that [`last_chunk`] writes.
pub fn last_chunk_len(trailers: Option<&Fields>) -> usize {
    5 + trailers.map_or(0, Fields::wire_len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use htx::Version;

    /// Start lines with which HTTP/2 requests with these paths are sent.
    #[test]
    fn a_target_of_a_stream_goes_out_with_a_path() {
        for (method, path, line) in [
            ("GET", "/a?q", "GET /a?q HTTP/1.1"),
            ("GET", "", "GET / HTTP/1.1"),
            ("GET", "?q", "GET /?q HTTP/1.1"),
            ("OPTIONS", "", "OPTIONS * HTTP/1.1"),
            ("OPTIONS", "?q", "OPTIONS /?q HTTP/1.1"),
        ] {
            let (mut request, mut out) = (Head::default(), Vec::new());
            let (method, path) = (method.as_bytes(), path.as_bytes());
            request.set_request_target(method, b"http", b"h", path, Version::Http2);
            head(&request, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("{line}\r\n\r\n"));
            assert!(out.len() <= head_len(&request));
        }
    }
}
