//! How a request's connection to its server begins, and which idle connections began the same way.
//! Never chooses a server.
//!
//! A connection that says whose it is (PROXY protocol) serves only requests that would say the
//! same: the key of what was said goes with it.

use crate::journal::{Cause, Failure, Phase};
use crate::runtime::Server;
use crate::settings::{Announce, Values};
use crate::transaction::Transaction;
use reactor::Socket;
use sample::{Facts, Text};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use stdx::Tick;
use wire::proxy_protocol::{self, Header, Tls};

/// How a connection begins.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// 0 where nothing tells the connection from any other to its server.
    pub(crate) key: u64,
    /// What is said before the first byte of the request.
    preface: Vec<u8>,
}

impl Way {
    /// The way of this request to this server.
    pub(crate) fn new(tx: &mut Transaction, server: &Server) -> Self {
        let link = &server.settings.link;
        if link.is_plain() {
            return Self::default();
        }
        let mut preface = Vec::new();
        if let Some(announce) = link.announce {
            let facts = tx.view();
            let ends = facts.source().zip(facts.destination());
            introduce(announce, ends, &facts, &mut preface);
        }
        // Whether the number of a request is used belongs to the notes.
        tx.notes.used = true;
        let mut hasher = DefaultHasher::new();
        preface.hash(&mut hasher);
        Self { key: hasher.finish() | 1, preface }
    }

    /// Says what has to be said first on a new connection; waits until it stands.
    ///
    /// # Errors
    /// The connection could not be made, or not in time.
    pub(crate) async fn begin(
        &self,
        tx: &mut Transaction,
        socket: &Socket,
        deadline: Option<Tick>,
        more: bool,
    ) -> Result<(), Failure> {
        let mut rest = &self.preface[..];
        while !rest.is_empty() {
            match socket.send(&[IoSlice::new(rest)], more) {
                Ok(count) => rest = &rest[count..],
                Err(error) if is_transient(&error) => {
                    wait(tx, socket, Socket::want_write, deadline).await?;
                }
                Err(_) => return Err(refused()),
            }
        }
        Ok(())
    }
}

/// Waits for the socket, the deadline, or the client's end.
async fn wait(
    tx: &mut Transaction,
    socket: &Socket,
    want: fn(&Socket),
    deadline: Option<Tick>,
) -> Result<(), Failure> {
    let thread = tx.worker.thread.clone();
    if deadline.is_some_and(|deadline| deadline.is_due(thread.tick())) {
        return Err(Failure::new(503, Cause::ServerTimeout, Phase::Connect));
    }
    crate::connect::stay(tx, Phase::Connect)?;
    want(socket);
    thread.scheduler().pause(deadline).await;
    Ok(())
}

fn refused() -> Failure {
    Failure::new(503, Cause::ServerAbort, Phase::Connect)
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Writes the header of a connection that is made for a client with these ends.
fn introduce(
    announce: Announce,
    ends: Option<(SocketAddr, SocketAddr)>,
    facts: &dyn Facts,
    out: &mut Vec<u8>,
) {
    match announce {
        Announce::V1 => proxy_protocol::encode_v1(ends, out),
        Announce::V2(values) => {
            let unique_id = facts.unique_id().filter(|_| values.unique_id);
            let unique_id = unique_id.as_deref();
            let authority = facts.text(Text::TlsSni).or_else(|| facts.text(Text::ProxyAuthority));
            let authority = authority.filter(|_| values.authority);
            let header = Header { ends, unique_id, authority, ..header(values) };
            proxy_protocol::encode_v2(&header, out);
        }
    }
}

/// Writes the header of a connection that is made for nobody, such as a health check's; its own
/// ends are these.
pub(crate) fn introduce_self(
    announce: Announce,
    ends: Option<(SocketAddr, SocketAddr)>,
    out: &mut Vec<u8>,
) {
    match announce {
        Announce::V1 => proxy_protocol::encode_v1(ends, out),
        Announce::V2(values) => {
            let ends = ends.filter(|_| values.never_local);
            proxy_protocol::encode_v2(&Header { ends, ..header(values) }, out);
        }
    }
}

/// What clear connections have to say of encryption is that there is none.
fn header(values: Values) -> Header<'static> {
    let tls = values.tls.then(Tls::default);
    Header { checksum: values.checksum, tls, ..Header::default() }
}
