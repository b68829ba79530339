//! The TLS side of a bind line: it chooses the certificate and the options of each client's
//! session.
//!
//! The table of certificates may be replaced while connections are made: a session uses the table
//! that is current when its ClientHello arrives.

use crate::certificate_table::{CertificateTable, TermsContext};
use crate::client_hello_capture::Capture;
use crate::conn::Conn;
use crate::context::{self, Side};
use crate::error::{HandshakeError, Reason};
use crate::generated::CertificateGenerator;
use crate::generated::GeneratorError;
use crate::handover::{Handover, Observer};
use crate::hello::Hello;
use crate::key::Secret;
use crate::key_log::KeyLog;
use crate::quic::QuicAccept;
use crate::settings::{BindSettings, Defaults, Generates};
use crate::setup_error::SetupError;
use crate::store::{Files, NoFiles, Store, words};
use crate::tickets::TicketKeys;
use ffi::Refused;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslContext, SslOptions, SslSessionCacheMode};
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLockReadGuard, RwLockWriteGuard};
use stdx::RwLock;

/// The TLS side of a bind line.
pub struct Acceptor {
    base: SslContext,
    table: Arc<RwLock<CertificateTable>>,
    settings: BindSettings,
    defaults: Defaults,
}

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Acceptor").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl PartialEq for Acceptor {
    /// Compares identities: an acceptor equals itself only.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Acceptor {}

impl Acceptor {
    /// Builds the acceptor of a line; files that the line names are read.
    ///
    /// # Errors
    ///
    /// Every mistake found, each with the file or the words that it concerns.
    pub fn new(
        settings: BindSettings,
        defaults: Defaults,
        store: &Store,
        files: &dyn Files,
    ) -> Result<Self, Vec<SetupError>> {
        let ground = TermsContext { defaults: &defaults, store, files };
        let table = CertificateTable::new(&settings, ground)?;
        if table.is_empty() && !settings.strict_sni {
            return Err(vec![SetupError::NoCertificate]);
        }
        let table = Arc::new(RwLock::new(table));
        let forge = forge(&settings, &defaults, files).map_err(|error| vec![error])?;
        let base = base(&settings, &defaults, table.clone(), forge).map_err(|error| vec![error])?;
        Ok(Self { base, table, settings, defaults })
    }

    /// The settings that it was built from.
    pub fn settings(&self) -> &BindSettings {
        &self.settings
    }

    /// The names of the certificates in use, in order.
    pub fn certificates(&self) -> Vec<String> {
        self.table().certificates()
    }

    /// Warnings about files that were loaded and are ignored, one per OCSP response.
    pub fn complaints(&self) -> Vec<String> {
        let told = |(name, why)| format!("'{name}.ocsp' : {why}. Content will be ignored.");
        self.table().unfit().into_iter().map(told).collect()
    }

    /// Whether certificates come from this list or directory.
    pub(crate) fn takes(&self, list: &str) -> bool {
        let is = |name: &str| name.trim_end_matches('/') == list;
        self.settings.lists.iter().any(|(name, _)| is(name))
            || self.settings.certificates.iter().any(|it| it.list.1 == 0 && is(&it.path))
    }

    /// The certificates as they are now.
    pub(crate) fn table(&self) -> RwLockReadGuard<'_, CertificateTable> {
        self.table.read()
    }

    /// The certificates, to be changed for sessions that begin from now on.
    pub(crate) fn table_mut(&self) -> RwLockWriteGuard<'_, CertificateTable> {
        self.table.write()
    }

    /// The context in which terms are built at run time: no file is read.
    pub(crate) fn ground<'a>(&'a self, store: &'a Store) -> TermsContext<'a> {
        TermsContext { defaults: &self.defaults, store, files: &NoFiles }
    }

    /// A new session for a client.
    ///
    /// # Errors
    ///
    /// The library is out of memory.
    pub fn accept(&self) -> Result<Conn, HandshakeError> {
        let mut session = Conn::new(self.begin()?, &self.defaults)?;
        if self.defaults.protects_records() {
            session = session.with_own_records();
        }
        Ok(if self.table().hears_early() { session.hearing_early() } else { session })
    }

    /// A new handshake for a client that speaks QUIC, with our transport parameters.
    ///
    /// # Errors
    ///
    /// The library has no such handshakes, or is out of memory.
    pub fn accept_quic(&self, parameters: Vec<u8>) -> Result<QuicAccept, HandshakeError> {
        let early = self.table().hears_early();
        QuicAccept::new(self.begin()?, parameters, early, &self.defaults)
    }

    /// A session that has not begun.
    fn begin(&self) -> Result<Ssl, HandshakeError> {
        let mut ssl = Ssl::new(&self.base).map_err(|_| HandshakeError::new(Reason::Broken))?;
        ssl.set_accept_state();
        if self.defaults.capture > 0
            && let Some(index) = Capture::index()
        {
            ssl.set_ex_data(index, Capture::new(self.defaults.capture as usize));
        }
        if let Some((index, keys)) = TicketKeys::index().zip(self.settings.ticket_keys.clone()) {
            ssl.set_ex_data(index, keys);
        }
        if self.defaults.keeps_secrets
            && let Some(index) = KeyLog::index()
        {
            ssl.set_ex_data(index, KeyLog::default());
        }
        if self.defaults.protects_records()
            && let Some(index) = Handover::index()
        {
            ssl.set_ex_data(index, Handover::default());
            // Bytes that the library has read would be lost.
            ffi::set_read_ahead(&mut ssl, false);
        }
        Ok(ssl)
    }
}

/// The context that every session begins with; the ClientHello callback switches to that of a
/// certificate.
fn base(
    settings: &BindSettings,
    defaults: &Defaults,
    table: Arc<RwLock<CertificateTable>>,
    forge: Option<CertificateGenerator>,
) -> Result<SslContext, SetupError> {
    let mut context = context::plain(Side::Server)?;
    // Each certificate has its own version limits; the base context allows all of them.
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
    context.set_session_id_context(b"weir")?;
    if settings.ticket_keys.is_some() {
        ffi::seal_tickets::<TicketKeys>(&mut context);
    }
    if defaults.capture > 0 || defaults.protects_records() {
        ffi::watch_messages::<Observer>(&mut context);
    }
    // The server acknowledges the host name (RFC 6066 section 3).
    context.set_servername_callback(|_, _| Ok(()));
    let strict = settings.strict_sni;
    ffi::set_usual_suite(&mut context)?;
    ffi::choose_by_hello(&mut context, Hello::read, move |ssl, mut hello| {
        if let Some((index, name)) = asked().zip(hello.asked.take()) {
            ssl.set_ex_data(index, Asked { name, refused: false });
        }
        if hello.nameless {
            return Err(Refused::UnknownName);
        }
        // The lock is not held while the library works.
        let table = || table.read();
        let found = table().find(&hello);
        if found.is_none()
            && let Some((forge, name)) = forge.as_ref().zip(hello.name.as_deref())
        {
            let base = table().first();
            if base.is_some_and(|base| base.take_over_as(ssl, &hello.ciphers, forge, name).is_ok())
            {
                return Ok(());
            }
        }
        match found.or_else(|| table().first().filter(|_| !strict)) {
            Some(served) => Ok(served.take_over(ssl, &hello.ciphers)?),
            None => {
                if let Some(asked) = asked().and_then(|index| ssl.ex_data_mut(index)) {
                    asked.refused = true;
                }
                Err(Refused::UnknownName)
            }
        }
    });
    Ok(context.build())
}

/// The host name that a client asked for. The library drops a name that was refused, and reports
/// the name of the original session on resumption (up to TLS 1.2).
pub(crate) struct Asked {
    pub(crate) name: Vec<u8>,
    /// No certificate exists for the name.
    pub(crate) refused: bool,
}

/// The index under which a session stores its [`Asked`].
pub(crate) fn asked() -> Option<Index<Ssl, Asked>> {
    static INDEX: OnceLock<Option<Index<Ssl, Asked>>> = OnceLock::new();
    *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
}

/// The generator of certificates, if the line has `generate-certificates`.
fn forge(
    settings: &BindSettings,
    defaults: &Defaults,
    files: &dyn Files,
) -> Result<Option<CertificateGenerator>, SetupError> {
    let Some(Generates { authority: name, password }) = &settings.generates else {
        return Ok(None);
    };
    let fault = |error| SetupError::Generator { name: name.clone(), error };
    let unreadable = |error: io::Error| fault(GeneratorError::Unreadable(words(&error)));
    let text = files.read(Path::new(name)).map_err(unreadable)?;
    let forge =
        CertificateGenerator::read(&Secret::new(text), password.as_deref(), defaults.generated);
    forge.map(Some).map_err(fault)
}
