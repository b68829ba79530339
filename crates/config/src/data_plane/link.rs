//! Options of the connections to servers, and of those that listeners accept.

use crate::model::{
    self, Back, Bind, ConnectSource, Global, Server, ServerOptions, ServerPort, Websocket,
};
use settings::{
    ConnectOptions, Encryption, Expected, Follows, Link, Ports, Preamble, Protocol, ServerName,
    ServerProtocols, Values, WireProtocol,
};
use std::net::SocketAddr;
use std::sync::Arc;
use stdx::socket::{Address, SystemBuffers};

/// TLS of connections with a constant server name.
pub(super) fn fixed_encryption(
    connector: Arc<tls::Connector>,
    options: &ServerOptions,
) -> Encryption {
    let name = options.server_name().map(str::to_owned);
    let name = name.map_or(ServerName::None, ServerName::Fixed);
    Encryption { connector, name, alpn: None }
}

/// Settings of sections for connections to all servers of a backend, including those added later.
#[derive(Debug, Clone, Default)]
pub struct ServerBase {
    source: Option<ConnectSource>,
    /// Without the source.
    dial: ConnectOptions,
    never_local: bool,
}

impl ServerBase {
    /// The options of a backend's section.
    pub fn of(back: &Back, global: &Global) -> Self {
        let dial = ConnectOptions {
            keep_alive: back.keep_alive.probes(),
            buffers: SystemBuffers {
                receive: global.tune.rcvbuf_server,
                send: global.tune.sndbuf_server,
                unsent: global.tune.unsent_server,
            },
            resets: back.nolinger,
            patient: back.smart_connect,
            ..ConnectOptions::default()
        };
        let never_local = global.process.pp2_never_send_local;
        Self { source: back.source.clone(), dial, never_local }
    }

    /// Options of connections to no server in particular.
    pub(super) fn without_server(&self) -> Link {
        let source = self.source.as_ref();
        Link { dial: self.dial(source), ..from(source) }
    }

    fn dial(&self, source: Option<&ConnectSource>) -> ConnectOptions {
        of_source(source, self.dial.clone())
    }
}

/// Socket options with a source address and an interface.
pub(super) fn of_source(source: Option<&ConnectSource>, dial: ConnectOptions) -> ConnectOptions {
    ConnectOptions {
        source: source.and_then(|source| source.address).map(|ip| SocketAddr::new(ip, 0)),
        interface: source.and_then(|source| source.interface.as_deref()).map(Into::into),
        ..dial
    }
}

/// The connections to a server, and those of its checks.
#[derive(Debug)]
pub(crate) struct Links {
    /// Connections with requests or streams.
    pub(super) usual: Link,
    /// Connections of checks.
    pub(super) checks: Link,
}

/// The connections to a server of a backend.
pub(crate) fn links(server: &Server, base: &ServerBase) -> Links {
    let options = &server.options;
    let asked = options.link.announce;
    let never_local = base.never_local;
    let source = options.link.source.as_ref().or(base.source.as_ref());
    let follows_namespace = options.link.namespace.as_deref() == Some("*");
    let namespace = options.link.namespace.as_deref().filter(|_| !follows_namespace);
    let dial = ConnectOptions {
        namespace: namespace.map(Arc::from),
        user_timeout_ms: options.link.tcp_ut,
        ..base.dial(source)
    };
    // A check of another port or address is assumed to be one of another service.
    let same = options.check.port.is_none() && options.check.addr.is_none();
    let announced = (asked.any() && same) || options.check.send_proxy;
    let check_link = Link {
        announce: announced.then(|| header(asked, never_local)),
        dial: ConnectOptions { patient: false, ..dial.clone() },
        socks4: options.link.socks4.filter(|_| options.check.via_socks4),
        encryption: check_encryption(server, same),
        ..Link::default()
    };
    let link = Link {
        announce: announce(asked, never_local),
        // A check tests whether the server accepts connections, so it does not send data with the
        // first packet.
        dial: ConnectOptions { fast_open: options.link.tfo, ..dial },
        socks4: options.link.socks4,
        follows: follows(server),
        follows_namespace,
        encryption: encryption(server),
        ..from(source)
    };
    Links { usual: link, checks: check_link }
}

/// Makes the checks of a server inherit nothing from its other connections, as HAProxy does with
/// servers that are added at run time.
pub(crate) fn never_inherit(links: &mut Links, options: &ServerOptions) {
    let checks = &mut links.checks;
    checks.announce = checks.announce.filter(|_| options.check.send_proxy);
    checks.encryption = checks.encryption.take().filter(|_| options.tls.check == Some(true));
}

/// The parts of a source address that change with each connection.
fn from(source: Option<&ConnectSource>) -> Link {
    Link {
        disguise: source.map(|source| source.disguise.clone()).unwrap_or_default(),
        ports: source.and_then(|source| source.ports).map(|(low, high)| Ports::new(low, high)),
        ..Link::default()
    }
}

/// TLS of the connections to a server.
fn encryption(server: &Server) -> Option<Encryption> {
    let line = &server.options.tls;
    let connector = server.tls.clone().filter(|_| line.mentioned)?;
    let sni = line.sni.as_ref().and_then(|sni| sni.expr.clone());
    let name = sni.map_or(ServerName::None, ServerName::Sample);
    Some(Encryption { connector, name, alpn: None })
}

/// TLS of its checks; implied by the server's only where both go to the same service.
fn check_encryption(server: &Server, same: bool) -> Option<Encryption> {
    let line = &server.options.tls;
    let wanted = line.check.unwrap_or(line.enabled && same);
    let connector = server.tls.clone().filter(|_| wanted)?;
    let name = line.check_sni.clone().map_or(ServerName::None, ServerName::Fixed);
    let alpn = line.check_alpn.as_deref().map(Into::into);
    Some(Encryption { connector, name, alpn })
}

/// Protocols of a server's connections.
pub(super) fn speeches(options: &ServerOptions) -> ServerProtocols {
    let line = &options.tls;
    let offered = line.options.alpn.as_deref().filter(|_| line.enabled).unwrap_or_default();
    let named = line.options.npn.as_deref().filter(|_| line.enabled).unwrap_or_default();
    let own = protocol_of(options.protocol, if offered.is_empty() { named } else { offered });
    let usual = WireProtocol { protocol: own, alpn: None };
    let alone = |protocol, name: &[u8]| {
        let wire = [&[name.len() as u8], name].concat();
        WireProtocol { protocol, alpn: (!offered.is_empty()).then(|| wire.into()) }
    };
    let may_choose = own == Protocol::Chosen && names(offered, b"http/1.1");
    let websocket = match options.websocket {
        Websocket::H1 => alone(Protocol::H1, b"http/1.1"),
        Websocket::H2 => alone(Protocol::H2, b"h2"),
        Websocket::Auto if may_choose => alone(Protocol::H1, b"http/1.1"),
        Websocket::Auto => usual.clone(),
    };
    let checked = line.check_alpn.as_deref().or(line.options.alpn.as_deref());
    let checked = checked.filter(|_| line.check.unwrap_or(line.enabled));
    let protocol = options.check.protocol.or(options.protocol);
    let checks = protocol_of(protocol, checked.unwrap_or_default());
    ServerProtocols { usual, websocket, checks }
}

/// The protocol that follows from a named one, or from ALPN.
fn protocol_of(protocol: Option<model::Protocol>, offered: &[u8]) -> Protocol {
    match protocol {
        Some(protocol) => spoken(protocol),
        None if names(offered, b"h2") => Protocol::Chosen,
        None => Protocol::H1,
    }
}

/// A protocol that a line names. Lines of other modes name the one of bytes.
pub(super) fn spoken(protocol: model::Protocol) -> Protocol {
    match protocol {
        model::Protocol::H2 => Protocol::H2,
        model::Protocol::Fcgi => Protocol::Fcgi,
        model::Protocol::H1 | model::Protocol::None | model::Protocol::Spop => Protocol::H1,
    }
}

/// Whether a list of protocols in wire format (RFC 7301 section 3.1) has one.
fn names(mut list: &[u8], protocol: &[u8]) -> bool {
    while let Some((len, rest)) = list.split_first() {
        let Some((name, rest)) = rest.split_at_checked(usize::from(*len)) else { return false };
        if name == protocol {
            return true;
        }
        list = rest;
    }
    false
}

fn follows(server: &Server) -> Follows {
    let Address::Inet(address) = &server.address.address else { return Follows::default() };
    // The SRV records of a service contain the ports.
    let service = server.host.as_ref().is_some_and(|host| host.starts_with('_'));
    let port = match server.address.port {
        ServerPort::Fixed(_) => None,
        ServerPort::FromClient(_) if service => None,
        ServerPort::FromClient(offset) => Some(offset),
    };
    let anywhere = address.ip().is_unspecified() && !server.unresolved;
    Follows { ip: anywhere, port }
}

/// The PROXY protocol header of a line, if any.
pub(super) fn announce(from: model::Announce, never_local: bool) -> Option<settings::Announce> {
    from.any().then(|| header(from, never_local))
}

fn header(from: model::Announce, never_local: bool) -> settings::Announce {
    if !from.v2 {
        return settings::Announce::V1;
    }
    settings::Announce::V2(Values {
        tls: from.tls(),
        common_name: from.cert_cn,
        cipher: from.ssl_cipher,
        signature: from.cert_sig,
        key: from.cert_key,
        authority: from.authority,
        checksum: from.crc32c,
        unique_id: from.unique_id,
        never_local,
    })
}

/// Headers and TLS in front of the first byte of the connections to a line.
pub fn preamble(bind: &Bind) -> Preamble {
    let expects = Expected {
        proxy: bind.options.accept_proxy,
        netscaler: bind.options.accept_netscaler.is_some(),
        magic: bind.options.accept_netscaler.unwrap_or(0),
    };
    Preamble { expects, tls: bind.tls.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The options of connections and of checks for a server line with these options.
    fn of(options: &str) -> (Link, Link) {
        whole(&format!("server s 127.0.0.1:1 {options}"))
    }

    /// A server line with these options.
    fn only(options: &str) -> Server {
        let back = parsed(&format!("server s 127.0.0.1:1 {options}")).1;
        back.servers[0].clone()
    }

    /// The same of the first server in these lines of a section.
    fn whole(lines: &str) -> (Link, Link) {
        let (global, back) = parsed(lines);
        let base = ServerBase::of(&back, &global);
        let links = links(&back.servers[0], &base);
        (links.usual, links.checks)
    }

    fn parsed(lines: &str) -> (Global, Back) {
        let text = format!(
            "global\n pp2-never-send-local\n tune.rcvbuf.server 20000\n \
             tune.sndbuf.server 30000\n tune.notsent-lowat.server 50k\n\
             listen l\n mode http\n bind :1\n timeout client 1s\n{lines}\n"
        );
        let setup = crate::Setup::default();
        let loaded = crate::load(&[crate::Source::new("a.cfg", &text)], setup);
        let model = loaded.model.expect("a good text");
        let back = model.proxies[0].back.clone().expect("a listen section");
        (model.global, back)
    }

    #[test]
    fn headers_are_what_the_words_add_up_to() {
        use settings::Announce::{V1, V2};
        let plain = Values { never_local: true, ..Values::default() };
        let tls = Values { tls: true, ..plain };
        for (options, expected) in [
            ("", None),
            ("send-proxy", Some(V1)),
            ("send-proxy no-send-proxy", None),
            ("send-proxy-v2", Some(V2(plain))),
            ("send-proxy send-proxy-v2", Some(V2(plain))),
            ("send-proxy-v2 no-send-proxy-v2", None),
            ("send-proxy-v2-ssl", Some(V2(tls))),
            ("send-proxy-v2-ssl no-send-proxy-v2", Some(V1)),
            ("send-proxy-v2-ssl no-send-proxy-v2-ssl", None),
            ("send-proxy-v2-ssl-cn", Some(V2(Values { common_name: true, ..tls }))),
            ("send-proxy-v2-ssl-cn no-send-proxy-v2-ssl-cn", None),
            ("send-proxy-v2 proxy-v2-options ssl", Some(V2(tls))),
            (
                "send-proxy-v2 proxy-v2-options cert-cn",
                Some(V2(Values { common_name: true, ..tls })),
            ),
            ("send-proxy-v2 proxy-v2-options cert-key", Some(V2(Values { key: true, ..tls }))),
            (
                "send-proxy-v2 proxy-v2-options cert-sig",
                Some(V2(Values { signature: true, ..tls })),
            ),
            ("send-proxy-v2 proxy-v2-options ssl-cipher", Some(V2(Values { cipher: true, ..tls }))),
            ("send-proxy-v2 proxy-v2-options crc32c", Some(V2(Values { checksum: true, ..plain }))),
            ("proxy-v2-options crc32c", Some(V1)),
        ] {
            let (link, checks) = of(options);
            assert_eq!((link.announce, checks.announce), (expected, expected), "{options}");
        }
        let checked = |options: &str| of(options).1.announce;
        assert_eq!(checked("send-proxy port 2"), None);
        assert_eq!(checked("send-proxy port 2 check-send-proxy"), Some(V1));
        assert_eq!(checked("check-send-proxy no-check-send-proxy"), None);
    }

    #[test]
    fn what_is_spoken_is_what_the_words_say() {
        use Protocol::{Chosen, H1, H2};
        let tls = "ssl verify none alpn h2,http/1.1";
        for (options, usual, websocket, alpn, checks) in [
            ("", H1, H1, "", H1),
            ("proto h2", H2, H2, "", H2),
            ("proto h2 ws h1", H2, H1, "", H2),
            ("ws h2", H1, H2, "", H1),
            (tls, Chosen, H1, "\x08http/1.1", Chosen),
            (&format!("{tls} ws h1"), Chosen, H1, "\x08http/1.1", Chosen),
            (&format!("{tls} ws h2"), Chosen, H2, "\x02h2", Chosen),
            (&format!("{tls} proto h1"), H1, H1, "", H1),
            (&format!("{tls} check-alpn http/1.1"), Chosen, H1, "\x08http/1.1", H1),
            (&format!("{tls} check-proto h1"), Chosen, H1, "\x08http/1.1", H1),
            ("ssl verify none alpn h2 ws auto", Chosen, Chosen, "", Chosen),
            ("ssl verify none alpn http/1.1", H1, H1, "", H1),
            ("ssl verify none check-alpn h2", H1, H1, "", Chosen),
            ("check-proto h2", H1, H1, "", H2),
            ("proto h2 check-proto h1", H2, H2, "", H1),
        ] {
            let made = speeches(&only(options).options);
            let offered = made.websocket.alpn.as_deref().unwrap_or_default();
            let protocols = (made.usual.protocol, made.websocket.protocol, made.checks);
            assert_eq!(protocols, (usual, websocket, checks), "{options}");
            assert_eq!(offered, alpn.as_bytes(), "{options}");
        }
    }
}
