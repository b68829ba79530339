//! Sessions of proxies in TCP mode: bytes both ways. Never looks at them.

use crate::client::Client;

/// Serves one session.
pub(crate) async fn run(_client: Client) {}
