//! Services of scripts: the other end of a request that a server would answer.

use crate::message::script_facts::{ServiceFacts, facts_of};
use engine::io::kept_payload::{self, MemoryShort};
use engine::io::script_state;
use engine::io::script_state::enter;
use engine::state::session::transaction::Transaction;
use engine::state::worker::Worker;
use htx::Head;
use mux::BodyKind;
use reactor::Class;
use rules::ScriptService;
use sample::Facts;
use script::{
    Answer, Call, Cell, Host, HttpRequest, LocalReply, Private, Request, Script, ScriptError, Step,
    Subject,
};
use std::rc::Rc;
use transport::streams::LocalExchange;

/// The most bytes of a body that a script may have at once.
const MAX_BODY: usize = 64 << 20;
const TOO_LARGE: &str = "the body is too large to be read at once";
/// Bytes read from the request at once.
const PIECE: usize = 16 << 10;

/// Starts the service on a task of its own.
pub(crate) fn start(tx: &Transaction, service: &'static ScriptService, exchange: LocalExchange) {
    let (worker, facts) = (tx.worker.clone(), facts_of(tx));
    let task = async move { serve(&worker, service, facts, exchange).await };
    tx.worker.thread.scheduler().spawn(Class::Normal, task);
}

/// Starts the service of a session in TCP mode on a task of its own.
pub(crate) fn start_tcp(
    tx: &Transaction,
    service: &'static ScriptService,
    exchange: LocalExchange,
) {
    let (worker, facts) = (tx.worker.clone(), facts_of(tx));
    let task = async move { serve_tcp(&worker, service, facts, exchange).await };
    tx.worker.thread.scheduler().spawn(Class::Normal, task);
}

async fn serve(
    worker: &Rc<Worker>,
    service: &'static ScriptService,
    mut facts: ServiceFacts,
    exchange: LocalExchange,
) {
    let Ok((head, body)) = exchange.request().await else { return };
    facts.request = head;
    let Some(scripts) = worker.shared.scripts.get().cloned() else { return };
    let Some(cell) = scripts.cell(service.per_thread, worker.thread.index) else { return };
    let mut run = ServiceRun::new(worker, cell, facts, (exchange, body.is_empty()));
    let length = match body {
        BodyKind::Length(length) => Some(length),
        _ if body.is_empty() => Some(0),
        _ => None,
    };
    let head = run.host.facts.request.clone();
    let subject = Subject::AppletHttp(HttpRequest { head: &head, length });
    let step = run.begin(service, subject, scripts.timeouts.service).await;
    run.end(has_failed(worker, service, "http", &step)).await;
}

async fn serve_tcp(
    worker: &Rc<Worker>,
    service: &'static ScriptService,
    facts: ServiceFacts,
    exchange: LocalExchange,
) {
    let Some(scripts) = worker.shared.scripts.get().cloned() else { return };
    let Some(cell) = scripts.cell(service.per_thread, worker.thread.index) else { return };
    let mut run = ServiceRun::new(worker, cell, facts, (exchange, false));
    let step = run.begin(service, Subject::AppletTcp, scripts.timeouts.service).await;
    has_failed(worker, service, "tcp", &step);
    run.host.exchange.finish(None);
}

/// Reports the failure of a service. `false`: the service has not failed.
fn has_failed(worker: &Worker, service: &ScriptService, kind: &str, step: &Step) -> bool {
    let Step::Failed(fault) = step else { return false };
    let number = if service.per_thread { worker.thread.index as u32 + 1 } else { 0 };
    let (name, text) = (&service.name, fault.text(number));
    script::alert(&format!("Lua applet {kind} '<lua.{name}>': {text}"));
    true
}

/// A service that runs.
struct ServiceRun<'r> {
    worker: &'r Rc<Worker>,
    cell: &'r Cell,
    host: ServiceHost,
    /// Payload that was read and is not taken yet.
    ahead: Vec<u8>,
    /// The request has been read to its end.
    ended: bool,
    /// Memory was short for its body.
    short: bool,
}

/// The outcome of reading a piece of a request.
#[derive(PartialEq, Eq)]
enum Filled {
    More,
    End,
    /// There is no memory for more.
    Short,
}

impl<'r> ServiceRun<'r> {
    /// A service that has not begun: its exchange, and whether its request has no body.
    fn new(
        worker: &'r Rc<Worker>,
        cell: &'r Cell,
        facts: ServiceFacts,
        (exchange, ended): (LocalExchange, bool),
    ) -> Self {
        let host = ServiceHost { facts, exchange, private: Private::default(), started: false };
        Self { worker, cell, host, ahead: Vec::new(), ended, short: false }
    }

    /// Runs the script to its end.
    async fn begin(&mut self, service: &ScriptService, subject: Subject<'_>, limit: u64) -> Step {
        let call = Call::Service(&service.name);
        let mut state = enter(self.worker, self.cell).await;
        let (mut step, mut script) = state.start(call, subject, &[], limit, &mut self.host);
        drop(state);
        while let (Step::Waits(request), Some(script)) = (&step, &mut script) {
            let Some(answer) = self.meet(request.clone()).await else { return Step::Ended };
            step = self.resume(script, answer).await;
        }
        step
    }

    async fn resume(&mut self, script: &mut Script, answer: Answer) -> Step {
        let mut state = enter(self.worker, self.cell).await;
        // The variables belong to another transaction once this one has ended.
        match self.host.exchange.is_abandoned() {
            true => Step::Ended,
            false => state.resume(script, answer, &mut self.host),
        }
    }

    /// Carries out the operation that the script waits for; `None`: the transaction has ended.
    async fn meet(&mut self, request: Request) -> Option<Answer> {
        Some(match request {
            Request::Send(bytes) => {
                self.host.exchange.send(&bytes).await.ok()?;
                Answer::Number(bytes.len() as i64)
            }
            Request::Receive(size) => self.receive(size.unwrap_or(usize::MAX)).await?,
            Request::Line => self.line().await?,
            // Other work ends with the transaction.
            request => {
                let work = script_state::meet(self.worker, request);
                self.host.exchange.alongside(work).await.ok()?
            }
        })
    }

    /// Reads a piece of the request.
    async fn fill(&mut self) -> Option<Filled> {
        if self.ended {
            return Some(Filled::End);
        }
        let mut piece = [0; PIECE];
        let Ok(received) = self.receive_piece(&mut piece).await else {
            (self.short, self.ahead) = (true, Vec::new());
            return Some(Filled::Short);
        };
        let count = received?;
        self.ended = count == 0;
        self.ahead.extend_from_slice(&piece[..count]);
        Some(if self.ended { Filled::End } else { Filled::More })
    }

    /// Reads a piece within the memory budget, and makes room for it. The inner `None`: the
    /// transaction has ended.
    async fn receive_piece(&mut self, piece: &mut [u8]) -> Result<Option<usize>, MemoryShort> {
        let exchange = &self.host.exchange;
        let grow = kept_payload::grow(self.worker, &mut self.ahead, piece.len());
        let Ok(room) = exchange.alongside(grow).await else { return Ok(None) };
        room?;
        let held = self.ahead.len();
        let received = kept_payload::wait(self.worker, held, exchange.receive(piece)).await?;
        if received == Ok(0) {
            // The script gets a copy.
            let copy = kept_payload::admit(self.worker, held, held);
            let Ok(room) = exchange.alongside(copy).await else { return Ok(None) };
            room?;
        }
        Ok(received.ok())
    }

    async fn receive(&mut self, size: usize) -> Option<Answer> {
        while self.ahead.len() < size {
            match Box::pin(self.fill()).await? {
                Filled::More if self.ahead.len() > MAX_BODY => {
                    return Some(Answer::Failed(TOO_LARGE.to_owned()));
                }
                Filled::More => {}
                Filled::End => break,
                Filled::Short => return Some(Answer::Failed(kept_payload::SHORT.to_owned())),
            }
        }
        let rest = self.ahead.split_off(self.ahead.len().min(size));
        Some(Answer::Bytes(std::mem::replace(&mut self.ahead, rest)))
    }

    async fn line(&mut self) -> Option<Answer> {
        let mut seen = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.ahead[seen..]) {
                return self.receive(seen + at + 1).await;
            }
            seen = self.ahead.len();
            if seen > MAX_BODY {
                return self.receive(seen).await;
            }
            match Box::pin(self.fill()).await? {
                Filled::More => {}
                Filled::End => return self.receive(seen).await,
                Filled::Short => return Some(Answer::Failed(kept_payload::SHORT.to_owned())),
            }
        }
    }

    /// Ends the response; a service that has not begun one is an error.
    async fn end(self, failed: bool) {
        let exchange = self.host.exchange;
        if self.host.started {
            if !failed {
                exchange.finish(None);
            }
            return;
        }
        let mut head = Head::default();
        let status = if self.short { 503 } else { 500 };
        let text = htx::error_replies::fill(status, &mut head).unwrap_or_default();
        if exchange.respond(head).is_ok() && exchange.send(text.as_bytes()).await.is_ok() {
            exchange.finish(None);
        }
    }
}

/// The host of a service.
struct ServiceHost {
    facts: ServiceFacts,
    exchange: LocalExchange,
    private: Private,
    started: bool,
}

impl Host for ServiceHost {
    fn facts(&self) -> Option<&dyn Facts> {
        Some(&self.facts)
    }

    fn private(&mut self) -> Option<&mut Private> {
        Some(&mut self.private)
    }

    fn start_response(&mut self, reply: LocalReply) -> Result<(), ScriptError> {
        let mut head = Head::default();
        reply.write_head(&mut head);
        head.remove(b"transfer-encoding");
        self.started = true;
        // A transaction that has ended reads nothing more; the next wait ends the script.
        let _ = self.exchange.respond(head);
        Ok(())
    }
}
