//! Settings of the proxy for scenarios, as the boot code would make them.

use super::agents::{self, FcgiOptions, SpoeOptions};
use super::{agent, front, material, origin};
use balance::{Algorithm, ServerSettings};
use reactor::Address;
use sample::{LogFormat, LogStyle};
pub(crate) use settings::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Settings of one listener and its servers, as scenarios vary them.
#[derive(Clone, Debug)]
pub(crate) struct Listen {
    pub(crate) algorithm: Algorithm,
    pub(crate) reuse: Reuse,
    pub(crate) servers: usize,
    /// Number of backup servers, at the end of the list.
    pub(crate) backups: usize,
    /// `maxconn` of each server; 0 for no limit.
    pub(crate) maxconn: u32,
    pub(crate) redispatch: i32,
    pub(crate) timeouts: Timeouts,
    /// Whether clients may select a server by its name, in the cookie `C`.
    pub(crate) cookies: bool,
    /// `option persist`
    pub(crate) persists: bool,
    /// Bytes per second of each response's payload, if that is limited.
    pub(crate) bandwidth: Option<u32>,
    /// Compression of requests and responses.
    pub(crate) compression: Option<Compression>,
    /// Whether its clients speak HTTP/2.
    pub(crate) h2_front: bool,
    /// Whether its only server is the next listener, which speaks HTTP/2.
    pub(crate) h2_back: bool,
    /// Whether its clients speak TLS, and choose HTTP/1 or HTTP/2 by ALPN.
    pub(crate) tls_front: bool,
    /// Settings of its QUIC connections, if its clients speak HTTP/3.
    pub(crate) quic: Option<QuicBind>,
    /// Whether it forwards bytes.
    pub(crate) is_tcp: bool,
    /// The application of its servers, if those speak FastCGI.
    pub(crate) fcgi: Option<FcgiOptions>,
    /// Its agent of SPOE.
    pub(crate) spoe: Option<SpoeOptions>,
    /// Protocol and TLS of its servers, if those are origins.
    pub(crate) origins: OriginKind,
}

/// The kind of an origin. Each has addresses of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OriginKind {
    pub(crate) h2: bool,
    pub(crate) tls: bool,
}

impl OriginKind {
    /// The address of an origin.
    pub(crate) fn address(self, index: usize) -> SocketAddr {
        origin(index + 20 * usize::from(self.h2) + 40 * usize::from(self.tls))
    }

    /// Its protocol, for ALPN.
    pub(crate) fn alpn(self) -> &'static [u8] {
        if self.h2 { b"\x02h2" } else { b"\x08http/1.1" }
    }
}

/// A listener with the timeouts and retries of an ordinary configuration.
pub(crate) fn listen(algorithm: Algorithm, reuse: Reuse, servers: usize) -> Listen {
    let timeouts = Timeouts {
        client: Some(10_000),
        http_request: Some(5_000),
        http_keep_alive: Some(3_000),
        connect: Some(1_000),
        server: Some(5_000),
        queue: Some(4_000),
        ..Timeouts::default()
    };
    Listen {
        algorithm,
        reuse,
        servers,
        backups: 0,
        maxconn: 0,
        redispatch: -1,
        timeouts,
        cookies: false,
        persists: false,
        bandwidth: None,
        compression: None,
        h2_front: false,
        h2_back: false,
        tls_front: false,
        quic: None,
        is_tcp: false,
        fcgi: None,
        spoe: None,
        origins: OriginKind::default(),
    }
}

impl Listen {
    #[must_use]
    pub(crate) fn maxconn(self, maxconn: u32) -> Self {
        Self { maxconn, ..self }
    }

    /// The proxy as the boot code would make it.
    pub(super) fn proxy(self, index: usize, threads: usize) -> ProxySection {
        let tls = match &self.quic {
            Some(_) => Some(material::acceptor(b"\x02h3")),
            None => self.tls_front.then(|| material::acceptor(b"\x02h2\x08http/1.1")),
        };
        let preamble = Preamble { tls, ..Preamble::default() };
        let bind = Bind {
            namespace: None,
            address: Address::Inet(front(index)),
            name: None,
            id: 1,
            maxconn: 0,
            threads: Vec::new(),
            nice: 0,
            preamble,
            protocol: if self.h2_front { Protocol::H2 } else { Protocol::Chosen },
            quic: self.quic.clone(),
            mss_reduction: 0,
            backlog: 128,
        };
        let next = self.h2_back.then(|| front(index + 1));
        let back = Backend {
            servers: (0..self.servers).map(|slot| self.server(slot, next, threads)).collect(),
            algorithm: self.algorithm,
            retries: 3,
            redispatch: self.redispatch,
            reuse: self.reuse,
            persists: self.persists,
            cookie: self.cookies.then(|| Cookie { name: "C".into(), ..Cookie::default() }),
            fcgi: self.fcgi.map(agents::application),
            ..Backend::default()
        };
        let (mut rules, mut filters) = self.bandwidth.map(limited).unwrap_or_default();
        filters.extend(self.compression.as_ref().map(|_| Filter::Compression));
        if let Some(options) = self.spoe {
            let (filter, more) = agents::engine(options, 0);
            filters.push(filter);
            rules = more;
        }
        let proxy = Proxy {
            rules,
            filters,
            compression: self.compression,
            name: format!("listen{index}").into(),
            id: index as u32 + 1,
            mode: if self.is_tcp { Mode::Tcp } else { Mode::Http },
            timeouts: self.timeouts,
            logs: Arc::new(logs()),
            log_format: Some(format(super::lines::FORMAT)),
            ..Proxy::default()
        };
        let default_backend = Some(index);
        let front = Frontend { binds: vec![bind], default_backend, ..Frontend::default() };
        ProxySection { proxy, front: Some(front), back: Some(back) }
    }

    /// An origin, or the next listener.
    fn server(&self, slot: usize, next: Option<SocketAddr>, threads: usize) -> Server {
        let (maxconn, backup) = (self.maxconn, slot + self.backups >= self.servers);
        let settings = ServerSettings::new(slot as u32 + 1, format!("s{slot}"));
        let settings = ServerSettings { maxconn, backup, ..settings };
        let cookie = Some(format!("s{slot}").into_bytes());
        let kind = self.origins;
        let own = if self.is_tcp { agent(slot) } else { kind.address(slot) };
        let address = Address::Inet(next.unwrap_or(own));
        let protocol = match (&self.fcgi, next.is_some() || kind.h2) {
            (Some(_), _) => Protocol::Fcgi,
            (None, true) => Protocol::H2,
            (None, false) => Protocol::H1,
        };
        let connector = kind.tls.then(|| material::connector(kind.alpn(), threads));
        let encryption = connector.clone().map(|connector| {
            let name = ServerName::Fixed(material::NAME.to_owned());
            Encryption { connector, name, alpn: None }
        });
        let link = Link { encryption, ..Link::default() };
        let (speech, encrypts) = (ServerProtocols::only(protocol), kind.tls);
        Server { cookie, speech, link, connector, encrypts, ..Server::new(settings, address) }
    }
}

/// A rule that limits all responses, and its filter.
fn limited(limit: u32) -> (rules::Rules, Vec<Filter>) {
    let scope = rules::BandwidthScope::Stream { limit, period: 1_000 };
    let side = sample::Side::Response;
    let filter = rules::BandwidthLimit { name: "lim".into(), side, min_size: 0, scope };
    let filter = Arc::new(filter);
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let mut cx = sample::Parser::new(&shared, &acls, &captures);
    let words = ["set-bandwidth-limit", "lim"];
    let rule = rules::parse_http_response(&words, &mut cx).unwrap();
    if let rules::Action::Bandwidth(edit) = rule.action() {
        edit.resolve(&filter);
    }
    let mut rules = rules::Rules::default();
    rules.http_response.push(rule);
    (rules, vec![Filter::BandwidthLimit(filter)])
}

fn logs() -> Logs {
    let target = LogTarget {
        address: LogAddress::Udp(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 9, 9)), 514)),
        transport: LogTransport::Raw,
        max_len: 1_024,
        facility: 16,
        level: 7,
        keeps: false,
        min_level: 0,
        sample: None,
    };
    Logs { targets: vec![target], tag: "weir".into(), hostname: None }
}

fn format(text: &str) -> LogFormat {
    let files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let shared = sample::Shared::new(&files, &|_| None);
    let (acls, captures) = Default::default();
    let mut cx = sample::Parser::new(&shared, &acls, &captures);
    cx.http = true;
    LogFormat::parse(text, LogStyle::Log, &cx).unwrap()
}

/// Settings of the process.
pub(crate) fn process(threads: usize) -> Process {
    Process {
        threads,
        maxconn: 2_000,
        history: 0,
        hostname: "sim".into(),
        node: "sim".into(),
        pid: 1,
        quiet: true,
        spreads_clients: false,
        ..Process::default()
    }
}
