//! Engines of SPOE as `filter spoe` and its file declare them (SPOE.txt, section 2).

use sample::vars::VarName;
use sample::{Condition, Expr};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A moment of a stream at which messages are sent (SPOE.txt, section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SpoeEvent {
    /// `on-client-session`
    ClientSession,
    /// `on-frontend-tcp-request`
    FrontendTcpRequest,
    /// `on-frontend-http-request`
    FrontendHttpRequest,
    /// `on-backend-tcp-request`
    BackendTcpRequest,
    /// `on-backend-http-request`
    BackendHttpRequest,
    /// `on-server-session`
    ServerSession,
    /// `on-tcp-response`
    TcpResponse,
    /// `on-http-response`
    HttpResponse,
}

impl SpoeEvent {
    /// Every event with its name, in the order in which a stream meets them.
    pub const TABLE: [(&'static str, SpoeEvent); 8] = [
        ("on-client-session", SpoeEvent::ClientSession),
        ("on-frontend-tcp-request", SpoeEvent::FrontendTcpRequest),
        ("on-frontend-http-request", SpoeEvent::FrontendHttpRequest),
        ("on-backend-tcp-request", SpoeEvent::BackendTcpRequest),
        ("on-backend-http-request", SpoeEvent::BackendHttpRequest),
        ("on-server-session", SpoeEvent::ServerSession),
        ("on-tcp-response", SpoeEvent::TcpResponse),
        ("on-http-response", SpoeEvent::HttpResponse),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].0
    }
}

/// One engine: the configuration that a `filter spoe` line names. Two engines are equal if they are
/// the same object.
#[derive(Debug)]
pub struct SpoeEngine {
    /// `engine`, else the name of the agent.
    pub name: Box<str>,
    /// The agent.
    pub agent: SpoeAgent,
    /// Messages by event.
    pub events: [Vec<Arc<SpoeMessage>>; 8],
    /// Groups that rules send.
    pub groups: Vec<SpoeGroup>,
}

impl PartialEq for SpoeEngine {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for SpoeEngine {}

impl SpoeEngine {
    /// The messages of an event.
    pub fn messages(&self, event: SpoeEvent) -> &[Arc<SpoeMessage>] {
        &self.events[event as usize]
    }
}

/// The settings of `spoe-agent`. Times are in milliseconds.
#[derive(Debug, Default)]
pub struct SpoeAgent {
    /// Its name.
    pub name: Box<str>,
    /// `use-backend`
    pub backend: Box<str>,
    /// `timeout hello`
    pub hello: Option<u32>,
    /// `timeout idle`
    pub idle: Option<u32>,
    /// `timeout processing`
    pub processing: Option<u32>,
    /// `max-frame-size`
    pub max_frame_size: u32,
    /// `max-waiting-frames`
    pub max_waiting: usize,
    /// `maxconnrate`; 0 for no limit.
    pub max_connections_per_s: u32,
    /// `maxerrrate`; 0 for no limit.
    pub max_errors_per_s: u32,
    /// `option pipelining`
    pub pipelining: bool,
    /// `option async`
    pub is_async: bool,
    /// `option send-frag-payload`
    pub fragments: bool,
    /// `option continue-on-error`
    pub continues: bool,
    /// `option dontlog-normal`
    pub logs_errors_only: bool,
    /// Variables that the agent may set.
    pub variables: SpoeVariables,
    /// `option set-on-error`
    pub on_error: Option<VarName>,
    /// `option set-process-time`
    pub process_time: Option<VarName>,
    /// `option set-total-time`
    pub total_time: Option<VarName>,
}

/// Variables that an agent may set: all of them have its prefix.
#[derive(Debug, Default)]
pub struct SpoeVariables {
    /// `option var-prefix`, else the name of the engine.
    pub prefix: Box<str>,
    /// `option force-set-var`: any.
    pub any: bool,
    /// `register-var-names`, without the prefix.
    pub known: HashMap<Box<[u8]>, VarName>,
    /// Variables that the configuration mentions, set once it is read.
    pub mentioned: OnceLock<HashMap<Box<[u8]>, VarName>>,
}

impl SpoeVariables {
    /// The variable of this name in a scope; `None` when the agent may not set it.
    pub fn find(&self, scope: sample::vars::Scope, name: &[u8]) -> Option<VarName> {
        let mentioned = || self.mentioned.get().and_then(|all| all.get(name));
        if let Some(known) = self.known.get(name).or_else(mentioned) {
            return Some(known.in_scope(scope));
        }
        if !self.any {
            return None;
        }
        let name = std::str::from_utf8(name).ok()?;
        VarName::parse(&format!("txn.{}.{name}", self.prefix)).ok().map(|it| it.in_scope(scope))
    }
}

/// `spoe-message`
#[derive(Debug)]
pub struct SpoeMessage {
    /// Its name.
    pub name: Box<str>,
    /// Arguments: names, which may be empty, and samples.
    pub arguments: Vec<(Box<str>, Expr)>,
    /// The condition of its event.
    pub condition: Option<Condition>,
}

/// `spoe-group`
#[derive(Debug)]
pub struct SpoeGroup {
    /// Its name.
    pub name: Box<str>,
    /// Its messages.
    pub messages: Vec<Arc<SpoeMessage>>,
}
