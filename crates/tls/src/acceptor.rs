//! What a bind line does with clients: which certificate each gets, and on which conditions. Never accepts
//! a connection itself.
//!
//! The table of certificates can be replaced while connections are made: each looks at the one that
//! is there when its first message has come.

use crate::captured::Capture;
use crate::certificate::Certificate;
use crate::conn::Conn;
use crate::context::{self, Side};
use crate::fault::{Fault, Reason};
use crate::hello::Hello;
use crate::options::{BindSettings, Defaults, Options, Verify};
use crate::secrets::Secrets;
use crate::sni::Names;
use crate::store::{Files, Store};
use arc_swap::ArcSwap;
use openssl::ssl::{
    ClientHelloResponse, Ssl, SslAlert, SslContext, SslOptions, SslRef, SslSessionCacheMode,
};
use std::sync::Arc;

/// A certificate with its conditions.
struct Served {
    context: SslContext,
    certificate: Arc<Certificate>,
    options: Options,
}

/// All certificates of a bind line.
#[derive(Default)]
struct Table {
    served: Vec<Served>,
    names: Names,
}

/// A bind line's side of TLS.
pub struct Acceptor {
    base: SslContext,
    table: Arc<ArcSwap<Table>>,
    settings: BindSettings,
    defaults: Defaults,
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl PartialEq for Acceptor {
    /// Whether they are the same one.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Acceptor {}

impl Acceptor {
    /// Makes one of what a line says; files that it names are read.
    ///
    /// # Errors
    /// All that is wrong, each with the file or the words that it is about.
    pub fn new(
        settings: BindSettings,
        defaults: Defaults,
        store: &Store,
        files: &dyn Files,
    ) -> Result<Self, Vec<String>> {
        let table = build(&settings, &defaults, store, files)?;
        if table.served.is_empty() && !settings.strict_sni {
            return Err(vec!["no SSL certificate specified".to_owned()]);
        }
        let table = Arc::new(ArcSwap::from_pointee(table));
        let base = base(&settings, &defaults, table.clone()).map_err(|error| vec![error])?;
        Ok(Self { base, table, settings, defaults })
    }

    /// What it was made of.
    pub fn settings(&self) -> &BindSettings {
        &self.settings
    }

    /// The names of the certificates in use, in order.
    pub fn certificates(&self) -> Vec<String> {
        self.table.load().served.iter().map(|it| it.certificate.name.clone()).collect()
    }

    /// Takes certificates and authorities anew from the store: for connections that come from now
    /// on.
    ///
    /// # Errors
    /// As [`Acceptor::new`]; then everything stays as it is.
    pub fn renew(&self, store: &Store, files: &dyn Files) -> Result<(), Vec<String>> {
        let table = build(&self.settings, &self.defaults, store, files)?;
        self.table.store(Arc::new(table));
        Ok(())
    }

    /// A session for a client.
    ///
    /// # Errors
    /// No memory.
    pub fn accept(&self) -> Result<Conn, Fault> {
        let mut ssl = Ssl::new(&self.base).map_err(|_| Fault::new(Reason::Broken))?;
        ssl.set_accept_state();
        if self.defaults.capture > 0
            && let Some(index) = Capture::index()
        {
            ssl.set_ex_data(index, Capture::new(self.defaults.capture as usize));
        }
        if self.defaults.keeps_secrets
            && let Some(index) = Secrets::index()
        {
            ssl.set_ex_data(index, Secrets::default());
        }
        Conn::new(ssl, self.defaults.max_record as usize)
    }
}

/// The context that sessions begin with: it chooses the one that they go on with.
fn base(
    settings: &BindSettings,
    defaults: &Defaults,
    table: Arc<ArcSwap<Table>>,
) -> Result<SslContext, String> {
    let mut context = context::plain(Side::Server)?;
    // Each certificate has its own limits: here are all that any of them may have.
    let _ = context.set_min_proto_version(Some(openssl::ssl::SslVersion::TLS1));
    if settings.options.no_tickets {
        context.set_options(SslOptions::NO_TICKET);
    }
    let mode = match defaults.cache_size {
        0 => SslSessionCacheMode::OFF,
        _ => SslSessionCacheMode::SERVER,
    };
    context.set_session_cache_mode(mode);
    context.set_session_cache_size(i32::try_from(defaults.cache_size).unwrap_or(i32::MAX));
    ffi::set_session_timeout(&mut context, defaults.lifetime);
    context
        .set_session_id_context(b"weir")
        .map_err(|error| format!("unable to create an SSL context: {error}."))?;
    if defaults.capture > 0 {
        ffi::watch_messages::<Capture>(&mut context);
    }
    let strict = settings.strict_sni;
    context.set_client_hello_callback(move |ssl, alert| {
        let table = table.load();
        let hello = Hello::read(ssl);
        let found = table.names.find(&hello).and_then(|at| table.served.get(at));
        match found.or_else(|| table.served.first().filter(|_| !strict)) {
            Some(served) => {
                served.take_over(ssl)?;
                Ok(ClientHelloResponse::SUCCESS)
            }
            None => {
                *alert = SslAlert::UNRECOGNIZED_NAME;
                Err(openssl::error::ErrorStack::get())
            }
        }
    });
    Ok(context.build())
}

impl Served {
    /// Makes a session go on with this certificate.
    fn take_over(&self, ssl: &mut SslRef) -> Result<(), openssl::error::ErrorStack> {
        ssl.set_ssl_context(&self.context)?;
        // What a session does not take from its new context by itself.
        let options = &self.options;
        if let Some((lowest, highest)) = context::versions(options, Side::Server) {
            ssl.set_min_proto_version(Some(lowest.to_library()))?;
            ssl.set_max_proto_version(Some(highest.to_library()))?;
            if lowest < crate::Version::Tls12 {
                ssl.set_security_level(0);
            }
        }
        if let Some(curves) = options.curves.as_ref().or(options.ecdhe.as_ref()) {
            ffi::set_groups(ssl, curves);
        }
        if options.no_tickets {
            ffi::set_options(ssl, SslOptions::NO_TICKET);
        }
        if options.prefer_client_ciphers {
            ffi::clear_options(ssl, SslOptions::CIPHER_SERVER_PREFERENCE);
        }
        let verify = options.verify.unwrap_or_default();
        context::verify(ssl, verify, (options.ca_ignored, options.crt_ignored));
        Ok(())
    }
}

/// Reads what settings name, and makes the table.
fn build(
    settings: &BindSettings,
    defaults: &Defaults,
    store: &Store,
    files: &dyn Files,
) -> Result<Table, Vec<String>> {
    let (mut table, mut errors) = (Table::default(), Vec::new());
    for listed in &settings.certificates {
        let options = listed.options.or(&settings.options);
        let found = match store.load(&listed.path, files) {
            Ok(found) => found,
            Err(error) => {
                errors.push(in_list(listed, error));
                continue;
            }
        };
        for certificate in found {
            match serve(&certificate, &options, defaults, store, files) {
                Ok(context) => {
                    let at = table.served.len();
                    let names = match listed.filters.iter().all(|it| it.starts_with('!')) {
                        true => certificate.names(),
                        false => Vec::new(),
                    };
                    for name in listed.filters.iter().chain(&names) {
                        table.names.claim(name, certificate.kind(), at);
                    }
                    table.served.push(Served { context, certificate, options: options.clone() });
                }
                Err(error) => errors.push(in_list(listed, error)),
            }
        }
    }
    errors.dedup();
    if errors.is_empty() { Ok(table) } else { Err(errors) }
}

fn in_list(listed: &crate::Listed, error: String) -> String {
    match &listed.list {
        (list, _) if list.is_empty() => error,
        (list, line) => format!("'crt-list' : parsing [{list}:{line}]: {error}"),
    }
}

/// The context of a certificate.
fn serve(
    certificate: &Certificate,
    options: &Options,
    defaults: &Defaults,
    store: &Store,
    files: &dyn Files,
) -> Result<SslContext, String> {
    let mut made = context::plain(Side::Server)?;
    if context::versions(options, Side::Server).is_none() {
        return Err("all SSL/TLS versions are disabled".to_owned());
    }
    load_trust(options, store, files)?;
    context::apply(&mut made, options, Side::Server)?;
    context::present(&mut made, certificate)?;
    context::serve(&mut made, certificate, options, defaults)?;
    if options.verify.unwrap_or_default() != Verify::None {
        if options.ca_file.is_none() && options.ca_verify_file.is_none() {
            return Err("verify is enabled but no CA file specified".to_owned());
        }
        context::trust(&mut made, options, store, Side::Server)?;
    }
    // As the context that sessions begin with: otherwise none could be resumed.
    let set = made.set_session_id_context(b"weir");
    set.map_err(|error| format!("unable to create an SSL context: {error}."))?;
    Ok(made.build())
}

/// Reads the files with authorities and lists that options name.
pub(crate) fn load_trust(
    options: &Options,
    store: &Store,
    files: &dyn Files,
) -> Result<(), String> {
    let named = [
        (&options.ca_file, "ca-file"),
        (&options.ca_verify_file, "ca-verify-file"),
        (&options.crl_file, "crl-file"),
    ];
    for (name, keyword) in named {
        if let Some(name) = name {
            store
                .load_authorities(name, files)
                .map_err(|error| format!("'{keyword}' : unable to load {name}: {error}"))?;
        }
    }
    Ok(())
}
