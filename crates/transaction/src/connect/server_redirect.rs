//! Servers that clients are sent to themselves (`redir` on a server line).

use engine::state::session::transaction::Transaction;
use htx::target::Target;
use htx::{Method, Version};
use settings::Mode;
use transport::stats::transaction_log::{Cause, Failure, Phase};

/// The redirect in place of the claimed server's answer, if the server has `redir`: for GET and
/// HEAD; it serves other requests itself. The answer is in the workspace then.
pub(crate) fn instead_of(tx: &mut Transaction) -> Option<Failure> {
    let prefix = tx.claim.as_ref()?.server().settings.redirect.clone()?;
    let asks = matches!(tx.space.request.method_id(), Method::Get | Method::Head);
    if !asks || tx.client.mode != Mode::Http {
        return None;
    }
    let space = &mut *tx.space;
    let path = match space.request.target() {
        // The relative target would become a part of the host.
        Target::Relative(_) => return None,
        target => target.path_and_query()?,
    };
    let location = [&prefix, path].concat();
    let answer = &mut space.response;
    answer.clear();
    answer.set_response(Version::Http11, 302, b"Found");
    answer.push(b"cache-control", b"no-cache");
    answer.push(b"content-length", b"0");
    answer.push(b"location", &location);
    space.body.clear();
    // As in HAProxy, the connection closes after the redirect.
    tx.client.mux.close_after_message();
    Some(Failure::prepared(Cause::Local, Phase::Connect))
}
