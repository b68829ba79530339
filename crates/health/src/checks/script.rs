//! A scripted check under way: step by step, in a task of its own.

use super::checker::Checker;
use super::reply::{Malformed, Reply};
use super::rule;
use super::state_header;
use super::stream::{CheckedApp, StreamCheck};
use crate::checks::check_run::{CheckRun, Subject, Underway};
use crate::checks::result;
use crate::checks::sample_context::Scene;
use balance::{CheckResult, CheckStatus};
use engine::io::byte_client::{ByteClient, ByteClientError};
use engine::io::tls_handshake;
use engine::state::backend::application;
use engine::state::backend::check_record::Record;
use engine::state::worker::Worker;
use htx::Head;
use mux::Side;
use reactor::Address;
use rules::check::{
    Connect, ConnectProtocol, Expect, ExpectResult, Failure, HttpSend, Kind, Received, Script,
    Send, Status, Step, StepAction,
};
use sample::Variables;
use sample::regex::effort;
use settings::{Announce, Encryption, Protocol, ServerName};
use std::cell::OnceCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use transport::proxy_v2_tls;

/// Runs one check to its end.
pub(super) async fn run(checker: Rc<Checker>, record: Record, script: Arc<Script>) {
    let _underway = Underway::new(&checker, 1);
    let turn = CheckRun::new(&checker, record);
    let Some(subject) = turn.due_subject() else { return };
    let result = Play::new(&checker.worker, subject, &script).run().await;
    turn.report(result);
}

/// The longest text in a check's result, in bytes.
const INFO: usize = 127;

/// A script that runs.
struct Play<'a> {
    worker: &'a Rc<Worker>,
    subject: Subject<'a>,
    script: &'a Script,
    line: ByteClient,
    /// Whether a request has been sent, so that the received bytes are a response.
    asked: bool,
    /// The last connection is encrypted.
    encrypted: bool,
    /// The connection, if requests are sent over a protocol of streams.
    talk: Option<StreamCheck>,
    reply: Option<Reply>,
    variables: Variables,
    /// The text for the result.
    info: Option<Vec<u8>>,
    code: Option<u32>,
}

/// Why a step ends the check.
enum Stop {
    /// The step has failed.
    Failed(Failure),
    /// The step took too long; with the status for that.
    Late(CheckStatus),
    /// The connection cannot be made.
    Unconnected(std::io::Error),
    /// The connection broke.
    Broken(std::io::Error),
    /// The connection could not be encrypted; with the reason.
    Unencrypted(&'static str),
    /// The server asks for no new sessions (`disable-on-404`).
    Conditional,
}

impl<'a> Play<'a> {
    fn new(worker: &'a Rc<Worker>, subject: Subject<'a>, script: &'a Script) -> Self {
        let inter = subject.server.settings.balance.intervals.inter;
        let (connect_ms, answer_ms) = rule::limits_of(subject.proxy, inter);
        let process = worker.shared.vars.clone();
        Self {
            worker,
            subject,
            script,
            line: ByteClient::new(worker, connect_ms, answer_ms),
            asked: false,
            encrypted: false,
            talk: None,
            reply: None,
            variables: Variables { process, ..Variables::default() },
            info: None,
            code: None,
        }
    }

    async fn run(mut self) -> CheckResult {
        if !self.script.connects_first()
            && let Err(stop) = self.connect(&Connect::usual()).await
        {
            return self.stopped(stop, None);
        }
        let script = self.script;
        let mut status = Status::L4Ok;
        for (index, step) in script.steps.iter().enumerate() {
            match self.step(step).await {
                Ok(None) => {}
                Ok(Some(reached)) => status = reached,
                Err(stop) => return self.stopped(stop, Some(index)),
            }
        }
        let info = self.info.take().unwrap_or_else(|| match script.kind {
            Kind::Tcp if script.acts() => b"(tcp-check)".to_vec(),
            _ => Vec::new(),
        });
        // An encrypted connection counts as a check of layer 6.
        let status = if self.encrypted && status == Status::L4Ok { Status::L6Ok } else { status };
        self.result(known(status), &info)
    }

    /// Runs one step; returns the status of the check if it was the last step.
    async fn step(&mut self, step: &Step) -> Result<Option<Status>, Stop> {
        match &step.action {
            StepAction::Connect(connect) => {
                self.connect(connect).await.map(|()| Some(Status::L4Ok))
            }
            StepAction::Send(send) => self.send(send, step).await.map(|()| Some(Status::L7Ok)),
            StepAction::HttpSend(send) => {
                self.send_request(send).await.map(|()| Some(Status::L7Ok))
            }
            StepAction::Expect(expect) => {
                self.expect(expect, step.number).await.map(|()| Some(expect.ok_status()))
            }
            StepAction::Assign(assign) => {
                assign.run(&self.scene());
                Ok(None)
            }
            StepAction::Comment => Ok(None),
        }
    }

    /// The check as expressions see it.
    fn scene(&self) -> Scene<'_> {
        let head: Option<&Head> = self.reply.as_ref().map(|reply| &reply.head);
        let bytes = match &self.reply {
            Some(reply) => &reply.body,
            None => self.line.received(),
        };
        effort::open(0);
        Scene {
            worker: self.worker,
            proxy: self.subject.proxy,
            server: self.subject.server,
            variables: &self.variables,
            head,
            bytes,
            trailers: self.reply.as_ref().and_then(|reply| reply.trailers.as_deref()),
            local: self.line.local(),
            session: self.line.session(),
            server_name: OnceCell::new(),
        }
    }

    /// Sets the text for the result, if no later step replaces it. In scripts of the kind `Ready`,
    /// `None` keeps the text that is there.
    pub(crate) fn set_result_text(&mut self, info: Option<Vec<u8>>) {
        if info.is_some() || self.script.kind != Kind::Ready {
            self.info = info;
        }
    }

    /// Drops the reply of the step before: a connection or a request begins.
    fn begin_step(&mut self) {
        self.code = None;
        self.reply = None;
        self.set_result_text(None);
    }

    async fn connect(&mut self, connect: &Connect) -> Result<(), Stop> {
        let mut address = self.subject.server.location.now().check_address();
        if let Address::Inet(address) = &mut address {
            if let Some(ip) = connect.address {
                address.set_ip(ip);
            }
            if let Some(port) = connect.port(&self.scene()) {
                address.set_port(port);
            }
        }
        (self.asked, self.encrypted) = (false, false);
        self.begin_step();
        let settings = &self.subject.server.settings;
        let proxy = match connect.via_socks4 {
            true => settings.link.socks4,
            false => settings.check_link.socks4.filter(|_| connect.as_server),
        };
        match self.dial(&address, proxy, connect.linger).await {
            Ok(()) => {}
            Err(ByteClientError::Late) => return Err(Stop::Late(CheckStatus::L4Timeout)),
            Err(ByteClientError::Broken(error)) => return Err(Stop::Unconnected(error)),
        }
        let announce = self.subject.server.settings.check_link.announce;
        let announce = match connect.send_proxy {
            true => Some(self.subject.server.settings.link.announce.unwrap_or(Announce::V1)),
            false => announce.filter(|_| connect.as_server),
        };
        if let Some(announce) = announce {
            let mut header = Vec::new();
            let ends = self.line.local().zip(address.inet());
            proxy_v2_tls::introduce_self(announce, ends, &mut header);
            self.put(&header).await?;
        }
        if let Some(encryption) = self.encryption(connect) {
            self.encrypt(&encryption).await?;
        }
        let chosen = || match self.line.has_chosen(b"h2") {
            true => Protocol::H2,
            false => Protocol::H1,
        };
        let protocol = match (connect.protocol, settings.speech.checks) {
            (Some(ConnectProtocol::H1), _) => Protocol::H1,
            (Some(ConnectProtocol::H2), _) => Protocol::H2,
            (Some(ConnectProtocol::Fcgi), _) => Protocol::Fcgi,
            (None, Protocol::Chosen) if connect.as_server => chosen(),
            (None, protocol) if connect.as_server => protocol,
            (None, _) if connect.ssl => chosen(),
            (None, _) => Protocol::H1,
        };
        self.talk = self.begin_talk(protocol, &address);
        Ok(())
    }

    /// The connection of requests in a protocol of streams.
    fn begin_talk(&self, protocol: Protocol, address: &Address) -> Option<StreamCheck> {
        let (worker, proxy) = (self.worker, self.subject.proxy);
        match protocol {
            Protocol::H1 | Protocol::H3 | Protocol::Chosen => None,
            Protocol::H2 => {
                let machine = worker.h2_conn(proxy, Side::Server);
                Some(StreamCheck::new(machine.into(), self.encrypted, None))
            }
            Protocol::Fcgi => {
                let fcgi = self.subject.back.settings.fcgi.clone()?;
                let max_params = application::max_params(worker);
                let application = CheckedApp { fcgi, server: address.inet(), max_params };
                let machine = application::connection(worker, self.subject.back)?;
                Some(StreamCheck::new(machine.into(), self.encrypted, Some(application)))
            }
        }
    }

    /// The TLS settings of a connection: those of its step, or of the server's line.
    fn encryption(&self, connect: &Connect) -> Option<Encryption> {
        let settings = &self.subject.server.settings;
        if !connect.ssl {
            return settings.check_link.encryption.clone().filter(|_| connect.as_server);
        }
        Some(Encryption {
            connector: settings.connector.clone()?,
            name: connect
                .sni
                .as_deref()
                .map_or(ServerName::None, |name| ServerName::Fixed(name.to_owned())),
            alpn: Some(connect.alpn.as_deref().unwrap_or_default().into()),
        })
    }

    /// Runs the TLS handshake of the connection.
    async fn encrypt(&mut self, encryption: &Encryption) -> Result<(), Stop> {
        self.encrypted = true;
        let asked = matches!(encryption.name, ServerName::Fixed(_));
        self.line.encrypt(encryption).await.map_err(|trouble| match trouble {
            tls_handshake::TlsHandshakeFailure::Late => Stop::Late(CheckStatus::L6Timeout),
            trouble => Stop::Unencrypted(trouble.of_check(asked)),
        })
    }

    /// Connects to the server, or to the SOCKS4 proxy that passes connections on to it.
    async fn dial(
        &mut self,
        address: &Address,
        proxy: Option<SocketAddr>,
        linger: bool,
    ) -> Result<(), ByteClientError> {
        let how = &self.subject.server.settings.check_link.dial;
        let how = &self.worker.shared.handles.connect_options(how);
        let Some(proxy) = proxy else { return self.line.dial(address, linger, how).await };
        let Some(SocketAddr::V4(to)) = address.inet() else {
            return Err(ByteClientError::Broken(std::io::ErrorKind::Unsupported.into()));
        };
        self.line.dial(&Address::Inet(proxy), linger, how).await?;
        self.line.pass_on(to).await
    }

    async fn send(&mut self, send: &Send, step: &Step) -> Result<(), Stop> {
        let bytes = send.build(&self.scene()).ok_or_else(|| {
            let number = step.number;
            Stop::Failed(Failure {
                status: Status::L7Response,
                info: format!(
                    "tcp-check send : failed to build log-format string at step {number}"
                )
                .into_bytes(),
                code: None,
                empty: false,
            })
        })?;
        self.line.forget();
        self.begin_step();
        self.put(&bytes).await
    }

    async fn send_request(&mut self, send: &HttpSend) -> Result<(), Stop> {
        let sends = |step: &&Arc<Step>| matches!(step.action, StepAction::HttpSend(_));
        let first = self.script.steps.iter().find(sends);
        let first = first.is_some_and(
            |step| matches!(&step.action, StepAction::HttpSend(first) if std::ptr::eq(first, send)),
        );
        let base = first.then_some((&self.script.request, self.script.request_wins));
        let state = self.script.send_state.then(|| state_header::text(self.worker, &self.subject));
        let request = send.build(base, state.as_deref(), &self.scene());
        self.line.forget();
        self.begin_step();
        self.asked = true;
        let Some(talk) = &mut self.talk else { return self.put(&request).await };
        talk.begin_request(&request);
        let frames = talk.take_output();
        self.put(&frames).await
    }

    /// Hands received bytes to the protocol machine, and sends its output.
    async fn handle_received(&mut self) -> Result<(), Stop> {
        let Some(talk) = self.talk.as_mut().filter(|_| self.asked) else { return Ok(()) };
        talk.receive(self.line.received(), self.line.has_ended());
        let frames = talk.take_output();
        self.line.forget();
        if frames.is_empty() { Ok(()) } else { self.put(&frames).await }
    }

    async fn put(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        match self.line.send(bytes).await {
            Ok(()) => Ok(()),
            Err(ByteClientError::Late) => Err(Stop::Late(CheckStatus::L7Timeout)),
            // The server may have answered before it closed; if not, reading reports the error.
            Err(ByteClientError::Broken(_)) => Ok(()),
        }
    }

    async fn expect(&mut self, expect: &Expect, number: usize) -> Result<(), Stop> {
        loop {
            self.line.read().map_err(|trouble| match trouble {
                ByteClientError::Late => Stop::Late(known(expect.timeout_status())),
                ByteClientError::Broken(error) => Stop::Broken(error),
            })?;
            self.handle_received().await?;
            if let Some(judged) = self.judge(expect, number)? {
                let code = expect.code(&self.scene());
                self.code = code.or(self.code);
                self.set_result_text(judged);
                return Ok(());
            }
            match self.line.wait_for_more().await {
                Ok(()) => {}
                Err(ByteClientError::Late) => {
                    return Err(Stop::Late(known(expect.timeout_status())));
                }
                Err(ByteClientError::Broken(error)) => return Err(Stop::Broken(error)),
            }
        }
    }

    /// Evaluates the received bytes; `None` if more are needed, otherwise the text for the result.
    fn judge(&mut self, expect: &Expect, number: usize) -> Result<Option<Option<Vec<u8>>>, Stop> {
        let mut ended = self.line.has_ended();
        if self.asked {
            let parsed = match &self.talk {
                Some(talk) => talk.reply().map(|reply| reply.cloned()),
                None => Reply::parse(self.line.received(), ended),
            };
            self.reply = match parsed {
                Ok(Some(reply)) => Some(reply),
                Ok(None) => return Ok(None),
                Err(Malformed) => {
                    let (status, info) = (Status::L7Response, Vec::new());
                    return Err(Stop::Failed(Failure { status, info, code: None, empty: false }));
                }
            };
        }
        if let Some(reply) = &self.reply {
            ended = reply.complete;
            let status = reply.head.status();
            self.code = Some(status.into());
            if status == 404 && self.script.disable_on_404 {
                return Err(Stop::Conditional);
            }
        }
        let scene = self.scene();
        let got = Received { bytes: scene.bytes, ended, http: self.reply.is_some() };
        match expect.judge(got, number, &scene) {
            ExpectResult::More => Ok(None),
            ExpectResult::Passed(info) => Ok(Some(info)),
            ExpectResult::Failed(failure) => Err(Stop::Failed(failure)),
        }
    }

    /// The result of a check that the step at `index` ended.
    fn stopped(&mut self, stop: Stop, index: Option<usize>) -> CheckResult {
        let comment = index.and_then(|index| self.script.comment(index));
        match stop {
            Stop::Failed(failure) => {
                self.code = failure.code.or(self.code);
                let mut info = failure.info;
                if let Some(comment) = comment {
                    let quote = if failure.empty { "'" } else { "" };
                    info.extend(format!(" comment: {quote}{comment}{quote}").into_bytes());
                }
                self.result(known(failure.status), &info)
            }
            Stop::Late(status) => self.placed(result::plain(status, ""), index, comment),
            Stop::Unconnected(error) => self.placed(result::unconnected(&error), index, comment),
            Stop::Broken(error) => self.placed(result::broken(&error), index, comment),
            Stop::Unencrypted(why) => {
                self.placed(result::plain(CheckStatus::L6Response, why), index, comment)
            }
            Stop::Conditional => self.result(CheckStatus::L7OkConditional, b""),
        }
    }

    /// With `option tcp-check` messages name the step, even in a script without steps.
    fn placed(
        &self,
        mut result: CheckResult,
        index: Option<usize>,
        comment: Option<&str>,
    ) -> CheckResult {
        let told = matches!(self.subject.back.settings.check, settings::Check::Script(_));
        if self.script.kind != Kind::Tcp || !told {
            return result;
        }
        match index.and_then(|index| self.script.steps.get(index)) {
            None => result.info.push_str(" at initial connection step of tcp-check"),
            Some(step) => {
                let place = format!(" at step {} of tcp-check ({})", step.number, step.describe());
                result.info.push_str(&place);
                if let Some(comment) = comment {
                    result.info.push_str(&format!(" comment: '{comment}'"));
                }
            }
        }
        result
    }

    fn result(&self, status: CheckStatus, info: &[u8]) -> CheckResult {
        // The text ends at a NUL.
        let info = info.split(|byte| *byte == 0).next().unwrap_or_default();
        let info = &info[..info.len().min(INFO)];
        let info = String::from_utf8_lossy(info).into_owned();
        let tells = matches!(
            status,
            CheckStatus::L7Ok | CheckStatus::L7OkConditional | CheckStatus::L7Status
        );
        let code = tells.then(|| self.code.unwrap_or(0).try_into().unwrap_or(i32::MAX));
        CheckResult { status, code, info, duration_ms: 0 }
    }
}

fn known(status: Status) -> CheckStatus {
    match status {
        Status::L4Ok => CheckStatus::L4Ok,
        Status::L4Timeout => CheckStatus::L4Timeout,
        Status::L4Connection => CheckStatus::L4Connection,
        Status::L6Ok => CheckStatus::L6Ok,
        Status::L6Timeout => CheckStatus::L6Timeout,
        Status::L6Response => CheckStatus::L6Response,
        Status::L7Ok => CheckStatus::L7Ok,
        Status::L7OkConditional => CheckStatus::L7OkConditional,
        Status::L7Timeout => CheckStatus::L7Timeout,
        Status::L7Response => CheckStatus::L7Response,
        Status::L7Status => CheckStatus::L7Status,
    }
}
