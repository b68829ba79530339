//! The store of certificates, authorities and revocation lists by file name.
//!
//! A file that many lines name is read and parsed once. Certificates that are named together are
//! read and parsed by all processors in parallel.

use crate::authority::AuthorityFileError;
use crate::authority::{Authorities, Purpose};
use crate::certificate::{Certificate, CertificateDraft, Flaw, IntermediateCache, Texts, sct_list};
use crate::dh::{self, Exchange};
use crate::issuers::Issuers;
use crate::key::{Key, Secret};
use crate::parallel::parallel_map;
use crate::setup_error::CertificateError;
use crate::tickets::TicketKeys;
use openssl::x509::X509;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, MutexGuard};
use stdx::{Mutex, RwLock};

/// The source of files. Many are read by several threads together.
pub trait Files: Sync {
    /// The contents of a file.
    ///
    /// # Errors
    /// As the system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The names in a directory; `None` for a file.
    ///
    /// # Errors
    /// The path does not exist.
    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>>;
}

/// No files at all: a program that runs reads none (management.txt 9.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

/// Why not.
fn not_loaded() -> io::Error {
    io::Error::other("it has not been loaded, and a program that runs reads no files")
}

impl Files for NoFiles {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(not_loaded())
    }

    fn list(&self, _: &Path) -> io::Result<Option<Vec<String>>> {
        Err(not_loaded())
    }
}

/// The file used for `@system-ca`.
pub const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Which files beside that of a certificate are looked for (`ssl-load-extra-files`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extras {
    /// `name.rsa`, `name.dsa`, `name.ecdsa` for `name`.
    pub bundle: bool,
    /// `.sctl`
    pub sctl: bool,
    /// `.ocsp`
    pub ocsp: bool,
    /// `.issuer`
    pub issuer: bool,
    /// `.key`
    pub key: bool,
    /// `ssl-load-extra-del-ext`: these take the place of `.crt`.
    pub without_extension: bool,
    /// `ssl-skip-self-issued-ca`: roots that are in chains are not sent.
    pub keeps_roots: bool,
}

impl Default for Extras {
    fn default() -> Self {
        Self {
            bundle: true,
            sctl: true,
            ocsp: true,
            issuer: true,
            key: true,
            without_extension: false,
            keeps_roots: false,
        }
    }
}

/// Ends of names that make a bundle, in order.
const BUNDLE: [&str; 3] = [".rsa", ".dsa", ".ecdsa"];
/// Ends of names of files that go with a certificate.
const COMPANIONS: [&str; 4] = [".issuer", ".ocsp", ".sctl", ".key"];
/// Ends of names of files that a directory of authorities may have.
const AUTHORITY: [&str; 4] = [".pem", ".crt", ".cer", ".crl"];
/// With fewer certificates, listing the directory beforehand is not worth its cost.
const MANY: usize = 32;

/// The meaning of a name behind `crt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CertificateSource {
    /// A file, or those of a bundle.
    Files(Vec<String>),
    /// A directory, and its files.
    Directory(Vec<String>),
}

/// The files read so far.
#[derive(Debug, Default)]
pub struct Store {
    /// The companion files that are looked for beside a certificate.
    pub extras: Extras,
    /// `None`: created by an operator, and still empty.
    certificates: RwLock<BTreeMap<String, Option<Arc<Certificate>>>>,
    authorities: RwLock<BTreeMap<String, Arc<Authorities>>>,
    links: IntermediateCache,
    exchange: Exchange,
    issuers: Issuers,
    tickets: Mutex<Vec<Arc<TicketKeys>>>,
    notes: Mutex<Vec<String>>,
}

impl Store {
    /// An empty store.
    pub fn new(extras: Extras) -> Self {
        Self { extras, ..Self::default() }
    }

    /// Parameters of finite-field key exchange for certificates that have none: those in the text
    /// of a file (`ssl-dh-param-file`), or else known ones of at most so many bits
    /// (`tune.ssl.default-dh-param`), none with 0. `false`: there are none in the text.
    pub fn set_dh(&mut self, file: Option<&[u8]>, most: u32) -> bool {
        let read = file.map(dh::read);
        let fine = !matches!(read, Some(None));
        self.exchange = Exchange::new(read.flatten(), most);
        fine
    }

    /// Takes the chain in the text of a file, for certificates that come without one
    /// (`issuers-chain-path`). Returns `false` if the text has no certificate.
    pub fn add_issuers(&mut self, name: &str, text: &[u8]) -> bool {
        self.issuers.add(name, text)
    }

    /// Gives a draft without a chain the chain of its issuer.
    pub(crate) fn complete_chain(&self, draft: &mut CertificateDraft) {
        let leaf = draft.leaf.as_ref().filter(|_| draft.chain.is_empty());
        if let Some((file, chain)) = leaf.and_then(|leaf| self.issuers.chain_of(leaf)) {
            (draft.chain_file, draft.chain) = (Some(file), chain);
        }
    }

    /// The keys of a file that a line names: lines that name the same one share them.
    pub fn share_ticket_keys(&self, keys: Arc<TicketKeys>) -> Arc<TicketKeys> {
        let mut all = self.tickets.lock();
        if let Some(known) = all.iter().find(|own| own.name() == keys.name()) {
            return known.clone();
        }
        all.push(keys.clone());
        keys
    }

    /// The keys of all files, in HAProxy's numbering: the file named last comes first.
    pub(crate) fn ticket_keys(&self) -> Vec<Arc<TicketKeys>> {
        let all = self.tickets.lock();
        all.iter().rev().cloned().collect()
    }

    /// Completes a draft with the shared parts that it lacks, such as its chain.
    pub(crate) fn finish(
        &self,
        mut draft: CertificateDraft,
        name: &str,
    ) -> Result<Certificate, Flaw> {
        self.complete_chain(&mut draft);
        let mut certificate = draft.complete(name, &self.exchange)?;
        certificate.keeps_roots = self.extras.keeps_roots;
        Ok(certificate)
    }

    /// The certificate of this name, if it is loaded.
    pub fn certificate(&self, name: &str) -> Option<Arc<Certificate>> {
        self.certificates.read().get(name)?.clone()
    }

    /// All names of certificates, including empty ones.
    pub(crate) fn names(&self) -> Vec<String> {
        self.certificates.read().keys().cloned().collect()
    }

    /// Whether there is a certificate of this name, or a place for one.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.certificates.read().contains_key(name)
    }

    /// Makes a place for a certificate.
    pub(crate) fn reserve(&self, name: &str) {
        self.certificates.write().entry(name.to_owned()).or_default();
    }

    pub(crate) fn remove(&self, name: &str) {
        self.certificates.write().remove(name);
    }

    /// Stores a certificate under its name and replaces an existing one.
    pub(crate) fn put(&self, certificate: Certificate) -> Arc<Certificate> {
        let certificate = Arc::new(certificate);
        self.certificates.write().insert(certificate.name.clone(), Some(certificate.clone()));
        certificate
    }

    /// Restores a certificate that was replaced.
    pub(crate) fn put_again(&self, certificate: Arc<Certificate>) {
        self.certificates.write().insert(certificate.name.clone(), Some(certificate));
    }

    /// All certificates.
    pub(crate) fn all(&self) -> Vec<Arc<Certificate>> {
        self.certificates.read().values().flatten().cloned().collect()
    }

    pub(crate) fn links(&self) -> &IntermediateCache {
        &self.links
    }

    /// Loads the certificates behind `crt NAME`; files that are not loaded yet are read.
    ///
    /// # Errors
    ///
    /// The mistake, with its file.
    pub(crate) fn load(
        &self,
        name: &str,
        files: &dyn Files,
    ) -> Result<Vec<Arc<Certificate>>, CertificateError> {
        let (CertificateSource::Files(found) | CertificateSource::Directory(found)) =
            self.meant(name, files)?;
        found.iter().map(|name| self.one(name, files)).collect()
    }

    /// The meaning of `crt NAME`: a file, a directory or a bundle.
    ///
    /// # Errors
    ///
    /// No such file exists.
    pub(crate) fn meant(
        &self,
        name: &str,
        files: &dyn Files,
    ) -> Result<CertificateSource, CertificateError> {
        if self.certificate(name).is_some() {
            return Ok(CertificateSource::Files(vec![name.to_owned()]));
        }
        match files.list(Path::new(name)) {
            Ok(None) => Ok(CertificateSource::Files(vec![name.to_owned()])),
            Ok(Some(entries)) => Ok(CertificateSource::Directory(directory(name, entries, files))),
            Err(error) => {
                let is_there = |name: &String| {
                    self.has(name) || matches!(files.list(Path::new(name)), Ok(None))
                };
                let ends = BUNDLE.into_iter().filter(|_| self.extras.bundle);
                let found: Vec<_> =
                    ends.map(|end| format!("{name}{end}")).filter(is_there).collect();
                if found.is_empty() {
                    let (name, reason) = (name.to_owned(), words(&error));
                    return Err(CertificateError::Missing { name, reason });
                }
                Ok(CertificateSource::Files(found))
            }
        }
    }

    /// Loads many certificates with several threads. The error of a certificate is reported when it
    /// is asked for.
    pub(crate) fn prepare<'a>(&self, names: impl Iterator<Item = &'a str>, files: &dyn Files) {
        let wanted: BTreeSet<&str> = names.filter(|name| !self.has(name)).collect();
        if wanted.len() < MANY {
            return;
        }
        let wanted: Vec<&str> = wanted.into_iter().collect();
        let beside = Beside::of(&wanted, files);
        let made = parallel_map(&wanted, |name| {
            let texts = self.texts(name, files, &beside).ok()?;
            self.complete(name, texts).ok()
        });
        made.into_iter().flatten().for_each(|certificate| drop(self.put(certificate)));
    }

    fn one(&self, name: &str, files: &dyn Files) -> Result<Arc<Certificate>, CertificateError> {
        if let Some(known) = self.certificate(name) {
            return Ok(known);
        }
        let texts = self.texts(name, files, &Beside::default()).map_err(|error| {
            CertificateError::Unreadable { name: name.to_owned(), reason: words(&error) }
        })?;
        Ok(self.put(self.complete(name, texts)?))
    }

    /// The name of a file that goes with a certificate.
    pub(crate) fn beside(&self, name: &str, end: &str) -> String {
        let stem = name.strip_suffix(".crt").filter(|_| self.extras.without_extension);
        format!("{}{end}", stem.unwrap_or(name))
    }

    /// Reads the file of a certificate, and the files beside it.
    fn texts(&self, name: &str, files: &dyn Files, known: &Beside) -> io::Result<Texts> {
        let main = Secret::new(files.read(Path::new(name))?);
        let beside = |wanted: bool, end: &str| {
            let path =
                wanted.then(|| self.beside(name, end)).filter(|path| known.may_have(path))?;
            files.read(Path::new(&path)).ok()
        };
        let has_key = main.windows(KEY.len()).any(|part| part == KEY);
        Ok(Texts {
            key: beside(self.extras.key && !has_key, ".key").map(Secret::new),
            ocsp: beside(self.extras.ocsp, ".ocsp"),
            sctl: beside(self.extras.sctl, ".sctl"),
            issuer: beside(self.extras.issuer, ".issuer"),
            main: Some(main),
        })
    }

    /// A certificate from the text of its file, and from those beside it.
    fn complete(&self, name: &str, texts: Texts) -> Result<Certificate, CertificateError> {
        let mut draft = CertificateDraft::default();
        let main = texts.main.as_deref().unwrap_or_default();
        draft
            .read(main, &self.links)
            .ok_or_else(|| CertificateError::Malformed(name.to_owned()))?;
        if draft.key.is_none() {
            draft.key = texts.key.and_then(|text| Key::read(&text)).map(Arc::new);
        }
        draft.issuer = match texts.issuer {
            Some(text) => Some(
                X509::from_pem(&text)
                    .map_err(|_| CertificateError::Issuer(self.beside(name, ".issuer")))?,
            ),
            None => None,
        };
        draft.ocsp = texts.ocsp;
        draft.sctl = sct_list(texts.sctl.unwrap_or_default())
            .map_err(|()| CertificateError::Timestamps(self.beside(name, ".sctl")))?;
        self.finish(draft, name).map_err(|flaw| match flaw {
            Flaw::Incomplete if self.extras.key => {
                CertificateError::NoKey(self.beside(name, ".key"))
            }
            Flaw::Incomplete => CertificateError::NoKey(name.to_owned()),
            Flaw::Foreign => CertificateError::ForeignKey(name.to_owned()),
        })
    }

    /// The authorities of a `ca-file` or the lists of a `crl-file`, a single file or a directory.
    ///
    /// # Errors
    ///
    /// The mistake, with its file.
    pub(crate) fn load_authorities(
        &self,
        name: &str,
        purpose: Purpose,
        files: &dyn Files,
    ) -> Result<Arc<Authorities>, AuthorityFileError> {
        if let Some(known) = self.authorities(name) {
            return Ok(known);
        }
        let read = read_authorities(name, purpose, files, &mut self.lock_notes())?;
        Ok(self.put_authorities(name, read))
    }

    /// The notes about ignored content since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *self.lock_notes())
    }

    fn lock_notes(&self) -> MutexGuard<'_, Vec<String>> {
        self.notes.lock()
    }

    /// The authorities of this name, if they are loaded.
    pub(crate) fn authorities(&self, name: &str) -> Option<Arc<Authorities>> {
        self.authorities.read().get(name).cloned()
    }

    /// Puts authorities under a name, in place of those that are there.
    pub(crate) fn put_authorities(
        &self,
        name: &str,
        authorities: impl Into<Arc<Authorities>>,
    ) -> Arc<Authorities> {
        let authorities = authorities.into();
        self.authorities.write().insert(name.to_owned(), authorities.clone());
        authorities
    }

    pub(crate) fn remove_authorities(&self, name: &str) {
        self.authorities.write().remove(name);
    }

    /// All that serve a purpose, by name.
    pub(crate) fn all_authorities(&self, purpose: Purpose) -> Vec<(String, Arc<Authorities>)> {
        let all = self.authorities.read();
        let fits = all.iter().filter(|(_, own)| own.purpose == purpose);
        fits.map(|(name, own)| (name.clone(), own.clone())).collect()
    }
}

/// The names in each directory: asking the system for a missing file costs as much as for an
/// existing one.
#[derive(Default)]
struct Beside(HashMap<String, HashSet<String>>);

impl Beside {
    /// The directories of these files.
    fn of(names: &[&str], files: &dyn Files) -> Self {
        let directories: BTreeSet<&str> = names.iter().map(|name| split(name).0).collect();
        let list = |directory: &str| {
            let entries = files.list(Path::new(directory)).ok()??;
            Some((directory.to_owned(), entries.into_iter().collect()))
        };
        Self(directories.into_iter().filter_map(list).collect())
    }

    /// Whether the directory may contain such a file.
    fn may_have(&self, path: &str) -> bool {
        let (directory, name) = split(path);
        self.0.get(directory).is_none_or(|entries| entries.contains(name))
    }
}

/// The directory of a file, and its name there.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

const KEY: &[u8] = b"PRIVATE KEY-----";

/// The certificates in a directory, in order.
fn directory(name: &str, mut entries: Vec<String>, files: &dyn Files) -> Vec<String> {
    entries.sort();
    let is_certificate = |entry: &&String| {
        !entry.starts_with('.') && !COMPANIONS.iter().any(|end| entry.ends_with(end))
    };
    let path = |entry: &String| format!("{}/{entry}", name.trim_end_matches('/'));
    // A path that cannot be inspected is kept, so that reading it reports the error.
    let is_directory = |path: &String| matches!(files.list(Path::new(path)), Ok(Some(_)));
    entries.iter().filter(is_certificate).map(path).filter(|path| !is_directory(path)).collect()
}

/// `notes` gets the files of a directory that are no certificates; the other files are used.
fn read_authorities(
    name: &str,
    purpose: Purpose,
    files: &dyn Files,
    notes: &mut Vec<String>,
) -> Result<Authorities, AuthorityFileError> {
    let path = if name == "@system-ca" { SYSTEM_AUTHORITIES } else { name };
    let unreadable = |error: io::Error| AuthorityFileError::Unreadable(words(&error));
    let Some(mut entries) = files.list(Path::new(path)).map_err(unreadable)? else {
        return Authorities::read(&files.read(Path::new(path)).map_err(unreadable)?, purpose);
    };
    entries.sort();
    let is_wanted = |entry: &&String| {
        !entry.starts_with('.') && AUTHORITY.iter().any(|end| entry.ends_with(end))
    };
    let mut all = Authorities::none(purpose);
    for entry in entries.iter().filter(is_wanted) {
        let path = format!("{}/{entry}", path.trim_end_matches('/'));
        let text = files.read(Path::new(&path)).map_err(unreadable);
        match text.and_then(|text| Authorities::read(&text, purpose)) {
            Ok(more) => all.extend(more),
            Err(why) => notes.push(format!("ca-file: '{name}' couldn't load '{path}' ({why})")),
        }
    }
    if all.is_empty() {
        notes.push(format!("ca-file: 0 CA were loaded from '{name}'"));
    }
    Ok(all)
}

/// The system's words for an error, without its number.
pub(crate) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "No such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
        _ => error.to_string(),
    }
}
