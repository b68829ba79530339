//! The TLS side of the load: any certificate is accepted, and sessions are resumed.

use quinn_proto::crypto::rustls::QuicClientConfig;
use std::sync::Arc;
use testkit::quic_client::{self, AnyCertificate};

/// The settings of all connections, which share their sessions.
pub(crate) fn config() -> Arc<QuicClientConfig> {
    let verifier = Arc::new(AnyCertificate::without_signatures());
    let settings = quic_client::settings(verifier, &[], &[b"h3"]);
    Arc::new(QuicClientConfig::try_from(settings).expect("the provider has the first suite"))
}
