//! Files of unix sockets, under temporary names until the process is sure to start.
//!
//! A start that fails must leave the sockets of the serving process at the paths of their clients.

use crate::start_error::StartError;
use config::model::UnixAccess;
use std::fmt;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A failed step of opening a unix socket, in HAProxy's words.
#[derive(Debug)]
pub(super) struct UnixSocketError {
    step: &'static str,
    why: io::Error,
}

impl UnixSocketError {
    /// An error of the system, with the failed step.
    pub(super) fn at(step: &'static str) -> impl Fn(io::Error) -> io::Error {
        move |why| io::Error::other(Self { step, why })
    }

    /// Whether an error is one of these.
    pub(super) fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

impl fmt::Display for UnixSocketError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.step, super::listeners::words(&self.why))
    }
}

impl std::error::Error for UnixSocketError {}

/// Socket files under temporary names. A drop removes the remaining files, but only in the process
/// that created them: a forked copy leaves them alone.
#[derive(Debug, Default)]
pub(super) struct SocketFiles {
    waiting: Vec<(PathBuf, PathBuf)>,
    owner: u32,
}

impl SocketFiles {
    /// Adds the socket that listens at `fresh` and is renamed to `path` later.
    pub(super) fn add(&mut self, fresh: PathBuf, path: &Path) {
        self.owner = std::process::id();
        self.waiting.push((fresh, path.to_owned()));
    }

    /// Adds the files of another list.
    pub(super) fn append(&mut self, mut other: Self) {
        self.owner = std::process::id();
        self.waiting.append(&mut other.waiting);
    }

    /// Takes the files over from the process that this one is a copy of.
    pub(super) fn adopt(&mut self) {
        self.owner = std::process::id();
    }

    /// Renames all sockets to their final paths; an existing socket at such a path is replaced at
    /// once, so that no client finds the path absent.
    ///
    /// # Errors
    /// A file cannot be renamed. Files before it are renamed.
    pub(super) fn publish(&mut self) -> Result<(), StartError> {
        for (fresh, path) in std::mem::take(&mut self.waiting) {
            if let Err(error) = std::fs::rename(&fresh, &path) {
                let _ = std::fs::remove_file(&fresh);
                let reason = super::listeners::words(&error);
                return Err(StartError::SocketFile { path, reason });
            }
        }
        Ok(())
    }

    /// Removes the files under temporary names.
    pub(super) fn withdraw(&mut self) {
        for (fresh, _) in std::mem::take(&mut self.waiting) {
            let _ = std::fs::remove_file(fresh);
        }
    }
}

impl Drop for SocketFiles {
    fn drop(&mut self) {
        if self.owner == std::process::id() {
            self.withdraw();
        }
    }
}

/// Sets owner and rights of a socket's file.
///
/// # Errors
/// The system forbids it; the error says which of the two.
pub(super) fn allow(path: &Path, access: &UnixAccess) -> io::Result<()> {
    let mode = access.mode.map(std::fs::Permissions::from_mode);
    mode.map_or(Ok(()), |mode| std::fs::set_permissions(path, mode))
        .map_err(UnixSocketError::at("cannot change UNIX socket permissions"))?;
    if access.uid.is_none() && access.gid.is_none() {
        return Ok(());
    }
    sys::listen::set_owner(path, access.uid, access.gid)
        .map_err(UnixSocketError::at("cannot change UNIX socket ownership"))
}

/// Whether a socket's file has the owner and the rights already.
pub(super) fn has(path: &Path, access: &UnixAccess) -> bool {
    let Ok(file) = std::fs::metadata(path) else { return false };
    access.mode.is_none_or(|mode| file.mode() & 0o7777 == mode & 0o7777)
        && access.uid.is_none_or(|uid| file.uid() == uid)
        && access.gid.is_none_or(|gid| file.gid() == gid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of this test's own.
    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    #[test]
    fn a_socket_file_is_replaced_when_published_and_not_before() {
        let directory = directory("socket-files");
        let (path, fresh) = (directory.join("s"), directory.join("s.tmp"));
        std::fs::write(&path, "old").expect("a file");
        let make = || {
            std::fs::write(&fresh, "new").expect("a file");
            let mut files = SocketFiles::default();
            files.add(fresh.clone(), &path);
            files
        };
        drop(make());
        assert!(!fresh.exists(), "what is not published is removed");
        assert_eq!(std::fs::read_to_string(&path).expect("it stays"), "old");
        let mut copy = make();
        copy.owner = 0;
        drop(copy);
        assert!(fresh.exists(), "a forked copy leaves the file alone");
        make().publish().expect("the file is there");
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "new");
        assert!(make().publish().is_ok() && !fresh.exists());
        let mut files = SocketFiles::default();
        files.add(directory.join("absent"), &path);
        let error = files.publish().expect_err("there is no such file").to_string();
        assert!(error.contains("Cannot rename UNIX socket to "), "{error}");
        std::fs::remove_dir_all(&directory).expect("its own directory");
    }

    #[test]
    fn a_socket_with_other_rights_is_not_the_same() {
        let directory = directory("socket-access");
        let path = directory.join("s");
        std::fs::write(&path, "").expect("a file");
        let access = UnixAccess { mode: Some(0o640), ..UnixAccess::default() };
        allow(&path, &access).expect("its own file");
        assert!(has(&path, &access) && has(&path, &UnixAccess::default()));
        assert!(!has(&path, &UnixAccess { mode: Some(0o600), ..UnixAccess::default() }));
        assert!(!has(&directory.join("absent"), &UnixAccess::default()));
        let error = allow(&directory.join("absent"), &access).expect_err("there is no file");
        assert!(UnixSocketError::is(&error));
        let said = error.to_string();
        assert_eq!(said, "cannot change UNIX socket permissions (No such file or directory)");
        std::fs::remove_dir_all(&directory).expect("its own directory");
    }
}
