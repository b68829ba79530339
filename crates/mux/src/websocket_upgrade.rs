//! The key and its answer of a websocket request that came without them, as extended CONNECT.

use htx::{Head, HeaderId};
use wire::websocket;

/// The `Sec-WebSocket-Accept` that a server has to return for the key that was added here.
pub(crate) fn expected_accept(head: &Head, extended: bool) -> Option<Box<websocket::Accept>> {
    let key = extended.then(|| head.first(HeaderId::SecWebSocketKey))?;
    key.map(|key| Box::new(websocket::accept(key.value)))
}

/// A key for a websocket request, unique per connection.
pub(crate) fn websocket_key(seed: &mut u64) -> websocket::Key {
    let mut next = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        u128::from(*seed)
    };
    websocket::key(next() << 64 | next())
}
