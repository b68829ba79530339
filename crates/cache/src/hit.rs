//! A stored response while it is served: it stays in its blocks, which are lent to vectored writes.

use crate::conditional::Validators;
use crate::object::ObjectRecord;
use crate::request::FreshnessDemand;
use htx::{Fields, Head, Version};
use std::io::{IoSlice, Write};
use std::ops::Range;
use stdx::SharedBlocks;
use stdx::block_area::{BlockReader, Pieces};

/// A stored response, pinned: its blocks are not used for others until this is dropped.
#[derive(Debug)]
pub struct Hit {
    /// Content that was not consumed yet.
    reader: BlockReader,
    record: ObjectRecord,
    now: u64,
}

impl Hit {
    /// The same object for another use, with all its content.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::new(self.reader.blocks().clone(), self.record, self.now)
    }

    pub(crate) fn new(object: SharedBlocks, record: ObjectRecord, now: u64) -> Self {
        let reader = BlockReader::new(object, record.body_at(), record.body_len as usize);
        Self { reader, record, now }
    }

    /// Whether an object is as fresh as a request demands (RFC 9111 sections 4.2 and 5.2.1).
    pub(crate) fn satisfies(record: &ObjectRecord, demand: &FreshnessDemand, now: u64) -> bool {
        let needed = now.saturating_add(u64::from(demand.min_fresh) * 1000);
        let young = demand.max_age.is_none_or(|most| record.age_at(now) <= most);
        young && needed < record.fresh_until
    }

    /// Whether it may be served while it is validated (RFC 5861 section 3): it has been stale for a
    /// short time only, and its server allows it.
    pub fn may_serve_while_revalidating(&self) -> bool {
        (self.record.fresh_until..self.record.revalidate_until).contains(&self.now)
    }

    /// Whether it may be served instead of an error of the server (RFC 5861 section 4): section and
    /// response allow it. The object may also be fresh, but older than the request demands.
    pub fn may_serve_on_error(&self) -> bool {
        let allowed = self.record.error_until > self.record.fresh_until;
        allowed && self.now < self.record.error_until
    }

    /// Its age in seconds (RFC 9111 section 4.2.3).
    pub fn age(&self) -> u32 {
        self.record.age_at(self.now)
    }

    /// Whether the response came in chunks.
    pub fn is_chunked(&self) -> bool {
        self.record.is_chunked
    }

    /// Bytes of content.
    pub fn content_len(&self) -> u64 {
        self.record.body_len.into()
    }

    /// Bytes of content that were not consumed yet.
    pub fn left(&self) -> usize {
        self.reader.left()
    }

    /// The entity tag and the date that conditions are compared with. The tag is copied to
    /// `scratch` only if it crosses a block.
    pub fn validators<'a>(&'a self, scratch: &'a mut Vec<u8>) -> Validators<'a> {
        let (at, len) = (self.record.etag_at as usize, self.record.etag_len as usize);
        let etag = (len > 0).then(|| self.contiguous(self.record.head_at() + at, len, scratch));
        Validators { etag, modified: self.record.modified }
    }

    /// Bytes of the object as one slice: a piece of a block, or a copy.
    fn contiguous<'a>(&'a self, at: usize, len: usize, scratch: &'a mut Vec<u8>) -> &'a [u8] {
        let mut pieces = self.reader.blocks().pieces(at, len);
        match pieces.next() {
            Some(piece) if piece.len() == len => piece,
            first => {
                scratch.clear();
                scratch.extend_from_slice(first.unwrap_or_default());
                pieces.for_each(|piece| scratch.extend_from_slice(piece));
                scratch
            }
        }
    }

    /// Writes the stored head into `head`, with `age` as its last field. Allocates nothing if both
    /// have the capacity; `scratch` is used for a head that crosses a block.
    pub fn write_head(&self, head: &mut Head, scratch: &mut Vec<u8>) {
        let text = self.contiguous(self.record.head_at(), self.record.head_len as usize, scratch);
        head.clear();
        let mut lines = text.split_inclusive(|&byte| byte == b'\n');
        if let Some(line) = lines.next() {
            head.begin_response(line, status(line), Version::Http11);
        }
        lines.for_each(|line| push(head.as_fields_mut(), line));
        let mut digits = [0; 20];
        let mut rest = &mut digits[..];
        // Twenty digits are enough for any number.
        let _ = write!(rest, "{}", self.age());
        let left = rest.len();
        head.push(b"age", &digits[..digits.len() - left]);
    }

    /// Appends the stored trailers.
    pub fn write_trailers(&self, trailers: &mut Fields, scratch: &mut Vec<u8>) {
        let (at, len) = (self.record.trailers_at(), self.record.trailer_len as usize);
        let text = self.contiguous(at, len, scratch);
        text.split_inclusive(|&byte| byte == b'\n').for_each(|line| push(trailers, line));
    }

    /// Whether there are trailers.
    pub fn has_trailers(&self) -> bool {
        self.record.trailer_len > 0
    }

    /// Serves only this range of the content, as far as it exists. Its length is known, so it is
    /// not sent in chunks.
    pub fn select(&mut self, part: Range<u64>) {
        let len = self.content_len();
        let (from, end) = (part.start.min(len), part.end.min(len));
        let blocks = self.reader.blocks().clone();
        let at = self.record.body_at() + from as usize;
        self.reader = BlockReader::new(blocks, at, end.saturating_sub(from) as usize);
        self.record.is_chunked = false;
    }

    /// Lends the next pieces of content to a vectored write; returns how many were set.
    pub fn lend<'a>(&'a self, out: &mut [IoSlice<'a>]) -> usize {
        self.reader.lend(out)
    }

    /// The content that was not consumed yet, in pieces of a block each.
    pub fn pieces(&self) -> Pieces<'_> {
        self.reader.pieces()
    }

    /// The whole content, including consumed pieces.
    pub fn all_pieces(&self) -> Pieces<'_> {
        let content = self.record.body_len as usize;
        self.reader.blocks().pieces(self.record.body_at(), content)
    }

    /// Drops content that was sent.
    pub fn consume(&mut self, count: usize) {
        self.reader.consume(count);
    }
}

/// Pushes a stored line; a name has no colon.
fn push(fields: &mut Fields, line: &[u8]) {
    if let Some(colon) = line.iter().position(|&byte| byte == b':') {
        fields.push_line(line, colon);
    }
}

/// The status of a stored status line.
fn status(line: &[u8]) -> u16 {
    let digits = line.get("HTTP/1.1 ".len()..).and_then(|rest| rest.first_chunk::<3>());
    digits.map_or(200, |d| d.iter().fold(0, |n, digit| n * 10 + u16::from(digit & 15)))
}
