//! A receiver of log datagrams.

use super::PATIENCE;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// A UDP socket that log lines are sent to.
pub(crate) struct LogReceiver(UdpSocket);

impl LogReceiver {
    pub(crate) fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(PATIENCE)).expect("a UDP socket");
        Self(socket)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a bound socket")
    }

    /// The next datagram, unchanged.
    pub(crate) fn datagram(&self) -> String {
        let mut bytes = [0; 65_536];
        let count = self.0.recv(&mut bytes).expect("a log line");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    /// The next line, without its end.
    pub(crate) fn line(&self) -> String {
        let datagram = self.datagram();
        datagram.strip_suffix('\n').expect("a line ends with a newline").to_owned()
    }

    /// The next line that contains a text; others are passed over.
    pub(crate) fn find(&self, text: &str) -> String {
        loop {
            let line = self.line();
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The lines that arrive within a span, which may be none.
    pub(crate) fn lines_for(&self, span: Duration) -> Vec<String> {
        self.0.set_read_timeout(Some(span)).expect("a UDP socket");
        let mut lines = Vec::new();
        let mut bytes = [0; 65_536];
        while let Ok(count) = self.0.recv(&mut bytes) {
            lines.push(String::from_utf8_lossy(&bytes[..count]).trim_end().to_owned());
        }
        self.0.set_read_timeout(Some(PATIENCE)).expect("a UDP socket");
        lines
    }
}

/// The constant parts of a line of `option httplog`: server, status, termination state and request,
/// in that order.
pub(crate) fn shape(line: &str) -> String {
    let (fields, request) = line.split_once(" \"").expect("a request in quotes");
    let fields: Vec<&str> = fields.split(' ').collect();
    // client:port [date] frontend backend/server timers status bytes cookies state counts queues
    let place = fields.iter().position(|field| field.starts_with('[')).expect("a date");
    let pick = |offset: usize| fields.get(place + offset).copied().unwrap_or("?");
    format!("{} {} {} {} \"{request}", pick(1), pick(2), pick(4), pick(8))
}
