//! The sample context of a transaction for expressions, rules and log formats.

use crate::telemetry::accounting;
use crate::telemetry::bandwidth;
use crate::telemetry::cache_use;
use crate::telemetry::script_action;
use crate::telemetry::spoe;
use balance::ServerName;
use engine::state::backend::server_connection::ServerConn;
pub use engine::state::figures::count;
pub use engine::state::figures::server_count;
pub use engine::state::figures::wall;
use engine::state::runtime::{BackendRef, Proxy, ProxySection};
pub(crate) use engine::state::session::client::Client;
use engine::state::session::credentials::{PasswordCheck, PasswordClaim};
use engine::state::session::lookup::AddressLookup;
use engine::state::session::pending::RuleScope;
use engine::state::session::request_buffers;
use engine::state::session::request_buffers::{Notes, Workspace};
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use htx::{Head, HeaderId, Version};
use rules::BandwidthValues;
use rules::action::Track;
use rules::{BandwidthLimit, Context, Family, Limit, LogLevel, ScriptCall, ScriptStep, SpoeEngine};
use sample::regex::effort;
use sample::vars::VarState;
use sample::{
    Bytes, Count, Facts, Hop, Missing, Name, Number, ServerCount, Side, TcpState, Text, TlsFact,
    TransactionRecord, Value, VarName, WallTime,
};
use settings::Mode;
use std::cell::OnceCell;
use std::net::SocketAddr;
use std::sync::Arc;
use table::{DataType, Entry, Key, Table};
use transport::stats::counters::Metric;
use transport::tls_facts;

/// A borrowed view of a transaction.
pub struct View<'a> {
    /// The thread.
    pub worker: &'a Worker,
    /// The client.
    pub client: &'a Client,
    /// Heads and buffers.
    pub space: &'a mut Workspace,
    /// Variables, captures and times.
    pub notes: &'a mut Notes,
    /// The backend, once chosen.
    pub backend: Option<&'a BackendRef>,
    /// The server in use, by slot.
    pub slot: Option<usize>,
    /// The connection to it.
    pub server: Option<&'a ServerConn>,
    /// Whether the stream exists; rules on connections and sessions run before it.
    pub stream: bool,
    /// The name of the server, once an expression read it.
    pub server_name: OnceCell<ServerName>,
}

impl View<'_> {
    /// The transaction as expressions see it.
    #[inline]
    pub fn of(tx: &mut Transaction) -> View<'_> {
        View::at(RuleScope::of(tx))
    }

    /// The data of rules as expressions see it.
    #[inline]
    pub fn at(scope: RuleScope<'_>) -> View<'_> {
        let RuleScope { worker, client, space, notes, backend, slot, server, stream } = scope;
        effort::open(notes.account());
        let server_name = OnceCell::new();
        View { worker, client, space, notes, backend, slot, server, stream, server_name }
    }

    /// The data of rules.
    fn scope(&mut self) -> RuleScope<'_> {
        RuleScope {
            worker: self.worker,
            client: self.client,
            space: &mut *self.space,
            notes: &mut *self.notes,
            backend: self.backend,
            slot: self.slot,
            server: self.server,
            stream: self.stream,
        }
    }

    /// The backend's proxy, else that of the frontend.
    fn side(&self) -> &Proxy {
        self.backend.map_or(&**self.client.proxy, |backend| backend)
    }

    /// The section of this name; without one, that of the transaction.
    fn section(&self, name: Option<&str>) -> Option<&ProxySection> {
        let shared = &self.worker.shared;
        match name {
            None => shared.proxies.get(self.side().index),
            Some(name) => shared.section(name),
        }
    }

    /// A user of a userlist.
    fn account(&self, list: &str, user: &[u8]) -> Option<&rules::User> {
        let list = self.worker.shared.settings.userlists.get(list)?;
        match std::str::from_utf8(user) {
            Ok(name) => list.users.get(name),
            // The configuration stores bytes beyond ASCII in a form of its own.
            Err(_) => list.users.get(&sample::word::from_bytes(user.to_vec())),
        }
    }

    /// CPU use of the task for this request.
    fn usage(&self) -> sched::Usage {
        self.worker.thread.scheduler().usage().since(self.notes.usage)
    }

    /// The FastCGI application of the backend.
    fn application(&self) -> Option<&rules::FcgiApp> {
        self.backend?.back.settings.fcgi.as_ref().map(|fcgi| &*fcgi.app)
    }

    fn server_name(&self) -> Option<&[u8]> {
        if let Some(applet) = self.notes.journal.applet {
            return Some(applet.as_bytes());
        }
        let server = self.backend?.back.servers.get(self.slot?)?;
        Some(self.server_name.get_or_init(|| server.state.name()).as_bytes())
    }

    fn bind_name(&self) -> Option<&[u8]> {
        let binds = &self.client.proxy.front.settings.binds;
        Some(binds.get(self.client.bind as usize)?.name.as_ref()?.as_bytes())
    }
}

/// A timeout as fetches show it: 0 for none.
fn span(timeout: Option<u32>) -> Option<i64> {
    Some(timeout.map_or(0, i64::from))
}

impl View<'_> {
    /// Bytes received on a side and not yet passed on.
    pub(crate) fn received(&self, side: Side) -> &[u8] {
        if let Some(edited) = &self.notes.edited[side as usize] {
            return &edited.bytes;
        }
        match side {
            Side::Request => self.client.input.data(),
            Side::Response => self.server.map_or(&[], ServerConn::received),
        }
    }

    /// The major version of HTTP that the server's connection speaks, if there is one.
    fn server_major(&self) -> Option<u8> {
        self.server.map(|server| server.mux.major())
    }
}

impl Facts for View<'_> {
    fn request(&self) -> Option<&Head> {
        Some(&self.space.request).filter(|head| !head.is_empty())
    }

    fn response(&self) -> Option<&Head> {
        Some(&self.space.response).filter(|head| !head.is_empty())
    }

    fn compression(&self) -> Option<&'static str> {
        Some(self.notes.compressed?.name())
    }

    fn cache(&self) -> Option<&str> {
        let cache = self.notes.cache.as_ref()?.served_by.as_ref()?;
        Some(&cache.settings().name)
    }

    fn payload(&self, side: Side) -> Option<&[u8]> {
        match (self.client.mode, side) {
            (Mode::Http, _) => None,
            (Mode::Tcp, Side::Request) => Some(self.received(side)),
            (Mode::Tcp, Side::Response) => self.server.map(|_| self.received(side)),
        }
    }

    fn write_to_sink(&self, sink: &str, line: &[u8]) {
        crate::logging::log::write_to_sink(self.worker, sink, line);
    }

    fn carries_messages(&self) -> bool {
        self.client.mode == Mode::Http
    }

    fn is_final(&self) -> bool {
        !self.notes.partial
    }

    fn body(&self, side: Side) -> Option<&[u8]> {
        let waited_for = self.notes.bodies[side as usize].as_deref();
        waited_for.or_else(|| request_buffers::untouched(self.notes, side, self.received(side)))
    }

    fn trailers(&self, side: Side) -> Option<&[u8]> {
        let received = self.received(side);
        let seen =
            request_buffers::seen_chunks(self.notes, side, received).filter(|it| it.complete)?;
        received.get(seen.trailers..)
    }

    fn body_size(&self, side: Side) -> Option<u64> {
        let head = if side == Side::Request { self.request() } else { self.response() };
        let announced = head.and_then(|head| head.first(HeaderId::ContentLength));
        let announced =
            announced.and_then(|text| std::str::from_utf8(text.value).ok()?.parse().ok());
        let of_chunks = || request_buffers::seen_chunks(self.notes, side, self.received(side));
        let known = || {
            // Each chunk announces its length.
            let missing = of_chunks().map_or(0, |chunks| chunks.missing);
            Some(self.body(side)?.len().saturating_add(missing) as u64)
        };
        announced.or_else(known)
    }

    fn source(&self) -> Option<SocketAddr> {
        self.notes.source.or(self.client.rare.source).or(self.client.peer)
    }

    fn destination(&self) -> Option<SocketAddr> {
        self.notes.destination.or(self.client.rare.destination).or_else(|| self.client.local())
    }

    fn transport_source(&self) -> Option<SocketAddr> {
        self.client.peer
    }

    fn transport_destination(&self) -> Option<SocketAddr> {
        self.client.local()
    }

    fn server_source(&self) -> Option<SocketAddr> {
        self.server?.local()
    }

    fn server_destination(&self) -> Option<SocketAddr> {
        self.server?.destination()
    }

    fn tcp_state(&self) -> Option<TcpState> {
        let info = self.client.socket.tcp_info()?;
        Some(TcpState {
            rtt: info.rtt.into(),
            rttvar: info.rttvar.into(),
            unacked: info.unacked.into(),
            sacked: info.sacked.into(),
            lost: info.lost.into(),
            retrans: info.retrans.into(),
            fackets: info.fackets.into(),
            reordering: info.reordering.into(),
        })
    }

    fn buffer_size(&self) -> usize {
        self.worker.shared.settings.buffer_size
    }

    fn is_local(&self, address: SocketAddr) -> bool {
        self.worker.thread.kernel().is_local(address.ip())
    }

    fn text(&self, text: Text) -> Option<Bytes<'_>> {
        let told = self.client.rare.proxy_header.as_ref();
        let own = match text {
            Text::ProxyAuthority => told?.authority.as_deref(),
            Text::ProxyUniqueId => told?.unique_id.as_deref(),
            Text::ClientError => {
                Some(self.client.rare.trouble.map_or("Success", |(_, words)| words).as_bytes())
            }
            Text::ServerError => match &self.notes.unsecured {
                Some(failed) if self.server.is_none() => Some(failed.words.1.as_bytes()),
                _ => self.server.map(|_| &b"Success"[..]),
            },
        };
        own.map(Bytes::Borrowed)
    }

    fn name(&self, name: Name) -> Option<&[u8]> {
        match name {
            Name::Frontend => Some(self.client.proxy.name().as_bytes()),
            Name::Backend => Some(self.side().name().as_bytes()),
            Name::Server => self.server_name(),
            Name::Listener => self.bind_name(),
            Name::DefaultBackend => {
                let index = self.client.proxy.front.settings.default_backend?;
                Some(self.worker.shared.proxies.get(index)?.name().as_bytes())
            }
            Name::Hostname => Some(self.worker.shared.settings.hostname.as_bytes()),
            Name::FcgiDocroot => Some(&self.application()?.docroot),
            Name::FcgiIndex => Some(&self.application()?.index),
        }
    }

    fn tls(&self, hop: Hop, fact: TlsFact<'_>) -> Option<Value<'static>> {
        let session = match hop {
            Hop::Client => self.client.socket.tls(),
            Hop::Server => self.server.and_then(|server| server.socket().tls()),
        };
        match (session, &self.notes.unsecured) {
            (Some(session), _) => tls_facts::of_session(&session, fact),
            (None, _) if hop == Hop::Client && matches!(fact, TlsFact::Used) => {
                Some(Value::Bool(self.client.is_encrypted()))
            }
            (None, Some(failed)) if hop == Hop::Server && self.server.is_none() => {
                tls_facts::of_failed(failed, fact)
            }
            (None, _) => tls_facts::without(fact),
        }
    }

    fn number(&self, number: Number) -> Option<i64> {
        let timeouts = &self.client.proxy.settings.timeouts;
        let server_side = &self.side().settings.timeouts;
        match number {
            Number::FrontendId => Some(self.client.proxy.settings.id.into()),
            Number::BackendId => Some(self.side().settings.id.into()),
            Number::ServerId => {
                let back = &self.backend?.back;
                Some(back.servers.get(self.slot?)?.state.id().into())
            }
            Number::ListenerId => {
                let binds = &self.client.proxy.front.settings.binds;
                binds.get(self.client.bind as usize).map(|bind| i64::from(bind.id))
            }
            Number::Thread => Some(self.worker.thread.index as i64),
            Number::ClientHttpMajor => {
                let spoken = self.stream && self.client.mode == Mode::Http;
                spoken.then(|| self.client.mux.major().into())
            }
            Number::ServerHttpMajor if self.client.mode == Mode::Tcp => None,
            Number::ServerHttpMajor => self.server_major().map(i64::from),
            Number::ClientGlitches => Some(self.client.mux.glitches()),
            Number::ServerGlitches => self.server.map(|server| server.mux.glitches()),
            Number::ClientTimeout => span(timeouts.client),
            Number::BackendServerTimeout => span(server_side.server),
            Number::CurrentServerTimeout => span(self.notes.limits[0].or(server_side.server)),
            Number::BackendTunnelTimeout => span(server_side.tunnel),
            Number::CurrentTunnelTimeout => span(self.notes.limits[1].or(server_side.tunnel)),
            Number::PriorityClass => self.stream.then(|| self.notes.priority.0.into()),
            Number::PriorityOffset => self.stream.then(|| self.notes.priority.1.into()),
            Number::Stopping => Some(self.worker.shared.will_stop().into()),
            Number::ListenerConnections => {
                let listener = self.client.proxy.front.listeners.get(self.client.bind as usize)?;
                Some(listener.connections.current().into())
            }
            Number::ReceivedProxy => Some(self.client.rare.proxy_header.is_some().into()),
            Number::ClientError => {
                Some(self.client.rare.trouble.map_or(0, |(number, _)| number).into())
            }
            Number::Turns => Some(self.usage().calls.into()),
            Number::TurnTime => i64::try_from(self.usage().cpu).ok(),
            Number::TurnLatency => i64::try_from(self.usage().latency).ok(),
            Number::ServerError => match &self.notes.unsecured {
                Some(failed) if self.server.is_none() => Some(failed.words.0.into()),
                _ => self.server.map(|_| 0),
            },
        }
    }

    fn count(&self, count: Count, proxy: Option<&str>) -> Option<i64> {
        let front_view = matches!(
            count,
            Count::FrontendConnections | Count::FrontendRequestRate | Count::FrontendSessionRate
        );
        let proxy = match (proxy, front_view) {
            (None, true) => self.worker.shared.proxies.get(self.client.proxy.index)?,
            _ => self.section(proxy)?,
        };
        self::count(self.worker, proxy, count)
    }

    fn server_count(&self, count: ServerCount, backend: Option<&str>, name: &str) -> Option<i64> {
        server_count(self.worker, self.section(backend)?.back.as_ref()?, count, name)
    }

    fn var(&self, name: &VarName) -> Option<Value<'static>> {
        self.notes.variables.get(name)
    }

    fn var_state(&self, name: &VarName) -> VarState {
        self.notes.variables.state(name)
    }

    // The caller that runs rules marks the notes as used, so that they are cleared in the end.
    fn set_var(&self, name: &VarName, value: Option<Value<'static>>) {
        self.notes.variables.set(name, value);
    }

    fn capture(&self, side: Side, slot: usize) -> Option<Bytes<'_>> {
        let slots = self.notes.captures[side as usize].borrow();
        Some(Bytes::Owned(slots.get(slot)?.clone()?))
    }

    fn capture_count(&self, side: Side) -> usize {
        if self.notes.journal.bad_request {
            // A request that was not parsed has no captures.
            return 0;
        }
        self.client.proxy.settings.captures[side as usize].len()
    }

    fn set_capture(&self, side: Side, slot: usize, content: &[u8]) -> bool {
        let declared = &self.client.proxy.settings.captures[side as usize];
        let Some(limit) = declared.get(slot).map(|slot| slot.len) else { return false };
        let mut slots = self.notes.captures[side as usize].borrow_mut();
        slots.resize(declared.len(), None);
        slots[slot] = Some(content[..content.len().min(limit)].to_vec());
        true
    }

    fn is_user(&self, list: &str, user: &[u8], given: &[u8]) -> Result<bool, Missing> {
        let password = self.account(list, user).and_then(|user| user.password.as_ref());
        let Some(password) = password else { return Ok(false) };
        self.notes.credentials.verify(password, given).ok_or_else(|| {
            let claim = PasswordClaim::new(password, given);
            self.notes.asked.begin(Box::new(PasswordCheck::new(claim)));
            Missing::NotYet
        })
    }

    fn groups<'f>(&'f self, list: &str, user: &[u8]) -> std::slice::Iter<'f, String> {
        self.account(list, user).map_or(&[][..], |user| &user.groups).iter()
    }

    fn is_proxied(&self) -> bool {
        let whole = |head: &Head| !matches!(head.uri().first(), Some(b'/' | b'*'));
        self.client.proxy.front.settings.proxy_header && self.request().is_some_and(whole)
    }

    fn is_first_request(&self) -> bool {
        self.client.requests == 0
    }

    fn wall(&self) -> WallTime {
        wall(self.worker.thread.wall())
    }

    fn local_offset(&self, _: i64) -> i32 {
        self.worker.local_offset()
    }

    fn random(&self) -> u64 {
        self.worker.thread.prng().next_u64()
    }

    fn last_rule(&self) -> Option<(&str, u32)> {
        self.notes.journal.last_rule.as_ref().map(|(file, line)| (&**file, *line))
    }

    fn unique_id(&self) -> Option<Bytes<'_>> {
        let format = self.client.proxy.settings.unique_id.as_ref()?;
        // A connection without a request has no id; an id whose format contains the id itself omits
        // that part.
        if self.notes.journal.bad_request || self.notes.naming.replace(true) {
            return None;
        }
        if self.notes.unique_id.get().is_none() {
            let mut text = Vec::new();
            format.write(self, &mut text);
            let _ = self.notes.unique_id.set(text);
        }
        self.notes.naming.set(false);
        self.notes.unique_id.get().map(|text| Bytes::Borrowed(text))
    }

    fn record(&self) -> Option<&TransactionRecord> {
        Some(&self.notes.record)
    }

    fn table(&self, number: usize) -> Option<&Table> {
        self.worker.shared.tables.get(number).map(|table| &**table)
    }

    fn tracked(&self, slot: usize) -> Option<&Entry> {
        let session = || self.client.trackers.get()?.get(slot);
        self.notes.trackers.get(slot).or_else(session)
    }

    fn now_ms(&self) -> u64 {
        self.worker.millis()
    }

    fn threads(&self) -> u32 {
        self.worker.shared.settings.threads as u32
    }
}

impl Context for View<'_> {
    fn resolve(
        &mut self,
        resolvers: &Arc<str>,
        (name, family): (&str, Family),
        variable: &Arc<VarName>,
    ) {
        let family = match family {
            Family::V4 => dns::RecordType::V4,
            Family::V6 => dns::RecordType::V6,
        };
        let lookup = AddressLookup::new(resolvers, (name, family), variable);
        self.notes.asked.begin(Box::new(lookup));
    }

    fn call_script(&mut self, call: &ScriptCall) -> ScriptStep {
        script_action::begin(call, self)
    }

    fn ask(&mut self, asker: usize) {
        let Some(asker) = self.worker.asker(asker) else { return };
        if let Some(pending) = asker.ask(&mut self.scope()) {
            self.notes.asked.begin(pending);
        }
    }

    fn send_spoe_group(&mut self, engine: &Arc<SpoeEngine>, group: usize) {
        if let Some(pending) = spoe::for_group(&self.scope(), engine, group) {
            self.notes.asked.begin(pending);
        }
    }

    fn is_asked(&self) -> bool {
        self.notes.asked.is_asked()
    }

    fn head_mut(&mut self, side: Side) -> Option<&mut Head> {
        let head = match side {
            Side::Request => &mut self.space.request,
            Side::Response => &mut self.space.response,
        };
        Some(head).filter(|head| !head.is_empty())
    }

    fn rewrite_room(&self, side: Side) -> usize {
        // Bytes that arrived with a head left the rewrite reserve free, however many have come
        // since.
        let settings = &self.worker.shared.settings;
        let budget = settings.buffer_size.saturating_sub(settings.max_rewrite);
        let left = budget.saturating_sub(self.notes.arrived[side as usize]);
        let used = match side {
            Side::Request => self.space.request.wire_len() + self.client.input.len().min(left),
            Side::Response => {
                let behind = self.server.map_or(0, |server| server.received().len());
                self.space.response.wire_len() + (self.space.body.len() + behind).min(left)
            }
        };
        settings.buffer_size.saturating_sub(used)
    }

    fn count_failed_rewrite(&mut self) {
        self.client.counted().for_each(|block| block.count(Metric::FailedRewrites));
        if let Some(backend) = self.backend {
            backend.block().count(Metric::FailedRewrites);
        }
    }

    fn use_cache(&mut self, name: &Arc<str>) -> bool {
        cache_use::look_up(self, name)
    }

    fn store_in_cache(&mut self, name: &Arc<str>) {
        cache_use::store(self, name);
    }

    fn set_log_level(&mut self, level: LogLevel) {
        match level {
            LogLevel::Silent => self.notes.journal.silent = true,
            LogLevel::Severity(level) => self.notes.journal.level = Some(level),
        }
    }

    fn set_last_rule(&mut self, file: &Arc<str>, line: u32) {
        self.notes.journal.last_rule = Some((file.clone(), line));
    }

    fn track(&self, rule: &Track, table: usize, key: &Key<'_>) {
        let Some(table) = self.worker.shared.tables.get(table) else { return };
        let now = self.worker.millis();
        let Some(tracker) = table.track(key, now, DataType::CONNECTION) else { return };
        if rule.session {
            self.client.trackers.get_or_init(std::rc::Rc::default).set(rule.slot, tracker);
            return;
        }
        // A tracker added late counts the request and the response that are already there.
        if self.notes.journal.counted {
            tracker.entry().count(DataType::REQUEST, 1, now);
        }
        let status = self.response().map_or(0, Head::status);
        tracker.entry().count(accounting::blamed(status), 1, now);
        self.notes.trackers.set(rule.slot, tracker);
    }

    fn set_nice(&mut self, nice: i32) {
        let scheduler = self.worker.thread.scheduler();
        scheduler.set_nice(scheduler.current(), nice.clamp(-1024, 1024) as i16);
    }

    fn set_source(&mut self, address: SocketAddr) {
        // Formats of the same rules, and a unique id, show it.
        (self.notes.source, self.notes.record.client) = (Some(address), Some(address));
        self.notes.used = true;
    }

    fn set_destination(&mut self, address: SocketAddr) {
        (self.notes.destination, self.notes.record.frontend) = (Some(address), Some(address));
        self.notes.used = true;
    }

    fn expect_proxy(&mut self) {
        self.notes.expects.proxy = true;
    }

    fn expect_netscaler(&mut self) {
        self.notes.expects.netscaler = true;
    }

    fn set_mark(&mut self, mark: u32) {
        // Without the privilege nothing is marked, as with HAProxy.
        let _ = self.client.socket.set_mark(mark);
    }

    fn set_tos(&mut self, tos: u8) {
        // A unix socket has none.
        let _ = self.client.socket.set_tos(tos);
    }

    fn set_limit(&mut self, limit: Limit, span: u32) {
        self.notes.limits[limit as usize] = Some(span);
        self.notes.used = true;
    }

    fn set_bandwidth_limit(&mut self, filter: &Arc<BandwidthLimit>, values: BandwidthValues) {
        self.notes.used = true;
        bandwidth::enable(self.worker, &mut self.notes.bandwidth, filter, values);
    }

    fn disable_retry(&mut self) {
        self.notes.no_retry = true;
        self.notes.used = true;
    }

    fn set_priority_class(&mut self, class: i16) {
        self.notes.priority.0 = class;
        self.notes.used = true;
    }

    fn set_priority_offset(&mut self, offset: i32) {
        self.notes.priority.1 = offset;
        self.notes.used = true;
    }

    fn early_hint(&mut self, name: &[u8], value: &[u8]) {
        if self.space.request.version() < Version::Http11 {
            return;
        }
        let hints = &mut self.space.hints;
        if hints.is_empty() {
            hints.set_response(Version::Http11, 103, b"Early Hints");
        }
        hints.push(name, value);
    }

    fn take_scratch(&mut self) -> Vec<u8> {
        self.worker.take_scratch()
    }

    fn give_scratch(&mut self, scratch: Vec<u8>) {
        self.worker.give_scratch(scratch);
    }
}
