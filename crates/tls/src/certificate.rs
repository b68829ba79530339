//! A certificate with its chain, key, OCSP response and SCT list, built from the texts of its
//! files.

use crate::dh::{self, Exchange};
use crate::ecdsa::KeyCurve;
use crate::hello::KeyKind;
use crate::key::{Key, Secret};
use crate::staple::{Staple, responder};
use openssl::error::ErrorStack;
use openssl::nid::Nid;
use openssl::pkey::Id;
use openssl::x509::{X509, X509Ref, X509VerifyResult};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use stdx::Mutex;

/// A certificate, its chain and its key.
pub struct Certificate {
    pub(crate) name: String,
    pub(crate) leaf: X509,
    /// The intermediate certificates between this one and its authority.
    pub(crate) chain: Vec<X509>,
    /// The file of the chain, if it is another file (`issuers-chain-path`).
    pub(crate) chain_file: Option<Arc<str>>,
    pub(crate) key: Arc<Key>,
    pub(crate) kind: KeyKind,
    /// The curve of its key, where clients have to support that.
    pub(crate) curve: Option<KeyCurve>,
    /// The host names that it is for: alternative names, then common names.
    pub(crate) names: Vec<String>,
    /// Parameters for finite-field key exchange, if the file has any.
    pub(crate) dh: Option<dh::Shared>,
    /// Parameters that are used when the file has none.
    pub(crate) common_dh: Option<dh::Shared>,
    /// The OCSP response that is stapled, or the place of one that is to be fetched.
    staple: OnceLock<Arc<Staple>>,
    /// `ocsp-update` of the lists that name it.
    update_mode: OnceLock<bool>,
    /// An OCSP response was given but the issuer is unknown, so the response cannot be checked.
    pub(crate) lacks_issuer: bool,
    /// The list of signed certificate timestamps (RFC 6962).
    pub(crate) sctl: Option<Vec<u8>>,
    /// The issuer, if it is not in the chain. The issuer determines the OCSP certificate id and is
    /// not sent.
    pub(crate) issuer: Option<X509>,
    /// Root certificates stay in the chain but are not sent: a client that trusts a root has it.
    pub(crate) keeps_roots: bool,
}

impl std::fmt::Debug for Certificate {
    /// Without its key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Certificate {
    /// The name of the file that it was loaded from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its OCSP response; that may be empty.
    pub(crate) fn staple(&self) -> Option<&Arc<Staple>> {
        self.staple.get()
    }

    /// Has its OCSP response fetched from now on, where the certificate names a responder and its
    /// authority is known.
    pub(crate) fn begin_updates(&self) {
        if responder(&self.leaf).is_none() {
            return;
        }
        if self.staple.get().is_none() {
            let authority = self.issuer.as_ref().or(self.chain.first());
            let made = authority.and_then(|it| Staple::new(Vec::new(), &self.leaf, it));
            // Another thread may have been faster.
            made.into_iter().for_each(|made| drop(self.staple.set(Arc::new(made))));
        }
        self.staple.get().into_iter().for_each(|staple| staple.begin_updates());
    }

    /// Notes the `ocsp-update` of a list; `false`: another list says the opposite.
    pub(crate) fn takes_update_mode(&self, mode: Option<bool>) -> bool {
        mode.is_none_or(|mode| *self.update_mode.get_or_init(|| mode) == mode)
    }

    /// The certificates that are sent behind the leaf.
    pub(crate) fn links(&self) -> impl Iterator<Item = &X509> {
        let is_root = |link: &X509| link.issued(link) == X509VerifyResult::OK;
        self.chain.iter().filter(move |link| !self.keeps_roots || !is_root(link))
    }
}

/// A cache of parsed intermediates by their PEM text, since many certificates share them.
#[derive(Default)]
pub(crate) struct IntermediateCache(Mutex<HashMap<Box<[u8]>, X509>>);

impl std::fmt::Debug for IntermediateCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Links")
    }
}

/// The most intermediates that are cached.
const MOST_LINKS: usize = 1_024;

impl IntermediateCache {
    fn read(&self, text: &[u8]) -> Option<X509> {
        let lock = || self.0.lock();
        if let Some(known) = lock().get(text) {
            return Some(known.clone());
        }
        let read = read_block(text).ok()?;
        let mut known = lock();
        if known.len() < MOST_LINKS {
            known.insert(text.into(), read.clone());
        }
        Some(read)
    }
}

/// A certificate under construction.
#[derive(Clone, Default)]
pub(crate) struct CertificateDraft {
    pub(crate) leaf: Option<X509>,
    pub(crate) chain: Vec<X509>,
    pub(crate) chain_file: Option<Arc<str>>,
    pub(crate) key: Option<Arc<Key>>,
    pub(crate) dh: Option<dh::Shared>,
    pub(crate) ocsp: Option<Vec<u8>>,
    pub(crate) sctl: Option<Vec<u8>>,
    pub(crate) issuer: Option<X509>,
}

/// The reason why a draft cannot become a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flaw {
    /// The certificate itself or its key is missing.
    Incomplete,
    /// The key does not belong to the certificate.
    Foreign,
}

impl CertificateDraft {
    /// A draft with the parts of an existing certificate.
    pub(crate) fn of(certificate: &Certificate) -> Self {
        Self {
            leaf: Some(certificate.leaf.clone()),
            chain: certificate.chain.clone(),
            chain_file: certificate.chain_file.clone(),
            key: Some(certificate.key.clone()),
            dh: certificate.dh.clone(),
            ocsp: certificate.staple().map(|staple| staple.response().to_vec()),
            sctl: certificate.sctl.clone(),
            issuer: certificate.issuer.clone(),
        }
    }

    /// Drops the OCSP response and the SCT list of the certificate `before`, if the leaf has
    /// changed.
    pub(crate) fn part_from(&mut self, before: &Certificate) {
        let is = |leaf: &X509| leaf.to_der().ok() == before.leaf.to_der().ok();
        if self.leaf.as_ref().is_some_and(is) {
            return;
        }
        let known = Self::of(before);
        // Values that the transaction itself has brought belong to the new leaf.
        self.ocsp = self.ocsp.take().filter(|own| known.ocsp.as_ref() != Some(own));
        self.sctl = self.sctl.take().filter(|own| known.sctl.as_ref() != Some(own));
    }

    /// The OCSP response to staple, or nothing if there is none or the issuer is unknown.
    pub(crate) fn staple(&self) -> Option<Staple> {
        let authority = self.issuer.as_ref().or(self.chain.first())?;
        Staple::new(self.ocsp.clone()?, self.leaf.as_ref()?, authority)
    }

    /// Reads the leaf, and chain, key and parameters if the text has them; they replace earlier
    /// ones. `None` if the text has no certificate.
    pub(crate) fn read(&mut self, text: &[u8], links: &IntermediateCache) -> Option<()> {
        let mut blocks = blocks(text);
        self.leaf = Some(read_block(blocks.next()?).ok()?);
        self.chain = blocks.map(|block| links.read(block)).collect::<Option<_>>()?;
        self.chain_file = None;
        self.key = Key::read(text).map(Arc::new);
        let has_dh = text.windows(DH.len()).any(|part| part == DH);
        self.dh = has_dh.then(|| dh::read(text)).flatten();
        Some(())
    }

    /// The certificate of this name, with parameters from `exchange` if it has none of its own.
    pub(crate) fn complete(self, name: &str, exchange: &Exchange) -> Result<Certificate, Flaw> {
        let staple = self.staple().map(Arc::new).map_or_else(OnceLock::new, OnceLock::from);
        let lacks_issuer = self.ocsp.is_some() && staple.get().is_none();
        let (leaf, key) = self.leaf.zip(self.key).ok_or(Flaw::Incomplete)?;
        if !key.fits(&leaf) {
            return Err(Flaw::Foreign);
        }
        let kind = kind(&leaf);
        Ok(Certificate {
            name: name.to_owned(),
            kind,
            curve: KeyCurve::of(&leaf),
            names: names(&leaf),
            common_dh: exchange.of(&leaf, kind).filter(|_| self.dh.is_none()),
            leaf,
            chain: self.chain,
            chain_file: self.chain_file,
            key,
            dh: self.dh,
            staple,
            update_mode: OnceLock::new(),
            lacks_issuer,
            sctl: self.sctl,
            issuer: self.issuer,
            keeps_roots: false,
        })
    }
}

/// Checks the length prefix of an SCT list (RFC 6962 section 3.3); an empty input is no list.
pub(crate) fn sct_list(bytes: Vec<u8>) -> Result<Option<Vec<u8>>, ()> {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else {
        return if bytes.is_empty() { Ok(None) } else { Err(()) };
    };
    let whole = usize::from(u16::from_be_bytes(*length)) == rest.len();
    if whole { Ok(Some(bytes)) } else { Err(()) }
}

const BEGIN: &[u8] = b"-----BEGIN ";
const DH: &[u8] = b"DH PARAMETERS-----";

const END: &[u8] = b"-----END TRUSTED CERTIFICATE-----";

/// The PEM label of a certificate followed by trust settings of the library.
const TRUSTED: &[u8] = b"TRUSTED CERTIFICATE";

/// The label of a block in PEM.
fn label(block: &[u8]) -> &[u8] {
    let behind = block.strip_prefix(BEGIN).unwrap_or_default();
    behind.split(|byte| *byte == b'-').next().unwrap_or_default()
}

/// Parses one of [`blocks`].
///
/// # Errors
///
/// The block is malformed.
pub(crate) fn read_block(block: &[u8]) -> Result<X509, ErrorStack> {
    if label(block) != TRUSTED {
        return X509::from_pem(block);
    }
    // A truncated block could lack the uses for which the certificate is rejected.
    let end = block.windows(END.len()).position(|part| part == END).ok_or_else(ErrorStack::get)?;
    let lines = block[..end].split(|byte| *byte == b'\n').skip(1);
    let text: Vec<u8> =
        lines.flatten().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let der = openssl::base64::decode_block(&String::from_utf8_lossy(&text))?;
    ffi::trusted_certificate(&der)
}

/// The PEM blocks of certificates in a text.
pub(crate) fn blocks(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.windows(BEGIN.len()).position(|part| part == BEGIN)?;
            let block = &rest[start..];
            let next = block[1..].windows(BEGIN.len()).position(|part| part == BEGIN);
            let (block, after) = block.split_at(next.map_or(block.len(), |at| at + 1));
            rest = after;
            let known: [&[u8]; 3] = [b"CERTIFICATE", b"X509 CERTIFICATE", TRUSTED];
            if known.contains(&label(block)) {
                return Some(block);
            }
        }
    })
}

fn kind(leaf: &X509Ref) -> KeyKind {
    match leaf.public_key().map(|key| key.id()) {
        Ok(Id::RSA | Id::RSA_PSS) => KeyKind::Rsa,
        Ok(Id::DSA) => KeyKind::Dsa,
        _ => KeyKind::Ecdsa,
    }
}

fn names(leaf: &X509Ref) -> Vec<String> {
    let alternative = leaf.subject_alt_names();
    let alternative = alternative.iter().flatten();
    let mut names: Vec<String> =
        alternative.filter_map(|name| name.dnsname().map(str::to_owned)).collect();
    let common = leaf.subject_name().entries_by_nid(Nid::COMMONNAME);
    let text = |entry: &openssl::x509::X509NameEntryRef| entry.data().to_string().ok();
    names.extend(common.filter_map(|entry| Some(text(entry)?.to_string())));
    names
}

/// The texts that a certificate is made of, as files have them.
#[derive(Default)]
pub(crate) struct Texts {
    pub(crate) main: Option<Secret>,
    pub(crate) key: Option<Secret>,
    pub(crate) ocsp: Option<Vec<u8>>,
    pub(crate) sctl: Option<Vec<u8>>,
    pub(crate) issuer: Option<Vec<u8>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn certificates_are_found_among_other_blocks() {
        let text = b"x\n-----BEGIN EC PARAMETERS-----\na\n-----BEGIN CERTIFICATE-----\nb\n\
            -----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nc";
        let found: Vec<_> = blocks(text).map(<[u8]>::len).collect();
        assert_eq!(found.len(), 2);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(-----(BEGIN|END) (X509 |TRUSTED |)CERTIFICATE|[a\n-]){0,20}") {
            let mut draft = CertificateDraft::default();
            let _ = draft.read(text.as_bytes(), &IntermediateCache::default());
            let _ = blocks(text.as_bytes()).map(read_block).count();
        }
    }
}
