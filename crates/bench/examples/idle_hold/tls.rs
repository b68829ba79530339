//! The TLS side of clients: any certificate is accepted.

use rustls::ClientConfig;
use rustls::client::Resumption;
use std::sync::Arc;
use testkit::quic_client::{self, AnyCertificate};

/// Settings with one protocol to offer; each connection makes a full handshake.
pub(crate) fn config(alpn: &[u8]) -> Arc<ClientConfig> {
    let verifier = Arc::new(AnyCertificate::without_signatures());
    let mut config = quic_client::settings(verifier, &[], &[alpn]);
    config.resumption = Resumption::disabled();
    Arc::new(config)
}
