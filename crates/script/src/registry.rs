//! The functions that the files of a state have registered.

use mlua::{Function, Table, Value};
use std::collections::HashMap;

/// Sets of rules in which an action may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Environment {
    /// `tcp-req`
    TcpRequest,
    /// `tcp-res`
    TcpResponse,
    /// `http-req`
    HttpRequest,
    /// `http-res`
    HttpResponse,
    /// `http-after-res`
    HttpAfterResponse,
}

impl Environment {
    /// The environment of that name.
    pub fn named(name: &str) -> Option<Environment> {
        Some(match name {
            "tcp-req" => Environment::TcpRequest,
            "tcp-res" => Environment::TcpResponse,
            "http-req" => Environment::HttpRequest,
            "http-res" => Environment::HttpResponse,
            "http-after-res" => Environment::HttpAfterResponse,
            _ => return None,
        })
    }

    /// The beginning of the keys of its actions.
    fn prefix(self) -> &'static str {
        match self {
            Environment::TcpRequest => "action:tcp-req:",
            Environment::TcpResponse => "action:tcp-res:",
            Environment::HttpRequest => "action:http-req:",
            Environment::HttpResponse => "action:http-res:",
            Environment::HttpAfterResponse => "action:http-after-res:",
        }
    }
}

/// The protocol of a service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceMode {
    /// `tcp`
    Tcp,
    /// `http`
    Http,
}

/// A registered name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Registered {
    /// `register_action`: where, and how many arguments. One name may have a function per rule set.
    Action(Environment, usize),
    /// `register_fetches`
    Fetch,
    /// `register_converters`
    Converter,
    /// `register_service`
    Service(ServiceMode),
    /// `register_cli`: its help text.
    Command(String),
    /// `register_filter`
    Filter,
}

impl Registered {
    /// The prefix of its key, which differs by kind.
    pub(crate) fn prefix(&self) -> &'static str {
        match self {
            Registered::Action(environment, _) => environment.prefix(),
            Registered::Fetch => "fetch:",
            Registered::Converter => "converter:",
            Registered::Service(_) => "service:",
            Registered::Command(_) => "command:",
            Registered::Filter => "filter:",
        }
    }
}

/// A function that runs once.
pub(crate) struct Once {
    pub(crate) run: Function,
    pub(crate) args: Vec<Value>,
}

/// All registrations of a state, in order.
#[derive(Default)]
pub(crate) struct Registry {
    /// Functions by kind and name.
    pub(crate) functions: HashMap<String, Function>,
    pub(crate) names: Vec<(String, Registered)>,
    /// Classes of filters, by name.
    pub(crate) classes: HashMap<String, Table>,
    /// `register_init`
    pub(crate) inits: Vec<Function>,
    /// `register_task`
    pub(crate) tasks: Vec<Once>,
}

impl Registry {
    /// Registers a function; it replaces a function of the same kind and name.
    pub(crate) fn add(&mut self, name: String, what: Registered, run: Function) {
        self.functions.insert(format!("{}{name}", what.prefix()), run);
        self.names.retain(|(known, kind)| *known != name || kind.prefix() != what.prefix());
        self.names.push((name, what));
    }
}
