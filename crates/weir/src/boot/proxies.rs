//! Proxies with their listeners opened, and servers that are added at run time.

use super::listeners::quic::QuicOpen;
use super::listeners::{self, Asked, Open, Opener, failure};
use config::data_plane::{Builder, ServerBase};
use config::model::{self, Address};
use engine::state::os_handles::{ListenSockets, OsHandles};
use engine::state::runtime::Backend;
use rules::check::{Kind, StepPorts};
use settings::Check;
use std::sync::Arc;

/// The proxies of the model, their listeners open; every address that cannot be opened is reported.
pub(super) fn all(
    from: &mut [model::Proxy],
    builder: &mut Builder<'_>,
    global: &model::Global,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> Vec<settings::ProxySection> {
    if global.settings.quic.is_off {
        let fronts = from.iter_mut().filter_map(|proxy| proxy.front.as_mut());
        fronts.for_each(|front| front.binds.retain(|bind| !bind.is_quic));
    }
    let mut proxies: Vec<_> = from.iter_mut().map(|proxy| builder.proxy(proxy)).collect();
    for (from, proxy) in from.iter().zip(&mut proxies) {
        open(from, proxy, global, (opener, handles), errors);
        namespaces(proxy, opener, errors);
    }
    proxies
}

/// Opens the listeners of a proxy.
fn open(
    from: &model::Proxy,
    proxy: &mut settings::ProxySection,
    global: &model::Global,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) {
    let (Some(front), Some(settings)) = (&from.front, &mut proxy.front) else { return };
    let owner = format!("{} {}", from.kind.word(), from.name);
    for (bind, settings) in front.binds.iter().zip(&mut settings.binds) {
        let asked = Asked::of(&bind.options, front, from.mode, global);
        match open_line(opener, bind, &asked, (&settings.threads, global)) {
            Ok((open, sockets)) => {
                open.warn(&owner, bind);
                handles.add_listener(&from.name, bind.id, sockets);
                (settings.address, settings.backlog) = (open.address, asked.backlog);
            }
            Err(error) => errors.push(failure(&owner, bind, &error)),
        }
    }
}

/// Opens the namespaces of a proxy's servers.
fn namespaces(proxy: &settings::ProxySection, opener: &mut Opener, errors: &mut Vec<String>) {
    for server in proxy.back.iter().flat_map(|back| &back.servers) {
        let namespace = server.link.dial.namespace.as_deref();
        if let Some(Err(error)) = namespace.map(|name| opener.namespace(name)) {
            errors.push(format!("server '{}' : {error}", server.balance.name));
        }
    }
}

/// Opens the sockets of a line.
fn open_line(
    opener: &mut Opener,
    bind: &model::Bind,
    asked: &Asked,
    (threads, global): (&[u16], &model::Global),
) -> std::io::Result<(Open, ListenSockets)> {
    let all: Vec<u16> = (0..global.process.threads.count() as u16).collect();
    let threads = if threads.is_empty() { &all[..] } else { threads };
    if let (true, model::BindAddress::At(Address::Inet(address))) = (bind.is_quic, &bind.address) {
        // Threads that share a socket would have to pass most datagrams on to others.
        let wanted = if asked.exclusive { 1 } else { shard_count(bind, threads, threads.len()) };
        let QuicOpen { open, others, mut links } =
            opener.open_quic(bind, *address, asked, wanted)?;
        let handles: Vec<_> = std::iter::once(open.handle).chain(others).collect();
        links.sockets = listeners::quic::distribute(&handles, threads);
        let shards = links.sockets[1..].to_vec();
        let sockets = ListenSockets { first: open.handle, shards, quic: Some(Arc::new(links)) };
        return Ok((open, sockets));
    }
    let open = opener.open(bind, asked)?;
    let shards = shards(opener, &open, bind, asked, threads)?;
    let sockets = ListenSockets { first: open.handle, shards, quic: None };
    Ok((open, sockets))
}

/// The number of sockets that a line has for these threads.
fn shard_count(bind: &model::Bind, threads: &[u16], usual: usize) -> usize {
    bind.options.shards.map_or(usual, |shards| match shards {
        0 => threads.len(),
        shards => usize::from(shards).min(threads.len()),
    })
}

/// The sockets of a line beside its first one, each with its threads (`shards`).
fn shards(
    opener: &mut Opener,
    open: &Open,
    bind: &model::Bind,
    asked: &Asked,
    threads: &[u16],
) -> std::io::Result<Vec<(reactor::Handle, Vec<u16>)>> {
    let wanted = shard_count(bind, threads, 1);
    let own = matches!(bind.address, model::BindAddress::At(Address::Inet(_)));
    if wanted < 2 || !own || asked.exclusive {
        return Ok(Vec::new());
    }
    let share = threads.len().div_ceil(wanted);
    let others = threads.chunks(share).skip(1);
    others.map(|own| Ok((opener.open_again(open, bind, asked)?, own.to_vec()))).collect()
}

/// The settings of a server that `add server` adds; `base` holds the settings of its backend's
/// section.
pub(super) fn dynamic_server(
    backend: &Backend,
    name: &str,
    words: &[String],
    tls: (&model::TlsProcess, &tls::Store),
    base: &ServerBase,
) -> Result<settings::Server, config::DynamicServerError> {
    let check = &backend.settings.check;
    let host = config::Host {
        name: backend.proxy.name(),
        http: backend.proxy.settings.mode == settings::Mode::Http,
        spop: backend.proxy.settings.is_spop,
        fcgi: backend.settings.fcgi.is_some(),
        checks: checks(check),
        encrypts: matches!(check, Check::Script(script) if script.encrypts()),
    };
    config::dynamic_server(&host, name, words, tls, base)
}

/// Whether checks are HTTP requests, and whether servers must give a port.
fn checks(check: &Check) -> (bool, StepPorts) {
    match check {
        Check::Http(_) => (true, StepPorts::Implied),
        Check::Script(script) => (script.kind == Kind::Http, StepPorts::of(&script.steps)),
        Check::Connect | Check::External(_) => (false, StepPorts::Implied),
    }
}

/// Number of listeners in the model.
pub(super) fn listeners(model: &config::Model) -> usize {
    let threads = model.global.process.threads.count();
    // A line of QUIC has a socket per thread, and a pair for the next process.
    let sockets = |bind: &model::Bind| if bind.is_quic { threads + 2 } else { 1 };
    let fronts = model.proxies.iter().filter_map(|proxy| proxy.front.as_ref());
    let binds = fronts.flat_map(|front| &front.binds);
    binds.map(sockets).sum::<usize>() + model.global.stats.sockets.len()
}

#[cfg(test)]
mod tests {
    use config::data_plane::{Builder, Machine};
    use settings::Link;

    /// The connections to the first server in these lines of a section.
    fn link(lines: &str) -> Link {
        let text = format!(
            "global\n tune.rcvbuf.server 20000\n tune.sndbuf.server 30000\n \
             tune.notsent-lowat.server 50k\n\
             listen l\n mode http\n bind :1\n timeout client 1s\n{lines}\n"
        );
        let setup = config::Setup::default();
        let loaded = config::load(&[config::Source::new("a.cfg", &text)], setup);
        let mut model = loaded.model.expect("a good text");
        let made = Builder::new(&model.global, Machine::default()).proxy(&mut model.proxies[0]);
        made.back.expect("a listen section").servers[0].link.clone()
    }

    #[test]
    fn shards_give_the_number_of_sockets() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let socket = |lines: &str, level: i32, name: i32| {
            let dial = link(lines).dial;
            let dial = dial.with_namespace(None);
            let fd = sys::socket::dial(sys::socket::Target::Inet(address), &dial);
            let fd = fd.expect("somebody listens");
            let value = sys::option::get(fd, level, name).expect("an option");
            sys::close(fd);
            value
        };
        // Levels and options of socket(7) and tcp(7).
        let (sockets, tcp) = (1, 6);
        let server = "server s 127.0.0.1:1";
        for (lines, level, name, expected) in [
            (format!("{server} tcp-ut 1500"), tcp, 18, 1500),
            (format!("{server} tfo"), tcp, 30, 1),
            (format!("option srvtcpka\n{server}"), sockets, 9, 1),
            (format!("option tcpka\nsrvtcpka-cnt 3\n{server}"), tcp, 6, 3),
            (format!("option tcpka\nsrvtcpka-idle 11s\n{server}"), tcp, 4, 11),
            (format!("option tcpka\nsrvtcpka-intvl 7\n{server}"), tcp, 5, 7),
        ] {
            assert_eq!(socket(&lines, level, name), expected, "{lines}");
            assert_ne!(socket(server, level, name), expected, "without {lines}");
        }
        assert_eq!(socket(&format!("{server} tfo no-tfo"), tcp, 30), 0);
        // Linux doubles the value for its own use.
        let sizes = [8, 7].map(|name| socket(server, sockets, name));
        assert_eq!(sizes, [40_000, 60_000], "tune.rcvbuf.server, tune.sndbuf.server");
        assert_eq!(socket(server, tcp, 25), 51_200, "tune.notsent-lowat.server");
        let smart = link(&format!("option tcp-smart-connect\n{server}")).dial.patient;
        assert!(smart && !link(server).dial.patient);
        assert!(link(&format!("option nolinger\n{server}")).dial.resets);
        let interface = link(&format!("{server} source 127.0.0.1 interface lo")).dial.interface;
        assert_eq!(interface.as_deref(), Some("lo"));
    }
}
