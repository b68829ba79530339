//! Certificates, authorities and what lines make of them: read and judged before anything listens. Never
//! opens a socket.
use crate::cx::Cx;
use crate::diag::Severity;
use crate::draft::{DraftKind, DraftProxy};
use crate::model::{Bind, Global, ServerOptions, TlsProcess};
use crate::source::Files;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tls::{Acceptor, Connector, ServerSettings, Store};

/// Reads what enabled proxies and runtime sockets need of TLS.
pub(super) fn complete(
    proxies: &mut [DraftProxy],
    global: &mut Global,
    cx: &mut Cx<'_>,
) -> Arc<Store> {
    let mut process = global.tls.clone();
    process.defaults.threads = global.process.threads.count().max(1);
    let store = Arc::new(Store::new(process.extras));
    for proxy in proxies.iter_mut().filter(|proxy| !proxy.settings.disabled) {
        if proxy.has_frontend() {
            let name = format!("Proxy '{}'", proxy.name);
            listeners(&mut proxy.settings.front.binds, &name, &process, &store, cx);
        }
        if matches!(proxy.kind, DraftKind::Proxy(kind) if kind.has_backend()) {
            servers(proxy, &process, &store, cx);
        }
    }
    listeners(&mut global.stats.sockets, "stats socket", &process, &store, cx);
    store
}

fn listeners(
    binds: &mut [Bind],
    owner: &str,
    process: &TlsProcess,
    store: &Store,
    cx: &mut Cx<'_>,
) {
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
        settings.options = settings.options.or(&process.bind);
        for listed in &mut settings.certificates {
            within(&process.crt_base, &mut listed.path);
            authorities(&mut listed.options, process);
        }
        authorities(&mut settings.options, process);
        let made = Acceptor::new(settings, process.defaults, store, &Disk(cx.files));
        match made {
            Ok(acceptor) => bind.tls = Some(Arc::new(acceptor)),
            Err(errors) => {
                for error in errors {
                    let hint = if error == NO_CERTIFICATE { " (use 'crt')" } else { "" };
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

/// What the acceptor says of a line without certificates.
const NO_CERTIFICATE: &str = "no SSL certificate specified";

fn servers(proxy: &mut DraftProxy, process: &TlsProcess, store: &Store, cx: &mut Cx<'_>) {
    let backend = proxy.name.clone();
    for server in &mut proxy.settings.back.servers {
        let made = connector(&server.options, (&backend, &server.name), process, store, cx.files);
        match made {
            Ok(made) => server.tls = made.map(Arc::new),
            Err(error) => {
                let text = format!("'server {backend}/{}' : {error}", server.name);
                cx.about(Severity::Alert, &server.place.clone(), text);
            }
        }
    }
}

/// What the options of a server line make of TLS, if they want any.
pub(crate) fn connector(
    options: &ServerOptions,
    (backend, name): (&str, &str),
    process: &TlsProcess,
    store: &Store,
    files: &dyn Files,
) -> Result<Option<Connector>, String> {
    let line = &options.tls;
    if !line.enabled && line.check != Some(true) {
        return Ok(None);
    }
    let verify = line.verify.unwrap_or(!process.trusts_servers);
    let mut settings = ServerSettings {
        verify,
        verify_host: line.verify_host.clone(),
        certificate: line.certificate.clone(),
        reuse: !line.no_reuse,
        options: line.options.or(&process.server),
    };
    if settings.options.versions.range(tls::Version::Tls10).is_none() {
        return Err(format!(
            "backend '{backend}': all SSL/TLS versions are disabled for server '{name}'."
        ));
    }
    if verify && settings.options.ca_file.is_none() {
        return Err("verify is enabled by default but no CA file specified. If you're running on a LAN where you're certain to trust the server's certificate, please set an explicit 'verify none' statement on the 'server' line, or use 'ssl-server-verify none' in the global section to disable server-side verifications by default.".to_owned());
    }
    if let Some(path) = &mut settings.certificate {
        within(&process.crt_base, path);
    }
    authorities(&mut settings.options, process);
    Connector::new(settings, process.defaults, store, &Disk(files)).map(Some)
}

/// Makes the names of authorities and lists start where they should.
fn authorities(options: &mut tls::Options, process: &TlsProcess) {
    let names = [&mut options.ca_file, &mut options.ca_verify_file, &mut options.crl_file];
    names.into_iter().flatten().for_each(|name| within(&process.ca_base, name));
}

/// Puts the directory in front of a relative name.
fn within(base: &Option<String>, name: &mut String) {
    if let Some(base) = base
        && !name.starts_with(['/', '@'])
    {
        *name = format!("{base}/{name}");
    }
}

/// The files of the configuration, as TLS reads them.
struct Disk<'a>(&'a dyn Files);

impl tls::Files for Disk<'_> {
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
