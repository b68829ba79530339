//! Servers, their checks and agents, and name servers.

use super::link::{self, Links, fixed_encryption};
use super::{content, millis};
use crate::model::{
    Check, Direct, Global, HealthCheck, NameServer, Resolvers, Server, ServerOptions, ServerPort,
};
use rules::check::SimpleHttp;
use settings::{Agent, Link};
use std::sync::Arc;
use stdx::socket::Address;

/// A server's settings, from the model and its connection options.
pub(crate) fn server(from: &Server, links: Links) -> settings::Server {
    let options = &from.options;
    let check = &options.check;
    settings::Server {
        link: links.usual,
        check_link: links.checks,
        connector: from.tls.clone(),
        encrypts: options.tls.enabled,
        refuses_tls: options.tls.refused,
        balance: balance(from),
        check_ip: check.addr,
        check_port: check.port,
        agent: agent(check),
        address: address(from),
        cookie: options.cookie.as_deref().map(content),
        redirect: options.redirect.as_deref().map(|prefix| content(prefix).into()),
        max_queue: options.maxqueue,
        minconn: options.minconn,
        max_reuse: u32::try_from(options.max_reuse).ok(),
        pool_low: options.pool_low_conn,
        speech: link::speeches(options),
        non_stick: options.non_stick,
        pool_max: u32::try_from(options.pool_max_conn).ok(),
        pool_purge: millis(options.pool_purge_delay),
        host: host(from),
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

/// The settings that balancing and the state of health need.
fn balance(from: &Server) -> balance::ServerSettings {
    let options = &from.options;
    let check = &options.check;
    let interval = |span: u64| millis(span).max(1);
    balance::ServerSettings {
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
    }
}

fn watch(options: &ServerOptions) -> Option<balance::Watch> {
    let (limit, then) = (options.error_limit, options.on_error);
    options.observe.map(|layer| balance::Watch { layer, limit, then })
}

fn address(from: &Server) -> Address {
    match (&from.address.address, from.address.port) {
        (Address::Inet(address), ServerPort::Fixed(port)) => {
            let mut address = *address;
            address.set_port(port);
            Address::Inet(address)
        }
        (address, _) => address.clone(),
    }
}

/// The host name; that of a service (SRV records) is none.
fn host(from: &Server) -> Option<String> {
    let host = from.host.as_ref().filter(|host| !host.starts_with('_'));
    from.serves_as.as_ref().or(host).cloned()
}

/// The agent; it uses the address and port of `addr` and `port` unless it has its own.
fn agent(check: &Check) -> Option<Agent> {
    let from = &check.agent;
    let (ip, port) = (from.addr.or(check.addr), from.port.or(check.port)?);
    let inter_ms = millis(from.inter).max(1);
    from.enabled.then(|| Agent { ip, port, send: from.send.clone(), inter_ms })
}

/// The destination of requests without a server.
pub(super) fn direct(to: &Direct, link: Link) -> settings::Server {
    let address = match to {
        Direct::To(address) => Some(address.clone()),
        Direct::Destination => None,
    };
    settings::Server::direct(address, link)
}

/// The check of a backend's servers. Checks of a single exchange take a shorter way with servers
/// whose connections begin without TLS or a PROXY header.
pub(super) fn check(from: &HealthCheck, global: &Global) -> settings::Check {
    let script = match from {
        HealthCheck::Connect => return settings::Check::Connect,
        HealthCheck::Script(script) => script,
        HealthCheck::External { command, path } => {
            let (command, path) = (command.clone(), path.clone());
            let permitted = global.process.insecure_fork;
            let external = settings::External { command, path, permitted };
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

/// A `resolvers` section.
pub(super) fn resolvers(from: &Resolvers) -> settings::Resolvers {
    settings::Resolvers {
        name: from.name.to_string(),
        nameservers: from.nameservers.iter().map(name_server).collect(),
        dns: from.dns,
    }
}

fn name_server(from: &NameServer) -> settings::NameServer {
    settings::NameServer {
        name: from.name.clone(),
        address: from.address,
        stream: from.stream,
        streams: from.options.as_ref().map(|it| streams(from, it)).unwrap_or_default(),
    }
}

/// Connection options of a name server's line.
fn streams(from: &NameServer, options: &ServerOptions) -> settings::Streams {
    let encryption = from.tls.clone().map(|connector| fixed_encryption(connector, options));
    settings::Streams {
        maxconn: options.maxconn,
        dial: link::of_source(options.link.source.as_ref(), settings::ConnectOptions::default()),
        encryption,
    }
}
