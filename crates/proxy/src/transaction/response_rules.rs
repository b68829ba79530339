//! The rules that a response passes, in the manual's order; each of them may wait.
//!
//! A response of a server passes all of them; one that a service makes passes those up to
//! `http-response` here, and `http-after-response` when it is sent, as every local answer.

use crate::transaction::filters;
use crate::transaction::http_rules;
use crate::transaction::stages::{checkcache, cookie, sticking};
use crate::transaction::tcp_content_rules;
use crate::transaction::wait;
use crate::transaction::wait::WaitingMessage;
use engine::state::session::pending::OutsideAnswer;
use engine::state::session::transaction::{Pause, Progress, ResponseStage, Transaction};
use mux::BodyKind;
use rules::{Cursor, Need, SpoeEvent};
use transport::stats::transaction_log::{Failure, Phase};

/// The start of the rules for a response whose body is delimited in this way.
pub(crate) fn begin(stage: ResponseStage, body: BodyKind) -> Progress {
    Progress { stage, proxy: 0, section: 0, cursor: Cursor::default(), body }
}

/// Applies the rules from `at` on, up to the stage `end`. The result is what a rule waits for.
///
/// # Errors
/// The response is refused, or replaced by the one that is in the workspace afterwards.
pub(crate) fn advance(
    tx: &mut Transaction,
    at: &mut Progress,
    end: ResponseStage,
) -> Result<Option<Need>, Failure> {
    while at.stage < end {
        let need = match at.stage {
            ResponseStage::TcpEvent => event(tx, at, SpoeEvent::TcpResponse),
            ResponseStage::TcpContent => tcp_content(tx, at)?,
            ResponseStage::HttpEvent => event(tx, at, SpoeEvent::HttpResponse),
            ResponseStage::Begins => {
                filters::response_begins(tx, at.body);
                None
            }
            ResponseStage::HttpResponse => http_rules::response(tx, at)?,
            ResponseStage::Sticking => stick(tx, at),
            ResponseStage::Head => {
                edit(tx, at)?;
                None
            }
            ResponseStage::HttpAfterResponse => http_rules::after_response(tx, at)?,
            ResponseStage::Done => None,
        };
        if need.is_some() {
            return Ok(need);
        }
        *at = begin(at.stage.next(), at.body);
    }
    Ok(None)
}

/// As [`advance`], for a response that waits at `pause`: waits, and goes on.
///
/// # Errors
/// As [`advance`]; what is waited for does not come in time.
pub(crate) async fn resume(
    tx: &mut Transaction,
    pause: Pause,
    end: ResponseStage,
) -> Result<Progress, Failure> {
    let Pause { mut at, need } = pause;
    let mut next = Some(need);
    while let Some(need) = next {
        let answer = wait::satisfy(tx, WaitingMessage::Response(at.body), need).await?;
        heed(tx, &mut at, answer)?;
        next = advance(tx, &mut at, end)?;
    }
    Ok(at)
}

/// Applies an answer to the rules that have waited for it.
fn heed(tx: &mut Transaction, at: &mut Progress, answer: OutsideAnswer) -> Result<(), Failure> {
    match at.stage {
        ResponseStage::TcpContent => tcp_content_rules::heed_whole(tx, at, answer),
        ResponseStage::HttpResponse | ResponseStage::HttpAfterResponse => {
            http_rules::heed_response(tx, at, answer)
        }
        _ => match answer {
            OutsideAnswer::Fail(failure) => Err(failure),
            _ => Ok(()),
        },
    }
}

/// Has agents asked about an event, once.
fn event(tx: &mut Transaction, at: &mut Progress, event: SpoeEvent) -> Option<Need> {
    let first = std::mem::replace(&mut at.section, 1) == 0;
    (first && filters::spoe::ask(tx, event)).then_some(Need::Answer)
}

fn tcp_content(tx: &mut Transaction, at: &mut Progress) -> Result<Option<Need>, Failure> {
    match tx.backend.clone().filter(|backend| backend.rules.answer) {
        Some(backend) => tcp_content_rules::whole_response(tx, &backend, at),
        None => Ok(None),
    }
}

fn stick(tx: &mut Transaction, at: &mut Progress) -> Option<Need> {
    let backend = tx.backend.as_ref().filter(|backend| backend.rules.sticking)?.clone();
    let stored = sticking::store(tx, &backend, &mut at.section);
    (!stored).then_some(Need::Answer)
}

/// Edits the head behind the rules: cookies, then what filters change.
fn edit(tx: &mut Transaction, at: &mut Progress) -> Result<(), Failure> {
    if matches!(tx.space.response.status(), 401 | 407) {
        note_challenge(tx);
    }
    checkcache::check(tx)?;
    cookie::response(tx);
    http_rules::afford(tx, Phase::Headers)?;
    at.body = filters::response(tx, at.body);
    Ok(())
}

/// The server has asked for credentials. The next request of the client should go to it again, and
/// over this connection alone if its authentication belongs to the connection.
fn note_challenge(tx: &mut Transaction) {
    tx.challenged = true;
    let binds = |value: &[u8]| {
        let scheme = value.split(|byte| *byte == b' ').next().unwrap_or(value);
        [&b"negotiate"[..], b"ntlm"].iter().any(|it| scheme.eq_ignore_ascii_case(it))
    };
    let head = &tx.space.response;
    let names: [&[u8]; 2] = [b"www-authenticate", b"proxy-authenticate"];
    let bound = names.iter().any(|name| head.all(name).any(|field| binds(field.value)));
    if let Some(server) = tx.server.as_mut().filter(|_| bound) {
        server.make_private();
    }
}
