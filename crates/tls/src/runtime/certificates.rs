//! The commands `show|new|set|commit|abort|del ssl cert`.

use super::{OpenTransaction, Refusal, Runtime, Status, abort, other};
use crate::certificate::{Certificate, CertificateDraft, Flaw, sct_list};
use crate::certificate_table::CertificateTable;
use crate::certificate_text::{Details, Link};
use crate::key::Key;
use crate::staple::Staple;
use openssl::x509::X509;
use std::sync::Arc;

/// A certificate, or one that is being put together.
#[derive(Clone, Debug)]
pub struct ShownCertificate {
    /// Whether the certificate is in use.
    pub status: Status,
    /// The text of an identifier; `None` if it is empty.
    pub certificate: Option<Details>,
    /// The file of the chain, if it is another file (`issuers-chain-path`).
    pub chain_file: Option<Arc<str>>,
    /// The chain.
    pub chain: Vec<Link>,
    /// The OCSP certificate id in hexadecimal; `None` without an OCSP response.
    pub staple: Option<String>,
}

/// Ends of names of files that go with a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Main,
    Key,
    Issuer,
    Ocsp,
    Sctl,
}

const PARTS: [(&str, Part); 4] =
    [(".key", Part::Key), (".issuer", Part::Issuer), (".ocsp", Part::Ocsp), (".sctl", Part::Sctl)];

impl Runtime {
    /// The name of the certificate that a transaction is about, if one is under way.
    pub fn ongoing_certificate(&self) -> Option<String> {
        self.certificate.lock().as_ref().map(|(name, _)| name.clone())
    }

    /// The names of all certificates.
    pub fn certificates(&self) -> Vec<String> {
        self.store.names()
    }

    /// The committed content of a certificate.
    pub fn certificate(&self, name: &str) -> Option<ShownCertificate> {
        if !self.store.has(name) {
            return None;
        }
        let Some(certificate) = self.store.certificate(name) else {
            return Some(ShownCertificate {
                status: Status::Empty,
                certificate: None,
                chain_file: None,
                chain: Vec::new(),
                staple: None,
            });
        };
        let status = if self.uses(name) { Status::Used } else { Status::Unused };
        let staple = certificate.staple().map(|it| id_of(it));
        let chain = (certificate.chain_file.clone(), &*certificate.chain);
        Some(shown(status, &certificate.leaf, chain, staple))
    }

    /// The content of a certificate in the open transaction.
    pub fn drafted_certificate(&self, name: &str) -> Option<ShownCertificate> {
        let ongoing = self.certificate.lock();
        let (_, draft) = ongoing.as_ref().filter(|(about, _)| about == name)?;
        let mut draft = draft.clone();
        self.store.complete_chain(&mut draft);
        let leaf = draft.leaf.as_ref()?;
        let chain = (draft.chain_file.clone(), &*draft.chain);
        Some(shown(Status::Unused, leaf, chain, draft.staple().as_ref().map(id_of)))
    }

    /// The answer of its authority that a certificate is shown with, DER: `drafted`, that a
    /// transaction will show it with.
    pub fn staple(&self, name: &str, drafted: bool) -> Option<Vec<u8>> {
        if drafted {
            let ongoing = self.certificate.lock();
            return ongoing.as_ref().filter(|(about, _)| about == name)?.1.ocsp.clone();
        }
        Some(self.store.certificate(name)?.staple()?.response().to_vec())
    }

    fn uses(&self, name: &str) -> bool {
        self.acceptors().any(|acceptor| acceptor.table().uses(name) > 0)
            || self.servers().iter().any(|server| server.shows(name))
    }

    /// Makes room for a certificate.
    ///
    /// # Errors
    /// The name exists already.
    pub fn new_certificate(&self, name: &str) -> Result<(), Refusal> {
        if self.store.has(name) {
            return Err(Refusal::Exists);
        }
        self.store.reserve(name);
        Ok(())
    }

    /// Takes the text of a certificate, or of a file that goes with it, into a transaction.
    ///
    /// # Errors
    /// There is no such certificate, another transaction is under way, or the text is not good.
    pub fn set_certificate(&self, file: &str, text: &str) -> Result<OpenTransaction, Refusal> {
        let (name, part) = self.part(file).ok_or(Refusal::Unknown)?;
        let mut ongoing = self.certificate.lock();
        other(&ongoing, &name)?;
        let known = || self.store.certificate(&name).map(|own| CertificateDraft::of(&own));
        let new = ongoing.is_none();
        let draft = ongoing.as_ref().map(|(_, draft)| draft.clone()).or_else(known);
        let mut draft = draft.unwrap_or_default();
        self.take(&mut draft, &name, part, text).ok_or_else(|| {
            Refusal::Unreadable(match part {
                Part::Main => format!("unable to load certificate from file '{name}'.\n"),
                Part::Key => format!("unable to load private key from file '{name}'.\n"),
                Part::Issuer => format!("'{name}' cannot be read or parsed'.\n"),
                Part::Ocsp => "Error reading OCSP response in base64 format".to_owned(),
                Part::Sctl => String::new(),
            })
        })?;
        *ongoing = Some((name.clone(), draft));
        Ok(OpenTransaction { name, new })
    }

    /// The name of the certificate that a file belongs to, and the part that the file holds.
    fn part(&self, file: &str) -> Option<(String, Part)> {
        if self.store.has(file) {
            return Some((file.to_owned(), Part::Main));
        }
        let (stem, part) =
            PARTS.iter().find_map(|(end, part)| Some((file.strip_suffix(end)?, *part)))?;
        let whole = format!("{stem}.crt");
        let names = [stem, &whole].into_iter().filter(|name| self.store.has(name));
        let mut named = names.filter(|name| {
            let end = PARTS.iter().find(|(_, own)| *own == part).map_or("", |(end, _)| end);
            self.store.beside(name, end) == file
        });
        Some((named.next()?.to_owned(), part))
    }

    fn take(&self, draft: &mut CertificateDraft, name: &str, part: Part, text: &str) -> Option<()> {
        match part {
            Part::Main => {
                let mut fresh = draft.clone();
                fresh.read(text.as_bytes(), self.store.links())?;
                if let Some(before) = self.store.certificate(name) {
                    fresh.part_from(&before);
                }
                *draft = fresh;
            }
            Part::Key => draft.key = Some(Arc::new(Key::read(text.as_bytes())?)),
            Part::Issuer => draft.issuer = Some(X509::from_pem(text.as_bytes()).ok()?),
            Part::Ocsp => draft.ocsp = Some(super::staples::decode(text)?),
            Part::Sctl => draft.sctl = sct_list(text.into()).ok()?,
        }
        Some(())
    }

    /// Ends a transaction without a change.
    ///
    /// # Errors
    /// No transaction is under way, or it is about another certificate.
    pub fn abort_certificate(&self, name: &str) -> Result<(), Refusal> {
        abort(&mut self.certificate.lock(), name)
    }

    /// Replaces the certificate by the content of its transaction in all lines; returns their
    /// number.
    ///
    /// # Errors
    /// Nothing has been changed; the transaction continues.
    pub fn commit_certificate(&self, name: &str) -> Result<usize, Refusal> {
        let mut ongoing = self.certificate.lock();
        other(&ongoing, name)?;
        let (_, draft) = ongoing.as_ref().ok_or(Refusal::Nothing)?;
        let certificate = self.store.finish(draft.clone(), name).map_err(|flaw| match flaw {
            Flaw::Incomplete => Refusal::Incomplete,
            Flaw::Foreign => Refusal::Foreign,
        })?;
        // A response that is not good is ignored, as HAProxy does: the one of before is.
        let before = self.store.certificate(name).and_then(|before| before.staple().cloned());
        if let Some((fresh, before)) = certificate.staple().zip(before) {
            fresh.inherit(&before);
        }
        let places = self.replace(certificate)?;
        *ongoing = None;
        Ok(places)
    }

    fn replace(&self, certificate: Certificate) -> Result<usize, Refusal> {
        let name = certificate.name.clone();
        if certificate.key.get().is_none() {
            return Err(Refusal::Foreign);
        }
        for acceptor in self.acceptors() {
            for terms in acceptor.table().terms_of(&name) {
                CertificateTable::admit(&terms, &certificate).map_err(Refusal::Impossible)?;
            }
        }
        let before = self.store.certificate(&name);
        let certificate = self.store.put(certificate);
        let servers = self.servers();
        let servers = servers.iter().filter(|server| server.shows(&name));
        let made: Result<Vec<_>, _> =
            servers.map(|server| Ok((server, server.remade(&self.store)?))).collect();
        let made = made.map_err(|error| {
            match before {
                Some(before) => self.store.put_again(before),
                None => self.store.reserve(&name),
            }
            Refusal::Impossible(error)
        })?;
        let mut places = made.len();
        for (server, remade) in made {
            server.adopt(remade);
        }
        for acceptor in self.acceptors() {
            let mut table = acceptor.table_mut();
            places += table.uses(&name);
            table.replace(&certificate);
        }
        Ok(places)
    }

    /// Forgets a certificate.
    ///
    /// # Errors
    /// There is none, some line needs it, or a transaction is about it.
    pub fn delete_certificate(&self, name: &str) -> Result<(), Refusal> {
        if self.certificate.lock().as_ref().is_some_and(|(about, _)| about == name) {
            return Err(Refusal::Ongoing(name.to_owned()));
        }
        if !self.store.has(name) {
            return Err(Refusal::Unknown);
        }
        if self.uses(name) {
            return Err(Refusal::InUse);
        }
        self.store.remove(name);
        Ok(())
    }
}

fn shown(
    status: Status,
    leaf: &X509,
    (chain_file, chain): (Option<Arc<str>>, &[X509]),
    staple: Option<String>,
) -> ShownCertificate {
    let chain = chain.iter().map(|link| Link::of(link)).collect();
    ShownCertificate { status, certificate: Some(Details::of(leaf)), chain_file, chain, staple }
}

fn id_of(staple: &Staple) -> String {
    crate::certificate_text::hex(staple.id()).to_ascii_lowercase()
}
