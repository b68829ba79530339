//! Protocol upgrades (RFC 9110 section 7.8) and the websocket handshake (RFC 6455 section 4). Never
//! computes a websocket key: between HTTP/1 peers its presence is what is checked.

use htx::{Head, HeaderId, list};

use super::persistence::Options;

/// What a request asks to become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Upgrade {
    /// `Connection: upgrade` with an `Upgrade` field.
    pub(super) asked: bool,
    /// One of the protocols asked for is websocket.
    pub(super) websocket: bool,
}

/// What this request asks to become.
#[inline]
pub(super) fn of_request(head: &Head, options: Options) -> Upgrade {
    let asked = options.upgrade && head.has(HeaderId::Upgrade);
    Upgrade { asked, websocket: asked && names_websocket(head) }
}

/// Whether a request may ask for websocket as it does: it needs a key, which is as long as sixteen
/// bytes in base64 (RFC 6455 section 4.1).
pub(super) fn has_key(head: &Head) -> bool {
    head.first(HeaderId::SecWebSocketKey).is_some_and(|field| field.value.len() == 24)
}

/// Why a 101 does not answer the request; `None` when it does.
pub(super) fn refusal(head: &Head, options: Options, asked: Upgrade) -> Option<&'static str> {
    if !asked.asked {
        return Some("101 without an upgrade asked for");
    }
    if !options.upgrade {
        return Some("101 without connection: upgrade");
    }
    let keyless =
        asked.websocket && names_websocket(head) && !head.has(HeaderId::SecWebSocketAccept);
    keyless.then_some("101 to websocket without sec-websocket-accept")
}

fn names_websocket(head: &Head) -> bool {
    head.by_id(HeaderId::Upgrade).any(|f| list::has_token(f.value, b"websocket"))
}
