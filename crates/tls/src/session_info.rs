//! Properties of a session for sample fetches (manual section 7.3.4).

use crate::acceptor;
use crate::certificate_fields::{CertificateFields, chain_der};
use crate::client_hello_capture::{Capture, Offer};
use crate::conn::Conn;
use crate::key_log::KeyLog;
use crate::session_facts::{Field, View};
use crate::verify_result::{Checked, VerifyResult};
use openssl::ssl::{NameType, Ssl, SslContext, SslMethod, SslRef};
use std::sync::OnceLock;

/// The longest Finished message (SHA-384).
const FINISHED: usize = 64;
/// The cipher of a session that has none yet.
const NO_CIPHER: &str = "(NONE)";

impl Conn {
    /// The protocol that both sides have chosen (RFC 7301).
    pub fn alpn(&self) -> Option<&[u8]> {
        match self.view() {
            View::Library(ssl) => ssl.selected_alpn_protocol(),
            View::Facts(facts) => facts.field(Field::Alpn),
        }
    }

    /// The protocol that the client chose from the server's list (NPN).
    pub fn npn(&self) -> Option<&[u8]> {
        match self.view() {
            View::Library(ssl) => ffi::next_protocol(ssl),
            View::Facts(facts) => facts.field(Field::Npn),
        }
    }

    /// The protocol that ALPN or NPN has chosen, if any.
    pub fn protocol(&self) -> Option<&[u8]> {
        self.alpn().or_else(|| self.npn())
    }

    /// The host name that the client has sent on this connection, not that of a resumed session. As
    /// with HAProxy, `None` where TLS 1.3 fails early for another reason than that name.
    pub fn server_name(&self) -> Option<&[u8]> {
        let ssl = match self.view() {
            View::Library(ssl) => ssl,
            View::Facts(facts) => return facts.field(Field::ServerName),
        };
        let known = ssl.servername_raw(NameType::HOST_NAME);
        let asked = acceptor::asked().and_then(|index| ssl.ex_data(index));
        match asked {
            Some(asked) if asked.refused || known.is_some() => Some(&asked.name),
            _ => known,
        }
    }

    /// The version, such as `TLSv1.3`.
    pub fn version(&self) -> &'static str {
        match self.view() {
            View::Library(ssl) => ssl.version_str(),
            View::Facts(facts) => facts.version,
        }
    }

    /// The cipher, as OpenSSL names it.
    pub fn cipher(&self) -> &'static str {
        match self.view() {
            View::Library(ssl) => ssl.current_cipher().map_or(NO_CIPHER, |cipher| cipher.name()),
            View::Facts(facts) => facts.cipher,
        }
    }

    /// Bits of the cipher's secret that count, and bits of the algorithm.
    pub fn cipher_bits(&self) -> Option<(i32, i32)> {
        match self.view() {
            View::Library(ssl) => {
                let bits = ssl.current_cipher()?.bits();
                Some((bits.secret, bits.algorithm))
            }
            View::Facts(facts) => facts.cipher_bits,
        }
    }

    /// Whether an earlier session continues.
    pub fn is_resumed(&self) -> bool {
        match self.view() {
            View::Library(ssl) => ssl.session_reused(),
            View::Facts(facts) => facts.is_resumed,
        }
    }

    /// The result of verifying the peer's certificate; 0 for success or no certificate.
    pub fn verify_result(&self) -> u32 {
        match self.view() {
            View::Library(ssl) => ssl.verify_result().as_raw().unsigned_abs(),
            View::Facts(facts) => facts.verify_result,
        }
    }

    /// The errors that verification found, ignored ones too.
    pub fn checked(&self) -> Checked {
        match self.view() {
            View::Library(ssl) => outcome(ssl).map(VerifyResult::checked).unwrap_or_default(),
            View::Facts(facts) => facts.rare.as_ref().map(|rare| rare.checked).unwrap_or_default(),
        }
    }

    /// Whether the peer has shown a certificate in this handshake.
    pub fn has_shown(&self) -> bool {
        match self.view() {
            View::Library(ssl) => outcome(ssl).is_some_and(VerifyResult::has_looked),
            View::Facts(facts) => facts.has_shown,
        }
    }

    /// The peer's certificate, of this handshake or of the session that it continues with; also one
    /// that was refused.
    pub fn peer_certificate(&self) -> Option<CertificateFields> {
        let found = match self.view() {
            View::Library(ssl) => ssl.peer_certificate().or_else(|| outcome(ssl)?.refused()),
            View::Facts(facts) => facts.rare.as_ref()?.peer.as_ref()?.parsed(),
        };
        found.map(CertificateFields)
    }

    /// The peer's certificates as they were shown, DER one after the other. The chain of a client
    /// lacks the client's own certificate.
    pub fn peer_chain(&self) -> Option<Vec<u8>> {
        match self.view() {
            View::Library(ssl) => chain_der(ssl.peer_cert_chain()?),
            View::Facts(facts) => facts.rare.as_ref()?.peer_chain.as_ref().map(|it| it.to_vec()),
        }
    }

    /// The certificate that we have shown.
    pub fn own_certificate(&self) -> Option<CertificateFields> {
        let own = match self.view() {
            View::Library(ssl) => ssl.certificate().map(ToOwned::to_owned),
            View::Facts(facts) => facts.own_certificate.clone(),
        };
        own.map(CertificateFields)
    }

    /// The number of the session.
    pub fn session_id(&self) -> Option<Vec<u8>> {
        let id = match self.view() {
            View::Library(ssl) => ssl.session()?.id().to_vec(),
            View::Facts(facts) => facts.field(Field::SessionId)?.to_vec(),
        };
        (!id.is_empty()).then_some(id)
    }

    /// The session's master key.
    pub fn session_key(&self) -> Option<Vec<u8>> {
        let session = match self.view() {
            View::Library(ssl) => ssl.session()?,
            View::Facts(facts) => return facts.field(Field::SessionKey).map(<[u8]>::to_vec),
        };
        let mut key = vec![0; session.master_key_len()];
        let length = session.master_key(&mut key);
        key.truncate(length);
        (!key.is_empty()).then_some(key)
    }

    /// The random bytes of the client.
    pub fn client_random(&self) -> Vec<u8> {
        match self.view() {
            View::Library(ssl) => ffi::client_random(ssl),
            View::Facts(facts) => facts.field(Field::ClientRandom).unwrap_or_default().to_vec(),
        }
    }

    /// The random bytes of the server.
    pub fn server_random(&self) -> Vec<u8> {
        match self.view() {
            View::Library(ssl) => ffi::server_random(ssl),
            View::Facts(facts) => facts.field(Field::ServerRandom).unwrap_or_default().to_vec(),
        }
    }

    /// The first Finished message of the handshake (RFC 5929 section 3).
    pub fn unique_id(&self) -> Option<Vec<u8>> {
        let ssl = match self.view() {
            View::Library(ssl) => ssl,
            View::Facts(facts) => return facts.field(Field::UniqueId).map(<[u8]>::to_vec),
        };
        // The client's goes first, unless the session is resumed.
        let own = self.accepts() == self.is_resumed();
        let mut bytes = vec![0; FINISHED];
        let length = match own {
            true => ssl.finished(&mut bytes),
            false => ssl.peer_finished(&mut bytes),
        };
        bytes.truncate(length);
        (!bytes.is_empty()).then_some(bytes)
    }

    /// A secret by its label in the format `SSLKEYLOGFILE`, in hexadecimal digits; only with
    /// `tune.ssl.keylog`.
    pub fn secret(&self, label: &str) -> Option<Box<str>> {
        match self.view() {
            View::Library(ssl) => KeyLog::find(ssl, label),
            View::Facts(facts) => facts.rare.as_ref()?.secrets.as_ref()?.secret(label),
        }
    }

    /// The lists of the ClientHello; only with `tune.ssl.capture-buffer-size`.
    pub fn offer(&self) -> Option<&Offer> {
        match self.view() {
            View::Library(ssl) => Capture::of(ssl)?.offer.get(),
            View::Facts(facts) => facts.rare.as_ref()?.offer.as_ref(),
        }
    }

    /// The names of ciphers in a list, joined by commas.
    pub fn cipher_names(&self, list: &[u8]) -> String {
        let name = |id| match self.view() {
            View::Library(ssl) => ffi::cipher_name(ssl, id),
            View::Facts(_) => ffi::cipher_name(any_session()?, id),
        };
        let names = list.chunks_exact(2).map(|id| {
            let known = name([id[0], id[1]]);
            known.unwrap_or_else(|| format!("UNKNOWN({:02x}{:02x})", id[0], id[1]))
        });
        names.collect::<Vec<_>>().join(",")
    }
}

fn outcome(ssl: &SslRef) -> Option<&VerifyResult> {
    ssl.ex_data(VerifyResult::index()?)
}

/// A session that has not begun, for questions about the library.
fn any_session() -> Option<&'static SslRef> {
    static SESSION: OnceLock<Option<Ssl>> = OnceLock::new();
    let make = || {
        let context = SslContext::builder(SslMethod::tls()).ok()?.build();
        Ssl::new(&context).ok()
    };
    SESSION.get_or_init(make).as_deref()
}
