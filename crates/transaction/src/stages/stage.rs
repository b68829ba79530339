//! A stage of a transaction, its outcome, and the drivers that run the stages that apply.
//!
//! The table is [`super::table`]. The usual stages are plain calls; a stage that has to wait
//! is continued in a future that is made then.

use crate::filters;
use crate::stages::table::{END, Pass, REQUEST, RESPONSE, SERVER, ServerPass, response_rows};
use crate::stages::wait;
use crate::stages::wait::WaitingMessage;
use engine::state::runtime::{Backend, BackendRef, Proxy, ProxyRef};
use engine::state::services::Service;
use engine::state::session::pending::OutsideAnswer;
use engine::state::session::transaction::{Pause, Progress, Transaction};
use mux::BodyKind;
use observability::telemetry::trace::points as trace;
use rules::{Need, Spoken};
use sample::Side;
use std::pin::Pin;
use transport::stats::transaction_log::{Cause, Ending, Failure, Phase};

/// The outcome of a stage.
#[derive(Debug)]
pub(crate) enum StageOutcome {
    /// The next stage follows.
    Next,
    /// The same; no further rule of the set has been evaluated.
    Allow,
    /// The stage continues at its progress once the need is met.
    Wait(Need),
    /// The response in the workspace is for the client.
    Respond(Respond),
    /// The request goes to this backend.
    Forward(BackendRef),
    /// The session continues in HTTP mode, in the protocol that the rule names, if it does.
    SwitchMode(Option<Spoken>),
    /// The bytes of the server that have arrived pass, then its connection ends.
    Close,
}

/// How the response in the workspace goes out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Respond {
    /// At once.
    Now,
    /// After `timeout tarpit`.
    Delayed,
    /// By way of the rules about responses, as one of a server: a cache has made it.
    Stored,
    /// A service makes it, in place of a server.
    Service(Service),
}

/// A future that a stage is continued in.
pub(crate) type StageFuture<'a> = Pin<Box<dyn Future<Output = Result<StageOutcome, Failure>> + 'a>>;

/// Applies an answer from outside to a stage that has waited for it; `None`: the stage continues.
pub(crate) type AnswerFn<P> =
    fn(&mut Transaction, &P, &mut Progress, OutsideAnswer) -> Result<Option<StageOutcome>, Failure>;

/// A handle on what stages of a request run for: a proxy as either side, or a backend.
pub(crate) trait StageSubject: Sized + 'static {
    /// The proxy or backend that decides which stages apply.
    type Side;
    /// The stages.
    const STAGES: &'static [Stage<Self>];
}

impl StageSubject for ProxyRef {
    type Side = Proxy;
    const STAGES: &'static [Stage<Self>] = REQUEST;
}

impl StageSubject for BackendRef {
    type Side = Backend;
    const STAGES: &'static [Stage<Self>] = SERVER;
}

/// A stage that runs in a future.
type LaterStage<P> = for<'a> fn(&'a mut Transaction, &'a P) -> StageFuture<'a>;

/// The function of a stage, and whether it may wait.
pub(crate) enum Run<P> {
    /// The stage never waits.
    Now(fn(&mut Transaction, &P) -> Result<StageOutcome, Failure>),
    /// The stage may return [`StageOutcome::Wait`].
    Waits(fn(&mut Transaction, &P, &mut Progress) -> Result<StageOutcome, Failure>, AnswerFn<P>),
    /// A future of a request's stage, where the first function wants it.
    Later(fn(&Transaction, &P) -> bool, LaterStage<P>),
}

/// A row of the table of stages.
pub(crate) struct Stage<P: StageSubject> {
    /// The keyword whose rules it runs, or a description.
    pub(crate) name: &'static str,
    /// The passes of a request in which it runs.
    pub(crate) scope: StageScope,
    /// Whether it runs in TCP mode as well.
    pub(crate) tcp: bool,
    /// Whether it applies; asked once per proxy or backend.
    pub(crate) applies: fn(&P::Side) -> bool,
    pub(crate) run: Run<P>,
    /// The trace point that is reported behind it.
    pub(crate) trace: Option<&'static trace::Point>,
}

/// The proxy, of those of a transaction, for which a stage runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StageScope {
    /// The frontend.
    Frontend,
    /// The frontend, and the backend if that is another proxy.
    Both,
    /// The backend, when it is entered.
    Enter,
    /// The backend, if it is another proxy than the frontend.
    OtherBackend,
    /// The backend, before a server is chosen.
    Server,
    /// The backend, once a server is connected.
    Connected,
    /// The row's own condition decides on responses.
    Response,
}

/// Runs the stages of a request in a pass over one proxy, until one decides.
///
/// # Errors
/// A stage ends the transaction.
pub(crate) fn request<'a>(
    tx: &'a mut Transaction,
    proxy: &'a ProxyRef,
    pass: Pass,
) -> impl Future<Output = Result<StageOutcome, Failure>> + 'a {
    let left = pass.rows(tx, proxy);
    run(tx, proxy, left)
}

/// As [`request`], of a request that continues in the rules of a stage at `at`.
///
/// # Errors
/// As [`request`].
pub(crate) async fn request_from(
    tx: &mut Transaction,
    proxy: &ProxyRef,
    pass: Pass,
    mut at: Progress,
) -> Result<StageOutcome, Failure> {
    let later_rows = pass.rows(tx, proxy) & !((2 << at.stage) - 1);
    let Run::Waits(first, _) = REQUEST[at.stage].run else { return Ok(StageOutcome::Next) };
    let step = match first(tx, proxy, &mut at)? {
        StageOutcome::Wait(need) => later(tx, proxy, Pause { at, need }).await?,
        step => step,
    };
    match step {
        StageOutcome::Next | StageOutcome::Allow => run(tx, proxy, later_rows).await,
        decided => Ok(decided),
    }
}

/// Runs the stages around the choice of a server, until one decides.
///
/// # Errors
/// A stage ends the transaction.
pub(crate) fn server<'a>(
    tx: &'a mut Transaction,
    backend: &'a BackendRef,
    pass: ServerPass,
) -> impl Future<Output = Result<StageOutcome, Failure>> + 'a {
    let left = pass.rows(tx, backend);
    run(tx, backend, left)
}

/// Runs the stages of the rows that are left, until one decides.
async fn run<P: StageSubject>(
    tx: &mut Transaction,
    proxy: &P,
    mut left: u32,
) -> Result<StageOutcome, Failure> {
    loop {
        let step = match at_once(tx, proxy, &mut left)? {
            AtOnce::Decided(step) => return Ok(step),
            AtOnce::Waits(pause) => Box::pin(later(tx, proxy, *pause)).await?,
            AtOnce::Runs(number, run) => {
                let step = run(tx, proxy).await?;
                report(tx, &P::STAGES[number], Side::Request);
                step
            }
        };
        if !matches!(step, StageOutcome::Next | StageOutcome::Allow) {
            return Ok(step);
        }
    }
}

/// The end of a part of a pass that needs no future.
enum AtOnce<P> {
    /// A stage has decided, or all have run.
    Decided(StageOutcome),
    /// A stage waits. Boxed, so that the usual result is small.
    Waits(Box<Pause>),
    /// The stage of this number runs in a future.
    Runs(usize, LaterStage<P>),
}

/// Runs the stages that are left up to one that needs a future. This is a plain function, so that
/// the usual request keeps its state in registers.
fn at_once<P: StageSubject>(
    tx: &mut Transaction,
    proxy: &P,
    left: &mut u32,
) -> Result<AtOnce<P>, Failure> {
    while *left != 0 {
        let number = left.trailing_zeros() as usize;
        *left &= *left - 1;
        let stage = &P::STAGES[number];
        let step = match stage.run {
            Run::Now(run) => run(tx, proxy)?,
            Run::Waits(run, _) => {
                let mut at = Progress::at(number, BodyKind::None);
                match run(tx, proxy, &mut at)? {
                    StageOutcome::Wait(need) => {
                        return Ok(AtOnce::Waits(Box::new(Pause { at, need })));
                    }
                    step => step,
                }
            }
            Run::Later(wanted, run) if wanted(tx, proxy) => return Ok(AtOnce::Runs(number, run)),
            Run::Later(..) => StageOutcome::Next,
        };
        report(tx, stage, Side::Request);
        match step {
            StageOutcome::Next | StageOutcome::Allow => {}
            decided => return Ok(AtOnce::Decided(decided)),
        }
    }
    Ok(AtOnce::Decided(StageOutcome::Next))
}

/// Continues a stage of a request that waits.
async fn later<P: StageSubject>(
    tx: &mut Transaction,
    proxy: &P,
    Pause { mut at, mut need }: Pause,
) -> Result<StageOutcome, Failure> {
    let Stage { run: Run::Waits(run, apply_answer), scope, .. } = P::STAGES[at.stage] else {
        return Ok(StageOutcome::Next);
    };
    let waiting = match scope {
        StageScope::Connected => WaitingMessage::Response(at.body),
        _ => WaitingMessage::Request,
    };
    loop {
        let answer = wait::satisfy(tx, waiting, need).await?;
        let step = match apply_answer(tx, proxy, &mut at, answer)? {
            Some(step) => step,
            None => run(tx, proxy, &mut at)?,
        };
        if let StageOutcome::Wait(next) = step {
            need = next;
            continue;
        }
        report(tx, &P::STAGES[at.stage], Side::Request);
        return Ok(step);
    }
}

/// Runs the stages of a response from `at` on, up to the one of number `end`. The result is what a
/// stage waits for.
///
/// # Errors
/// The response is refused, or replaced by the one that is in the workspace afterwards.
pub(crate) fn response(
    tx: &mut Transaction,
    at: &mut Progress,
    end: usize,
) -> Result<Option<Need>, Failure> {
    let front = tx.client.proxy.common.clone();
    let mut left = response_rows(tx) & ((1 << end) - (1 << at.stage));
    while left != 0 {
        let number = left.trailing_zeros() as usize;
        left &= left - 1;
        if number != at.stage {
            *at = at.next(number);
        }
        let stage = &RESPONSE[number];
        let step = match stage.run {
            Run::Now(run) => run(tx, &front)?,
            Run::Waits(run, _) => run(tx, &front, at)?,
            Run::Later(..) => StageOutcome::Next,
        };
        match step {
            StageOutcome::Wait(need) => return Ok(Some(need)),
            StageOutcome::Respond(respond) => return Err(replaced(respond)),
            _ => report(tx, stage, Side::Response),
        }
    }
    at.stage = end;
    Ok(None)
}

/// The end of the response of a server that another one replaces.
fn replaced(respond: Respond) -> Failure {
    match respond {
        Respond::Stored => Failure::new(Ending::FromCache, Cause::Normal, Phase::Headers),
        _ => Failure::prepared(Cause::Proxy, Phase::Headers),
    }
}

/// As [`response`], for a response that waits at `pause`: waits, and continues.
///
/// # Errors
/// As [`response`]; the time for the need is over.
pub(crate) async fn resume(
    tx: &mut Transaction,
    pause: Pause,
    end: usize,
) -> Result<Progress, Failure> {
    let Pause { mut at, need } = pause;
    let mut next = Some(need);
    while let Some(need) = next {
        answer(tx, &mut at, need).await?;
        next = response(tx, &mut at, end)?;
    }
    Ok(at)
}

/// Meets the need of the stage of a response at `at`, and applies the answer to it.
///
/// # Errors
/// The response is refused or replaced, or what is waited for does not come in time.
pub(crate) async fn answer(
    tx: &mut Transaction,
    at: &mut Progress,
    need: Need,
) -> Result<(), Failure> {
    let front = tx.client.proxy.common.clone();
    let waiting = WaitingMessage::Response(at.body);
    let answer = wait::satisfy(tx, waiting, need).await?;
    if let Run::Waits(_, apply_answer) = RESPONSE[at.stage].run {
        match apply_answer(tx, &front, at, answer)? {
            None => {}
            Some(StageOutcome::Respond(respond)) => return Err(replaced(respond)),
            Some(_) => *at = at.next(at.stage + 1),
        }
    }
    Ok(())
}

/// Runs the stages of the response of a session in TCP mode up to one that needs bytes of the
/// server; the result is where they continue then, if one does.
///
/// # Errors
/// As [`response`] and [`answer`].
pub(crate) async fn begin_session(tx: &mut Transaction) -> Result<Option<Progress>, Failure> {
    let mut at = Progress::at(0, BodyKind::None);
    loop {
        match response(tx, &mut at, END)? {
            None => return Ok(None),
            Some(Need::Bytes) => return Ok(Some(at)),
            Some(need) => answer(tx, &mut at, need).await?,
        }
    }
}

/// For stages with conditions that wait: the next evaluation of the condition finds the answer.
///
/// # Errors
/// The asker fails the transaction.
pub(crate) fn apply_condition_answer<P>(
    _: &mut Transaction,
    _: &P,
    _: &mut Progress,
    answer: OutsideAnswer,
) -> Result<Option<StageOutcome>, Failure> {
    match answer {
        OutsideAnswer::Fail(failure) => Err(failure),
        _ => Ok(None),
    }
}

/// Reports a stage that has run to traces and filters.
#[inline]
fn report<P: StageSubject>(tx: &mut Transaction, stage: &'static Stage<P>, side: Side) {
    if let Some(point) = stage.trace {
        trace::at(tx, point);
    }
    filters::analyzed(tx, stage.name, side);
}
