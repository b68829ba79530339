//! Stages of a response besides its rules.
//!
//! A response of a server passes all of them; one that a service makes passes those up to
//! `http-response`, and `http-after-response` when it is sent, as every local answer.

use crate::filters;
use crate::stages::http_rules;
use crate::stages::stage::StageOutcome;
use crate::stages::{checkcache, cookie};
use engine::state::runtime::ProxyRef;
use engine::state::session::transaction::{Progress, Transaction};
use observability::telemetry::accounting;
use transport::stats::transaction_log::{Failure, Phase};

/// The head is there: it is counted, and recorded for logs.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn received(tx: &mut Transaction, _: &ProxyRef) -> Result<StageOutcome, Failure> {
    accounting::response_received(tx);
    Ok(StageOutcome::Next)
}

/// Filters see that a response begins.
///
/// # Errors
/// None: the table wants a result.
pub(crate) fn begins(
    tx: &mut Transaction,
    _: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    filters::response_begins(tx, at.body);
    Ok(StageOutcome::Next)
}

/// Stage: persistence cookies, and the checks of `checkcache`.
///
/// # Errors
/// The response must not be cached, and does not say so.
pub(crate) fn cookies(tx: &mut Transaction, _: &ProxyRef) -> Result<StageOutcome, Failure> {
    if matches!(tx.space.response.status(), 401 | 407) {
        note_challenge(tx);
    }
    checkcache::check(tx)?;
    cookie::response(tx);
    http_rules::afford(tx, Phase::Headers)?;
    Ok(StageOutcome::Next)
}

/// Filters edit the head, and say how the body is delimited behind them.
///
/// # Errors
/// A filter refuses it.
pub(crate) fn head(
    tx: &mut Transaction,
    _: &ProxyRef,
    at: &mut Progress,
) -> Result<StageOutcome, Failure> {
    at.body = filters::response_head(tx, at.body)?;
    at.body = filters::response(tx, at.body);
    Ok(StageOutcome::Next)
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
