//! A directory for the files of one benchmark, removed when the benchmark ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{self, Outcome};

/// The kind of key that a certificate has.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    P256,
    Rsa2048,
}

impl Key {
    /// As `openssl req -newkey` has it.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::P256 => &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
            Self::Rsa2048 => &["rsa:2048"],
        }
    }
}

/// The directory.
pub(crate) struct Files(PathBuf);

impl Files {
    /// Makes the directory; its name holds `purpose` and the process id.
    pub(crate) fn new(purpose: &str) -> Outcome<Self> {
        let path = std::env::temp_dir().join(format!("weir-{purpose}-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
        Ok(Self(path))
    }

    /// Where the directory is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Outcome<PathBuf> {
        let path = self.0.join(name);
        std::fs::write(&path, bytes)
            .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
        Ok(path)
    }

    /// Writes a file of bytes that do not compress.
    pub(crate) fn write_random(&self, name: &str, length: u64) -> Outcome<PathBuf> {
        use std::io::Read;
        let mut bytes = Vec::new();
        std::fs::File::open("/dev/urandom")
            .and_then(|source| source.take(length).read_to_end(&mut bytes))
            .map_err(|error| failure::machine(format!("/dev/urandom: {error}")))?;
        self.write(name, bytes)
    }

    /// Writes a self-signed certificate with its key.
    pub(crate) fn write_certificate(&self, name: &str, kind: Key) -> Outcome<PathBuf> {
        let (key, certificate) = (self.0.join("key.pem"), self.0.join("certificate.pem"));
        let status = Command::new("openssl")
            .args(["req", "-x509", "-newkey"])
            .args(kind.words())
            .args(["-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .stderr(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            return Err(failure::machine("openssl cannot make a certificate"));
        }
        let read = |path: &Path| std::fs::read(path).unwrap_or_default();
        self.write(name, [read(&certificate), read(&key)].concat())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            println!("cannot remove {}: {error}", self.0.display());
        }
    }
}
