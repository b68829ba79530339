//! One end of a connection, by hand.

use super::{Message, PATIENCE};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};

/// A connection, a client's or an origin's, and what was received on it.
pub(crate) struct Client {
    stream: TcpStream,
    /// Received and not yet taken.
    input: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&address, PATIENCE);
        Self::of(stream.unwrap_or_else(|error| panic!("{address} takes no connection: {error}")))
    }

    pub(crate) fn of(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("a TCP socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a TCP socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a TCP socket");
        Self { stream, input: Vec::new() }
    }

    pub(crate) fn local(&self) -> SocketAddr {
        self.stream.local_addr().expect("a connected socket")
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("the peer takes bytes");
    }

    /// Sends to a peer that may have closed.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Closes the sending direction.
    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).expect("a connected socket");
    }

    /// Closes with a reset, by leaving bytes unread if there are any.
    pub(crate) fn close(self) {}

    /// Closes with a reset, because received bytes are unread.
    pub(crate) fn reset(self) {
        assert_eq!(self.stream.peek(&mut [0]).expect("a connected socket"), 1);
    }

    /// Sends a request and takes the whole response.
    pub(crate) fn ask(&mut self, request: impl AsRef<[u8]>) -> Message {
        self.send(request);
        self.response()
    }

    /// A GET for a target, on this connection.
    pub(crate) fn get(&mut self, target: &str) -> Message {
        self.ask(format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n"))
    }

    /// Receives more; `false` at the end of the stream.
    fn more(&mut self) -> bool {
        let mut chunk = [0; 65_536];
        match self.stream.read(&mut chunk) {
            Ok(0) => false,
            Ok(count) => {
                self.input.extend_from_slice(&chunk[..count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            // A read with a timeout ends when this process is stopped and continues.
            Err(error) if error.kind() == ErrorKind::Interrupted => self.more(),
            Err(error) => panic!("nothing came: {error}; before that: {}", self.shown()),
        }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.input[..self.input.len().min(500)]).into_owned()
    }

    /// Reads `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        while self.input.len() < count {
            assert!(self.more(), "the stream ended after: {}", self.shown());
        }
        self.input.drain(..count).collect()
    }

    /// Reads `count` bytes; `None` if the stream ends before.
    pub(crate) fn try_take(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.input.len() < count {
            if !self.more() {
                return None;
            }
        }
        Some(self.input.drain(..count).collect())
    }

    /// Reads up to the end of `mark`; `None` if the stream ends before it.
    fn take_through(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self.input.windows(mark.len()).position(|window| window == mark);
            if let Some(place) = found {
                return Some(self.input.drain(..place + mark.len()).collect());
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// Reads a head; `None` if the stream ends before it.
    pub(crate) fn try_head(&mut self) -> Option<Message> {
        self.take_through(b"\r\n\r\n").map(|text| Message::of_head(&text))
    }

    /// Takes a head.
    pub(crate) fn head(&mut self) -> Message {
        let head = self.try_head();
        head.unwrap_or_else(|| panic!("the stream ended after: {:?}", self.shown()))
    }

    /// Takes a whole response to anything but HEAD.
    pub(crate) fn response(&mut self) -> Message {
        let head = self.head();
        let bodiless = matches!(head.status(), 100..200 | 204 | 304);
        self.finish(head, !bodiless)
    }

    /// Reads a whole request; `None` if the stream ends before it.
    pub(crate) fn request(&mut self) -> Option<Message> {
        let head = self.try_head()?;
        Some(self.finish(head, false))
    }

    /// Takes the body that a head announces; without a length it goes to the end if `to_end`.
    pub(crate) fn finish(&mut self, mut message: Message, to_end: bool) -> Message {
        if message.header("transfer-encoding").is_some_and(is_chunked) {
            self.chunks(&mut message);
        } else if let Some(length) = message.header("content-length") {
            let bodiless = matches!(message.status(), 204 | 304);
            let length = if bodiless { 0 } else { length.parse().expect("a length") };
            message.body = self.take(length);
            message.raw.extend_from_slice(&message.body);
        } else if to_end {
            message.body = self.rest();
            message.raw.extend_from_slice(&message.body);
        }
        message
    }

    /// Reads a line without its end; `None` if the stream ends before it.
    pub(crate) fn try_line(&mut self) -> Option<String> {
        let line = self.take_through(b"\r\n")?;
        Some(String::from_utf8_lossy(&line[..line.len() - 2]).into_owned())
    }

    fn line(&mut self) -> Vec<u8> {
        let line = self.take_through(b"\r\n");
        line.unwrap_or_else(|| panic!("the stream ended after: {}", self.shown()))
    }

    fn chunks(&mut self, message: &mut Message) {
        loop {
            let line = self.line();
            message.raw.extend_from_slice(&line);
            let size = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size, no extension");
            if size == 0 {
                break;
            }
            let data = self.take(size);
            message.body.extend_from_slice(&data);
            message.raw.extend_from_slice(&data);
            assert_eq!(self.take(2), b"\r\n", "the end of a chunk");
        }
        loop {
            let line = self.line();
            message.raw.extend_from_slice(&line);
            match String::from_utf8_lossy(&line).trim() {
                "" => return,
                trailer => message.trailers.push(trailer.to_owned()),
            }
        }
    }

    /// Takes everything until the peer closes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.input)
    }

    /// Whether the peer has closed its side, or answered.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.stream.set_nonblocking(true).expect("a TCP socket");
        let ended = match self.stream.peek(&mut [0]) {
            Err(error) => error.kind() != ErrorKind::WouldBlock,
            Ok(_) => true,
        };
        self.stream.set_nonblocking(false).expect("a TCP socket");
        ended
    }

    /// Whether the peer closes without another byte.
    pub(crate) fn expect_end(&mut self) {
        let rest = self.rest();
        assert!(rest.is_empty(), "unexpected bytes: {}", String::from_utf8_lossy(&rest));
    }

    /// Whether the peer ends the stream, rather than resetting the connection.
    pub(crate) fn ends_cleanly(&mut self) -> bool {
        self.stream.read_to_end(&mut self.input).is_ok()
    }

    /// Another request is still answered.
    pub(crate) fn expect_open(&mut self, target: &str) {
        assert_eq!(self.get(target).status(), 200, "on the open connection");
    }
}

fn is_chunked(coding: &str) -> bool {
    coding.eq_ignore_ascii_case("chunked")
}
