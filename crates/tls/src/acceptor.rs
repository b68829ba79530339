//! What a bind line does with clients: which certificate each gets, and on which conditions. Never accepts
//! a connection itself.
//!
//! The table of certificates can be replaced while connections are made: each looks at the one that
//! is there when its first message has come.

use crate::certificate_table::{Ground, Table};
use crate::client_hello_capture::Capture;
use crate::conn::Conn;
use crate::context::{self, Side};
use crate::error::{Fault, Reason};
use crate::generated::Forge;
use crate::hello::Hello;
use crate::key::Secret;
use crate::key_log::Secrets;
use crate::settings::{BindSettings, Defaults, Generates};
use crate::store::{Files, NoFiles, Store, words};
use crate::tickets::TicketKeys;
use ffi::Refused;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslContext, SslOptions, SslSessionCacheMode};
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLockReadGuard, RwLockWriteGuard};
use stdx::RwLock;

/// A bind line's side of TLS.
pub struct Acceptor {
    base: SslContext,
    table: Arc<RwLock<Table>>,
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
        let ground = Ground { defaults: &defaults, store, files };
        let table = Table::new(&settings, ground)?;
        if table.is_empty() && !settings.strict_sni {
            return Err(vec!["no SSL certificate specified".to_owned()]);
        }
        let table = Arc::new(RwLock::new(table));
        let forge = forge(&settings, &defaults, files).map_err(|error| vec![error])?;
        let base = base(&settings, &defaults, table.clone(), forge).map_err(|error| vec![error])?;
        Ok(Self { base, table, settings, defaults })
    }

    /// What it was made of.
    pub fn settings(&self) -> &BindSettings {
        &self.settings
    }

    /// The names of the certificates in use, in order.
    pub fn certificates(&self) -> Vec<String> {
        self.table().certificates()
    }

    /// What is ignored of the files that it was made of.
    pub fn complaints(&self) -> Vec<String> {
        let told = |(name, why)| format!("'{name}.ocsp' : {why}. Content will be ignored.");
        self.table().unfit().into_iter().map(told).collect()
    }

    /// Whether it takes certificates from this list or directory.
    pub(crate) fn takes(&self, list: &str) -> bool {
        let is = |name: &str| name.trim_end_matches('/') == list;
        self.settings.lists.iter().any(|(name, _)| is(name))
            || self.settings.certificates.iter().any(|it| it.list.1 == 0 && is(&it.path))
    }

    /// The certificates as they are now.
    pub(crate) fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read()
    }

    /// The certificates, to be changed: for connections that come from now on.
    pub(crate) fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write()
    }

    /// What terms are made from while the program runs: files are not read.
    pub(crate) fn ground<'a>(&'a self, store: &'a Store) -> Ground<'a> {
        Ground { defaults: &self.defaults, store, files: &NoFiles }
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
        if let Some((index, keys)) = TicketKeys::index().zip(self.settings.ticket_keys.clone()) {
            ssl.set_ex_data(index, keys);
        }
        if self.defaults.keeps_secrets
            && let Some(index) = Secrets::index()
        {
            ssl.set_ex_data(index, Secrets::default());
        }
        let session = Conn::new(ssl, &self.defaults)?;
        Ok(if self.table().hears_early() { session.hearing_early() } else { session })
    }
}

/// The context that sessions begin with: it chooses the one that they go on with.
fn base(
    settings: &BindSettings,
    defaults: &Defaults,
    table: Arc<RwLock<Table>>,
    forge: Option<Forge>,
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
    context.set_session_id_context(b"weir").map_err(context::unable)?;
    if settings.ticket_keys.is_some() {
        ffi::seal_tickets::<TicketKeys>(&mut context);
    }
    if defaults.capture > 0 {
        ffi::watch_messages::<Capture>(&mut context);
    }
    // The client is told that its name was heard (RFC 6066 section 3).
    context.set_servername_callback(|_, _| Ok(()));
    let strict = settings.strict_sni;
    ffi::set_usual_suite(&mut context).map_err(context::unable)?;
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

/// The name that a client has asked for: the library forgets one that is refused, and tells that of
/// the session before when one goes on (up to TLS 1.2).
pub(crate) struct Asked {
    pub(crate) name: Vec<u8>,
    /// There is nothing for that name.
    pub(crate) refused: bool,
}

/// Where a session keeps it.
pub(crate) fn asked() -> Option<Index<Ssl, Asked>> {
    static INDEX: OnceLock<Option<Index<Ssl, Asked>>> = OnceLock::new();
    *INDEX.get_or_init(|| Ssl::new_ex_index().ok())
}

/// What makes certificates on the spot, if the line wants any.
fn forge(
    settings: &BindSettings,
    defaults: &Defaults,
    files: &dyn Files,
) -> Result<Option<Forge>, String> {
    let Some(Generates { authority: name, password }) = &settings.generates else {
        return Ok(None);
    };
    let told = |why: String| format!("'ca-sign-file' : unable to load '{name}' : {why}");
    let text = files.read(Path::new(name)).map_err(|error| told(words(&error)))?;
    let forge = Forge::read(&Secret::new(text), password.as_deref(), defaults.generated);
    forge.map(Some).map_err(told)
}
