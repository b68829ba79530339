//! Properties of a session for sample fetches (manual section 7.3.4).

use crate::acceptor;
use crate::certificate_fields::{CertificateFields, chain_der};
use crate::client_hello_capture::{Capture, Offer};
use crate::conn::Conn;
use crate::key_log::KeyLog;
use crate::verify_result::{Checked, VerifyResult};
use openssl::ssl::NameType;

/// The longest Finished message (SHA-384).
const FINISHED: usize = 64;
/// The cipher of a session that has none yet.
const NO_CIPHER: &str = "(NONE)";

impl Conn {
    /// The protocol that both sides have chosen (RFC 7301).
    pub fn alpn(&self) -> Option<&[u8]> {
        self.library().selected_alpn_protocol()
    }

    /// The protocol that the client chose from the server's list (NPN).
    pub fn npn(&self) -> Option<&[u8]> {
        ffi::next_protocol(self.library())
    }

    /// The protocol that ALPN or NPN has chosen, if any.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.alpn().or_else(|| self.npn())
    }

    /// The host name that the client has sent on this connection, not that of a resumed session. As
    /// with HAProxy, `None` where TLS 1.3 fails early for another reason than that name.
    pub fn server_name(&self) -> Option<&[u8]> {
        let known = self.library().servername_raw(NameType::HOST_NAME);
        let asked = acceptor::asked().and_then(|index| self.library().ex_data(index));
        match asked {
            Some(asked) if asked.refused || known.is_some() => Some(&asked.name),
            _ => known,
        }
    }

    /// The version, such as `TLSv1.3`.
    pub fn version(&self) -> &'static str {
        self.library().version_str()
    }

    /// The cipher, as OpenSSL names it.
    pub fn cipher(&self) -> &'static str {
        self.library().current_cipher().map_or(NO_CIPHER, |cipher| cipher.name())
    }

    /// Bits of the cipher's secret that count, and bits of the algorithm.
    pub fn cipher_bits(&self) -> Option<(i32, i32)> {
        let bits = self.library().current_cipher()?.bits();
        Some((bits.secret, bits.algorithm))
    }

    /// Whether an earlier session continues.
    pub fn is_resumed(&self) -> bool {
        self.library().session_reused()
    }

    /// The result of verifying the peer's certificate; 0 for success or no certificate.
    pub fn verify_result(&self) -> u32 {
        self.library().verify_result().as_raw().unsigned_abs()
    }

    /// The errors that verification found, ignored ones too.
    pub fn checked(&self) -> Checked {
        self.outcome().map(VerifyResult::checked).unwrap_or_default()
    }

    fn outcome(&self) -> Option<&VerifyResult> {
        self.library().ex_data(VerifyResult::index()?)
    }

    /// Whether the peer has shown a certificate in this handshake.
    pub fn has_shown(&self) -> bool {
        self.outcome().is_some_and(VerifyResult::has_looked)
    }

    /// The peer's certificate, of this handshake or of the session that it continues with; also one
    /// that was refused.
    pub fn peer_certificate(&self) -> Option<CertificateFields> {
        let refused = || self.outcome()?.refused();
        self.library().peer_certificate().or_else(refused).map(CertificateFields)
    }

    /// The peer's certificates as they were shown, DER one after the other. The chain of a client
    /// lacks the client's own certificate.
    pub fn peer_chain(&self) -> Option<Vec<u8>> {
        chain_der(self.library().peer_cert_chain()?)
    }

    /// The certificate that we have shown.
    pub fn own_certificate(&self) -> Option<CertificateFields> {
        self.library().certificate().map(|it| CertificateFields(it.to_owned()))
    }

    /// The number of the session.
    pub fn session_id(&self) -> Option<Vec<u8>> {
        let id = self.library().session()?.id().to_vec();
        (!id.is_empty()).then_some(id)
    }

    /// The session's master key.
    pub fn session_key(&self) -> Option<Vec<u8>> {
        let session = self.library().session()?;
        let mut key = vec![0; session.master_key_len()];
        let length = session.master_key(&mut key);
        key.truncate(length);
        (!key.is_empty()).then_some(key)
    }

    /// The random bytes of the client.
    pub fn client_random(&self) -> Vec<u8> {
        ffi::client_random(self.library())
    }

    /// The random bytes of the server.
    pub fn server_random(&self) -> Vec<u8> {
        ffi::server_random(self.library())
    }

    /// The first Finished message of the handshake (RFC 5929 section 3).
    pub fn unique_id(&self) -> Option<Vec<u8>> {
        // The client's goes first, unless the session is resumed.
        let own = self.accepts() == self.is_resumed();
        let mut bytes = vec![0; FINISHED];
        let length = match own {
            true => self.library().finished(&mut bytes),
            false => self.library().peer_finished(&mut bytes),
        };
        bytes.truncate(length);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// A secret by its label in the format `SSLKEYLOGFILE`, in hexadecimal digits; only with
    /// `tune.ssl.keylog`.
    pub fn secret(&self, label: &str) -> Option<Box<str>> {
        KeyLog::find(self.library(), label)
    }

    /// The lists of the ClientHello; only with `tune.ssl.capture-buffer-size`.
    pub fn offer(&self) -> Option<&Offer> {
        Capture::of(self.library())?.offer.get()
    }

    /// The names of ciphers in a list, joined by commas.
    pub fn cipher_names(&self, list: &[u8]) -> String {
        let names = list.chunks_exact(2).map(|id| {
            let known = ffi::cipher_name(self.library(), [id[0], id[1]]);
            known.unwrap_or_else(|| format!("UNKNOWN({:02x}{:02x})", id[0], id[1]))
        });
        names.collect::<Vec<_>>().join(",")
    }
}
