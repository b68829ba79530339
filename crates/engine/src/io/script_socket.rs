//! Sockets of scripts (`core.tcp`): one operation at a time, each with a deadline.

use crate::io::byte_client::{ByteClient, ByteClientError};
use crate::io::kept_payload::{self, MemoryShort};
use crate::state::backend::queue::Waiter;
use crate::state::resolver::ResolverOrder;
use crate::state::session::lookup::NameQuery;
use crate::state::worker::Worker;
use dns::RecordType;
use reactor::{Address, ConnectOptions, Tick};
use script::{Answer, Pattern, SocketCall};
use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use stdx::Mutex;

/// The most bytes that one `receive` returns.
const MOST: usize = 64 << 20;
/// The time of an operation without a limit, in milliseconds: as long as a deadline can be away.
const ENDLESS: u64 = 20 * 24 * 3_600_000;
/// The section whose name servers resolve the names that scripts connect to.
const RESOLVERS: &str = "default";

const CLOSED: Answer = Answer::Refused("connection closed.");
const UNCONNECTED: Answer = Answer::Refused("Can't connect");

/// The connection of a socket.
struct Connection {
    line: ByteClient,
    peer: Address,
    /// Bytes received and not yet returned.
    input: Vec<u8>,
}

/// A connection to make.
struct SocketTarget {
    address: String,
    port: Option<u16>,
    tls: bool,
}

/// Runs an operation on a socket.
pub(crate) async fn serve(worker: &Worker, id: u64, call: SocketCall) -> Answer {
    let sockets = &worker.script_sockets;
    let span =
        sockets.with(id, |socket| if socket.timeout == 0 { ENDLESS } else { socket.timeout });
    let Some(span) = span else {
        return Answer::Failed("the socket belongs to another thread".to_owned());
    };
    let taken = match call {
        SocketCall::SetTimeout(ms) => {
            sockets.with(id, |socket| socket.timeout = ms);
            return Answer::Number(1);
        }
        SocketCall::Close => {
            sockets.with(id, |socket| socket.hang_up());
            return Answer::Done;
        }
        _ => sockets.with(id, |socket| socket.take()).flatten(),
    };
    let connection = taken.and_then(|taken| taken.downcast::<Connection>().ok());
    let (answer, connection) = act(worker, call, connection, span).await;
    if let Some(connection) = connection {
        sockets.with(id, |socket| socket.put(connection as Box<dyn Any>));
    }
    answer
}

/// Runs an operation on the connection that was taken out; returns the one to put back.
async fn act(
    worker: &Worker,
    call: SocketCall,
    connection: Option<Box<Connection>>,
    span: u64,
) -> (Answer, Option<Box<Connection>>) {
    let until = |span: u64| worker.thread.tick().plus_ms(u32::try_from(span).unwrap_or(u32::MAX));
    if let SocketCall::Connect { address, port, timeout, tls } = call {
        drop(connection);
        let wanted = SocketTarget { address, port, tls };
        return match connect(worker, wanted, timeout.filter(|ms| *ms > 0).unwrap_or(span)).await {
            Ok(connection) => (Answer::Number(1), Some(Box::new(connection))),
            Err(answer) => (answer, None),
        };
    }
    let Some(mut connection) = connection else {
        let answer = match call {
            SocketCall::PeerName | SocketCall::OwnName => Answer::Nothing,
            _ => CLOSED,
        };
        return (answer, None);
    };
    connection.line.own();
    connection.line.resume(until(span));
    let answer = match call {
        SocketCall::Send(bytes) => connection.send(&bytes).await,
        SocketCall::Receive(pattern) => connection.receive(worker, pattern).await,
        SocketCall::PeerName => shown(&connection.peer),
        _ => connection.line.local().map_or(Answer::Nothing, |own| shown(&Address::Inet(own))),
    };
    connection.line.rest();
    (answer, Some(connection))
}

async fn connect(worker: &Worker, wanted: SocketTarget, span: u64) -> Result<Connection, Answer> {
    let Some(handle) = worker.handle() else { return Err(UNCONNECTED) };
    let span = u32::try_from(span).unwrap_or(u32::MAX);
    let peer = find(worker, &wanted, worker.thread.tick().plus_ms(span)).await?;
    let mut line = ByteClient::new(&handle, span, None);
    let dialled = line.dial(&peer, true, &ConnectOptions::default()).await;
    dialled.map_err(|_| UNCONNECTED)?;
    if wanted.tls {
        let encryption = worker.shared.script_encryption.get();
        let encryption = encryption.ok_or(UNCONNECTED)?;
        line.encrypt(encryption).await.map_err(|_| UNCONNECTED)?;
    }
    line.rest();
    Ok(Connection { line, peer, input: Vec::new() })
}

/// The address that a script means; a name is resolved.
async fn find(worker: &Worker, wanted: &SocketTarget, until: Tick) -> Result<Address, Answer> {
    let text = wanted.address.as_str();
    if let Some(path) =
        text.strip_prefix("unix@").or_else(|| text.strip_prefix('/').and(Some(text)))
    {
        return Ok(Address::Unix(PathBuf::from(path)));
    }
    if let Some(name) = text.strip_prefix("abns@") {
        return Ok(Address::Unix(PathBuf::from(format!("\0{name}"))));
    }
    let missing = || Answer::Failed("connect: port missing".to_owned());
    let plain = text.strip_prefix("ipv4@").or_else(|| text.strip_prefix("ipv6@")).unwrap_or(text);
    let (host, port) = match (wanted.port, plain.rsplit_once(':')) {
        (Some(port), _) => (plain, port),
        (None, Some((host, port))) => (host, port.parse().map_err(|_| missing())?),
        (None, None) => return Err(missing()),
    };
    if port == 0 {
        return Err(missing());
    }
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let ip = match host.parse::<IpAddr>() {
        Ok(ip) => Some(ip),
        Err(_) if host == "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        Err(_) => resolve(worker, host, until).await,
    };
    let unknown = || Answer::Failed(format!("connect: cannot parse destination address '{host}:'"));
    Ok(Address::Inet(SocketAddr::new(ip.ok_or_else(unknown)?, port)))
}

/// The address of a name by the resolvers of the configuration.
async fn resolve(worker: &Worker, name: &str, until: Tick) -> Option<IpAddr> {
    let resolver = worker.shared.resolvers.iter().find(|it| *it.settings.name == *RESOLVERS)?;
    if !dns::message::is_name(name) {
        return None;
    }
    let waiter = Waiter::current(&worker.thread);
    let (name, family) = (name.into(), RecordType::V4);
    let ask = Arc::new(NameQuery { name, family, answer: Mutex::default(), waiter });
    resolver.order(ResolverOrder::Ask(ask.clone()));
    while !until.is_due(worker.thread.tick()) {
        if let Some(found) = ask.answer() {
            return found;
        }
        worker.thread.scheduler().wait(Some(until)).await;
    }
    None
}

fn shown(address: &Address) -> Answer {
    let text = match address {
        Address::Inet(address) => format!("{}:{}", address.ip(), address.port()),
        Address::Unix(path) => path.to_string_lossy().into_owned(),
        Address::Pair(_) => return Answer::Nothing,
    };
    Answer::Bytes(text.into_bytes())
}

impl Connection {
    async fn send(&mut self, bytes: &[u8]) -> Answer {
        match self.line.send(bytes).await {
            Ok(()) => Answer::Number(bytes.len() as i64),
            Err(_) => CLOSED,
        }
    }

    /// The bytes that a pattern asks for; at the end of the connection, all bytes that were
    /// received.
    async fn receive(&mut self, worker: &Worker, pattern: Pattern) -> Answer {
        let mut seen = 0;
        loop {
            match pattern {
                Pattern::Line => {
                    if let Some(at) = memchr::memchr(b'\n', &self.input[seen..]) {
                        return Answer::Bytes(self.line_of(seen + at));
                    }
                }
                Pattern::Count(count) if count > 0 && self.input.len() >= count => {
                    return Answer::Bytes(self.first(count));
                }
                Pattern::Count(_) | Pattern::All => {}
            }
            seen = self.input.len();
            if seen > MOST {
                return Answer::Failed("receive: there is too much to be received at once".into());
            }
            let Ok(filled) = self.fill_within_budget(worker).await else {
                self.input = Vec::new();
                return Answer::Failed(format!("receive: {}", kept_payload::SHORT));
            };
            match filled {
                Ok(true) if pattern == Pattern::Count(0) => return Answer::Bytes(Vec::new()),
                Ok(true) => {}
                Ok(false) | Err(ByteClientError::Broken(_)) if self.input.is_empty() => {
                    return CLOSED;
                }
                Ok(false) | Err(ByteClientError::Broken(_)) => {
                    return Answer::Bytes(self.first(seen));
                }
                // The bytes that have come stay for the next call.
                Err(ByteClientError::Late) => return CLOSED,
            }
        }
    }

    /// Takes the first bytes out of the input.
    fn first(&mut self, count: usize) -> Vec<u8> {
        let rest = self.input.split_off(count);
        std::mem::replace(&mut self.input, rest)
    }

    /// Takes the line that ends at `end` out of the input.
    fn line_of(&mut self, end: usize) -> Vec<u8> {
        let mut line = self.first(end + 1);
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        line
    }

    /// Receives more, as far as memory allows.
    async fn fill_within_budget(
        &mut self,
        worker: &Worker,
    ) -> Result<Result<bool, ByteClientError>, MemoryShort> {
        let held = self.input.len();
        kept_payload::grow(worker, &mut self.input, worker.buffers.size()).await?;
        let filled = kept_payload::wait(worker, held, self.fill()).await?;
        if !matches!(filled, Ok(true)) {
            // The script gets a copy.
            kept_payload::admit(worker, held, held).await?;
        }
        Ok(filled)
    }

    /// Receives more; `false` at the end of the connection.
    async fn fill(&mut self) -> Result<bool, ByteClientError> {
        loop {
            self.line.read()?;
            if !self.line.received().is_empty() {
                self.line.take(&mut self.input);
                return Ok(true);
            }
            if self.line.has_ended() {
                return Ok(false);
            }
            self.line.wait_for_more().await?;
        }
    }
}
