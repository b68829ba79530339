//! Chains for certificates that come without one (`issuers-chain-path`).

use openssl::x509::{X509, X509Ref, X509VerifyResult};
use std::collections::HashMap;

/// Chains by the subject of their first link.
#[derive(Default)]
pub(crate) struct Issuers(HashMap<Vec<u8>, Vec<Vec<X509>>>);

impl std::fmt::Debug for Issuers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Issuers").field(&self.0.len()).finish()
    }
}

impl Issuers {
    /// Takes the chain in a text. `false`: there is none.
    pub(crate) fn add(&mut self, text: &[u8]) -> bool {
        let chain = X509::stack_from_pem(text).unwrap_or_default();
        let Some(Ok(subject)) = chain.first().map(|link| link.subject_name().to_der()) else {
            return false;
        };
        self.0.entry(subject).or_default().push(chain);
        true
    }

    /// The chain of a leaf's issuer; empty if the issuer is unknown.
    pub(crate) fn chain_of(&self, leaf: &X509Ref) -> Vec<X509> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let chains = leaf.issuer_name().to_der().ok().and_then(|issuer| self.0.get(&issuer));
        let signed = |chain: &&Vec<X509>| {
            chain.first().is_some_and(|by| by.issued(leaf) == X509VerifyResult::OK)
        };
        chains.into_iter().flatten().find(signed).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::pair::{ecdsa, make};

    #[test]
    fn chains_are_found_by_who_has_signed() {
        let (one, two) = (make(&["one"], ecdsa(), None), make(&["two"], ecdsa(), None));
        let mut issuers = Issuers::default();
        assert!(!issuers.add(b"x"));
        assert!(issuers.add(&one.pem()));
        let leaf = |by| make(&["a"], ecdsa(), Some(by)).certificate;
        let chain = issuers.chain_of(&leaf(&one));
        assert_eq!(chain.len(), 1);
        assert_eq!(chain[0].to_der().unwrap(), one.certificate.to_der().unwrap());
        assert!(issuers.chain_of(&leaf(&two)).is_empty());
    }
}
