//! Heads for peers that wrongly tell upper from lower case in header names (`h1-case-adjust`).

use engine::state::thread_handle::LocalFrontend;
use engine::state::worker::Worker;
use htx::Head;
use mux::BodyKind;
use transport::codec::Machine;

/// Writes the head of a response as the clients of `proxy` want it; see [`Machine::encode_head`].
pub(crate) fn response(
    worker: &Worker,
    front: &LocalFrontend,
    mux: &mut Machine,
    head: (&mut Head, BodyKind),
    out: &mut Vec<u8>,
) -> BodyKind {
    encode(front.front.settings.adjusts_case, worker, mux, head, out)
}

/// The same for a request, by the settings of `proxy` for its servers.
pub(crate) fn request(
    worker: &Worker,
    adjusts: bool,
    mux: &mut Machine,
    head: (&mut Head, BodyKind),
    out: &mut Vec<u8>,
) -> BodyKind {
    encode(adjusts, worker, mux, head, out)
}

#[inline]
fn encode(
    adjusts: bool,
    worker: &Worker,
    mux: &mut Machine,
    (head, body): (&mut Head, BodyKind),
    out: &mut Vec<u8>,
) -> BodyKind {
    match adjusts {
        false => mux.encode_head(head, body, out),
        true => adjusted(worker, mux, head, body, out),
    }
}

#[inline(never)]
fn adjusted(
    worker: &Worker,
    mux: &mut Machine,
    head: &mut Head,
    body: BodyKind,
    out: &mut Vec<u8>,
) -> BodyKind {
    let names = &worker.shared.settings.header_case;
    mux.encode_head_with_case(head, body, &|name| names.get(name).map(Vec::as_slice), out)
}
