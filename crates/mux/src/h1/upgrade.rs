//! Protocol upgrades (RFC 9110 section 7.8) and the websocket handshake (RFC 6455 section 4). Never
//! computes a websocket key: between HTTP/1 peers its presence is what is checked.

use htx::{Head, HeaderId, list};
use wire::upgrade::{is_allowed, items};

use super::persistence::{self, Options};

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

/// Removes from `Upgrade` the protocols in which requests follow, which no rule would evaluate, and
/// items of no valid form. An `Upgrade` of which nothing is left, or that `Connection` does not
/// name, is removed as a whole, and so is `HTTP2-Settings`, with their options. Whether an upgrade
/// is left.
#[inline]
pub(super) fn prune(head: &mut Head, options: Options) -> bool {
    let concerned =
        options.upgrade || head.has(HeaderId::Upgrade) || head.has(HeaderId::Http2Settings);
    concerned && prune_fields(head, options)
}

#[inline(never)]
fn prune_fields(head: &mut Head, options: Options) -> bool {
    let mut from = 0;
    while let Some((index, kept)) = next_to_prune(head, from) {
        match kept.is_empty() {
            true => head.remove_at(index),
            false => head.replace_value(index, &kept),
        };
        from = index + 1;
    }
    let left = options.upgrade && head.has(HeaderId::Upgrade);
    if !left {
        head.remove_id(HeaderId::Upgrade);
    }
    head.remove_id(HeaderId::Http2Settings);
    let goes = |item: &[u8]| {
        item.eq_ignore_ascii_case(b"http2-settings")
            || (!left && item.eq_ignore_ascii_case(b"upgrade"))
    };
    persistence::remove(head, &goes);
    left
}

/// The first `Upgrade` from `from` on that has something to be removed, and what is left of it.
fn next_to_prune(head: &Head, from: usize) -> Option<(usize, Vec<u8>)> {
    let whole = |value: &[u8]| items(value).all(is_allowed) && items(value).next().is_some();
    let mut fields = head.by_id(HeaderId::Upgrade);
    let field = fields.find(|field| field.index >= from && !whole(field.value))?;
    let kept: Vec<_> = items(field.value).filter(|item| is_allowed(item)).collect();
    Some((field.index, kept.join(&b", "[..])))
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
    let mut named = head.by_id(HeaderId::Upgrade).flat_map(|field| items(field.value));
    if !named.all(is_allowed) {
        return Some("101 to a protocol that nobody may ask for");
    }
    let keyless =
        asked.websocket && names_websocket(head) && !head.has(HeaderId::SecWebSocketAccept);
    keyless.then_some("101 to websocket without sec-websocket-accept")
}

fn names_websocket(head: &Head) -> bool {
    head.by_id(HeaderId::Upgrade).any(|f| list::has_token(f.value, b"websocket"))
}
