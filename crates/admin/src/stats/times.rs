//! Where the histograms of a row are kept. Never counts.

use super::Kind;
use proxy::latency::Span;
use proxy::runtime::{Proxy, Server};
use stdx::Summary;

/// How long things took at one side of a proxy, or at a server of it, in microseconds; `None` for
/// what keeps none of its own.
pub(crate) fn summary(
    proxy: &Proxy,
    kind: Kind,
    server: Option<&Server>,
    span: Span,
) -> Option<Summary> {
    match kind {
        Kind::Frontend => Some(proxy.front.as_ref()?.counters.latencies.summary(span)),
        // Those of all servers, also of those that are gone.
        Kind::Backend => Some(proxy.back.as_ref()?.latencies(span)),
        Kind::Server => Some(server?.counters.latencies.summary(span)),
        // Its times are its frontend's.
        Kind::Listener => None,
    }
}
