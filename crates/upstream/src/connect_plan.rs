//! The plan of a connection to a server: address, source, TLS and preface, and the key of idle connections that began alike.
//!
//! A connection that carries a client's addresses (PROXY protocol) serves only requests with the
//! same ones: they are part of its key.
use crate::tls_connect;
use engine::state::backend::server_address::AddressSnapshot;
use engine::state::backend::server_connection::Target;
use engine::state::runtime::Server;
use engine::state::session::client_cold_state;
use engine::state::session::transaction::{EarlyDataResult, Transaction};
use observability::telemetry::sample_context::View;
use reactor::{Address, ConnectOptions, Socket, Thread};
use sample::{Facts, Hop, Text, TlsFact, Value};
use settings::{
    Announce, Disguise, Encryption, Follows, Mode, Ports, Protocol, ServerName, WireProtocol,
};
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use stdx::Tick;
use transport::channel::Link;
use transport::proxy_v2_tls::ProxyTlsValues;
use transport::proxy_v2_tls::header;
use transport::socket::is_transient;
use transport::stats::transaction_log::{Cause, Failure, Phase};
use wire::proxy_protocol::{self, ProxyHeader};
use wire::socks4;

/// The parameters of a connection.
#[derive(Debug, Default)]
pub struct ConnectPlan {
    /// The pool key; 0 where the parameters are those of every connection to the server.
    pub key: u64,
    /// The options of its socket, if there are some.
    dial: Option<ConnectOptions>,
    ports: Option<Ports>,
    /// The destination, if it depends on the client.
    to: Option<SocketAddr>,
    socks4: Option<SocketAddr>,
    /// The path that the request names in place of the server's address.
    path: Option<Address>,
    /// The bytes in front of the first byte of the request.
    preface: Vec<u8>,
    /// The TLS parameters of the connection, and the name in its SNI.
    encryption: Option<(Encryption, Option<String>)>,
    /// The protocol of the connection.
    protocol: Protocol,
}

/// How many ports of a range are tried for one connection.
const PORT_ATTEMPTS: u32 = 10;

impl ConnectPlan {
    /// The way of this request to this server, which is at `address`.
    pub fn new(tx: &mut Transaction, server: &Server, address: &Address) -> Self {
        let link = &server.settings.link;
        let plain = WireProtocol::default();
        let speech = match tx.client.mode {
            Mode::Http => server.settings.speech.of(&tx.space.request),
            Mode::Tcp => &plain,
        };
        let protocol = speech.protocol;
        if link.is_plain() {
            return Self { protocol, ..Self::default() };
        }
        let mut preface = Vec::new();
        let mut encryption = encrypted(server, &View::of(tx));
        if let (Some((encryption, _)), Some(alpn)) = (&mut encryption, &speech.alpn) {
            encryption.alpn = Some(alpn.clone());
        }
        let mut dial = tx.worker.shared.handles.connect_options(&link.dial);
        let told = match link.announce {
            Some(Announce::V2(values)) if values.tls => {
                tx.client.session().map(|session| ProxyTlsValues::of(&session, values))
            }
            _ => None,
        };
        let namespace = client_cold_state::namespace(&tx.client).cloned();
        let facts = View::of(tx);
        if let Some(announce) = link.announce {
            let ends = facts.source().zip(facts.destination());
            let namespace = namespace.as_deref().map(|namespace| namespace.name().as_bytes());
            write_proxy_header(announce, (ends, namespace), told.as_ref(), &facts, &mut preface);
        }
        let namespace = namespace.filter(|_| link.follows_namespace);
        let within = namespace.as_deref().map(|namespace| namespace.name().to_owned());
        if let Some(namespace) = namespace {
            dial.namespace = Some(namespace);
        }
        if let Some(source) = disguise(&link.disguise, &facts) {
            (dial.source, dial.foreign) = (Some(source), true);
        }
        let to = address.inet().and_then(|own| follow(link.follows, own, facts.destination()));
        // Whether the number of a request is used belongs to the notes.
        tx.notes.used = true;
        let source = dial.source.filter(|_| link.disguise != Disguise::None);
        let name = encryption.as_ref().and_then(|(_, name)| name.as_deref());
        // Encryption may be turned on and off.
        let name = encryption.as_ref().map(|_| name);
        let alone = source.is_none() && name.is_none() && speech.alpn.is_none();
        let alone = alone && within.is_none();
        let plain = preface.is_empty() && to.is_none() && alone;
        let path = tx.client.rare.target.clone();
        let plain = plain && path.is_none();
        let what = (&preface, source, (to, &path), name, &speech.alpn, within);
        let key = if plain { 0 } else { key_of(&tx.worker.shared.way_hasher, what) };
        let ports = link.ports;
        let socks4 = link.socks4;
        Self { key, dial: Some(dial), ports, to, socks4, path, preface, encryption, protocol }
    }

    /// The target of a connection of this kind, with its server in this place.
    pub fn target(&self, place: &AddressSnapshot) -> Target {
        let address = self.to.or(place.address.inet());
        Target { key: self.key, moves: place.moves, address }
    }

    /// Whether a connection of this kind may have one request at a time, as far as is known before
    /// the handshake.
    pub fn may_be_h1(&self) -> bool {
        matches!(self.protocol, Protocol::H1 | Protocol::Chosen)
    }

    /// Whether a connection of this kind may carry many streams.
    pub fn may_carry_streams(&self) -> bool {
        self.protocol != Protocol::H1
    }

    /// The protocol of an established connection of this kind.
    pub fn protocol_on(&self, link: &Link) -> Protocol {
        if self.protocol != Protocol::Chosen {
            return self.protocol;
        }
        let session = link.transport().and_then(|transport| transport.session());
        match session.is_some_and(|session| session.protocol() == Some(b"h2")) {
            true => Protocol::H2,
            false => Protocol::H1,
        }
    }

    /// Starts a connection of this kind to a server, which is at `address`.
    ///
    /// # Errors
    /// As the system says at once.
    pub fn open(
        &self,
        thread: &Rc<Thread>,
        server: &Server,
        address: &Address,
    ) -> io::Result<Socket> {
        let Some(dial) = &self.dial else { return Socket::connect(thread, address) };
        let own = self.socks4.or(self.to).map(Address::Inet);
        let to = self.path.as_ref().or(own.as_ref()).unwrap_or(address);
        let Some(ports) = self.ports else { return Socket::dial(thread, to, dial) };
        let unspecified = match to.inet() {
            Some(SocketAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        };
        let ip = dial.source.map_or(unspecified, |source| source.ip());
        let mut attempts = ports.count().min(PORT_ATTEMPTS);
        loop {
            let source = Some(SocketAddr::new(ip, server.source_port.next(ports)));
            attempts -= 1;
            match Socket::dial(thread, to, &ConnectOptions { source, ..dial.clone() }) {
                Err(error) if attempts > 0 && is_taken(&error) => {}
                result => return result,
            }
        }
    }

    /// Whether a connection failed because its source address is not available.
    pub fn has_no_source(&self, error: &io::Error) -> bool {
        let named = self.dial.as_ref().is_some_and(|dial| dial.source.is_some());
        (named || self.ports.is_some())
            && (is_taken(error) || error.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Sends the SOCKS4 request and the preface of a new connection; waits until it is established.
    ///
    /// # Errors
    /// The connection could not be made, or not in time.
    pub async fn begin(
        &self,
        tx: &mut Transaction,
        socket: &Link,
        deadline: Option<Tick>,
        more: bool,
        address: &Address,
    ) -> Result<(), Failure> {
        if self.socks4.is_some() {
            let Some(SocketAddr::V4(to)) = self.to.or(address.inet()) else {
                return Err(refused());
            };
            let mut request = Vec::new();
            socks4::encode_request(to, &mut request);
            write_all(tx, socket, &request, deadline, false).await?;
            be_granted(tx, socket, deadline).await?;
        }
        write_all(tx, socket, &self.preface, deadline, more).await
    }

    /// Runs the TLS handshake of a new connection, if it is encrypted. The early bytes are sent as
    /// early data if the server allows it and they are not too long.
    ///
    /// # Errors
    /// The server's certificate is not valid for it, or the handshake takes too long.
    pub async fn encrypt(
        &self,
        tx: &mut Transaction,
        link: &mut Link,
        deadline: Option<Tick>,
        early: &[u8],
    ) -> Result<EarlyDataResult, Failure> {
        match &self.encryption {
            None => Ok(EarlyDataResult::Unsaid),
            Some((encryption, name)) => {
                let with = (encryption, name.as_deref());
                Box::pin(tls_connect::connect(tx, link, with, deadline, early)).await
            }
        }
    }

    /// Whether a server accepts early data. The protocol has to be known before the handshake.
    pub fn takes_early_data(&self) -> bool {
        let allowed = |(encryption, _): &(Encryption, _)| encryption.connector.allows_early();
        self.protocol == Protocol::H1 && self.encryption.as_ref().is_some_and(allowed)
    }
}

/// The pool key of connections with the parameters `what`. Clients choose some parameters, such as
/// the name in their handshake; the hash is keyed at random, so that no client can choose
/// parameters with the key of others.
fn key_of(hasher: &RandomState, what: impl Hash) -> u64 {
    hasher.hash_one(what) | 1
}

/// The TLS parameters of a connection for this request, and the name in its SNI.
fn encrypted(server: &Server, facts: &dyn Facts) -> Option<(Encryption, Option<String>)> {
    let encryption = server.settings.link.encryption.as_ref().filter(|_| server.tls.is_on())?;
    let name = match &encryption.name {
        ServerName::None => None,
        ServerName::Fixed(name) => Some(name.clone()),
        ServerName::Sample(expr) => {
            expr.eval_str(facts).and_then(|name| String::from_utf8(name.to_vec()).ok())
        }
    };
    Some((encryption.clone(), name.filter(|name| !name.is_empty() && !name.contains('\0'))))
}

/// Writes all the bytes.
async fn write_all(
    tx: &mut Transaction,
    socket: &Link,
    mut rest: &[u8],
    deadline: Option<Tick>,
    more: bool,
) -> Result<(), Failure> {
    while !rest.is_empty() {
        match socket.send(&[IoSlice::new(rest)], more) {
            Ok(count) => rest = &rest[count..],
            Err(error) if is_transient(&error) => {
                wait(tx, socket, Link::want_write, deadline).await?;
            }
            Err(_) => return Err(refused()),
        }
    }
    Ok(())
}

/// Reads the answer of a SOCKS4 proxy.
async fn be_granted(
    tx: &mut Transaction,
    socket: &Link,
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let (mut reply, mut count) = ([0; socks4::REPLY_LEN], 0);
    while count < reply.len() {
        match socket.recv(&mut reply[count..]) {
            Ok(0) => return Err(refused()),
            Ok(more) => count += more,
            Err(error) if is_transient(&error) => {
                wait(tx, socket, Link::want_read, deadline).await?;
            }
            Err(_) => return Err(refused()),
        }
    }
    if socks4::is_granted(&reply) { Ok(()) } else { Err(refused()) }
}

/// The address that a connection pretends to come from, if it is known.
fn disguise(disguise: &Disguise, facts: &dyn Facts) -> Option<SocketAddr> {
    match disguise {
        Disguise::None => None,
        Disguise::Address(address) => Some(*address),
        Disguise::Client => facts.source(),
        Disguise::ClientIp => facts.source().map(|source| SocketAddr::new(source.ip(), 0)),
        Disguise::Header(name, occurrence) => {
            let values = facts.request()?.all(name.as_bytes());
            let values: Vec<&[u8]> =
                values.flat_map(|field| field.value.split(|byte| *byte == b',')).collect();
            let place = match usize::try_from(*occurrence) {
                Ok(from_start) => from_start.checked_sub(1)?,
                Err(_) => values.len().checked_sub(occurrence.unsigned_abs() as usize)?,
            };
            let text = std::str::from_utf8(values.get(place)?).ok()?;
            let ip: IpAddr = text.trim().parse().ok()?;
            Some(SocketAddr::new(ip, 0))
        }
    }
}

/// The server's address with the parts that follow the client's destination; `None` if no part
/// does.
fn follow(follows: Follows, own: SocketAddr, client: Option<SocketAddr>) -> Option<SocketAddr> {
    if follows == Follows::default() {
        return None;
    }
    let client = client?;
    let ip = if follows.ip { client.ip() } else { own.ip() };
    let port = follows.port.map_or(own.port(), |offset| {
        // Beyond the last port it begins again.
        (i32::from(client.port()) + offset).rem_euclid(65_536) as u16
    });
    Some(SocketAddr::new(ip, port))
}

/// Whether a source address is in use with this very destination.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable)
}

/// Waits for the socket, the deadline, or the client's end.
async fn wait(
    tx: &mut Transaction,
    socket: &Link,
    want: fn(&Link),
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
        return Err(Failure::error(503, Cause::ServerTimeout, Phase::Connect));
    }
    crate::client_presence::check_client(tx, Phase::Connect)?;
    want(socket);
    thread.scheduler().wait(deadline).await;
    Ok(())
}

fn refused() -> Failure {
    Failure::error(503, Cause::ServerAbort, Phase::Connect)
}

/// Writes the header of a connection that is made for a client with these ends, in this namespace.
fn write_proxy_header(
    announce: Announce,
    (ends, namespace): (Option<(SocketAddr, SocketAddr)>, Option<&[u8]>),
    told: Option<&ProxyTlsValues>,
    facts: &dyn Facts,
    out: &mut Vec<u8>,
) {
    match announce {
        Announce::V1 => proxy_protocol::encode_v1(ends, out),
        Announce::V2(values) => {
            let unique_id = facts.unique_id().filter(|_| values.unique_id);
            let unique_id = unique_id.as_deref();
            let asked = facts.tls(Hop::Client, TlsFact::ServerName).and_then(Value::to_str);
            let authority = asked.or_else(|| facts.text(Text::ProxyAuthority));
            let authority = authority.as_deref().filter(|_| values.authority);
            let header =
                ProxyHeader { ends, unique_id, authority, namespace, ..header(values, told) };
            proxy_protocol::encode_v2(&header, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_connections_differ_from_process_to_process() {
        let processes = [RandomState::new(), RandomState::new()];
        let keys = processes.each_ref().map(|hasher| key_of(hasher, "example.org"));
        assert_ne!(keys[0], keys[1]);
        assert_eq!(keys[0], key_of(&processes[0], "example.org"));
        assert_ne!(keys[0], key_of(&processes[0], "example.com"));
        assert!(keys.iter().all(|key| *key != 0), "0 is the usual way");
    }
}
