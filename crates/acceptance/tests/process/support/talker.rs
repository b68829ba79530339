//! Clients that say the same in either version of HTTP, clear or encrypted.

use super::{PATIENCE, Secure};
use htx::{Fields, Head, Version};
use mux::{BodyKind, Eof, HeadStep, Side, h1, h2};
use openssl::ssl::SslConnectorBuilder;
use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A connection: plain or encrypted, over TCP or a unix socket.
trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

/// The answer that a client has received.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// The statuses of interim answers.
    pub(crate) interim: Vec<u16>,
    /// The final one; 0 if there was none.
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
    /// The answer came to its end.
    pub(crate) whole: bool,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

enum Machine {
    H1(h1::H1Conn),
    H2(Box<h2::H2Conn>, h2::Key),
}

/// A client.
pub(crate) struct Talker {
    wire: Box<dyn Wire>,
    machine: Machine,
    input: Vec<u8>,
    out: Vec<u8>,
    scheme: &'static [u8],
    ended: bool,
}

impl Talker {
    /// Connects; `version` is the major number of HTTP.
    pub(crate) fn connect(address: SocketAddr, version: u8, encrypted: bool) -> Self {
        let wire: Box<dyn Wire> = match encrypted {
            true => Box::new(secure(address, version)),
            false => {
                let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("a listener");
                stream.set_read_timeout(Some(PATIENCE)).expect("a TCP socket");
                stream.set_nodelay(true).expect("a TCP socket");
                Box::new(stream)
            }
        };
        let machine = match version {
            1 => Machine::H1(h1::H1Conn::new(Side::Server, h1::H1ConnSettings::default())),
            _ => {
                let mut conn =
                    Box::new(h2::H2Conn::new(Side::Server, h2::H2ConnSettings::default()));
                let key = conn.open().expect("the first stream");
                Machine::H2(conn, key)
            }
        };
        let scheme = if encrypted { &b"https"[..] } else { b"http" };
        let (input, out) = (Vec::new(), Vec::new());
        let mut this = Self { wire, machine, input, out, scheme, ended: false };
        // An extended CONNECT has to wait for the server's SETTINGS.
        while let Machine::H2(conn, _) = &mut this.machine {
            if conn.has_peer_settings(0) {
                break;
            }
            this.receive();
        }
        this
    }

    /// Begins with a request; `body` is how its payload is delimited.
    pub(crate) fn begin(&mut self, line: &str, headers: &[(&str, &str)], body: BodyKind) {
        let mut head = Head::default();
        let (method, target) = line.split_once(' ').expect("a method and a target");
        head.set_request(method.as_bytes(), target.as_bytes(), Version::Http11);
        head.push(b"host", b"example.org");
        for (name, value) in headers {
            head.push(name.as_bytes(), value.as_bytes());
        }
        let mut out = Vec::new();
        match &mut self.machine {
            Machine::H1(conn) => drop(conn.encode_head(&mut head, body, &mut out)),
            Machine::H2(conn, key) => {
                if !matches!(conn.id(*key), 0) && conn.has_sent_head(*key) {
                    conn.release(*key);
                    *key = conn.open().expect("another stream");
                }
                conn.encode_head(*key, &mut head, body, self.scheme);
            }
        }
        self.out.extend_from_slice(&out);
        self.flush();
    }

    /// Sends payload.
    pub(crate) fn say(&mut self, mut bytes: &[u8]) {
        match &mut self.machine {
            Machine::H1(conn) => {
                let framing = conn.encode_data(bytes.len() as u64).expect("room in the body");
                for part in [framing.prefix(), bytes, framing.suffix()] {
                    self.out.extend_from_slice(part);
                }
            }
            Machine::H2(conn, key) => conn.encode_data(*key, bytes.len() as u64),
        }
        while let Machine::H2(conn, key) = &mut self.machine {
            let Ok(count) = conn.send(*key, &[IoSlice::new(bytes)]) else { return };
            bytes = &bytes[count..];
            self.flush();
            if bytes.is_empty() {
                return;
            }
            if count == 0 {
                self.receive();
            }
        }
        self.flush();
    }

    /// Ends the request.
    pub(crate) fn end(&mut self, trailers: &[(&str, &str)]) {
        let mut section = Fields::default();
        trailers.iter().for_each(|(name, value)| section.push(name.as_bytes(), value.as_bytes()));
        match &mut self.machine {
            Machine::H1(conn) => conn.encode_end(Some(&section), &mut self.out),
            Machine::H2(conn, key) => conn.encode_end(*key, Some(&section)),
        }
        self.flush();
    }

    /// A request without a body, and the answer to it.
    pub(crate) fn ask(&mut self, line: &str, headers: &[(&str, &str)]) -> Heard {
        self.begin(line, headers, BodyKind::None);
        self.end(&[]);
        self.hear()
    }

    /// Reads a response to its end, or to the end of the connection.
    pub(crate) fn hear(&mut self) -> Heard {
        let (mut heard, mut head) = (Heard::default(), Head::default());
        loop {
            match self.head(&mut head) {
                Some(HeadStep::Interim { .. }) => heard.interim.push(head.status()),
                Some(HeadStep::Complete { body, .. }) => {
                    heard.status = head.status();
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let fields = head.fields().map(|it| (text(it.name), text(it.value)));
                    heard.headers = fields.collect();
                    if body == BodyKind::Tunnel {
                        heard.whole = true;
                        return heard;
                    }
                    break;
                }
                Some(HeadStep::NeedMore) if !self.ended => self.receive(),
                _ => return heard,
            }
        }
        let mut trailers = Fields::default();
        heard.whole = self.body(&mut heard.body, &mut trailers);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        heard.trailers = trailers.iter().map(|it| (text(it.name), text(it.value))).collect();
        if let Machine::H1(conn) = &mut self.machine
            && conn.can_reuse()
        {
            conn.reset_for_next();
        }
        heard
    }

    /// Takes opaque bytes.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        while taken.len() < count && !self.ended {
            let mut buffer = vec![0; count - taken.len()];
            match &mut self.machine {
                Machine::H1(_) => {
                    let own = self.input.len().min(buffer.len());
                    taken.extend(self.input.drain(..own));
                }
                Machine::H2(conn, key) => {
                    if let Ok(Some(count)) = conn.read(*key, &mut buffer) {
                        taken.extend_from_slice(&buffer[..count]);
                    }
                }
            }
            if taken.len() < count {
                self.receive();
            }
        }
        taken
    }

    fn head(&mut self, head: &mut Head) -> Option<HeadStep> {
        match &mut self.machine {
            Machine::H1(conn) => {
                let step = conn.handle_head(&self.input, head).ok()?;
                if let HeadStep::Interim { consumed } | HeadStep::Complete { consumed, .. } = step {
                    self.input.drain(..consumed);
                }
                Some(step)
            }
            Machine::H2(conn, key) => match conn.handle_head(*key, head).ok()? {
                HeadStep::NeedMore if conn.is_reset(*key) => None,
                step => Some(step),
            },
        }
    }

    fn body(&mut self, body: &mut Vec<u8>, trailers: &mut Fields) -> bool {
        loop {
            let mut buffer = [0; 16_384];
            match &mut self.machine {
                Machine::H1(conn) => {
                    let Ok(step) = conn.handle_body(&self.input, trailers) else { return false };
                    body.extend_from_slice(&self.input[step.skip..step.skip + step.data]);
                    self.input.drain(..step.skip + step.data);
                    if step.done || (self.ended && conn.handle_eof() == Eof::MessageEnd) {
                        return true;
                    }
                    if step.skip + step.data > 0 {
                        continue;
                    }
                }
                Machine::H2(conn, key) => match conn.read(*key, &mut buffer) {
                    Ok(Some(0)) => {
                        conn.handle_body(*key, b"", trailers);
                        return conn.end_of(*key) == Eof::MessageEnd;
                    }
                    Ok(Some(count)) => {
                        body.extend_from_slice(&buffer[..count]);
                        conn.handle_body(*key, &buffer[..count], trailers);
                        continue;
                    }
                    Ok(None) => {}
                    Err(_) => return false,
                },
            }
            if self.ended {
                return false;
            }
            self.receive();
        }
    }

    fn flush(&mut self) {
        if let Machine::H2(conn, _) = &mut self.machine {
            self.out.extend_from_slice(conn.output());
            conn.advance_output(usize::MAX);
        }
        // A server that has answered early may have closed already.
        let _ = self.wire.write_all(&self.out);
        self.out.clear();
    }

    fn receive(&mut self) {
        self.flush();
        let mut buffer = [0; 65_536];
        match self.wire.read(&mut buffer) {
            Ok(count @ 1..) => self.input.extend_from_slice(&buffer[..count]),
            Ok(_) => self.ended = true,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("no answer"),
            Err(_) => self.ended = true,
        }
        if let Machine::H2(conn, _) = &mut self.machine {
            match conn.handle_input(&self.input, 0) {
                Ok(taken) => drop(self.input.drain(..taken)),
                Err(_) => self.ended = true,
            }
            if self.ended {
                conn.handle_eof();
            }
        }
        self.flush();
    }
}

fn secure(address: SocketAddr, version: u8) -> openssl::ssl::SslStream<TcpStream> {
    let protocol: &[u8] = if version == 1 { b"\x08http/1.1" } else { b"\x02h2" };
    let offer = |builder: &mut SslConnectorBuilder| {
        builder.set_alpn_protos(protocol).expect("a list of protocols");
    };
    let stream = Secure::try_connect(address, "example.org", offer).expect("a handshake").0;
    assert_eq!(stream.ssl().selected_alpn_protocol(), Some(&protocol[1..]));
    stream
}
