//! Local responses of the proxy: errors, redirects and replies of rules.

pub(crate) mod cached;

use engine::state::runtime::{Proxy, ProxyRef, Shared};
use engine::state::services::piece_stream::PieceStream;
use engine::state::services::{Answer, Body};
use engine::state::session::transaction::{LocalBody, Transaction};
use htx::{Head, Version};
use mux::BodyKind;
use observability::telemetry::accounting;
use observability::telemetry::sample_context::View;
use rules::{ErrorAnswer, ErrorFiles, Rendered};
use settings::ErrorReply;
use std::sync::Arc;
use transport::stats::counters::Metric;
use transport::stats::transaction_log::{Cause, Phase};

#[cfg(test)]
mod tests;

/// Prepares the reply for a failure: the one configured for its status, else the built-in one.
pub(crate) fn prepare_error(tx: &mut Transaction, status: u16) {
    tx.notes.journal.status = status;
    let reply = configured(tx, status);
    // Only responses over HTTP/1 can be sent as the bytes of an error file. The reply to the
    // preface of HTTP/2, whose head could be read, is encoded as others are, as in HAProxy.
    let is_preface = tx.space.request.method() == b"PRI";
    let as_it_is = tx.notes.journal.bad_request && tx.client.mux.is_h1() && !is_preface;
    match (reply, as_it_is) {
        (Some(ErrorReply::Reply(reply)), _) => {
            accounting::fill_record(tx, false);
            tx.space.response.clear();
            prepare_rendered(tx, |view, files, head, body| reply.render(view, files, head, body));
        }
        (Some(ErrorReply::File { raw, .. }), true) => verbatim(tx, &raw),
        (Some(ErrorReply::File { parsed, .. }), false) if parsed.is_silent() => {
            verbatim(tx, b"");
        }
        (Some(ErrorReply::File { parsed, .. }), false) => {
            tx.space.body.clear();
            let space = &mut *tx.space;
            parsed.render(&mut space.response, &mut space.body);
        }
        (None, false) => built_in(tx, status),
        (None, true) => {
            let mut bytes = tx.worker.take_scratch();
            htx::error_replies::raw(status, &mut bytes);
            verbatim(tx, &bytes);
            tx.worker.give_scratch(bytes);
        }
    }
}

/// The reply configured for a status: the backend's, else the frontend's.
fn configured(tx: &Transaction, status: u16) -> Option<ErrorReply> {
    let of = |proxy: &Proxy| proxy.error_reply(status).cloned();
    // The error files of a disabled backend are not used, as measured.
    let side = Some(tx.side()).filter(|side| !side.settings.disabled);
    side.and_then(of).or_else(|| of(&tx.client.proxy))
}

/// The error files in effect, for replies of rules.
pub(crate) struct Files {
    process: Arc<Shared>,
    /// The backend goes before the frontend.
    proxies: [Option<ProxyRef>; 2],
}

impl ErrorFiles for Files {
    fn find(&self, section: Option<&str>, status: u16) -> Option<ErrorAnswer<'_>> {
        let found = match section {
            Some(name) => self.process.settings.http_errors.get(name)?.get(&status),
            None => self.proxies.iter().flatten().find_map(|proxy| proxy.error_reply(status)),
        };
        found.map(ErrorReply::answer)
    }
}

/// Prepares the answer of a rule. `false`: close without a byte.
pub(crate) fn prepare_rendered(
    tx: &mut Transaction,
    render: impl FnOnce(&View<'_>, &Files, &mut Head, &mut Vec<u8>) -> Rendered,
) -> bool {
    let files = Files {
        process: tx.worker.shared.clone(),
        proxies: [
            tx.backend.as_ref().map(|backend| backend.common.clone()),
            Some(tx.client.proxy.common.clone()),
        ],
    };
    let mut body = std::mem::take(&mut tx.space.body);
    body.clear();
    // The formats of an answer that takes a response's place may name that response.
    let mut head = match tx.space.response.is_empty() {
        true => std::mem::take(&mut tx.space.response),
        false => Head::default(),
    };
    let rendered = render(&View::of(tx), &files, &mut head, &mut body);
    (tx.space.response, tx.space.body) = (head, body);
    if rendered == Rendered::Send {
        return true;
    }
    verbatim(tx, b"");
    false
}

fn built_in(tx: &mut Transaction, status: u16) {
    let space = &mut *tx.space;
    space.body.clear();
    let body = htx::error_replies::fill(status, &mut space.response)
        .or_else(|| htx::error_replies::fill(500, &mut space.response));
    space.body.extend_from_slice(body.unwrap_or_default().as_bytes());
}

/// Sends bytes as they are, then closes.
fn verbatim(tx: &mut Transaction, bytes: &[u8]) {
    let space = &mut *tx.space;
    space.response.clear();
    space.body.clear();
    space.down.clear();
    space.down.outbox.bytes.extend_from_slice(bytes);
    tx.client.mux.close_after_message();
}

/// Makes the answer of a service the response.
pub(crate) fn prepare_answer(tx: &mut Transaction, answer: Answer) {
    debug_assert!(answer.head.version() == Version::Http11, "services speak HTTP/1.1");
    tx.space.response = answer.head;
    match answer.body {
        Body::Whole(bytes) => tx.space.body = bytes,
        Body::Pieces(pieces) => {
            tx.space.body.clear();
            tx.local_body = Some(LocalBody::Pieces(PieceStream::plain(pieces)));
        }
        Body::Compressed(pieces) => {
            tx.space.body.clear();
            tx.local_body = Some(LocalBody::Pieces(PieceStream::compressed(pieces)));
        }
    }
}

/// Counts an answer that a rule gave in place of the server's.
pub(crate) fn answered(tx: &mut Transaction, phase: Phase) {
    tx.notes.journal.end(Cause::Local, phase);
    accounting::count_both(tx, Metric::Intercepted);
}

/// How the body of the answer in the workspace is delimited.
pub(crate) fn body_kind(tx: &Transaction) -> BodyKind {
    match &tx.local_body {
        None => BodyKind::Length(tx.space.body.len() as u64),
        Some(LocalBody::Stored(hit)) if !hit.is_chunked() => BodyKind::Length(hit.left() as u64),
        Some(_) => BodyKind::Chunked,
    }
}
