//! Whom a proxy deals with: origins that may fail in every way, an agent, a mail server, a log.
//!
//! Their threads end with the process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock;
use crate::failure::{self, Outcome};

/// The behaviour of an origin to connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Answers with this status.
    Status(u16),
    /// Reads the request and sends nothing.
    Silent,
    /// Answers with bytes that are not HTTP.
    Strange,
    /// Closes without an answer.
    Mute,
    /// The port is closed.
    Closed,
}

/// The state that an actor shares with its thread.
type Shared<T> = Arc<Mutex<T>>;

fn locked<T>(shared: &Shared<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The interval at which an origin looks for connections and for a change of its behaviour.
const GLANCE: Duration = Duration::from_millis(2);

/// An origin.
pub(super) struct Origin {
    address: SocketAddr,
    manner: Shared<Manner>,
}

impl Origin {
    /// One that answers 200, on a port that the kernel gives.
    pub(super) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let manner = Arc::new(Mutex::new(Manner::Status(200)));
        let shared = manner.clone();
        std::thread::spawn(move || serve(address, listener, &shared));
        Ok(Self { address, manner })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn behave(&self, manner: Manner) {
        *locked(&self.manner) = manner;
    }
}

fn serve(address: SocketAddr, listener: TcpListener, manner: &Shared<Manner>) {
    let mut open = Some(listener);
    loop {
        let now = *locked(manner);
        open = match (open, now) {
            (_, Manner::Closed) => None,
            (None, _) => TcpListener::bind(address).ok(),
            (kept, _) => kept,
        };
        let accepted = open.as_ref().and_then(|listener| {
            listener.set_nonblocking(true).ok()?;
            listener.accept().ok()
        });
        match accepted {
            Some((stream, _)) => drop(std::thread::spawn(move || answer(stream, now))),
            None => clock::pause(GLANCE),
        }
    }
}

/// Answers one connection once; a client that has left needs no answer.
fn answer(mut stream: TcpStream, manner: Manner) {
    let patience = Some(Duration::from_secs(5));
    if stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(patience)).is_err() {
        return;
    }
    let mut request = [0; 4096];
    let asked = stream.read(&mut request).is_ok_and(|count| count > 0);
    let text = match manner {
        _ if !asked => return,
        Manner::Status(status) => {
            format!("HTTP/1.1 {status} Some Reason\r\nContent-Length: 2\r\n\r\nok")
        }
        Manner::Strange => "what is this\r\n\r\n".to_owned(),
        Manner::Silent => {
            // Until the other side gives up.
            let _ = stream.read(&mut request);
            return;
        }
        Manner::Mute | Manner::Closed => return,
    };
    let _ = stream.write_all(text.as_bytes());
    // The side that closes first gets TIME_WAIT, which blocks its port: the client has to be that
    // side.
    let _ = stream.read(&mut request);
}

/// An agent: every connection gets the present answer.
pub(super) struct Agent {
    pub(super) port: u16,
    words: Shared<String>,
}

impl Agent {
    pub(super) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(unusable)?;
        let port = listener.local_addr().map_err(unusable)?.port();
        let words: Shared<String> = Arc::new(Mutex::new("up\n".to_owned()));
        let shared = words.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.write_all(locked(&shared).as_bytes());
            }
        });
        Ok(Self { port, words })
    }

    pub(super) fn say(&self, words: &str) {
        *locked(&self.words) = format!("{words}\n");
    }
}

/// A mail server that collects the mails it receives.
pub(super) struct MailServer {
    pub(super) port: u16,
    heard: Shared<Vec<String>>,
}

impl MailServer {
    pub(super) fn start() -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(unusable)?;
        let port = listener.local_addr().map_err(unusable)?.port();
        let heard: Shared<Vec<String>> = Shared::default();
        let shared = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || hear(stream, &shared));
            }
        });
        Ok(Self { port, heard })
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.heard).len()
    }

    /// The mails since the last time, each in one line, in no order.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.heard))
    }
}

/// One conversation (RFC 5321): the mail is kept at its end.
fn hear(stream: TcpStream, heard: &Shared<Vec<String>>) {
    let Ok(mut out) = stream.try_clone() else { return };
    let _ = out.write_all(b"220 ready\r\n");
    let (mut mail, mut in_data) = (Vec::new(), false);
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let line = line.trim_end().to_owned();
        // The date is another one each time.
        if !line.starts_with("Date:") {
            mail.push(line.clone());
        }
        let reply: &[u8] = match (in_data, line.as_str()) {
            (false, "DATA") => {
                in_data = true;
                b"354 go on\r\n"
            }
            (true, ".") => {
                in_data = false;
                b"250 taken\r\n"
            }
            (true, _) => continue,
            (false, "QUIT") => {
                let _ = out.write_all(b"221 bye\r\n");
                return locked(heard).push(mail.join(" | "));
            }
            (false, _) => b"250 fine\r\n",
        };
        let _ = out.write_all(reply);
    }
}

/// A log server.
pub(super) struct Log {
    pub(super) port: u16,
    lines: Shared<Vec<String>>,
}

impl Log {
    pub(super) fn start() -> Outcome<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0").map_err(unusable)?;
        let port = socket.local_addr().map_err(unusable)?.port();
        let lines: Shared<Vec<String>> = Shared::default();
        let shared = lines.clone();
        std::thread::spawn(move || {
            let mut datagram = [0; 4096];
            while let Ok(count) = socket.recv(&mut datagram) {
                let text = String::from_utf8_lossy(&datagram[..count]).trim_end().to_owned();
                locked(&shared).push(text);
            }
        });
        Ok(Self { port, lines })
    }

    pub(super) fn count(&self) -> usize {
        locked(&self.lines).len()
    }

    /// The lines since the last time.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.lines))
    }
}

fn unusable(error: std::io::Error) -> failure::Failure {
    failure::machine(format!("cannot play a server: {error}"))
}
