//! An incremental HTTP/1 parser that peers use for checks; it refuses malformed messages.

use super::body_matches;

/// Longest head.
const HEAD: usize = 64 << 10;

/// The head of a message, as far as peers need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// All bytes of the head, with start line and empty line.
    pub bytes: Vec<u8>,
    /// Status of a response.
    pub status: u16,
    /// The number in `x-id`.
    pub id: Option<u64>,
    /// `content-length`.
    pub length: Option<u64>,
    /// Whether the body comes in chunks.
    pub chunked: bool,
    /// Whether the connection ends after the message.
    pub close: bool,
    /// Whether the peer waits for "100 Continue".
    pub expects: bool,
}

impl Head {
    /// The method of a request, or the version of a response.
    pub fn first_word(&self) -> &[u8] {
        self.bytes.split(|byte| *byte == b' ').next().unwrap_or_default()
    }

    /// The value of the first field with this name, which is given in lower case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields().find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes())).map(|it| it.1)
    }

    /// Names and values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.bytes.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((&line[..colon], line[colon + 1..].trim_ascii()))
        })
    }

    fn read(&mut self, answer: bool) -> Result<(), &'static str> {
        let line = self.bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let third = words.next();
        let version = if answer { first } else { third.ok_or("request line without version")? };
        if !matches!(version, b"HTTP/1.1" | b"HTTP/1.0") {
            return Err("unknown version");
        }
        if answer {
            let status = number(second).filter(|it| (100..600).contains(it));
            self.status = status.ok_or("malformed status")? as u16;
        }
        let mut close = version == b"HTTP/1.0";
        let (mut id, mut length, mut chunked, mut expects) = (None, None, false, false);
        for (name, value) in self.fields() {
            let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
            if is("x-id") {
                id = Some(number(value).ok_or("malformed x-id")?);
            } else if is("content-length") {
                if length.is_some() {
                    return Err("content-length twice");
                }
                length = Some(number(value).ok_or("malformed content-length")?);
            } else if is("transfer-encoding") {
                chunked = value.eq_ignore_ascii_case(b"chunked");
            } else if is("connection") {
                close |= value.eq_ignore_ascii_case(b"close");
                close &= !value.eq_ignore_ascii_case(b"keep-alive");
            } else if is("expect") {
                expects = true;
            }
        }
        if chunked && length.is_some() {
            return Err("content-length with chunks");
        }
        (self.id, self.length, self.chunked) = (id, length, chunked);
        (self.close, self.expects) = (close, expects);
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Head,
    Length(u64),
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    UntilClose,
}

/// Progress of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// More bytes are needed.
    More,
    /// The head was just read.
    Head,
    /// The message is complete.
    Done,
}

/// A parser of a stream of messages.
#[derive(Debug)]
pub struct Reader {
    answers: bool,
    buffer: Vec<u8>,
    at: usize,
    stage: Stage,
    /// The last head.
    pub head: Head,
    /// Bytes of the body so far.
    pub length: u64,
    /// Whether the bytes of a numbered body were correct so far.
    pub right: bool,
}

impl Reader {
    /// A parser of responses, or else of requests.
    pub fn new(answers: bool) -> Self {
        Self {
            answers,
            buffer: Vec::new(),
            at: 0,
            stage: Stage::Head,
            head: Head::default(),
            length: 0,
            right: true,
        }
    }

    /// Clears the state for a new connection.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.at = 0;
        self.stage = Stage::Head;
    }

    /// Adds received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.at > 0 && self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether the parser is between two messages, with no byte of the next one.
    pub fn is_between(&self) -> bool {
        self.stage == Stage::Head && self.at == self.buffer.len()
    }

    /// Whether a head was read and the message continues.
    pub fn is_inside(&self) -> bool {
        self.stage != Stage::Head
    }

    /// Whether the end of the stream ends the message.
    pub fn ends_with_stream(&self) -> bool {
        self.stage == Stage::UntilClose
    }

    /// Continues as far as possible. `bodyless`: the response is to a HEAD request.
    ///
    /// # Errors
    /// The error of the message.
    pub fn advance(&mut self, bodyless: bool) -> Result<Progress, &'static str> {
        loop {
            match self.stage {
                Stage::Head => {
                    if !self.read_head()? {
                        return Ok(Progress::More);
                    }
                    self.stage = self.framing(bodyless);
                    return Ok(Progress::Head);
                }
                Stage::Length(0) => return Ok(self.finish()),
                Stage::Length(left) | Stage::Chunk(left) if left > 0 => {
                    let took = self.take(left);
                    if took == 0 {
                        return Ok(Progress::More);
                    }
                    let chunk = matches!(self.stage, Stage::Chunk(_));
                    let left = left - took;
                    self.stage = if chunk { Stage::Chunk(left) } else { Stage::Length(left) };
                }
                Stage::Length(_) | Stage::Chunk(_) => self.stage = Stage::ChunkEnd,
                Stage::UntilClose => {
                    self.take(u64::MAX);
                    return Ok(Progress::More);
                }
                Stage::ChunkSize | Stage::ChunkEnd | Stage::Trailers => {
                    let Some(line) = self.line() else { return Ok(Progress::More) };
                    if self.chunk_line(line)? {
                        return Ok(self.finish());
                    }
                }
            }
        }
    }

    fn finish(&mut self) -> Progress {
        self.stage = Stage::Head;
        self.buffer.drain(..self.at);
        self.at = 0;
        Progress::Done
    }

    fn read_head(&mut self) -> Result<bool, &'static str> {
        let rest = &self.buffer[self.at..];
        let Some(end) = rest.windows(4).position(|four| four == b"\r\n\r\n") else {
            return if rest.len() > HEAD { Err("endless head") } else { Ok(false) };
        };
        self.head.bytes.clear();
        self.head.bytes.extend_from_slice(&rest[..end + 4]);
        self.at += end + 4;
        self.length = 0;
        self.right = true;
        self.head.read(self.answers)?;
        Ok(true)
    }

    fn framing(&self, bodyless: bool) -> Stage {
        let head = &self.head;
        let without = bodyless || head.status < 200 || matches!(head.status, 204 | 304);
        if self.answers && without {
            Stage::Length(0)
        } else if head.chunked {
            Stage::ChunkSize
        } else {
            match head.length {
                Some(length) => Stage::Length(length),
                None if self.answers => Stage::UntilClose,
                None => Stage::Length(0),
            }
        }
    }

    /// Checks and skips up to `most` bytes of the body.
    fn take(&mut self, most: u64) -> u64 {
        let rest = &self.buffer[self.at..];
        let count = (rest.len() as u64).min(most);
        if let Some(id) = self.head.id {
            self.right &= body_matches(id, self.length, &rest[..count as usize]);
        }
        self.at += count as usize;
        self.length += count;
        count
    }

    /// Position of the next line without its end.
    fn line(&mut self) -> Option<(usize, usize)> {
        let rest = &self.buffer[self.at..];
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let start = self.at;
        self.at += end + 2;
        Some((start, start + end))
    }

    /// Whether this line ends the message.
    fn chunk_line(&mut self, (start, end): (usize, usize)) -> Result<bool, &'static str> {
        let line = &self.buffer[start..end];
        match self.stage {
            Stage::ChunkSize => {
                let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
                let size = std::str::from_utf8(size.trim_ascii()).map_err(|_| "chunk size")?;
                let size = u64::from_str_radix(size, 16).map_err(|_| "malformed chunk size")?;
                self.stage = if size == 0 { Stage::Trailers } else { Stage::Chunk(size) };
                Ok(false)
            }
            Stage::ChunkEnd if line.is_empty() => {
                self.stage = Stage::ChunkSize;
                Ok(false)
            }
            Stage::ChunkEnd => Err("chunk longer than its size"),
            _ => Ok(line.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut Reader, bytes: &[u8]) -> Vec<Progress> {
        let mut seen = Vec::new();
        for byte in bytes {
            reader.feed(&[*byte]);
            loop {
                match reader.advance(false).unwrap() {
                    Progress::More => break,
                    other => seen.push(other),
                }
            }
        }
        seen
    }

    #[test]
    fn lengths_chunks_and_none() {
        let mut reader = Reader::new(true);
        let seen = read(
            &mut reader,
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No\r\n\r\n\
              HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n1\r\nc\r\n0\r\nt: u\r\n\r\n",
        );
        assert_eq!(seen, [Progress::Head, Progress::Done].repeat(3));
        assert!(reader.is_between() && reader.length == 3 && reader.right);
        read(&mut reader, b"HTTP/1.1 200 OK\r\nx-id: 4\r\nconnection: close\r\n\r\nno");
        assert!(reader.ends_with_stream() && reader.head.close && !reader.right);
        assert_eq!(reader.head.field("x-id"), Some(&b"4"[..]));
    }

    #[test]
    fn malformed_ones_are_refused() {
        for bytes in [
            &b"HTTP/2 200 OK\r\n\r\n"[..],
            b"HTTP/1.1 20 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        ] {
            let mut reader = Reader::new(true);
            reader.feed(bytes);
            assert!(reader.advance(false).is_err());
        }
    }
}
