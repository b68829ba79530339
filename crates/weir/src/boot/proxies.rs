//! Conversion of proxies to settings of the data plane. Defaults come from the model.

use super::balancing;
use super::filters;
use super::link::{self, Base};
use super::listeners::{Asked, Open, Opener};
use super::logs;
use config::model::{self, Address, ServerPort};
use engine::state::os_handles::{ListenSockets, OsHandles};
use rules::check::{Kind, SimpleHttp, StepPorts};
use settings::{Link, Protocol};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// A proxy whose listeners are open; every address that cannot be opened is reported.
pub(super) fn proxy(
    from: model::Proxy,
    global: &model::Global,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> settings::Proxy {
    let common = &from.common;
    let front = from.front.as_ref();
    let front = front.map(|front| self::front(&from, front, global, (opener, handles), errors));
    settings::Proxy {
        name: from.name.clone(),
        id: from.id,
        forced_id: from.forced_id,
        mode: from.mode,
        disabled: from.disabled,
        description: from.description.clone(),
        timeouts: common.timeouts,
        connection_mode: common.connection_mode,
        forward_for: common.forward_for.clone(),
        original_to: common.original_to.clone(),
        header_names: common.header_names.unwrap_or_default(),
        buffer_request: common.buffer_request,
        splice: common.splice,
        error_replies: common.error_replies.clone(),
        filters: filters::filters(&common.filters, global),
        compression: common.compression.clone(),
        stats: common.stats.as_deref().cloned(),
        mail: common.email_alert.as_ref().map(mail),
        logs: logs::logs(&common.logs, common.log_tag.as_deref(), global),
        unique_id_header: from
            .front
            .as_ref()
            .and_then(|front| front.unique_id_header.as_ref())
            .map(|name| name.to_ascii_lowercase()),
        front,
        back: from.back.as_ref().map(|from| back(from, global, opener, errors)),
        log_format: from.formats.log,
        error_log_format: from.formats.error,
        logs_requests_only: from.formats.requests_only,
        logs_at_start: from.formats.at_start,
        log_format_sd: from.formats.structured_data,
        unique_id: from.formats.unique_id,
        captures: [from.captured.request, from.captured.response],
        captured_cookie: from.captured.cookie.map(|(begin, most)| (content(&begin), most)),
        rules: from.rules,
        inherited_rules: from.inherited_rules,
    }
}

/// Bytes on the wire of a word of the configuration.
pub(super) fn content(word: &str) -> Vec<u8> {
    sample::word::to_bytes(word).into_owned()
}

fn application(from: &model::BackendApp, global: &model::Global) -> Arc<settings::BackendApp> {
    let logs = logs::logs(&from.logs, Some(&from.app.name), global);
    let software = format!("HAProxy {}", crate::version::VERSION).into_bytes();
    Arc::new(settings::BackendApp { app: from.app.clone(), logs, software })
}

/// The `http-errors` sections, for the rules that name them.
pub(super) fn http_errors(
    sections: &[model::HttpErrors],
) -> BTreeMap<String, BTreeMap<u16, settings::ErrorReply>> {
    let section = |section: &model::HttpErrors| (section.name.to_string(), section.files.clone());
    sections.iter().map(section).collect()
}

fn mail(from: &model::EmailAlert) -> settings::Mail {
    settings::Mail {
        from: from.from.clone(),
        to: from.to.clone(),
        hostname: from.hostname.clone().unwrap_or_else(sys::hostname),
        level: from.level.0,
        timeout_ms: u32::try_from(from.mailers.timeout).unwrap_or(u32::MAX),
        mailers: from.mailers.mailers.iter().map(|mailer| mailer.address).collect(),
    }
}

fn front(
    proxy: &model::Proxy,
    from: &model::Front,
    global: &model::Global,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> settings::Front {
    let owner = format!("{} {}", proxy.kind.word(), proxy.name);
    let mut binds = Vec::new();
    for bind in from.binds.iter().filter(|_| !proxy.disabled) {
        let threads = global.process.threads.of(&bind.options.threads);
        let asked = Asked::of(&bind.options, from, proxy.mode, global);
        let opened = opener.open(bind, &asked).and_then(|open| {
            let shards = shards(opener, &open, bind, &asked, (&threads, global))?;
            Ok((open, shards))
        });
        if let Ok((open, ..)) = &opened {
            open.warn(&owner, bind);
        }
        match opened {
            Ok((open, shards)) => {
                let sockets = ListenSockets { first: open.handle, shards };
                handles.add_listener(&proxy.name, bind.id, sockets);
                binds.push(settings::Bind {
                    namespace: bind.options.namespace.as_deref().map(Arc::from),
                    protocol: bind.options.protocol.map_or(Protocol::Chosen, link::spoken),
                    quic: bind.is_quic.then(|| quic(&bind.options)),
                    mss_reduction: bind.options.mss.min(0).unsigned_abs(),
                    backlog: asked.backlog,
                    address: open.address,
                    name: bind.options.name.clone(),
                    id: bind.id,
                    maxconn: bind.options.maxconn,
                    threads,
                    nice: bind.options.nice,
                    preamble: super::listeners::preamble(bind),
                })
            }
            Err(error) => errors.push(super::listeners::failure(&owner, bind, &error)),
        }
    }
    settings::Front {
        binds,
        accept_invalid: from.accept_invalid_request || from.accept_unsafe_request,
        ..from.settings.clone()
    }
}

fn quic(options: &model::BindOptions) -> settings::QuicBind {
    let congestion = match options.quic_congestion {
        model::QuicCongestion::Cubic => settings::QuicCongestion::Cubic,
        model::QuicCongestion::NewReno => settings::QuicCongestion::NewReno,
    };
    settings::QuicBind { congestion, always_retries: options.quic_force_retry }
}

/// The sockets of a line beside its first one, each with its threads (`shards`).
fn shards(
    opener: &mut Opener,
    open: &Open,
    bind: &model::Bind,
    asked: &Asked,
    (threads, global): (&[u16], &model::Global),
) -> std::io::Result<Vec<(reactor::Handle, Vec<u16>)>> {
    let count = global.process.threads.count() as u16;
    let all: Vec<u16> = (0..count).collect();
    let threads = if threads.is_empty() { &all[..] } else { threads };
    let wanted = bind.options.shards.map_or(1, |shards| match shards {
        0 => threads.len(),
        shards => usize::from(shards).min(threads.len()),
    });
    let own = matches!(bind.address, model::BindAddress::At(Address::Ip(_)));
    if wanted < 2 || !own || asked.exclusive || bind.is_quic {
        return Ok(Vec::new());
    }
    let share = threads.len().div_ceil(wanted);
    let others = threads.chunks(share).skip(1);
    others.map(|own| Ok((opener.open_again(open, bind, asked)?, own.to_vec()))).collect()
}

fn back(
    from: &model::Back,
    global: &model::Global,
    opener: &mut Opener,
    errors: &mut Vec<String>,
) -> settings::Back {
    let base = Base::of(from, global);
    let mut servers = Vec::with_capacity(from.servers.len());
    for server in &from.servers {
        match link::links(server, &base, opener) {
            Ok(links) => servers.push(self::server(server, links)),
            Err(error) => errors.push(format!("server '{}' : {error}", server.name)),
        }
    }
    settings::Back {
        check: check(&from.check, global),
        check_script: match &from.check {
            model::HealthCheck::Script(script) => script.clone(),
            _ => Arc::default(),
        },
        servers,
        fcgi: from.fcgi.as_ref().map(|app| application(app, global)),
        direct: from.direct.as_ref().map(|to| direct(to, base.without_server())),
        algorithm: balancing::algorithm(from),
        algorithm_name: from.balance.name().to_owned(),
        hashing: balancing::hashing(from),
        accept_invalid: from.accept_invalid_response || from.accept_unsafe_response,
        ..from.settings.clone()
    }
}

fn direct(to: &model::Direct, link: Link) -> settings::Server {
    let address = match to {
        model::Direct::To(Address::Ip(address)) => Some(reactor::Address::Inet(*address)),
        model::Direct::To(Address::Unix(path)) => Some(reactor::Address::Unix(path.clone())),
        model::Direct::To(Address::Pair(number)) => Some(reactor::Address::Pair(*number)),
        model::Direct::Destination => None,
    };
    settings::Server::direct(address, link)
}

fn server(from: &model::Server, (link, check_link): (Link, Link)) -> settings::Server {
    let options = &from.options;
    let check = &options.check;
    let interval = |span: u64| u32::try_from(span).unwrap_or(u32::MAX).max(1);
    let balance = balance::ServerSettings {
        weight: options.weight,
        // The upper bound of the dynamic limit is at least `minconn`.
        maxconn: options.maxconn.max(options.minconn),
        backup: options.backup,
        disabled: options.disabled,
        unresolved: from.unresolved,
        slowstart_ms: options.slowstart,
        checked: check.enabled,
        rise: check.rise,
        fall: check.fall,
        intervals: balance::Intervals {
            inter: interval(check.inter),
            fast: check.fastinter.map(interval),
            down: check.downinter.map(interval),
        },
        track: from.tracked.as_ref().map(|(backend, server)| balance::Tracked {
            backend: backend.to_string(),
            server: server.to_string(),
        }),
        watch: watch(options),
        ..balance::ServerSettings::new(from.id, &*from.name)
    };
    let address = address(&from.address);
    settings::Server {
        link,
        check_link,
        connector: from.tls.clone(),
        encrypts: options.tls.enabled,
        refuses_tls: options.tls.refused,
        balance,
        check_ip: check.addr,
        check_port: check.port,
        agent: agent(check),
        address,
        cookie: options.cookie.as_deref().map(content),
        redirect: options.redirect.as_deref().map(|prefix| content(prefix).into()),
        max_queue: options.maxqueue,
        minconn: options.minconn,
        max_reuse: u32::try_from(options.max_reuse).ok(),
        pool_low: options.pool_low_conn,
        speech: link::speeches(options),
        non_stick: options.non_stick,
        pool_max: u32::try_from(options.pool_max_conn).ok(),
        pool_purge: u32::try_from(options.pool_purge_delay).unwrap_or(u32::MAX),
        host: from
            .serves_as
            .clone()
            .or_else(|| from.host.clone().filter(|host| !host.starts_with('_'))),
        resolve: from.resolve.clone(),
        referenced: from.referenced,
        forced_id: from.forced_id,
        dynamic: false,
        words: None,
        restored: from.restored.clone(),
        checked_at: from.checked_at,
        off: (from.checks_off, from.agent_off),
        ends_streams: options.down_ends_sessions,
        relieves_backups: options.up_ends_backup_sessions,
    }
}

fn watch(options: &model::ServerOptions) -> Option<balance::Watch> {
    let layer = match options.observe? {
        model::Observe::Layer4 => balance::Layer::Four,
        model::Observe::Layer7 => balance::Layer::Seven,
    };
    let then = match options.on_error {
        model::OnError::FastInter => balance::OnError::FastInter,
        model::OnError::FailCheck => balance::OnError::FailCheck,
        model::OnError::SuddenDeath => balance::OnError::SuddenDeath,
        model::OnError::MarkDown => balance::OnError::MarkDown,
    };
    Some(balance::Watch { layer, limit: options.error_limit, then })
}

/// The settings of a server that `add server` adds; it starts in maintenance unless `enabled` is
/// given. `base` holds the settings of its backend's section.
pub(super) fn dynamic_server(
    proxy: &engine::state::runtime::Proxy,
    name: &str,
    words: &[String],
    (process, store): (&model::TlsProcess, &tls::Store),
    base: &Base,
) -> Result<settings::Server, String> {
    let (backend, http) = (proxy.name(), proxy.settings.mode == settings::Mode::Http);
    let fcgi = proxy.settings.back.as_ref().is_some_and(|back| back.fcgi.is_some());
    let encrypts = match proxy.settings.back.as_ref().map(|back| &back.check) {
        Some(settings::Check::Script(script)) => script.encrypts(),
        _ => false,
    };
    let host = config::Host { name: backend, http, fcgi, checks: checks(proxy), encrypts };
    let made = config::dynamic_server(&host, name, words, (process, store))?;
    let enabled = words.iter().any(|word| word == "enabled");
    let track = made.options.track.as_deref();
    let track = track.map(|given| given.split_once('/').unwrap_or((backend, given)));
    let track = track.map(|(backend, server)| balance::Tracked {
        backend: backend.to_owned(),
        server: server.to_owned(),
    });
    let links = link::links(&made, base, &mut Opener::default());
    let (link, mut check_link) = links.map_err(|error| error.to_string())?;
    // As in HAProxy, checks of such a server inherit nothing from its other connections.
    let (options, checked) = (&made.options, &mut check_link);
    checked.announce = checked.announce.filter(|_| options.check.send_proxy);
    checked.encryption = checked.encryption.take().filter(|_| options.tls.check == Some(true));
    let mut made = server(&made, (link, check_link));
    made.dynamic = true;
    made.forced_id = made.balance.id > 0;
    made.balance.track = track;
    made.balance.forced_maint = !enabled;
    Ok(made)
}

/// Whether the checks of a backend are HTTP requests, and whether servers must give a port.
fn checks(proxy: &engine::state::runtime::Proxy) -> (bool, StepPorts) {
    match proxy.settings.back.as_ref().map(|back| &back.check) {
        Some(settings::Check::Http(_)) => (true, StepPorts::Implied),
        Some(settings::Check::Script(script)) => {
            (script.kind == Kind::Http, StepPorts::of(&script.steps))
        }
        Some(settings::Check::Connect | settings::Check::External(_)) | None => {
            (false, StepPorts::Implied)
        }
    }
}

fn address(from: &model::ServerAddress) -> reactor::Address {
    match (&from.address, from.port) {
        (Address::Unix(path), _) => reactor::Address::Unix(path.clone()),
        (Address::Pair(number), _) => reactor::Address::Pair(*number),
        (Address::Ip(address), ServerPort::Fixed(port)) => {
            let mut address = *address;
            address.set_port(port);
            reactor::Address::Inet(address)
        }
        (Address::Ip(address), ServerPort::FromClient(_)) => reactor::Address::Inet(*address),
    }
}

/// The `resolvers` sections.
pub(super) fn resolvers(sections: &[model::Resolvers]) -> Vec<settings::Resolvers> {
    let nameserver = |from: &model::NameServer| settings::NameServer {
        name: from.name.clone(),
        address: from.address,
        stream: from.stream,
        streams: from.options.as_ref().map(|it| streams(from, it)).unwrap_or_default(),
    };
    let section = |from: &model::Resolvers| settings::Resolvers {
        name: from.name.to_string(),
        nameservers: from.nameservers.iter().map(nameserver).collect(),
        dns: from.dns,
    };
    sections.iter().map(section).collect()
}

/// Connection options of a name server's line.
fn streams(from: &model::NameServer, options: &model::ServerOptions) -> settings::Streams {
    let source = options.link.source.as_ref();
    let encryption = from.tls.clone().map(|connector| link::fixed_encryption(connector, options));
    settings::Streams {
        maxconn: options.maxconn,
        dial: settings::ConnectOptions {
            source: source.and_then(|it| it.address).map(|ip| SocketAddr::new(ip, 0)),
            interface: source.and_then(|it| it.interface.as_deref()).map(Into::into),
            ..settings::ConnectOptions::default()
        },
        encryption,
    }
}

/// The agent; it uses the address and port of `addr` and `port` unless it has its own.
fn agent(check: &model::Check) -> Option<settings::Agent> {
    let from = &check.agent;
    let (ip, port) = (from.addr.or(check.addr), from.port.or(check.port)?);
    from.enabled.then(|| settings::Agent {
        ip,
        port,
        send: from.send.clone(),
        inter_ms: u32::try_from(from.inter).unwrap_or(u32::MAX).max(1),
    })
}

/// Checks of a single exchange take a shorter way with servers whose connections begin without TLS
/// or a PROXY header.
fn check(from: &model::HealthCheck, global: &model::Global) -> settings::Check {
    let script = match from {
        model::HealthCheck::Connect => return settings::Check::Connect,
        model::HealthCheck::Script(script) => script,
        model::HealthCheck::External { command, path } => {
            let (command, path) = (command.clone(), path.clone());
            let external =
                settings::External { command, path, permitted: global.process.insecure_fork };
            return settings::Check::External(Arc::new(external));
        }
    };
    match script.as_simple_http() {
        Some(SimpleHttp { request, statuses, negated }) => {
            settings::Check::Http(settings::HttpCheck { request, statuses, negated })
        }
        None => settings::Check::Script(script.clone()),
    }
}

/// The whole list, for the process.
pub(super) fn all(
    model: &mut config::Model,
    (opener, handles): (&mut Opener, &mut OsHandles),
    errors: &mut Vec<String>,
) -> Vec<settings::Proxy> {
    let proxies = std::mem::take(&mut model.proxies).into_iter();
    proxies.map(|from| proxy(from, &model.global, (opener, handles), errors)).collect()
}

/// Number of listeners in the model.
pub(super) fn listeners(model: &config::Model) -> usize {
    let binds = |proxy: &model::Proxy| proxy.front.as_ref().map_or(0, |front| front.binds.len());
    model.proxies.iter().map(binds).sum::<usize>() + model.global.stats.sockets.len()
}

/// Log settings of the process itself.
pub(super) fn process_logs(model: &config::Model) -> Arc<settings::Logs> {
    logs::logs(&model.global.logs, None, &model.global)
}
