//! Changes of TLS files at run time (management.txt 9.3, `set ssl cert` and its family).
//!
//! Reading order: [`certificates`], [`authorities`], [`lists`], [`staples`]. A change is prepared
//! in a transaction, one at a time for each kind of file. Everything that can fail is built before
//! anything is replaced, so a change takes effect everywhere or nowhere. Existing sessions keep
//! their certificates and keys.

mod authorities;
mod certificates;
mod lists;
mod staples;
mod updates;

use crate::acceptor::Acceptor;
use crate::authority::{Authorities, Purpose};
use crate::certificate::CertificateDraft;
use crate::connector::Connector;
use crate::setup_error::SetupError;
use crate::store::Store;
use crate::tickets::TicketKeys;
use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, Weak};
use stdx::Mutex;

pub use crate::staple::Unfit;
pub use authorities::Content;
pub use certificates::ShownCertificate;
pub use lists::{Entry, ListRefusal};
pub use staples::{ShownStaple, StapleRefusal};
pub use updates::{ShownUpdate, StapleQuery, UpdateDelays, UpdateStatus};

/// A bind line.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Its side of TLS.
    pub acceptor: Arc<Acceptor>,
    /// Its place: `file:line`.
    pub place: String,
}

/// Where relative names begin (`crt-base`, `ca-base`).
#[derive(Clone, Debug, Default)]
pub struct Bases {
    /// Certificates.
    pub certificates: Option<String>,
    /// Authorities and revocation lists.
    pub authorities: Option<String>,
}

/// The state of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The transaction has no content.
    Empty,
    /// No line uses the file.
    Unused,
    /// A line uses the file.
    Used,
}

impl Status {
    /// The word for the state in listings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Unused => "Unused",
            Self::Used => "Used",
        }
    }
}

/// Why a change is not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name exists already.
    Exists,
    /// There is none of that name.
    Unknown,
    /// A transaction about this one is under way.
    Ongoing(String),
    /// No transaction is under way.
    Nothing,
    /// Some line needs it.
    InUse,
    /// The file has another purpose: it has revocation lists instead of authorities, or the
    /// reverse.
    Otherwise,
    /// The content cannot be parsed; the library's message.
    Unreadable(String),
    /// The certificate itself or its key is missing.
    Incomplete,
    /// The key is not that of the certificate.
    Foreign,
    /// Some line cannot do with it.
    Impossible(SetupError),
}

/// A transaction that continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTransaction {
    /// The file that it is about.
    pub name: String,
    /// Whether the command has begun the transaction.
    pub new: bool,
}

/// One transaction: the name of a file and its new content.
type Ongoing<T> = Mutex<Option<(String, T)>>;

/// All that can be changed.
pub struct Runtime {
    store: Arc<Store>,
    binds: Vec<Bound>,
    /// Weak references, because servers are added and deleted.
    servers: Mutex<Vec<Weak<Connector>>>,
    lists: Mutex<BTreeMap<String, lists::List>>,
    bases: Bases,
    certificate: Ongoing<CertificateDraft>,
    trust: Ongoing<Authorities>,
    revocation: Ongoing<Authorities>,
    /// Updates of OCSP responses, by certificate id.
    updates: Mutex<BTreeMap<Vec<u8>, updates::UpdateRecord>>,
    update_delays: UpdateDelays,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("binds", &self.binds.len()).finish_non_exhaustive()
    }
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new(Arc::default(), Vec::new(), Bases::default())
    }
}

impl Runtime {
    /// The runtime view of bind lines and a store. Servers are registered with [`Runtime::watch`].
    pub fn new(store: Arc<Store>, binds: Vec<Bound>, bases: Bases) -> Self {
        let lists = lists::collect(&binds);
        Self {
            store,
            binds,
            servers: Mutex::default(),
            lists: Mutex::new(lists),
            bases,
            certificate: Mutex::default(),
            trust: Mutex::default(),
            revocation: Mutex::default(),
            updates: Mutex::default(),
            update_delays: UpdateDelays::default(),
        }
    }

    /// The same with these delays between updates of OCSP responses.
    #[must_use]
    pub fn with_update_delays(self, update_delays: UpdateDelays) -> Self {
        Self { update_delays, ..self }
    }

    /// Registers a server for changes; it is dropped from the list when its last user drops it.
    pub fn watch(&self, server: &Arc<Connector>) {
        let mut servers = self.servers.lock();
        servers.retain(|known| known.strong_count() > 0);
        servers.push(Arc::downgrade(server));
    }

    /// Removes a server from the list, even if something still holds it.
    pub fn forget(&self, server: &Arc<Connector>) {
        let server = Arc::downgrade(server);
        self.servers.lock().retain(|known| !known.ptr_eq(&server));
    }

    /// The keys of tickets by file; a key's place is its number.
    pub fn ticket_keys(&self) -> Vec<Arc<TicketKeys>> {
        self.store.ticket_keys()
    }

    /// The servers of all backends.
    pub(crate) fn servers(&self) -> Vec<Arc<Connector>> {
        self.servers.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// The acceptors, each once: bind lines with several addresses share one.
    fn acceptors(&self) -> impl Iterator<Item = &Arc<Acceptor>> {
        let fresh = |(at, bound): &(usize, &Bound)| {
            !self.binds[..*at].iter().any(|it| Arc::ptr_eq(&it.acceptor, &bound.acceptor))
        };
        self.binds.iter().enumerate().filter(fresh).map(|(_, bound)| &bound.acceptor)
    }

    fn ongoing(&self, purpose: Purpose) -> MutexGuard<'_, Option<(String, Authorities)>> {
        match purpose {
            Purpose::Trust => self.trust.lock(),
            Purpose::Revocation => self.revocation.lock(),
        }
    }
}

/// The name that a transaction is about, if it is another one than `name`.
fn other<T>(ongoing: &Option<(String, T)>, name: &str) -> Result<(), Refusal> {
    match ongoing {
        Some((about, _)) if about != name => Err(Refusal::Ongoing(about.clone())),
        _ => Ok(()),
    }
}

/// Ends a transaction without a change.
fn abort<T>(ongoing: &mut Option<(String, T)>, name: &str) -> Result<(), Refusal> {
    other(ongoing, name)?;
    ongoing.take().map(drop).ok_or(Refusal::Nothing)
}
