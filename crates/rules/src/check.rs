//! Scripted health checks (section 4.2 `tcp-check`, `http-check`, and the options for well-known
//! protocols): the bytes to send and the answers to expect.
//!
//! A [`Script`] is a list of [`Step`]s in the order of the configuration. Its runner opens
//! connections, sends the bytes of [`Send`], and passes received bytes to [`Expect`].

mod expect;
mod http;
mod parse;
mod pattern;
mod protocol;
mod ready;
mod send;
#[cfg(test)]
mod tests;

pub use expect::{Expect, ExpectResult, Failure, Received, Status};
pub use http::{HttpSend, RequestLine};
pub use parse::{parse_http_check, parse_tcp_check};
pub use ready::Ready;
pub use send::Send;

use sample::args::SetVar;
use sample::{Expr, Facts, LogFormat, Value, VarName};
use std::net::IpAddr;
use std::sync::Arc;

/// The kind of directives that a script consists of; decides on the wording of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// `option tcp-check` and `tcp-check`: messages name the step.
    #[default]
    Tcp,
    /// `option httpchk` and `http-check`.
    Http,
    /// An option for a well-known protocol.
    Ready,
}

/// The script of a backend's checks.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The kind of check and its data.
    pub kind: Kind,
    /// The steps, in order.
    pub steps: Vec<Arc<Step>>,
    /// `option httpchk`: defaults of the first request; some of them override its own step.
    pub request: RequestLine,
    /// Whether [`Script::request`] overrides the first `http-check send`, because its line came
    /// later.
    pub request_wins: bool,
    /// `http-check disable-on-404`.
    pub disable_on_404: bool,
    /// `http-check send-state`.
    pub send_state: bool,
}

/// A check that is one constant request and one look at the status of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleHttp {
    /// The whole request, as sent.
    pub request: Vec<u8>,
    /// Statuses looked for: inclusive ranges.
    pub statuses: Vec<(u16, u16)>,
    /// Finding one makes the check fail instead.
    pub negated: bool,
}

/// One step.
#[derive(Debug)]
pub struct Step {
    /// Its number in messages, from 1.
    pub number: usize,
    /// The comment that is reported with a failure.
    pub comment: Option<Box<str>>,
    /// The action of the step.
    pub action: StepAction,
}

/// The action of a step.
#[derive(Debug)]
pub enum StepAction {
    /// Opens a connection; the one before is closed.
    Connect(Connect),
    /// Sends bytes.
    Send(Send),
    /// Sends a request.
    HttpSend(HttpSend),
    /// Waits for bytes or for a response, and judges them.
    Expect(Box<Expect>),
    /// Writes a variable.
    Assign(Assign),
    /// Explains the next step.
    Comment,
}

/// A `connect` step.
#[derive(Debug, Default)]
pub struct Connect {
    /// The connection has the options of the server line (`default`).
    pub as_server: bool,
    /// Another port.
    pub port: Option<ConnectPort>,
    /// Another address.
    pub address: Option<IpAddr>,
    /// Begins with a PROXY protocol header.
    pub send_proxy: bool,
    /// Goes through the server's SOCKS4 proxy.
    pub via_socks4: bool,
    /// Closes without a reset.
    pub linger: bool,
    /// Is encrypted, whatever the server line says (`ssl`).
    pub ssl: bool,
    /// The name that the server is asked by (`sni`).
    pub sni: Option<Box<str>>,
    /// The protocols that are offered (`alpn`), in wire format (RFC 7301 section 3.1).
    pub alpn: Option<Box<[u8]>>,
    /// The protocol of requests (`proto`); `None` to go by the server line, or by what the
    /// handshake chose of what this step offered.
    pub protocol: Option<ConnectProtocol>,
}

/// The protocol of the requests of an HTTP check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectProtocol {
    /// HTTP/1.
    H1,
    /// HTTP/2.
    H2,
    /// FastCGI.
    Fcgi,
}

/// Where a `connect` step finds its port.
#[derive(Debug)]
pub enum ConnectPort {
    /// In the configuration.
    Fixed(u16),
    /// In a sample; one that is no port counts as absent.
    Computed(Expr),
}

/// The ports that the steps of a script need from the server line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepPorts {
    /// The script does not begin with `connect`: the check connects to the server's address and
    /// port.
    Implied,
    /// The first `connect` step names no port.
    FirstMissing,
    /// A later `connect` step names no port.
    LaterMissing,
    /// Every `connect` step of the check has a port, and the first step connects.
    Named,
}

impl StepPorts {
    /// Of these steps.
    pub fn of(steps: &[Arc<Step>]) -> Self {
        let mut acts = steps.iter().filter(|step| step.acts()).map(|step| &step.action);
        let Some(StepAction::Connect(first)) = acts.next() else { return Self::Implied };
        let bare =
            |action: &StepAction| matches!(action, StepAction::Connect(it) if it.port.is_none());
        match first.port {
            None => Self::FirstMissing,
            Some(_) if acts.any(bare) => Self::LaterMissing,
            Some(_) => Self::Named,
        }
    }
}

/// A step that writes a variable.
#[derive(Debug)]
pub enum Assign {
    /// `set-var`
    Set(SetVar, Expr),
    /// `set-var-fmt`
    SetFormat(SetVar, LogFormat),
    /// `unset-var`
    Unset(VarName),
}

impl Script {
    /// Whether any step connects with TLS (`ssl`).
    pub fn encrypts(&self) -> bool {
        let asks = |step: &Arc<Step>| matches!(&step.action, StepAction::Connect(it) if it.ssl);
        self.steps.iter().any(asks)
    }
}

impl Connect {
    /// The connection of a check whose script does not say how to connect.
    pub fn usual() -> Self {
        Self { as_server: true, ..Self::default() }
    }

    /// The configured port, if any.
    pub fn port(&self, facts: &dyn Facts) -> Option<u16> {
        match self.port.as_ref()? {
            ConnectPort::Fixed(port) => Some(*port),
            ConnectPort::Computed(expr) => match expr.eval(facts).ok()?.cast(sample::Type::Int)? {
                Value::Int(port) => u16::try_from(port).ok().filter(|port| *port > 0),
                _ => None,
            },
        }
    }
}

impl Assign {
    /// Writes the variable.
    pub fn run(&self, facts: &dyn Facts) {
        match self {
            Self::Set(target, expr) => {
                if let Ok(value) = expr.eval(facts) {
                    target.store(facts, &value);
                }
            }
            Self::SetFormat(target, format) => {
                let mut text = Vec::new();
                format.write(facts, &mut text);
                target.store(facts, &Value::str(&text));
            }
            Self::Unset(name) => facts.set_var(name, None),
        }
    }
}

impl Step {
    /// The name of the expectation in messages: `expect string 'x'`.
    pub fn describe(&self) -> String {
        match &self.action {
            StepAction::Connect(connect) => match connect.port {
                Some(ConnectPort::Fixed(port)) => format!("connect port {port}"),
                Some(ConnectPort::Computed(_)) => "connect port (expression)".to_owned(),
                None => "connect".to_owned(),
            },
            StepAction::Send(_) | StepAction::HttpSend(_) => "send".to_owned(),
            StepAction::Expect(expect) => format!("expect {}", expect.pattern()),
            StepAction::Assign(_) => "set-var".to_owned(),
            StepAction::Comment => "comment".to_owned(),
        }
    }

    /// Whether the step uses the connection.
    fn acts(&self) -> bool {
        self.is_connect() || self.is_send() || self.is_expect()
    }

    fn is_connect(&self) -> bool {
        matches!(self.action, StepAction::Connect(_))
    }

    fn is_send(&self) -> bool {
        matches!(self.action, StepAction::Send(_) | StepAction::HttpSend(_))
    }

    fn is_expect(&self) -> bool {
        matches!(self.action, StepAction::Expect(_))
    }
}

impl Script {
    /// The script of `option httpchk` with its `http-check` steps: what they leave to be understood
    /// is added.
    pub fn http(steps: Vec<Arc<Step>>) -> Self {
        let mut script = Self { kind: Kind::Http, steps, ..Self::default() };
        let steps = &mut script.steps;
        if !steps.iter().any(|step| step.is_send()) {
            let place = steps.iter().position(|step| step.is_expect()).unwrap_or(steps.len());
            steps.insert(place, silent(StepAction::HttpSend(HttpSend::default())));
        }
        let last = steps.iter().rposition(|step| step.is_send()).unwrap_or(0);
        if !steps[last..].iter().any(|step| step.is_expect()) {
            let expect = Expect::usual_status();
            steps.push(silent(StepAction::Expect(Box::new(expect))));
        }
        script
    }

    /// Whether any step does more than compute.
    pub fn acts(&self) -> bool {
        self.steps.iter().any(|step| step.acts())
    }

    /// The comment reported with a failure of the step at `index`: its own, or that of the
    /// `comment` step before it, with only expectations in between.
    pub fn comment(&self, index: usize) -> Option<&str> {
        let step = self.steps.get(index)?;
        let own = step.comment.as_deref();
        let over = |other: &&Arc<Step>| step.is_expect() && other.is_expect();
        let before = self.steps[..index].iter().rev().find(|other| !over(other));
        let before = before.filter(|step| matches!(step.action, StepAction::Comment));
        own.or_else(|| before?.comment.as_deref())
    }

    /// Whether the script begins with a `connect` step.
    pub fn connects_first(&self) -> bool {
        self.steps.iter().find(|step| step.acts()).is_some_and(|step| step.is_connect())
    }

    /// The whole request and the statuses expected, where the check is no more than that: one
    /// constant request, one look at its status.
    pub fn as_simple_http(&self) -> Option<SimpleHttp> {
        let plain = self.kind == Kind::Http && !self.disable_on_404 && !self.send_state;
        match self.steps.as_slice() {
            [send, expect] if plain => {
                let (StepAction::HttpSend(send), StepAction::Expect(expect)) =
                    (&send.action, &expect.action)
                else {
                    return None;
                };
                let (statuses, negated) = expect.as_plain_status()?;
                expect.is_silent(self.comment(1)).then_some(())?;
                let request = send.as_constant(&self.request, self.request_wins)?;
                Some(SimpleHttp { request, statuses, negated })
            }
            _ => None,
        }
    }
}

/// A step that is understood without being written.
fn silent(action: StepAction) -> Arc<Step> {
    Arc::new(Step { number: 0, comment: None, action })
}
