//! Chains for certificate files that have none (`issuers-chain-path`).

use openssl::x509::{X509, X509Ref, X509VerifyResult};
use std::collections::HashMap;
use std::sync::Arc;

/// The chain in a file.
struct ChainFile {
    name: Arc<str>,
    chain: Vec<X509>,
}

/// Chains by the subject of their first link.
#[derive(Default)]
pub(crate) struct Issuers(HashMap<Vec<u8>, Vec<ChainFile>>);

impl std::fmt::Debug for Issuers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Issuers").field(&self.0.len()).finish()
    }
}

impl Issuers {
    /// Takes the chain in the text of a file. `false`: there is none.
    pub(crate) fn add(&mut self, name: &str, text: &[u8]) -> bool {
        let chain = X509::stack_from_pem(text).unwrap_or_default();
        let Some(Ok(subject)) = chain.first().map(|link| link.subject_name().to_der()) else {
            return false;
        };
        self.0.entry(subject).or_default().push(ChainFile { name: name.into(), chain });
        true
    }

    /// The name of the file with the chain of a leaf's issuer, and the chain; `None` if the issuer
    /// is unknown.
    pub(crate) fn chain_of(&self, leaf: &X509Ref) -> Option<(Arc<str>, Vec<X509>)> {
        if self.0.is_empty() {
            return None;
        }
        let chains = leaf.issuer_name().to_der().ok().and_then(|issuer| self.0.get(&issuer));
        let signed = |file: &&ChainFile| {
            file.chain.first().is_some_and(|by| by.issued(leaf) == X509VerifyResult::OK)
        };
        let file = chains.into_iter().flatten().find(signed)?;
        Some((file.name.clone(), file.chain.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::pair::{ecdsa, make};

    #[test]
    fn chains_are_found_by_their_signers() {
        let (one, two) = (make(&["one"], ecdsa(), None), make(&["two"], ecdsa(), None));
        let mut issuers = Issuers::default();
        assert!(!issuers.add("x.pem", b"x"));
        assert!(issuers.add("one.pem", &one.pem()));
        let leaf = |by| make(&["a"], ecdsa(), Some(by)).certificate;
        let (name, chain) = issuers.chain_of(&leaf(&one)).expect("a chain");
        assert_eq!((&*name, chain.len()), ("one.pem", 1));
        assert_eq!(chain[0].to_der().unwrap(), one.certificate.to_der().unwrap());
        assert!(issuers.chain_of(&leaf(&two)).is_none());
    }
}
