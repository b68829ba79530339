//! A request of an HTTP/3 client and its response, as bytes of a stream.

use sim::Net;
use sim::peers::{body_matches, push_body};
use wire::h3::qpack::{self, QpackDecoder};
use wire::h3::{H3FrameHeader, H3FrameType, encode};

/// A frame type that recipients ignore (RFC 9114 section 7.2.8).
const RESERVED: H3FrameType = H3FrameType(0x21 + 0x1f * 5);

/// A request under way.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) id: u64,
    is_head: bool,
    /// Bytes to send, and how many of them were written.
    out: Vec<u8>,
    written: usize,
    /// The end of the request was written.
    pub(crate) is_sent: bool,
    input: Vec<u8>,
    /// The status of the response, once that has begun.
    pub(crate) status: Option<u16>,
    /// Whether the response has the request's own number.
    pub(crate) is_own: bool,
    expected: Option<u64>,
    pub(crate) length: u64,
}

impl Exchange {
    /// A request for a number, with a body of up to `body` bytes for one in so many of 1000.
    pub(crate) fn new(net: &Net, id: u64, (post, body): (u16, u64)) -> Self {
        let is_post = net.chance(post);
        let is_head = !is_post && net.chance(50);
        let length = if is_post { net.up_to(body) } else { 0 };
        let method = match (is_post, is_head) {
            (true, _) => "POST",
            (_, true) => "HEAD",
            _ => "GET",
        };
        let (path, number, size) = (format!("/r/{id}"), id.to_string(), length.to_string());
        let mut fields = vec![
            (":method", method),
            (":scheme", "https"),
            (":authority", super::material::NAME),
            (":path", &*path),
            ("x-id", &*number),
        ];
        if is_post && net.chance(500) {
            fields.push(("content-length", &*size));
        }
        let mut out = Vec::new();
        head(&fields, &mut out);
        data(net, id, length, &mut out);
        if is_post && net.chance(100) {
            head(&[("x-trailer", "t")], &mut out);
        }
        Self {
            id,
            is_head,
            out,
            written: 0,
            is_sent: false,
            input: Vec::new(),
            status: None,
            is_own: false,
            expected: None,
            length: 0,
        }
    }

    /// Bytes that are left to send.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.out[self.written..]
    }

    pub(crate) fn advance(&mut self, count: usize) {
        self.written += count;
    }

    /// Handles bytes of the response.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.input.extend_from_slice(bytes);
        loop {
            let Some((header, size)) = H3FrameHeader::decode(&self.input) else { return Ok(()) };
            let end = size + header.len as usize;
            if self.input.len() < end {
                return Ok(());
            }
            let frame: Vec<u8> = self.input.drain(..end).collect();
            match header.kind {
                H3FrameType::HEADERS => self.fields(&frame[size..])?,
                H3FrameType::DATA => self.data(&frame[size..])?,
                kind if kind.is_known() => return Err(format!("{kind:?} in a response")),
                _ => {}
            }
        }
    }

    fn fields(&mut self, section: &[u8]) -> Result<(), String> {
        let mut all = Vec::new();
        let note = |name: &[u8], value: &[u8]| {
            all.push((
                String::from_utf8_lossy(name).into_owned(),
                String::from_utf8_lossy(value).into_owned(),
            ));
        };
        let decoded = QpackDecoder::new(0).decode_within(section, usize::MAX, note);
        decoded.map_err(|error| format!("field section: {error:?}"))?;
        let number = |name: &str| {
            let found = all.iter().find(|(found, _)| found == name);
            found.and_then(|(_, value)| value.parse::<u64>().ok())
        };
        match (number(":status"), self.status) {
            (Some(100..200), None) | (None, Some(_)) => {}
            (Some(status @ 200..600), None) => {
                self.status = Some(status as u16);
                self.expected = number("content-length");
                self.is_own = number("x-id").is_some();
                if number("x-id").is_some_and(|got| got != self.id) {
                    return Err(format!("asked {}, got {all:?}", self.id));
                }
            }
            _ => return Err(format!("head of {}: {all:?}", self.id)),
        }
        Ok(())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), String> {
        let right = !self.is_own || body_matches(self.id, self.length, bytes);
        self.length += bytes.len() as u64;
        let right = right && self.status.is_some() && !self.is_head;
        right.then_some(()).ok_or_else(|| format!("body of {} at {}", self.id, self.length))
    }

    /// Checks a response whose stream has ended; returns its status.
    pub(crate) fn finish(&self) -> Result<u16, String> {
        let fits = self.is_head || self.expected.is_none_or(|length| length == self.length);
        let status = self.status.filter(|_| fits && self.input.is_empty());
        status.ok_or_else(|| format!("the end of {}, {} bytes", self.id, self.length))
    }
}

fn head(fields: &[(&str, &str)], out: &mut Vec<u8>) {
    let mut section = Vec::new();
    qpack::prefix(&mut section);
    for (name, value) in fields {
        let id = htx::HeaderId::from_lower(name.as_bytes());
        qpack::field(id, name.as_bytes(), value.as_bytes(), &mut section);
    }
    encode::header(H3FrameType::HEADERS, section.len(), out);
    out.extend_from_slice(&section);
}

/// A body in DATA frames of random sizes, with frames between that have no meaning.
fn data(net: &Net, id: u64, length: u64, out: &mut Vec<u8>) {
    let mut offset = 0;
    while offset < length {
        if net.chance(100) {
            encode::header(RESERVED, 3, out);
            out.extend_from_slice(b"any");
        }
        let len = if net.chance(300) { net.up_to(length - offset) } else { length - offset };
        encode::header(H3FrameType::DATA, len as usize, out);
        push_body(out, id, offset, len);
        offset += len;
    }
}
