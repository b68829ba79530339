//! The response to a request of a scripted check: its head, and the received part of its body.

use htx::{Head, HeaderId};
use wire::h1::{ChunkDecoder, HeadKind, HeadParser, Limits};

/// A response of which the head is complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Reply {
    pub(super) head: Head,
    pub(super) body: Vec<u8>,
    /// The body is complete.
    pub(super) complete: bool,
    /// The trailers behind the last chunk.
    pub(super) trailers: Option<Vec<u8>>,
}

/// The received bytes are no response.
#[derive(Debug)]
pub(super) struct Malformed;

/// No limit but the size of the buffer.
const LIMITS: Limits = Limits { head_bytes: u32::MAX, header_lines: u16::MAX, ..Limits::DEFAULT };

impl Reply {
    /// Parses the received bytes; interim responses are passed over. `None` while the head is not
    /// complete.
    pub(super) fn parse(bytes: &[u8], ended: bool) -> Result<Option<Self>, Malformed> {
        let mut reply = Self::default();
        let mut rest = bytes;
        loop {
            reply.head.clear();
            let parsed = HeadParser::new().parse(HeadKind::Response, rest, LIMITS, &mut reply.head);
            match parsed.map_err(|_| Malformed)? {
                Some(length) => rest = &rest[length..],
                None if ended => return Err(Malformed),
                None => return Ok(None),
            }
            let status = reply.head.status();
            if !(100..200).contains(&status) || status == 101 {
                break;
            }
        }
        reply.take_body(rest, ended)?;
        Ok(Some(reply))
    }

    fn take_body(&mut self, bytes: &[u8], ended: bool) -> Result<(), Malformed> {
        self.complete = ended;
        if matches!(self.head.status(), 101 | 204 | 304) {
            self.complete = true;
        } else if self.is_chunked() {
            self.take_chunks(bytes)?;
        } else if let Some(length) = self.length()? {
            self.body.extend_from_slice(&bytes[..bytes.len().min(length)]);
            self.complete |= bytes.len() >= length;
        } else {
            self.body.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn is_chunked(&self) -> bool {
        let last = self.head.by_id(HeaderId::TransferEncoding).next_back();
        last.is_some_and(|field| field.value.to_ascii_lowercase().ends_with(b"chunked"))
    }

    fn length(&self) -> Result<Option<usize>, Malformed> {
        let Some(field) = self.head.first(HeaderId::ContentLength) else { return Ok(None) };
        let text = std::str::from_utf8(field.value).map_err(|_| Malformed)?;
        text.trim().parse().map(Some).map_err(|_| Malformed)
    }

    fn take_chunks(&mut self, mut bytes: &[u8]) -> Result<(), Malformed> {
        let mut decoder = ChunkDecoder::default();
        loop {
            let step = decoder.decode(bytes, LIMITS).map_err(|_| Malformed)?;
            let end = step.skip + step.data;
            self.body.extend_from_slice(&bytes[step.skip..end]);
            bytes = &bytes[end..];
            if step.last {
                (self.complete, self.trailers) = (true, Some(bytes.to_vec()));
            }
            if step.last || step.data == 0 {
                return Ok(());
            }
        }
    }
}
