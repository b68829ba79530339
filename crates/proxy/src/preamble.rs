//! What a client's connection begins with before its first byte: PROXY protocol and NetScaler headers,
//! then the handshake of TLS.
//! Never guesses: a listener, or a rule, says that one is expected (manual sections 5.1 and 4.2).
//!
//! The addresses that a header names hold for everything that comes after it. Who breaks the
//! protocol is closed without a word, and logged with the address that the system knows.

use crate::client::{self, Client};
use crate::facts::wall;
use crate::gate;
use crate::handshake;
use crate::log;
use crate::report;
use crate::settings::Front;
use reactor::{Namespace, Need, Tick};
use sample::calendar::Date;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wire::{netscaler, proxy_protocol};

/// What a PROXY protocol header told of the client.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The host name that it asked for.
    pub(crate) authority: Option<Box<[u8]>>,
    pub(crate) unique_id: Option<Box<[u8]>>,
    /// The network namespace that it comes from, if it is known here.
    namespace: Option<Arc<Namespace>>,
}

/// The network namespace that a client comes from, if not that of the process: as its PROXY
/// protocol header says, otherwise that of the listener. (As measured.)
pub(crate) fn namespace(client: &Client) -> Option<&Arc<Namespace>> {
    let told = client.rare.told.as_ref().and_then(|told| told.namespace.as_ref());
    told.or_else(|| {
        let front = client.proxy.settings.front.as_ref()?;
        front.binds.get(client.bind as usize)?.namespace.as_ref()
    })
}

/// Which header is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Proxy,
    NetScaler,
}

/// Why a connection is given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    Closed,
    Broken,
    Late,
    Truncated,
    Foreign,
    Invalid,
    Unhandled,
}

/// Waits for what is expected; then the session begins.
pub(crate) async fn run(mut client: Box<Client>) {
    client.socket.own();
    let expected = client.rare.expects;
    let kinds = [(expected.netscaler, Kind::NetScaler), (expected.proxy, Kind::Proxy)];
    for (_, kind) in kinds.into_iter().filter(|(expected, _)| *expected) {
        if let Err(trouble) = receive(&mut client, kind).await {
            let silent = client.input.capacity() == 0;
            client.rare.edit().trouble = Some(words(kind, trouble));
            report(&client, silent);
            return;
        }
    }
    let front = client.proxy.clone();
    let bind = front.settings.front.as_ref().and_then(|it| it.binds.get(client.bind as usize));
    if let Some(acceptor) = bind.and_then(|bind| bind.tls.as_ref())
        && let Err(trouble) = handshake::accept(&mut client, acceptor).await
    {
        client.rare.edit().trouble = Some(trouble.words());
        report(&client, trouble.is_silence());
        return;
    }
    client.handshake_over();
    if gate::opens_session(&mut client) {
        client::run(client).await;
    }
}

/// Reads until the header is there, and takes it.
async fn receive(client: &mut Client, kind: Kind) -> Result<(), Trouble> {
    let span = client.proxy.settings.timeouts.client;
    let deadline = span.map(|span| Tick::from_nanos(client.since).plus_ms(span));
    loop {
        if !client.input.is_empty() && take(client, kind)? {
            return Ok(());
        }
        let thread = client.worker.thread.clone();
        if client.socket.is_readable() && client.input.capacity() == 0 {
            let buffer = client.worker.buffers.take(Need::Ordinary, deadline).await;
            client.input = buffer.ok_or(Trouble::Late)?;
        }
        match client.read() {
            Ok(0) if client.input.is_empty() => return Err(Trouble::Closed),
            Ok(0) => return Err(Trouble::Truncated),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
                    return Err(Trouble::Late);
                }
                client.socket.want_read();
                thread.scheduler().pause(deadline).await;
            }
            Err(_) => return Err(Trouble::Broken),
        }
    }
}

/// Takes the header off what has arrived. `false`: it goes on.
fn take(client: &mut Client, kind: Kind) -> Result<bool, Trouble> {
    match kind {
        Kind::Proxy => take_proxy(client),
        Kind::NetScaler => take_netscaler(client),
    }
}

fn take_proxy(client: &mut Client) -> Result<bool, Trouble> {
    use proxy_protocol::{Error, Step};
    let step = proxy_protocol::decode(client.input.data()).map_err(|error| match error {
        Error::Foreign => Trouble::Foreign,
        Error::Invalid => Trouble::Invalid,
        Error::Unhandled => Trouble::Unhandled,
    })?;
    let Step::Complete { header, len } = step else { return Ok(false) };
    if let Some((from, to)) = header.ends {
        client.rare.set_ends(Some(from), Some(to));
    }
    let (authority, unique_id) = (header.authority.map(Box::from), header.unique_id.map(Box::from));
    let known = &client.worker.shared.settings.namespaces;
    let named = |it: &&Arc<Namespace>| header.namespace == Some(it.name().as_bytes());
    let namespace = known.iter().find(named).cloned();
    client.rare.edit().told = Some(Rc::new(Told { authority, unique_id, namespace }));
    client.input.consume(len);
    Ok(true)
}

fn take_netscaler(client: &mut Client) -> Result<bool, Trouble> {
    use netscaler::{Error, Step};
    let step = netscaler::decode(client.rare.expects.magic, client.input.data());
    match step.map_err(|error| match error {
        Error::Magic => Trouble::Foreign,
        Error::Unhandled => Trouble::Unhandled,
    })? {
        Step::Partial => Ok(false),
        Step::Complete { ends: (from, to), len } => {
            client.rare.set_ends(Some(from), Some(to));
            client.input.consume(len);
            Ok(true)
        }
    }
}

/// Its number and the words for it, as the manual lists them for `fc_err` and `fc_err_str`.
fn words(kind: Kind, trouble: Trouble) -> (u8, &'static str) {
    match (kind, trouble) {
        (Kind::Proxy, Trouble::Closed) => {
            (11, "Connection closed while waiting for PROXY protocol header")
        }
        (Kind::Proxy, Trouble::Broken) => {
            (12, "Connection error while waiting for PROXY protocol header")
        }
        (Kind::Proxy, Trouble::Late) => (13, "Timeout while waiting for PROXY protocol header"),
        (Kind::Proxy, Trouble::Truncated) => (14, "Truncated PROXY protocol header received"),
        (Kind::Proxy, Trouble::Foreign) => {
            (15, "Received something which does not look like a PROXY protocol header")
        }
        (Kind::Proxy, Trouble::Invalid) => (16, "Received an invalid PROXY protocol header"),
        (Kind::Proxy, Trouble::Unhandled) => {
            (17, "Received an unhandled protocol in the PROXY protocol header")
        }
        (Kind::NetScaler, Trouble::Closed) => {
            (18, "Connection closed while waiting for NetScaler Client IP header")
        }
        (Kind::NetScaler, Trouble::Broken) => {
            (19, "Connection error while waiting for NetScaler Client IP header")
        }
        (Kind::NetScaler, Trouble::Late) => {
            (20, "Timeout while waiting for a NetScaler Client IP header")
        }
        (Kind::NetScaler, Trouble::Truncated) => {
            (21, "Truncated NetScaler Client IP header received")
        }
        (Kind::NetScaler, Trouble::Foreign) => {
            (22, "Received an invalid NetScaler Client IP magic number")
        }
        (Kind::NetScaler, Trouble::Invalid | Trouble::Unhandled) => {
            (23, "Received an unhandled protocol in the NetScaler Client IP header")
        }
    }
}

/// The line of a connection that never became a session (manual sections 4.2 `error-log-format` and
/// 8.2.5).
fn report(client: &Client, silent: bool) {
    let (worker, settings) = (&client.worker, &client.proxy.settings);
    let Some(front) = &settings.front else { return };
    if front.dont_log_null && silent {
        return;
    }
    let level = if front.separate_errors { log::level::ERR } else { log::level::INFO };
    let line = match &settings.error_log_format {
        Some(format) => {
            let mut line = Vec::with_capacity(256);
            report::show_unborn(client, |_| {}, |view| format.write(view, &mut line));
            line
        }
        None => plain(client, front).into_bytes(),
    };
    front_lines(client);
    log::send(worker, &settings.logs, level, &line);
}

/// Counts the line (`%lc`).
fn front_lines(client: &Client) {
    if let Some(front) = &client.proxy.front {
        front.lines.fetch_add(1, Relaxed);
    }
}

/// The short line.
fn plain(client: &Client, front: &Front) -> String {
    let mut line = String::with_capacity(128);
    let bind = front.binds.get(client.bind as usize);
    // What a header said of the client counts, as measured: whoever fails in a handshake behind one
    // is not the proxy next to us. Writing to a string cannot fail.
    let _ = match client.rare.source.or(client.peer) {
        Some(SocketAddr::V4(peer)) => write!(line, "{peer}"),
        Some(SocketAddr::V6(peer)) => write!(line, "{}:{}", peer.ip(), peer.port()),
        None => write!(line, "unix:{}", client.bind + 1),
    };
    let _ = write!(line, " [{}] {}/", accepted(client), client.proxy.settings.name);
    let _ = match bind.and_then(|bind| bind.name.as_ref()) {
        Some(name) => write!(line, "{name}"),
        None => write!(line, "{}", bind.map_or(client.bind + 1, |bind| bind.id)),
    };
    let _ = write!(line, ": {}", client.rare.trouble.map_or("", |(_, words)| words));
    line
}

/// When the connection was accepted, as log lines write it.
fn accepted(client: &Client) -> String {
    let worker = &client.worker;
    let ago = worker.thread.nanos().saturating_sub(client.since);
    let at = wall(worker.thread.wall().saturating_sub(ago));
    let mut date = Vec::with_capacity(32);
    Date::new(at.secs, worker.local_offset()).write_clf(&mut date);
    format!("{}.{:03}", String::from_utf8_lossy(&date), at.micros / 1_000)
}
