//! The head of a response as a stream carries it, for HTTP/2 and HTTP/3.

use crate::{BodyKind, length};
use htx::{Head, HeaderId};

/// The request of a response that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseTo {
    /// HEAD.
    pub(crate) head_only: bool,
    /// CONNECT.
    pub(crate) connect: bool,
    /// An upgrade, as extended CONNECT.
    pub(crate) extended: bool,
}

/// The part of a response in the life of its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ResponsePart {
    /// An interim response: the final one follows.
    Interim,
    /// CONNECT is accepted: bytes of a tunnel follow.
    Tunnel,
    /// The final response; its stream ends with the head or not.
    Final { ends: bool },
}

/// A response whose head is adapted to what a stream can carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamResponse {
    /// The status that is sent.
    pub(crate) status: u16,
    pub(crate) body: BodyKind,
    pub(crate) part: ResponsePart,
}

/// Adapts the head of a response.
#[inline]
pub(crate) fn prepare(head: &mut Head, body: BodyKind, to: ResponseTo) -> StreamResponse {
    let status = head.status();
    if (100..200).contains(&status) && status != 101 {
        head.remove_id(HeaderId::ContentLength);
        return StreamResponse { status, body: BodyKind::None, part: ResponsePart::Interim };
    }
    if status == 101 && to.connect || (200..300).contains(&status) && to.connect && !to.extended {
        // An upgrade is accepted with 200 (RFC 8441 section 5, RFC 9220); a server that answers an
        // upgrade request with 200 has not upgraded, so that is an ordinary response.
        head.remove_id(HeaderId::ContentLength);
        head.remove_id(HeaderId::SecWebSocketAccept);
        let status = if status == 101 { 200 } else { status };
        return StreamResponse { status, body: BodyKind::Tunnel, part: ResponsePart::Tunnel };
    }
    // The dropped body of a HEAD response still belongs to the exchange, which ends with it.
    let drops = to.head_only && !body.is_empty();
    let body = response_body(head, body, to.head_only);
    let ends = body.is_empty() && !drops;
    StreamResponse { status, body, part: ResponsePart::Final { ends } }
}

/// The framing of a response body, with its head adapted.
fn response_body(head: &mut Head, body: BodyKind, head_only: bool) -> BodyKind {
    match head.status() {
        101 | 204 => {
            head.remove_id(HeaderId::ContentLength);
            return BodyKind::None;
        }
        304 => return BodyKind::None,
        _ if head_only => return BodyKind::None,
        _ => {}
    }
    match body {
        BodyKind::None | BodyKind::Length(0) => {
            length::announce(head, 0);
            BodyKind::None
        }
        BodyKind::Length(n) => {
            length::announce(head, n);
            body
        }
        BodyKind::Chunked | BodyKind::UntilClose | BodyKind::Tunnel => {
            head.remove_id(HeaderId::ContentLength);
            BodyKind::Chunked
        }
    }
}
