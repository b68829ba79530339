//! What is shown beside a certificate: what its authority (RFC 6066 section 8) and logs (RFC 6962
//! section 3.3.1) say of it.

use openssl::ssl::SslRef;
use std::sync::Arc;

/// Who has it.
pub trait Attached: 'static {
    /// The response of an authority for the certificate that this session shows.
    fn staple(ssl: &SslRef) -> Option<Arc<Vec<u8>>>;

    /// What logs have promised of it.
    fn timestamps(ssl: &SslRef) -> Option<&[u8]>;
}
