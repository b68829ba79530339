//! Runtime sockets, opened with the listeners. Never answers a command.

use super::listeners::{self, Asked, Opener};
use super::socket_files::SocketFiles;
use crate::cli::Options;
use crate::start_error::StartError;
use crate::version;
use admin::{
    CliSocket, ConfigurationLine, ConfigurationText, Level, MakeServer, Settings, SeverityOutput,
};
use config::data_plane::{ServerBase, preamble};
use config::{Model, model};
use engine::state::worker::Worker;
use reactor::Handle;
use std::collections::HashMap;
use std::sync::Arc;

/// A runtime socket that listens.
pub(super) struct Console {
    pub(super) handle: Handle,
    pub(super) socket: CliSocket,
}

/// Backlog of a runtime socket.
const BACKLOG: u32 = 128;

/// Opens the runtime sockets; every one that cannot be opened is reported.
pub(super) fn open(
    model: &Model,
    (options, startup_logs): (&Options, &str),
    (certificates, bases): (tls::Runtime, Bases),
    opener: &mut Opener,
    errors: &mut Vec<String>,
) -> (Settings, Vec<Console>) {
    let stats = &model.global.stats;
    let mut consoles = Vec::new();
    let mut sockets = Vec::new();
    for bind in &stats.sockets {
        let asked = Asked { backlog: BACKLOG, ..Asked::default() };
        match opener.open(bind, &asked) {
            Ok(open) => {
                let socket = CliSocket {
                    address: written(&open.address),
                    level: level(bind.options.level),
                    severity: severity(bind.options.severity_output),
                    exposes: bind.options.exposes_listeners,
                    of_master: false,
                    preamble: preamble(bind),
                    maxconn: bind.options.maxconn,
                };
                sockets.push(socket.clone());
                consoles.push(Console { handle: open.handle, socket });
            }
            Err(error) => errors.push(listeners::failure("frontend GLOBAL", bind, &error)),
        }
    }
    let environment = environment(&model.env, &sockets);
    let mut process = model.global.tls.clone();
    process.defaults.threads = model.global.process.threads.count().max(1);
    let store = model.store.clone();
    let runtime = Arc::new(certificates);
    let settings = Settings {
        version: version::VERSION.to_owned(),
        date: version::DATE.to_owned(),
        startup_logs: startup_logs.to_owned(),
        sockets,
        handed: opener.handed(),
        timeout_ms: Some(u32::try_from(stats.timeout).unwrap_or(u32::MAX)).filter(|ms| *ms > 0),
        max_sessions: stats.maxconn as usize,
        anon_key: Arc::new(model.global.anon_key.into()),
        max_files: sys::process::descriptor_limit().0,
        max_memory: u64::from(options.memory_mib.unwrap_or(0)) << 20,
        environment,
        configuration: Arc::default(),
        reloads: Arc::default(),
        rows: Arc::default(),
        dictionaries: model.dictionaries.clone(),
        streams: Worker::streams,
        raise: crate::signals::raise,
        server: MakeServer(Arc::new(move |backend, name, words| {
            let base = bases.get(backend.proxy.name()).ok_or("No such backend.")?;
            let tls = (&process, &*store);
            super::proxies::dynamic_server(backend, name, words, tls, base)
                .map_err(|error| error.to_string())
        })),
        tls: runtime,
    };
    (settings, consoles)
}

/// The configuration as the dashboard shows it; nothing is kept if no proxy has a page.
pub(super) fn configuration(
    text: model::ShownText,
    proxies: &[settings::ProxySection],
) -> Arc<ConfigurationText> {
    if proxies.iter().all(|proxy| proxy.stats.is_none()) {
        return Arc::default();
    }
    let lines = text.lines.into_iter().map(|it| ConfigurationLine {
        file: it.file,
        line: it.line,
        text: it.text,
        opens: it.opens,
    });
    Arc::new(ConfigurationText { lines: lines.collect(), left_out: text.left_out })
}

/// Runtime sockets that are open.
pub(crate) type Sockets = Vec<(Handle, CliSocket)>;

/// The runtime sockets of the master (`-S`), their files, and warnings about the argument.
///
/// # Errors
/// The mistake in the argument, or the reason why the socket cannot be opened.
pub(crate) fn of_master(given: &str) -> Result<(Sockets, SocketFiles, Vec<String>), StartError> {
    let refused =
        |why: &str| StartError::MasterSocket { given: given.to_owned(), reason: why.to_owned() };
    let (address, options) = given.split_once(',').unwrap_or((given, ""));
    let options = options.split(',').filter(|word| !word.is_empty());
    let words: String = options.map(|word| format!(" {}", quoted(word))).collect();
    let line = format!("stats socket {} level admin{words}\n", quoted(address));
    let source = config::Source::new("-S", format!("global\n{line}"));
    let loaded = config::load(&[source], config::Setup::default());
    let mut said: Vec<String> = loaded.diagnostics.iter().map(|it| it.message.clone()).collect();
    let Some(model) = loaded.model else { return Err(refused(&said.join(", "))) };
    if model.global.stats.sockets.iter().any(|bind| bind.options.exposes_listeners) {
        said.push("'expose-fd' has no effect here: a master hands over no listeners".to_owned());
    }
    let mut opener = Opener::default();
    let mut open = |bind: &model::Bind| {
        let maxconn = bind.options.maxconn;
        unlike_workers(bind).map_err(refused)?;
        let asked = Asked { backlog: BACKLOG, ..Asked::default() };
        let open =
            opener.open(bind, &asked).map_err(|error| refused(&listeners::reason(&error)))?;
        let (address, level) = (written(&open.address), level(bind.options.level));
        Ok((open.handle, CliSocket { address, level, maxconn, ..CliSocket::default() }))
    };
    let sockets =
        model.global.stats.sockets.iter().map(&mut open).collect::<Result<_, StartError>>()?;
    let files = std::mem::take(opener.files());
    Ok((sockets, files, said.iter().map(|why| refused(why).to_string()).collect()))
}

/// A word of the command line, quoted as one word of a configuration.
fn quoted(word: &str) -> String {
    let word = word.replace('\'', r"'\''").replace('\n', r"'\n'").replace('\r', r"'\r'");
    format!("'{word}'")
}

/// Refuses options that runtime sockets of workers have and a master's lacks.
fn unlike_workers(bind: &model::Bind) -> Result<(), &'static str> {
    if preamble(bind).any() {
        // A reload that a client requests re-executes the program under its connection.
        return Err("connections to a master begin with their first command");
    }
    if bind.options.severity_output != model::SeverityOutput::None {
        return Err("'severity-output' is not supported here: a master shows no severities");
    }
    Ok(())
}

/// The socket over which a master reaches this process.
pub(super) fn to_master(number: i32) -> Console {
    let address = written(&reactor::Address::Pair(number));
    let socket =
        CliSocket { address, level: Level::Admin, of_master: true, ..CliSocket::default() };
    Console { handle: Handle(number), socket }
}

/// The environment after the configuration's changes, with the addresses of the runtime sockets.
fn environment(from: &config::Environment, sockets: &[CliSocket]) -> Vec<(String, String)> {
    let mut all = from.clone();
    let addresses: Vec<&str> = sockets.iter().map(|socket| &*socket.address).collect();
    if !addresses.is_empty() {
        all.set("HAPROXY_CLI", &addresses.join(";"));
    }
    all.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Settings of sections for connections to their servers, by the name of the backend.
pub(super) type Bases = HashMap<Arc<str>, ServerBase>;

/// Settings for servers added at run time. Called before the proxies take their parts of the model
/// away.
pub(super) fn bases(model: &Model) -> Bases {
    let base = |proxy: &model::Proxy| {
        Some((proxy.name.clone(), ServerBase::of(proxy.back.as_ref()?, &model.global)))
    };
    model.proxies.iter().filter_map(base).collect()
}

/// TLS objects that commands can change. Called before the proxies take their parts of the model
/// away.
pub(super) fn certificates(model: &Model) -> tls::Runtime {
    let fronts = model.proxies.iter().filter_map(|proxy| proxy.front.as_ref());
    let logs = model.log_forwards.iter().flat_map(|section| &section.binds);
    let binds = fronts.flat_map(|front| &front.binds).chain(logs);
    let binds = binds.chain(&model.global.stats.sockets);
    let bound = |bind: &model::Bind| {
        let acceptor = bind.tls.clone()?;
        Some(tls::runtime::Bound {
            acceptor,
            place: format!("{}:{}", bind.place.file, bind.place.line),
        })
    };
    let process = &model.global.tls;
    let bases = tls::runtime::Bases {
        certificates: process.presets.crt_base.clone(),
        authorities: process.presets.ca_base.clone(),
    };
    let runtime = tls::Runtime::new(model.store.clone(), binds.filter_map(bound).collect(), bases)
        .with_update_delays(process.update_delays);
    let proxies = model.proxies.iter().chain(&model.hidden);
    let backs = proxies.filter_map(|proxy| proxy.back.as_ref());
    for server in backs.flat_map(|back| &back.servers).filter_map(|server| server.tls.as_ref()) {
        runtime.watch(server);
    }
    let rings = model.global.rings.iter().flat_map(|ring| &ring.servers);
    rings.filter_map(|server| server.tls.as_ref()).for_each(|server| runtime.watch(server));
    let names = model.resolvers.iter().flat_map(|section| &section.nameservers);
    names.filter_map(|server| server.tls.as_ref()).for_each(|server| runtime.watch(server));
    runtime
}

fn level(from: model::Level) -> Level {
    match from {
        model::Level::User => Level::User,
        model::Level::Operator => Level::Operator,
        model::Level::Admin => Level::Admin,
    }
}

fn severity(from: model::SeverityOutput) -> SeverityOutput {
    match from {
        model::SeverityOutput::None => SeverityOutput::None,
        model::SeverityOutput::Number => SeverityOutput::Number,
        model::SeverityOutput::String => SeverityOutput::Text,
    }
}

/// The address as `show cli sockets` prints it.
fn written(address: &reactor::Address) -> String {
    match address {
        reactor::Address::Inet(address) if address.is_ipv4() => format!("ipv4@{address}"),
        reactor::Address::Inet(address) => format!("ipv6@{address}"),
        reactor::Address::Unix(path) => match path.to_str().and_then(|it| it.strip_prefix('\0')) {
            Some(name) => format!("abns@{name}"),
            None => format!("unix@{}", path.display()),
        },
        reactor::Address::Pair(_) => address.to_string(),
    }
}
