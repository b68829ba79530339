//! Gathers what queries are answered from once the library's object is freed.

use super::Conn;
use crate::key_log::KeyLog;
use crate::parsed_certificate::KeptCertificate;
use crate::session_facts::{FieldBytes, RareFacts, SessionFacts};

impl Conn {
    /// Copies the answers of the session. `None`: a field is longer than TLS allows.
    pub(super) fn gather_facts(&self) -> Option<SessionFacts> {
        let (id, key, unique) = (self.session_id(), self.session_key(), self.unique_id());
        let (client, server) = (self.client_random(), self.server_random());
        let fields = FieldBytes::new([
            self.alpn(),
            self.npn(),
            self.server_name(),
            id.as_deref(),
            key.as_deref(),
            unique.as_deref(),
            Some(&client),
            Some(&server),
        ])?;
        let rare = self.gather_rare()?;
        Some(SessionFacts {
            version: self.version(),
            cipher: self.cipher(),
            cipher_bits: self.cipher_bits(),
            verify_result: self.verify_result(),
            is_resumed: self.is_resumed(),
            has_shown: self.has_shown(),
            was_early_taken: self.was_early_taken(),
            own_certificate: self.own_certificate().map(|it| it.0),
            fields,
            rare: (!rare.is_empty()).then(|| Box::new(rare)),
        })
    }

    fn gather_rare(&self) -> Option<RareFacts> {
        let peer = match self.peer_certificate() {
            Some(certificate) => Some(KeptCertificate::new(&certificate.0)?),
            None => None,
        };
        Some(RareFacts {
            checked: self.checked(),
            peer,
            peer_chain: self.peer_chain().map(Into::into),
            secrets: KeyLog::take(self.library()?),
            offer: self.offer().cloned(),
        })
    }
}
