//! Clients and servers that use early data.

use super::{Identity, Message, PATIENCE, Running, reply};
use ffi::{Channel, Resumer, Wire};
use openssl::ssl::{Ssl, SslContext, SslMethod};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A socket that carries records.
pub(crate) struct Plain(pub(crate) TcpStream);

impl Wire for Plain {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
}

/// The same stream, which also records the sent bytes.
struct Recorded<'a>(&'a mut Plain, Vec<u8>);

impl Wire for Recorded<'_> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.0.send(bytes)?;
        self.1.extend_from_slice(&bytes[..count]);
        Ok(count)
    }
}

/// A client that resumes its sessions.
pub(crate) struct Eager {
    sessions: Resumer,
    channel: Channel,
    wire: Plain,
}

impl Eager {
    pub(crate) fn new(weir: &Running) -> Self {
        Self::at(weir.address("web"))
    }

    /// A client of this listener.
    pub(crate) fn at(address: SocketAddr) -> Self {
        let context = SslContext::builder(SslMethod::tls_client()).expect("a context");
        let sessions = Resumer::new(context, 1);
        let (channel, wire) = Self::begin(address, &sessions);
        Self { sessions, channel, wire }
    }

    fn begin(address: SocketAddr, sessions: &Resumer) -> (Channel, Plain) {
        let mut ssl = sessions.begin(0, b"a.test").expect("a session");
        ssl.set_connect_state();
        let stream = TcpStream::connect(address).expect("a listener");
        stream.set_read_timeout(Some(PATIENCE)).expect("a TCP socket");
        (Channel::new(ssl).expect("a session"), Plain(stream))
    }

    /// Another connection to the same frontend, without any bytes sent.
    pub(crate) fn again(&mut self, weir: &Running) {
        self.again_at(weir.address("web"));
    }

    /// Another connection, to this listener.
    pub(crate) fn again_at(&mut self, address: SocketAddr) {
        self.channel.absolve();
        (self.channel, self.wire) = Self::begin(address, &self.sessions);
    }

    /// Ends its side in the middle of a handshake, and waits for the other's end.
    pub(crate) fn leave(&mut self) {
        self.wire.0.shutdown(Shutdown::Write).expect("a connected socket");
        // The connection may be reset, because not all sent bytes are read.
        let _ = self.wire.0.read_to_end(&mut Vec::new());
    }

    pub(crate) fn shake(&mut self) {
        self.channel.handshake(&mut self.wire).expect("a handshake");
    }

    pub(crate) fn ask(&mut self, target: &str) {
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        self.channel.write(&mut self.wire, request.as_bytes()).expect("an open connection");
    }

    /// Sends a request as early data. `false`: that is not allowed.
    pub(crate) fn ask_early(&mut self, target: &str) -> bool {
        self.say_early(&format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n"))
    }

    /// Sends any request as early data.
    pub(crate) fn say_early(&mut self, request: &str) -> bool {
        self.channel.write_early(&mut self.wire, request.as_bytes()).is_ok()
    }

    /// Sends a request as early data; returns the bytes that an observer of the network sees.
    pub(crate) fn overheard_early(&mut self, target: &str) -> Vec<u8> {
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        let mut wire = Recorded(&mut self.wire, Vec::new());
        self.channel.write_early(&mut wire, request.as_bytes()).expect("an early word");
        wire.1
    }

    /// The status line of the answer.
    pub(crate) fn answer(&mut self) -> String {
        self.whole_answer().lines().next().unwrap_or("").to_owned()
    }

    /// The answer, if it has arrived.
    pub(crate) fn whole_answer(&mut self) -> String {
        let mut bytes = [0; 4_096];
        let count = self.channel.read(&mut self.wire, &mut bytes).expect("an answer");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    /// Whether the client has resumed a session.
    pub(crate) fn is_resumed(&self) -> bool {
        self.channel.ssl().session_reused()
    }
}

/// A server that reports whether each request came in early data: `early`, or `late`. One request
/// per connection.
pub(crate) struct EarlyOrigin {
    address: SocketAddr,
    count: Arc<AtomicUsize>,
}

impl EarlyOrigin {
    /// A server that takes up to `room` bytes of early data, and answers early requests with
    /// `status`.
    pub(crate) fn new(room: u32, status: &'static str) -> Self {
        let identity = Identity::new("a.test", None);
        let mut context = SslContext::builder(SslMethod::tls_server()).expect("a context");
        context.set_max_early_data(room).expect("a number");
        identity.present(&mut context);
        let context = context.build();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("a bound socket");
        let count = Arc::new(AtomicUsize::new(0));
        let shared = count.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut ssl = Ssl::new(&context).expect("a session");
                ssl.set_accept_state();
                let channel = Channel::new(ssl).expect("a session");
                let count = shared.clone();
                std::thread::spawn(move || serve(channel, Plain(stream), status, &count));
            }
        });
        Self { address, count }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many handshakes are over.
    pub(crate) fn handshakes(&self) -> usize {
        self.count.load(Relaxed)
    }
}

fn serve(mut channel: Channel, mut wire: Plain, status: &str, count: &AtomicUsize) -> Option<()> {
    let (mut early, mut bytes) = (Vec::new(), [0; 16_384]);
    while let read @ 1.. = channel.read_early(&mut wire, &mut bytes).ok()? {
        early.extend_from_slice(&bytes[..read]);
    }
    channel.handshake(&mut wire).ok()?;
    count.fetch_add(1, Relaxed);
    let told = |request: &[u8]| Message::of_head(request).header("early-data").map(str::to_owned);
    let (status, when, request) = if early.is_empty() {
        let read = channel.read(&mut wire, &mut bytes).ok()?;
        ("200 OK", "late", &bytes[..read])
    } else {
        (status, "early", &early[..])
    };
    let told = told(request).map_or("", |_| ", told");
    let answer = reply(status, &format!("{when}{told}"));
    channel.write(&mut wire, answer.as_bytes()).ok()?;
    // The other side closes.
    let _ = channel.read(&mut wire, &mut bytes);
    channel.absolve();
    Some(())
}
