//! The OCSP response (RFC 6066 section 8) and the SCT list (RFC 6962 section 3.3.1) that a server
//! sends with its certificate.

use openssl::ssl::SslRef;
use std::sync::Arc;

/// The source of both for a session.
pub trait Attached: 'static {
    /// The response of an authority for the certificate that this session shows.
    fn staple(ssl: &SslRef) -> Option<Arc<Vec<u8>>>;

    /// The SCT list.
    fn timestamps(ssl: &SslRef) -> Option<&[u8]>;
}
