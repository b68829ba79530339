//! The commands `show|set ssl ocsp-response`.

use super::Runtime;
use crate::certificate_text::hex;
use crate::der::{Der, INTEGER, OCTETS, SEQUENCE};
use crate::staple::{self, Staple, Unfit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The OCSP certificate id (RFC 6960 section 4.1.1), in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownStaple {
    /// The whole certificate id, DER in lower-case hexadecimal.
    pub id: String,
    /// The hash of its issuer's name.
    pub name_hash: String,
    /// The hash of its issuer's key.
    pub key_hash: String,
    /// Its number.
    pub serial: String,
}

/// Why an answer is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StapleRefusal {
    /// The text is not base64.
    Encoding,
    /// The response does not belong to a certificate in use.
    Unfit(Unfit),
}

impl Runtime {
    /// All certificates that are shown with an answer of their authority, each once.
    pub fn staples(&self) -> Vec<ShownStaple> {
        let all = self.all_staples();
        all.keys().filter_map(|id| explain(id)).collect()
    }

    /// The answer about the certificate that is asked by `id`, in hexadecimal.
    pub fn staple_by_id(&self, id: &str) -> Option<Vec<u8>> {
        let id = id.to_ascii_uppercase();
        let all = self.all_staples();
        let found = all.iter().find(|(own, _)| hex(own) == id);
        found.and_then(|(_, staples)| Some(staples.first()?.response().to_vec()))
    }

    pub(super) fn all_staples(&self) -> BTreeMap<Vec<u8>, Vec<Arc<Staple>>> {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for certificate in self.store.all() {
            if let Some(staple) = certificate.staple().cloned() {
                all.entry(staple.id().to_vec()).or_default().push(staple);
            }
        }
        all
    }

    /// Shows an answer, DER in base64, from now on with the certificates that it is about.
    ///
    /// # Errors
    /// The response cannot be stapled.
    pub fn set_staple(&self, text: &str) -> Result<(), StapleRefusal> {
        let der = decode(text).ok_or(StapleRefusal::Encoding)?;
        let response = staple::read(&der).map_err(StapleRefusal::Unfit)?;
        let mut result = Err(StapleRefusal::Unfit(Unfit::Foreign));
        for own in self.all_staples().values().flatten() {
            match own.take(&response, &der) {
                Ok(()) => result = Ok(()),
                Err(Unfit::Foreign) => {}
                Err(unfit) => result = result.or(Err(StapleRefusal::Unfit(unfit))),
            }
        }
        result
    }
}

/// Reads base64, in as many lines as there are.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: String = text.split_ascii_whitespace().collect();
    if digits.is_empty() || !digits.len().is_multiple_of(4) {
        return None;
    }
    openssl::base64::decode_block(&digits).ok()
}

fn explain(id: &[u8]) -> Option<ShownStaple> {
    let mut fields = Der(Der(id).take(SEQUENCE)?);
    fields.take(SEQUENCE)?;
    let (name_hash, key_hash) = (fields.take(OCTETS)?, fields.take(OCTETS)?);
    let serial = fields.take(INTEGER)?;
    Some(ShownStaple {
        id: hex(id).to_ascii_lowercase(),
        name_hash: hex(name_hash),
        key_hash: hex(key_hash),
        serial: hex(serial.strip_prefix(&[0]).filter(|rest| !rest.is_empty()).unwrap_or(serial)),
    })
}
