//! The TLS side of a QUIC client that accepts any certificate (`quinn-proto` with rustls).

use quinn_proto::crypto::{CryptoError, HmacKey};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme, SupportedCipherSuite};
use std::sync::Arc;
use stdx::Mutex;

/// A verifier that accepts any certificate and keeps the last one.
#[derive(Debug, Default)]
pub struct AnyCertificate {
    last: Mutex<Vec<u8>>,
    skips_signatures: bool,
}

impl AnyCertificate {
    /// A verifier that does not check signatures either, so that a load generator spends less on a
    /// handshake.
    pub fn without_signatures() -> Self {
        Self { skips_signatures: true, ..Self::default() }
    }

    /// The last certificate, DER; empty before the first one.
    pub fn last(&self) -> Vec<u8> {
        self.last.lock().clone()
    }
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        *self.last.lock() = end_entity.to_vec();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if self.skips_signatures {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = ring::default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Settings of a client with TLS 1.3, these cipher suites (all, if there are none) and protocols.
///
/// # Panics
/// The suites have none of TLS 1.3.
pub fn settings(
    verifier: Arc<AnyCertificate>,
    suites: &[SupportedCipherSuite],
    protocols: &[&[u8]],
) -> ClientConfig {
    let mut provider = ring::default_provider();
    if !suites.is_empty() {
        provider.cipher_suites = suites.to_vec();
    }
    let mut settings = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the suites are of TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    settings.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    settings
}

/// The key of stateless resets, for a client: servers ignore its resets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoResets;

impl HmacKey for NoResets {
    fn sign(&self, _: &[u8], signature_out: &mut [u8]) {
        signature_out.fill(1);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }
}
