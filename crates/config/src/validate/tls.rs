//! Certificates and authorities of `bind` and `server` lines, loaded and checked before anything listens.
use crate::context::Cx;
use crate::diag::{Place, Severity};
use crate::draft::DraftProxy;
use crate::model::{Bind, Global, Peers, Resolvers, Ring, Server, ServerOptions, TlsBind};
use crate::model::{TlsPresets, TlsProcess};
use crate::source::Files;
use rules::check::{Step, StepAction};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tls::{Acceptor, BindSettings, Connector, ServerSettings, SetupError, Store, within};

/// The settings and the store that all lines with certificates share.
pub(crate) struct TlsContext {
    process: TlsProcess,
    pub(crate) store: Arc<Store>,
}

impl TlsContext {
    /// The context that `global` makes.
    pub(crate) fn new(global: &Global) -> Self {
        let mut process = global.tls.clone();
        process.defaults.threads = global.process.threads.count().max(1);
        let store = Arc::new(store(&process));
        Self { process, store }
    }
}

/// Loads certificates and authorities of the listeners and servers of enabled proxies.
pub(super) fn proxies(proxies: &mut [DraftProxy], context: &TlsContext, cx: &mut Cx<'_>) {
    for proxy in proxies.iter_mut().filter(|proxy| !proxy.settings.disabled) {
        if proxy.has_frontend() {
            let name = format!("Proxy '{}'", proxy.name);
            listeners(&mut proxy.settings.front.binds, &name, context, cx);
        }
        if proxy.has_backend() {
            servers(proxy, context, cx);
        }
    }
}

/// The store that certificates share. Its texts were checked when their lines were read.
fn store(process: &TlsProcess) -> Store {
    let mut store = Store::new(process.extras);
    store.set_dh(process.dh_file.as_deref(), process.default_dh);
    for (name, text) in &process.issuers {
        store.add_issuers(name, text);
    }
    store
}

/// Makes the acceptors of listeners. `owner` is what messages call their section.
pub(crate) fn listeners(binds: &mut [Bind], owner: &str, context: &TlsContext, cx: &mut Cx<'_>) {
    let TlsContext { process, store } = context;
    for bind in binds.iter().filter(|bind| !bind.options.tls.enabled) {
        for error in errors_of_files(&bind.options.tls, process, store, cx.files) {
            let text = format!("'bind {}' : {error}", bind.written);
            cx.about(Severity::Alert, &bind.place, text);
        }
    }
    // A line with several addresses has one acceptor.
    let mut last: Option<(Arc<_>, Option<Arc<Acceptor>>)> = None;
    for bind in binds.iter_mut().filter(|bind| bind.options.tls.enabled) {
        if let Some((options, acceptor)) = &last
            && Arc::ptr_eq(options, &bind.options)
        {
            bind.tls = acceptor.clone();
            continue;
        }
        let mut settings = bind.options.tls.settings.clone();
        let presets = TlsPresets::of(bind.options.tls.presets.as_ref(), process);
        settings.options = settings.options.or(&presets.bind);
        settings.ticket_keys = settings.ticket_keys.map(|keys| store.share_ticket_keys(keys));
        certificates(&mut settings.certificates, presets);
        authorities(&mut settings.options, presets);
        let line = &bind.options.tls;
        if line.generates {
            if line.sign.authority.is_empty() {
                let text = format!(
                    "{owner}: cannot enable certificate generation, no CA certificate File configured at [{}:{}].",
                    bind.place.file, bind.place.line
                );
                cx.about(Severity::Alert, &bind.place.clone(), text);
                continue;
            }
            let mut sign = line.sign.clone();
            within(&presets.ca_base, &mut sign.authority);
            settings.generates = Some(sign);
        }
        warn_of_line(bind, owner, &settings, cx);
        let made = Acceptor::new(settings, process.defaults, store, &TlsFiles(cx.files));
        warn_of_files(store, owner, &bind.place, cx);
        match made {
            Ok(acceptor) => {
                warn_of_acceptor(&acceptor, bind, owner, cx);
                bind.tls = Some(Arc::new(acceptor));
            }
            Err(errors) => {
                for error in errors {
                    let none = error == SetupError::NoCertificate;
                    let hint = if none { " (use 'crt')" } else { "" };
                    let error = error.to_string();
                    let error = error.trim_end_matches('.');
                    let text = format!(
                        "{owner}: {error} for bind '{}' at [{}:{}]{hint}.",
                        bind.written, bind.place.file, bind.place.line
                    );
                    cx.about(Severity::Alert, &bind.place.clone(), text);
                }
            }
        }
        last = Some((bind.options.clone(), bind.tls.clone()));
    }
}

/// Errors of the files that a line without `ssl` names: they have to exist all the same.
fn errors_of_files(
    line: &TlsBind,
    process: &TlsProcess,
    store: &Store,
    files: &dyn Files,
) -> Vec<SetupError> {
    let (files, settings) = (TlsFiles(files), &line.settings);
    let presets = TlsPresets::of(line.presets.as_ref(), process);
    let trust = load_trust(&settings.options, presets, store, &files);
    let mut errors: Vec<SetupError> = trust.err().into_iter().collect();
    if !settings.certificates.is_empty() {
        let mut alone =
            BindSettings { certificates: settings.certificates.clone(), ..BindSettings::default() };
        certificates(&mut alone.certificates, presets);
        let made = Acceptor::new(alone, process.defaults, store, &files);
        errors.extend(made.err().into_iter().flatten());
    }
    errors
}

/// How messages name a line.
fn at(bind: &Bind) -> String {
    format!("bind '{}' at [{}:{}]", bind.written, bind.place.file, bind.place.line)
}

/// Warns of files passed over in directories that a line names.
fn warn_of_files(store: &Store, owner: &str, place: &Place, cx: &mut Cx<'_>) {
    for note in store.take_notes() {
        cx.about(Severity::Warning, place, format!("{owner}: {note}"));
    }
}

/// Warns of certificates of a line that do not work.
fn warn_of_acceptor(acceptor: &Acceptor, bind: &Bind, owner: &str, cx: &mut Cx<'_>) {
    let mut warn = |text| cx.about(Severity::Warning, &bind.place, format!("{owner}: {text}"));
    if acceptor.settings().generates.is_none() && acceptor.certificates().is_empty() {
        let at = at(bind);
        let missing = SetupError::NoCertificate;
        warn(format!("{missing} for {at}, ssl connections will fail (use 'crt')."));
    }
    acceptor.complaints().into_iter().for_each(warn);
}

/// Warns of TLS versions of a line that have no effect.
fn warn_of_line(bind: &Bind, owner: &str, settings: &BindSettings, cx: &mut Cx<'_>) {
    let at = at(bind);
    let mut warn = |text| cx.about(Severity::Warning, &bind.place, format!("{owner}: {text}"));
    let versions = settings.options.versions;
    if versions.ignores_exclusions() {
        warn(format!("no-sslv3/no-tlsv1x are ignored for {at}. {CONTIGUOUS}"));
    }
    if let Some(max) = versions.max.filter(|_| versions.is_ambiguous()) {
        let (max, oldest) = (max.name(), tls::Version::OLDEST_SERVED.name());
        warn(format!(
            "Ambiguous configuration for {at}: the ssl-min-ver value is not configured and the ssl-max-ver value is lower than the default ssl-min-ver value ({oldest}). Setting the ssl-min-ver to {max}. Use 'ssl-min-ver' to fix this."
        ));
    }
}

/// Warns of gaps in the TLS versions of a server line.
fn warn_of_versions(server: &Server, backend: &str, process: &TlsProcess, cx: &mut Cx<'_>) {
    let (options, name) = (&server.options, &server.name);
    let owner = format!("'server {backend}/{name}'");
    let mut warn = |text| cx.about(Severity::Warning, &server.place, format!("{owner} : {text}"));
    let presets = TlsPresets::of(options.tls.presets.as_ref(), process);
    let versions = options.tls.options.or(&presets.server).versions;
    if !options.tls.mentioned && options.tls.check != Some(true) {
        return;
    }
    if versions.ignores_exclusions() {
        warn(format!("no-sslv3/no-tlsv1x are ignored for this server. {CONTIGUOUS}"));
    } else if let Some(hole) = versions.hole() {
        let hole = hole.name();
        warn(format!(
            "proxy '{backend}': SSL/TLS versions range not contiguous for server '{name}'. Hole find for {hole}. {CONTIGUOUS}"
        ));
    }
}

const CONTIGUOUS: &str = "Use only 'ssl-min-ver' and 'ssl-max-ver' to fix.";

fn servers(proxy: &mut DraftProxy, context: &TlsContext, cx: &mut Cx<'_>) {
    let TlsContext { process, store } = context;
    let backend = proxy.name.clone();
    let checks = &proxy.settings.check;
    let asks = |step: &Arc<Step>| matches!(&step.action, StepAction::Connect(it) if it.ssl);
    let steps = checks.tcp.iter().chain(&checks.http).any(asks);
    for server in &mut proxy.settings.back.servers {
        let of = (&*backend, &*server.name);
        let steps = steps && server.options.check.enabled;
        warn_of_versions(server, &backend, process, cx);
        let made = connector(&server.options, steps, of, process, store, &TlsFiles(cx.files));
        warn_of_files(store, &format!("'server {backend}/{}' ", server.name), &server.place, cx);
        match made {
            Ok(made) => server.tls = made.map(Arc::new),
            Err(error) => {
                let text = format!("'server {backend}/{}' : {error}", server.name);
                cx.about(Severity::Alert, &server.place.clone(), text);
            }
        }
    }
}

/// Makes the connectors of a ring's servers.
pub(crate) fn ring_servers(ring: &mut Ring, context: &TlsContext, cx: &mut Cx<'_>) {
    let TlsContext { process, store } = context;
    for server in &mut ring.servers {
        let of = (&*ring.name, &*server.name);
        match connector(&server.options, false, of, process, store, &TlsFiles(cx.files)) {
            Ok(made) => server.tls = made.map(Arc::new),
            Err(error) => {
                let text = format!("'server {}/{}' : {error}", ring.name, server.name);
                cx.about(Severity::Alert, &server.place.clone(), text);
            }
        }
    }
}

/// Makes the connectors of peers.
pub(crate) fn peers(section: &mut Peers, context: &TlsContext, cx: &mut Cx<'_>) {
    let TlsContext { process, store } = context;
    for peer in &mut section.peers {
        let of = (&*section.name, &*peer.name);
        match connector(&peer.options, false, of, process, store, &TlsFiles(cx.files)) {
            Ok(made) => peer.tls = made.map(Arc::new),
            Err(error) => {
                let text = format!("'server {}/{}' : {error}", section.name, peer.name);
                cx.about(Severity::Alert, &peer.place.clone(), text);
            }
        }
    }
}

/// Makes the connectors of name servers.
pub(crate) fn name_servers(section: &mut Resolvers, context: &TlsContext, cx: &mut Cx<'_>) {
    let TlsContext { process, store } = context;
    for server in &mut section.nameservers {
        let Some(options) = &server.options else { continue };
        let of = (&*section.name, &*server.name);
        match connector(options, false, of, process, store, &TlsFiles(cx.files)) {
            Ok(made) => server.tls = made.filter(|_| options.tls.enabled).map(Arc::new),
            Err(error) => {
                let text = format!("'nameserver {}' : {error}", server.name);
                cx.about(Severity::Alert, &server.place.clone(), text);
            }
        }
    }
}

/// Why a server line has no TLS connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectorError {
    /// The options of the line exclude all versions of the protocol.
    NoVersion {
        /// The backend.
        backend: String,
        /// The server.
        server: String,
    },
    /// The server is to be verified, and no authority is named.
    NoAuthority,
    /// The sessions cannot be set up.
    Setup(SetupError),
}

impl From<SetupError> for ConnectorError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

impl fmt::Display for ConnectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVersion { backend, server } => write!(
                f,
                "backend '{backend}': all SSL/TLS versions are disabled for server '{server}'."
            ),
            Self::NoAuthority => f.write_str(
                "verify is enabled by default but no CA file specified. If you're running on \
                 a LAN where you're certain to trust the server's certificate, please set an \
                 explicit 'verify none' statement on the 'server' line, or use \
                 'ssl-server-verify none' in the global section to disable server-side \
                 verifications by default.",
            ),
            Self::Setup(error) => error.fmt(f),
        }
    }
}

/// The TLS connector of a server line, if its options ask for TLS. `steps`: the steps of its checks
/// use TLS in any case.
pub(crate) fn connector(
    options: &ServerOptions,
    steps: bool,
    of: (&str, &str),
    process: &TlsProcess,
    store: &Store,
    files: &dyn tls::Files,
) -> Result<Option<Connector>, ConnectorError> {
    let line = &options.tls;
    // The file that a line names is read even if nothing is encrypted.
    load_trust(&line.options, TlsPresets::of(line.presets.as_ref(), process), store, files)?;
    if !line.mentioned && line.check != Some(true) && !steps {
        return Ok(None);
    }
    make(options, of, process, store, files).map(Some)
}

/// Reads the authorities and the lists that a line names.
fn load_trust(
    options: &tls::Options,
    presets: &TlsPresets,
    store: &Store,
    files: &dyn tls::Files,
) -> Result<(), SetupError> {
    if options.ca_file.is_none() && options.ca_verify_file.is_none() && options.crl_file.is_none() {
        return Ok(());
    }
    let mut options = options.clone();
    authorities(&mut options, presets);
    tls::load_trust(&options, store, files)
}

fn make(
    options: &ServerOptions,
    (backend, name): (&str, &str),
    process: &TlsProcess,
    store: &Store,
    files: &dyn tls::Files,
) -> Result<Connector, ConnectorError> {
    let line = &options.tls;
    let presets = TlsPresets::of(line.presets.as_ref(), process);
    let verify = line.verify.unwrap_or(!process.trusts_servers);
    let mut settings = ServerSettings {
        verify,
        verify_host: line.verify_host.clone(),
        certificate: line.certificate.clone(),
        reuse: !line.no_reuse,
        options: line.options.or(&presets.server),
    };
    if settings.options.versions.range(tls::Version::Tls10).is_none() {
        let (backend, server) = (backend.to_owned(), name.to_owned());
        return Err(ConnectorError::NoVersion { backend, server });
    }
    if verify && settings.options.ca_file.is_none() {
        return Err(ConnectorError::NoAuthority);
    }
    if let Some(path) = &mut settings.certificate {
        within(&presets.crt_base, path);
    }
    authorities(&mut settings.options, presets);
    Ok(Connector::new(settings, process.defaults, store, files)?)
}

/// Makes the names of certificates and of files in their lines relative to the directories that the
/// configuration sets.
fn certificates(all: &mut [tls::CrtListEntry], presets: &TlsPresets) {
    for listed in all {
        within(&presets.crt_base, &mut listed.path);
        authorities(&mut listed.options, presets);
    }
}

/// Makes the names of authorities and lists start where they should.
fn authorities(options: &mut tls::Options, presets: &TlsPresets) {
    let names = [&mut options.ca_file, &mut options.ca_verify_file, &mut options.crl_file];
    names.into_iter().flatten().for_each(|name| within(&presets.ca_base, name));
}

/// The files of the configuration, as TLS reads them.
struct TlsFiles<'a>(&'a dyn Files);

impl tls::Files for TlsFiles<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>> {
        let names = |paths: Vec<std::path::PathBuf>| {
            let names = paths.iter().filter_map(|path| path.file_name()?.to_str());
            names.map(str::to_owned).collect()
        };
        Ok(self.0.list(path)?.map(names))
    }
}
