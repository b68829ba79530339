//! A transaction as scripts see it beside its rules: in services, and at the payload of filters.

use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use htx::Head;
use observability::telemetry::sample_context::wall;
use sample::vars::{VarState, VarStore};
use sample::{Facts, Name, Number, Value, VarName, Variables, WallTime};
use std::net::SocketAddr;
use std::rc::Rc;

/// The transaction as services and filters see it beside the rules.
pub(crate) fn facts_of(tx: &Transaction) -> ServiceFacts {
    let shared = &tx.notes.variables;
    let variables = Variables {
        process: shared.process.clone(),
        session: VarStore::shared(&shared.session),
        transaction: VarStore::shared(&shared.transaction),
        request: VarStore::shared(&shared.request),
        response: VarStore::default(),
        check: VarStore::default(),
    };
    let backend = tx.side();
    ServiceFacts {
        worker: tx.worker.clone(),
        request: Head::default(),
        variables,
        source: tx.notes.source.or(tx.client.rare.source).or(tx.client.peer),
        destination: tx.notes.destination.or_else(|| tx.client.local()),
        names: [tx.client.proxy.name().to_owned(), backend.name().to_owned()],
    }
}

/// The transaction as a service sees it: its request, variables and connection.
pub(crate) struct ServiceFacts {
    worker: Rc<Worker>,
    pub(crate) request: Head,
    variables: Variables,
    source: Option<SocketAddr>,
    destination: Option<SocketAddr>,
    /// Of the frontend, of the backend.
    names: [String; 2],
}

impl Facts for ServiceFacts {
    fn request(&self) -> Option<&Head> {
        Some(&self.request)
    }

    fn source(&self) -> Option<SocketAddr> {
        self.source
    }

    fn destination(&self) -> Option<SocketAddr> {
        self.destination
    }

    fn name(&self, name: Name) -> Option<&[u8]> {
        match name {
            Name::Frontend => Some(self.names[0].as_bytes()),
            Name::Backend => Some(self.names[1].as_bytes()),
            Name::Hostname => Some(self.worker.shared.settings.hostname.as_bytes()),
            _ => None,
        }
    }

    fn number(&self, number: Number) -> Option<i64> {
        (number == Number::Thread).then_some(self.worker.thread.index as i64)
    }

    fn var(&self, name: &VarName) -> Option<Value<'static>> {
        self.variables.get(name)
    }

    fn var_state(&self, name: &VarName) -> VarState {
        self.variables.state(name)
    }

    fn set_var(&self, name: &VarName, value: Option<Value<'static>>) {
        self.variables.set(name, value);
    }

    fn wall(&self) -> WallTime {
        wall(self.worker.thread.wall())
    }

    fn random(&self) -> u64 {
        self.worker.thread.prng().next_u64()
    }
}
