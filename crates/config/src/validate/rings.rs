//! The rings that log lines name.
use crate::context::Cx;
use crate::diag::{Diagnostic, Severity};
use crate::model::{LogTransport, Ring, SendHostname};

/// The ring that is there without a section.
const OWN: &str = "buf0";

/// An alert for each log line about a ring that is not there, a warning where a proxy has it; what
/// rings are without a `format`.
pub(super) fn complete(
    mut rings: Vec<Ring>,
    hostname: &SendHostname,
    cx: &mut Cx<'_>,
) -> Vec<Ring> {
    rings.extend(cx.implicit_rings.take());
    if *hostname != SendHostname::No {
        let usual = rings.iter_mut().filter(|ring| ring.default_format);
        usual.for_each(|ring| ring.format = LogTransport::Rfc3164);
    }
    let of_proxies = std::mem::take(&mut cx.proxy_rings).into_iter();
    let of_others = cx.rings.take().into_iter().map(|named| (Severity::Alert, named));
    for (severity, named) in of_proxies.map(|named| (Severity::Warning, named)).chain(of_others) {
        let name = &*named.value;
        if name == OWN || rings.iter().any(|ring| *ring.name == *name) {
            continue;
        }
        let message = format!("log : unable to find required ring '{name}'.");
        let mut told = Diagnostic::about(severity, &named.place, message);
        told.suggestion = crate::suggest::nearest(name, rings.iter().map(|ring| &*ring.name));
        cx.diagnostics.push(told);
    }
    rings
}
