//! Certificates, authorities and revocation lists by the names of their files. Never chooses one.
//!
//! A file that many lines name is read and parsed once.

use crate::authority::Authorities;
use crate::certificate::{self, Certificate, Parts};
use openssl::x509::X509;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// Where files come from.
pub trait Files {
    /// The contents of a file.
    ///
    /// # Errors
    /// As the system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The names in a directory; `None` if it is none.
    ///
    /// # Errors
    /// There is nothing of that name.
    fn list(&self, path: &Path) -> io::Result<Option<Vec<String>>>;
}

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
        }
    }
}

/// Ends of names that make a bundle, in order.
const BUNDLE: [&str; 3] = [".rsa", ".dsa", ".ecdsa"];
/// Ends of names of files that go with a certificate.
const COMPANIONS: [&str; 4] = [".issuer", ".ocsp", ".sctl", ".key"];
/// Ends of names of files that a directory of authorities may have.
const AUTHORITY: [&str; 4] = [".pem", ".crt", ".cer", ".crl"];

/// Everything that has been read.
#[derive(Debug, Default)]
pub struct Store {
    /// What is looked for beside a certificate.
    pub extras: Extras,
    certificates: RwLock<BTreeMap<String, Arc<Certificate>>>,
    authorities: RwLock<BTreeMap<String, Arc<Authorities>>>,
}

impl Store {
    /// An empty store.
    pub fn new(extras: Extras) -> Self {
        Self { extras, ..Self::default() }
    }

    /// The certificate of this name, if it is there.
    pub fn certificate(&self, name: &str) -> Option<Arc<Certificate>> {
        self.certificates.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The names of all certificates.
    pub fn names(&self) -> Vec<String> {
        let certificates = self.certificates.read().unwrap_or_else(PoisonError::into_inner);
        certificates.keys().cloned().collect()
    }

    /// Puts a certificate under its name, in place of the one that is there.
    pub fn put(&self, certificate: Certificate) -> Arc<Certificate> {
        let certificate = Arc::new(certificate);
        let mut all = self.certificates.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(certificate.name.clone(), certificate.clone());
        certificate
    }

    /// The certificates that `crt NAME` means: a file, those of a directory, or a bundle. Files
    /// that have not been read are.
    ///
    /// # Errors
    /// What is wrong, and with which file.
    pub fn load(&self, name: &str, files: &dyn Files) -> Result<Vec<Arc<Certificate>>, String> {
        if let Some(known) = self.certificate(name) {
            return Ok(vec![known]);
        }
        match files.list(Path::new(name)) {
            Ok(None) => self.one(name, files).map(|it| vec![it]),
            Ok(Some(entries)) => self.directory(name, entries, files),
            Err(error) => {
                let found = self.bundle(name, files)?;
                if found.is_empty() {
                    return Err(format!(
                        "unable to stat SSL certificate from file '{name}' : {}.",
                        words(&error)
                    ));
                }
                Ok(found)
            }
        }
    }

    fn bundle(&self, name: &str, files: &dyn Files) -> Result<Vec<Arc<Certificate>>, String> {
        let mut found = Vec::new();
        for end in BUNDLE.into_iter().filter(|_| self.extras.bundle) {
            let name = format!("{name}{end}");
            if self.certificate(&name).is_some() || matches!(files.list(Path::new(&name)), Ok(None))
            {
                found.push(self.one(&name, files)?);
            }
        }
        Ok(found)
    }

    fn directory(
        &self,
        name: &str,
        mut entries: Vec<String>,
        files: &dyn Files,
    ) -> Result<Vec<Arc<Certificate>>, String> {
        entries.sort();
        let mut found = Vec::new();
        for entry in entries {
            if entry.starts_with('.') || COMPANIONS.iter().any(|end| entry.ends_with(end)) {
                continue;
            }
            let path = format!("{}/{entry}", name.trim_end_matches('/'));
            if matches!(files.list(Path::new(&path)), Ok(None)) {
                found.push(self.one(&path, files)?);
            }
        }
        Ok(found)
    }

    fn one(&self, name: &str, files: &dyn Files) -> Result<Arc<Certificate>, String> {
        if let Some(known) = self.certificate(name) {
            return Ok(known);
        }
        let text = files.read(Path::new(name)).map_err(|error| {
            format!("unable to load certificate from file '{name}': {}.", words(&error))
        })?;
        let certificate = self.complete(name, &text, files)?;
        Ok(self.put(certificate))
    }

    /// A certificate from the text of its file, and from the files beside it.
    fn complete(&self, name: &str, text: &[u8], files: &dyn Files) -> Result<Certificate, String> {
        let parts = Parts::read(text)
            .ok_or_else(|| format!("unable to load certificate from file '{name}'."))?;
        let beside = |wanted: bool, end: &str| {
            let stem = name.strip_suffix(".crt").filter(|_| self.extras.without_extension);
            let path = format!("{}{end}", stem.unwrap_or(name));
            let text = wanted.then(|| files.read(Path::new(&path)).ok()).flatten();
            (path, text)
        };
        let (key_file, key_text) = beside(self.extras.key && parts.key.is_none(), ".key");
        let key = parts.key.or_else(|| certificate::key(&key_text?)).ok_or_else(|| {
            let place = if self.extras.key { &key_file } else { name };
            format!("No Private Key found in '{place}'.")
        })?;
        let ours = parts.certificate.public_key().is_ok_and(|public| public.public_eq(&key));
        if !ours {
            return Err(format!(
                "inconsistencies between private key and certificate loaded '{name}'."
            ));
        }
        let (issuer_file, issuer) = beside(self.extras.issuer, ".issuer");
        let issuer = issuer.map(|text| {
            X509::from_pem(&text)
                .map_err(|_| format!("unable to load issuer from file '{issuer_file}'."))
        });
        Ok(Certificate {
            name: name.to_owned(),
            certificate: parts.certificate,
            chain: parts.chain,
            key,
            dh: parts.dh,
            ocsp: beside(self.extras.ocsp, ".ocsp").1.filter(|text| !text.is_empty()),
            sctl: beside(self.extras.sctl, ".sctl").1,
            issuer: issuer.transpose()?,
        })
    }

    /// The authorities of a `ca-file` or the lists of a `crl-file`: a file, or all of a directory.
    ///
    /// # Errors
    /// What is wrong, and with which file.
    pub fn load_authorities(
        &self,
        name: &str,
        files: &dyn Files,
    ) -> Result<Arc<Authorities>, String> {
        if let Some(known) = self.authorities(name) {
            return Ok(known);
        }
        let read = self.read_authorities(name, files);
        let read = read.map_err(|why| format!("Couldn't open the ca-file '{name}' ({why})."))?;
        let read = Arc::new(read);
        let mut all = self.authorities.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(name.to_owned(), read.clone());
        Ok(read)
    }

    fn read_authorities(&self, name: &str, files: &dyn Files) -> Result<Authorities, String> {
        let path = if name == "@system-ca" { "/etc/ssl/certs/ca-certificates.crt" } else { name };
        let told = |error: io::Error| words(&error);
        let Some(entries) = files.list(Path::new(path)).map_err(told)? else {
            return Authorities::read(&files.read(Path::new(path)).map_err(told)?);
        };
        let mut all = Authorities::none();
        for entry in entries.iter().filter(|it| AUTHORITY.iter().any(|end| it.ends_with(end))) {
            let path = format!("{}/{entry}", path.trim_end_matches('/'));
            let text = files.read(Path::new(&path)).map_err(told)?;
            Authorities::read(&text).into_iter().for_each(|more| all.extend(more));
        }
        Ok(all)
    }

    /// The authorities of this name, if they are there.
    pub fn authorities(&self, name: &str) -> Option<Arc<Authorities>> {
        self.authorities.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

/// The system's words for an error, without its number.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "No such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "Permission denied".to_owned(),
        _ => error.to_string(),
    }
}
