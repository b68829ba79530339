//! The facts of a scripted check, for expressions and formats.

use balance::ServerName;
use engine::state::runtime::{Proxy, ProxySection, Server};
use engine::state::worker::Worker;
use htx::Head;
use observability::telemetry::sample_context;
use sample::vars::VarState;
use sample::{
    Count, Facts, Hop, Name, Number, ServerCount, Side, TlsFact, Value, VarName, Variables,
    WallTime,
};
use std::cell::{OnceCell, Ref};
use std::net::SocketAddr;
use table::Table;
use transport::tls_facts;

/// A borrowed view of a check.
pub(super) struct Scene<'a> {
    pub(super) worker: &'a Worker,
    pub(super) proxy: &'a Proxy,
    pub(super) server: &'a Server,
    pub(super) variables: &'a Variables,
    /// The head of the response, if there is one.
    pub(super) head: Option<&'a Head>,
    /// The received bytes; with a head, the body.
    pub(super) bytes: &'a [u8],
    /// The bytes after the last chunk of a body.
    pub(super) trailers: Option<&'a [u8]>,
    /// The local address of the connection.
    pub(super) local: Option<SocketAddr>,
    /// The TLS session of the connection.
    pub(super) session: Option<Ref<'a, tls::Conn>>,
    /// The name of the server, once it was asked for.
    pub(super) server_name: OnceCell<ServerName>,
}

impl Facts for Scene<'_> {
    fn response(&self) -> Option<&Head> {
        self.head
    }

    fn body(&self, side: Side) -> Option<&[u8]> {
        (side == Side::Response && self.head.is_some()).then_some(self.bytes)
    }

    fn trailers(&self, side: Side) -> Option<&[u8]> {
        self.trailers.filter(|_| side == Side::Response)
    }

    fn payload(&self, side: Side) -> Option<&[u8]> {
        (side == Side::Response && self.head.is_none()).then_some(self.bytes)
    }

    fn write_to_sink(&self, sink: &str, line: &[u8]) {
        observability::logging::log::write_to_sink(self.worker, sink, line);
    }

    fn server_source(&self) -> Option<SocketAddr> {
        self.local
    }

    fn server_destination(&self) -> Option<SocketAddr> {
        self.server.location.now().check_address().inet()
    }

    fn buffer_size(&self) -> usize {
        self.worker.shared.settings.buffer_size
    }

    fn name(&self, name: Name) -> Option<&[u8]> {
        match name {
            Name::Backend => Some(self.proxy.name().as_bytes()),
            Name::Server => {
                Some(self.server_name.get_or_init(|| self.server.state.name()).as_bytes())
            }
            Name::Hostname => Some(self.worker.shared.settings.hostname.as_bytes()),
            Name::FcgiDocroot | Name::FcgiIndex => None,
            Name::Frontend | Name::Listener | Name::DefaultBackend => None,
        }
    }

    fn number(&self, number: Number) -> Option<i64> {
        match number {
            Number::BackendId => Some(self.proxy.settings.id.into()),
            Number::ServerId => Some(self.server.state.id().into()),
            Number::Thread => Some(self.worker.thread.index as i64),
            Number::BackendServerTimeout => self.proxy.settings.timeouts.server.map(i64::from),
            Number::BackendTunnelTimeout => self.proxy.settings.timeouts.tunnel.map(i64::from),
            Number::Stopping => Some(self.worker.shared.will_stop().into()),
            _ => None,
        }
    }

    fn tls(&self, hop: Hop, fact: TlsFact<'_>) -> Option<Value<'static>> {
        match self.session.as_ref().filter(|_| hop == Hop::Server) {
            Some(session) => tls_facts::of_session(session, fact),
            None => tls_facts::without(fact),
        }
    }

    fn count(&self, count: Count, proxy: Option<&str>) -> Option<i64> {
        sample_context::count(self.worker, self.named(proxy)?, count)
    }

    fn server_count(&self, count: ServerCount, backend: Option<&str>, name: &str) -> Option<i64> {
        let back = self.named(backend)?.back.as_ref()?;
        sample_context::server_count(self.worker, back, count, name)
    }

    fn var(&self, name: &VarName) -> Option<Value<'static>> {
        self.variables.get(name)
    }

    fn var_state(&self, name: &VarName) -> VarState {
        self.variables.state(name)
    }

    fn set_var(&self, name: &VarName, value: Option<Value<'static>>) {
        self.variables.set(name, value);
    }

    fn wall(&self) -> WallTime {
        sample_context::wall(self.worker.thread.wall())
    }

    fn local_offset(&self, _: i64) -> i32 {
        self.worker.local_offset()
    }

    fn random(&self) -> u64 {
        self.worker.thread.prng().next_u64()
    }

    fn table(&self, number: usize) -> Option<&Table> {
        self.worker.shared.tables.get(number).map(|table| &**table)
    }

    fn now_ms(&self) -> u64 {
        self.worker.millis()
    }

    fn threads(&self) -> u32 {
        self.worker.shared.settings.threads as u32
    }
}

impl Scene<'_> {
    fn named(&self, name: Option<&str>) -> Option<&ProxySection> {
        let shared = &self.worker.shared;
        match name {
            None => shared.proxies.get(self.proxy.index),
            Some(name) => shared.section(name),
        }
    }
}
