//! Protocol upgrades (RFC 9110 section 7.8) and the websocket handshake (RFC 6455 section 4).

use htx::{Head, HeaderId, list};
use wire::upgrade::{is_allowed, items};

use super::persistence::{self, Options};

/// The upgrade that a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedUpgrade {
    /// `Connection: upgrade` with an `RequestedUpgrade` field.
    pub(super) asked: bool,
    /// Websocket is among the protocols asked for.
    pub(super) websocket: bool,
}

/// The upgrade that this request asks for.
#[inline]
pub(super) fn of_request(head: &Head, options: Options) -> RequestedUpgrade {
    let asked = options.upgrade && head.has(HeaderId::Upgrade);
    RequestedUpgrade { asked, websocket: asked && names_websocket(head) }
}

/// Removes from `RequestedUpgrade` malformed items, and protocols whose requests would bypass the
/// rules. An `RequestedUpgrade` that becomes empty, or that `Connection` does not name, is removed
/// with its option, and so is `HTTP2-Settings`. Returns whether an upgrade is left.
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

/// The first `RequestedUpgrade` field from `from` on with something to remove, and its remaining
/// value.
fn next_to_prune(head: &Head, from: usize) -> Option<(usize, Vec<u8>)> {
    let whole = |value: &[u8]| items(value).all(is_allowed) && items(value).next().is_some();
    let mut fields = head.by_id(HeaderId::Upgrade);
    let field = fields.find(|field| field.index >= from && !whole(field.value))?;
    let kept: Vec<_> = items(field.value).filter(|item| is_allowed(item)).collect();
    Some((field.index, kept.join(&b", "[..])))
}

/// Whether a websocket request has a key of the right length: sixteen bytes in base64 (RFC 6455
/// section 4.1).
pub(super) fn has_key(head: &Head) -> bool {
    head.first(HeaderId::SecWebSocketKey).is_some_and(|field| field.value.len() == 24)
}

/// The reason why a 101 does not match the request; `None` if it does.
pub(super) fn refusal(
    head: &Head,
    options: Options,
    asked: RequestedUpgrade,
) -> Option<&'static str> {
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
