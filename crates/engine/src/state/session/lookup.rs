//! `do-resolve`: a rule that waits for the address of a name.

use crate::state::backend::queue::Waiter;
use crate::state::resolver::ResolverOrder;
use crate::state::session::pending::{OutsideAnswer, PendingAnswer, RuleScope};
use dns::RecordType;
use reactor::Wake;
use sample::{Value, VarName};
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use stdx::Mutex;

/// A look-up, from its first poll on. A task of a `resolvers` section always answers: names are
/// given up in the end.
#[derive(Debug)]
pub struct AddressLookup {
    /// The `resolvers` section.
    resolvers: Arc<str>,
    name: Box<str>,
    family: RecordType,
    /// The variable that gets the address; without a result it keeps its value.
    variable: Arc<VarName>,
    ask: Option<Arc<NameQuery>>,
}

impl AddressLookup {
    /// A look-up that has not begun.
    pub fn new(
        resolvers: &Arc<str>,
        (name, family): (&str, RecordType),
        variable: &Arc<VarName>,
    ) -> Self {
        let (resolvers, variable) = (resolvers.clone(), variable.clone());
        Self { resolvers, name: name.into(), family, variable, ask: None }
    }

    /// Sends the look-up to the task of its section; `None`: the section does not exist, or the
    /// name is invalid.
    fn begin(&self, scope: &RuleScope<'_>) -> Option<Arc<NameQuery>> {
        let worker = scope.worker;
        let mut all = worker.shared.resolvers.iter();
        let resolver = all.find(|it| *it.settings.name == *self.resolvers)?;
        if !dns::message::is_name(&self.name) {
            return None;
        }
        let (name, family) = (self.name.clone(), self.family);
        let waiter = Waiter::current(&worker.thread);
        let ask = Arc::new(NameQuery { name, family, answer: Mutex::default(), waiter });
        resolver.order(ResolverOrder::Ask(ask.clone()));
        Some(ask)
    }
}

impl PendingAnswer for AddressLookup {
    fn poll(&mut self, _: &mut Context<'_>, scope: &mut RuleScope<'_>) -> Poll<OutsideAnswer> {
        if self.ask.is_none() {
            self.ask = self.begin(scope);
        }
        let found = match &self.ask {
            None => None,
            Some(ask) => match ask.answer() {
                None => return Poll::Pending,
                Some(found) => found,
            },
        };
        let value = found.map(|address| match address {
            IpAddr::V4(address) => Value::Ipv4(address),
            IpAddr::V6(address) => Value::Ipv6(address),
        });
        if value.is_some() {
            scope.notes.used = true;
            scope.notes.variables.set(&self.variable, value);
        }
        Poll::Ready(OutsideAnswer::Continue)
    }
}

/// A look-up on its way to the task of a `resolvers` section and back.
#[derive(Debug)]
pub struct NameQuery {
    /// The host name.
    pub name: Box<str>,
    /// The type of record.
    pub family: RecordType,
    /// The result, once it is known.
    pub answer: Mutex<Option<Option<IpAddr>>>,
    /// The task that waits for it.
    pub waiter: Waiter,
}

impl NameQuery {
    /// Stores the result, and wakes the task that waits for it.
    pub fn answer_with(&self, address: Option<IpAddr>) {
        *self.answer.lock() = Some(address);
        self.waiter.mailbox.wake(self.waiter.task, Wake::RESOURCE);
    }

    /// The result, once there is one.
    pub fn answer(&self) -> Option<Option<IpAddr>> {
        *self.answer.lock()
    }
}
