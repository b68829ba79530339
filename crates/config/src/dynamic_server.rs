//! Servers that an operator adds while the program runs (management.txt 9.3, `add server`): the
//! words of a `server` line, without presets.
use crate::addr::{Family, Resolver};
use crate::context::{Cx, LocalPeer, Setup};
use crate::data_plane::{self, ServerBase};
use crate::diag::Place;
use crate::draft::{DraftKind, DraftProxy, Settings};
use crate::env::Environment;
use crate::features::Features;
use crate::keyword::Keyword;
use crate::lex::Word;
use crate::line::Line;
use crate::model::{InitAddr, Mode, ProxyKind, Server, ServerPort, TlsProcess};
use crate::parse::server;
use crate::source::{Disk, Files as _};
use crate::validate::tls::{ConnectorError, connector};
use crate::validate::{is_usable, missing_port, unspoken_by_checks};
use rules::check::StepPorts;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tls::{NoFiles, SYSTEM_AUTHORITIES};

/// The words that such a server may have.
const ACCEPTED: &str = " addr agent-addr agent-check agent-inter agent-port agent-send allow-0rtt alpn backup ca-file check check-alpn check-proto check-send-proxy check-sni check-ssl check-via-socks4 ciphers ciphersuites crl-file crt disabled downinter enabled error-limit fall fastinter force-sslv3 force-tlsv10 force-tlsv11 force-tlsv12 force-tlsv13 id inter maxconn maxqueue minconn no-ssl-reuse no-sslv3 no-tlsv10 no-tlsv11 no-tlsv12 no-tlsv13 no-tls-tickets npn observe on-error on-marked-down on-marked-up pool-low-conn pool-max-conn pool-purge-delay port proto proxy-v2-options rise send-proxy send-proxy-v2 send-proxy-v2-ssl send-proxy-v2-ssl-cn slowstart sni source ssl ssl-max-ver ssl-min-ver tfo tls-tickets track usesrc verify verifyhost weight ws ";

/// Resolves no names: such a server behaves as with `init-addr none`.
struct NoNames;

impl Resolver for NoNames {
    fn resolve(&self, _: &str, _: Family) -> Option<IpAddr> {
        None
    }
}

/// Files that have been loaded; that of `@system-ca` always counts as one.
struct LoadedFiles;

impl tls::Files for LoadedFiles {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new(SYSTEM_AUTHORITIES) { Disk.read(path) } else { NoFiles.read(path) }
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>> {
        if path == Path::new(SYSTEM_AUTHORITIES) { Ok(None) } else { NoFiles.list(path) }
    }
}

/// The backend that takes the server in.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is in HTTP mode.
    pub http: bool,
    /// Whether its servers are agents of SPOE.
    pub spop: bool,
    /// Whether the backend has a FastCGI application.
    pub fcgi: bool,
    /// The checks of the backend: whether they are HTTP requests, and their ports.
    pub checks: (bool, StepPorts),
    /// Whether steps of checks ask for encryption by themselves.
    pub encrypts: bool,
}

/// Why `add server` refuses its words.
#[derive(Debug)]
pub enum DynamicServerError {
    /// The words are no valid `server` line; the message says where.
    Line(String),
    /// An option that such a server cannot have.
    Option(String),
    /// `observe layer7` in a backend of TCP mode.
    Layer7,
    /// Checks of its own and `track`.
    Tracking,
    /// `proto` names a protocol that the backend cannot use.
    Protocol,
    /// The settings of TLS are refused.
    Tls(ConnectorError),
    /// The checks of the backend cannot reach the server.
    Checks {
        /// The backend.
        backend: String,
        /// The server.
        name: String,
        /// The text behind the server's name that names the missing settings of checks.
        wrong: String,
    },
    /// The words define no server.
    Nothing,
}

impl fmt::Display for DynamicServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(message) => f.write_str(message),
            Self::Option(word) => {
                write!(f, "'{word}' option is not accepted for dynamic server")
            }
            Self::Layer7 => f.write_str("'layer7' can only be used in http proxies."),
            Self::Tracking => f.write_str("unable to enable checks and tracking at the same time!"),
            Self::Protocol => f.write_str("MUX protocol is not usable for server."),
            Self::Tls(error) => error.fmt(f),
            Self::Checks { backend, name, wrong } => {
                write!(f, "config: backend '{backend}': server '{name}' {wrong}")
            }
            Self::Nothing => f.write_str("no server"),
        }
    }
}

impl std::error::Error for DynamicServerError {}

/// The settings of a server from its name, its address and its options; `base` holds the options of
/// its backend's section. A server that is found by a name has no address so far. The server starts
/// in maintenance unless `enabled` is given.
///
/// # Errors
/// The words are no such server.
pub fn dynamic_server(
    host: &Host<'_>,
    name: &str,
    words: &[String],
    tls: (&TlsProcess, &tls::Store),
    base: &ServerBase,
) -> Result<settings::Server, DynamicServerError> {
    let made = parsed(host, name, words, tls)?;
    let track = made.options.track.as_deref();
    let track = track.map(|given| given.split_once('/').unwrap_or((host.name, given)));
    let track = track.map(|(backend, server)| balance::Tracked {
        backend: backend.to_owned(),
        server: server.to_owned(),
    });
    let mut links = data_plane::links(&made, base);
    data_plane::never_inherit(&mut links, &made.options);
    let mut made = data_plane::server(&made, links);
    made.dynamic = true;
    made.forced_id = made.balance.id > 0;
    made.balance.track = track;
    made.balance.forced_maint = !words.iter().any(|word| word == "enabled");
    Ok(made)
}

/// The server that the words describe.
fn parsed(
    host: &Host<'_>,
    name: &str,
    words: &[String],
    (process, store): (&TlsProcess, &tls::Store),
) -> Result<Server, DynamicServerError> {
    let backend = host.name;
    let features =
        Features { version: "", words: &[], enabled: &[], ssl_library: "", openssl_version: "" };
    let env = Environment::default();
    let local_peer = LocalPeer::default();
    let (processors, trusts_servers) = (1, false);
    let (files, names) = (&Disk, &NoNames);
    let setup = Setup {
        env,
        features,
        files,
        names,
        processors,
        local_peer,
        trusts_servers,
        scripts: None,
    };
    let mut cx = Cx::new(setup);
    cx.tls_presets = process.presets.clone();
    let place = Place { file: "add server".into(), line: 0 };
    let texts = ["server", name].into_iter().chain(words.iter().map(String::as_str));
    let line = Line::new(texts.map(Word::plain).collect(), "", place.clone());
    refuse(words)?;
    let mode = if host.http { Mode::Http } else { Mode::Tcp };
    let mut settings = Settings { mode, ..Settings::default() };
    settings.default_server.resolve.init = Some(vec![InitAddr::None]);
    let mut draft = DraftProxy::new(backend, DraftKind::Proxy(ProxyKind::Backend), place, settings);
    server::server(&mut draft, &mut cx, line.args()).map_err(|fault| {
        let context = format!("'server {backend}/{name}' : ");
        let message = fault.message.strip_prefix(&context).unwrap_or(&fault.message);
        DynamicServerError::Line(match fault.suggestion {
            Some(meant) => format!("{message}; did you mean '{meant}' maybe ?"),
            None => message.to_owned(),
        })
    })?;
    // A line of the configuration is only warned of this; here it is refused.
    let observes = words.windows(2).any(|it| it == ["observe", "layer7"]);
    if observes && !host.http {
        return Err(DynamicServerError::Layer7);
    }
    let mut server = draft.settings.back.servers.pop().ok_or(DynamicServerError::Nothing)?;
    let of = (backend, name);
    let made = connector(&server.options, host.encrypts, of, process, store, &LoadedFiles);
    server.tls = made.map_err(DynamicServerError::Tls)?.map(Arc::new);
    judge(host, server)
}

/// Words that are known, but not for such a server.
fn refuse(words: &[String]) -> Result<(), DynamicServerError> {
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if !crate::known::contains("server", word) {
            continue;
        }
        if !ACCEPTED.contains(&format!(" {word} ")) {
            return Err(DynamicServerError::Option(word.clone()));
        }
        let takes = server::find(word).map_or(0, Keyword::takes);
        for _ in 0..takes {
            rest.next();
        }
    }
    Ok(())
}

fn judge(host: &Host<'_>, server: Server) -> Result<Server, DynamicServerError> {
    let options = &server.options;
    if options.check.enabled && options.track.is_some() {
        return Err(DynamicServerError::Tracking);
    }
    let carried = (host.http, host.spop);
    if options
        .protocol
        .is_some_and(|protocol| !is_usable(protocol, carried, host.fcgi || host.spop))
    {
        return Err(DynamicServerError::Protocol);
    }
    let (http, ports) = host.checks;
    let check = &options.check;
    let portless = matches!(server.address.port, ServerPort::FromClient(_));
    let anywhere = server.host.is_none() && server.address.is_anywhere();
    let mute = unspoken_by_checks(check, http);
    // HAProxy words the error for a backend without a script as if it had one (measured).
    let ports = if ports == StepPorts::Implied { StepPorts::FirstMissing } else { ports };
    let lost = missing_port(ports).map(str::to_owned);
    let lost = lost.filter(|_| check.enabled && check.port.is_none() && portless && !anywhere);
    if let Some(wrong) = mute.or(lost) {
        let (backend, name) = (host.name.to_owned(), server.name.to_string());
        return Err(DynamicServerError::Checks { backend, name, wrong });
    }
    Ok(server)
}
