//! Network namespaces in which sockets can be opened.
//!
//! Invariant: the calling thread is back in the namespace of the process when a call returns.

use crate::Fd;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::sync::OnceLock;

/// Directory of the named namespaces, as `ip netns` keeps it.
const NAMED: &str = "/var/run/netns";

/// A namespace in which sockets can be opened.
#[derive(Debug)]
pub struct Namespace {
    file: File,
    name: Box<str>,
}

impl PartialEq for Namespace {
    fn eq(&self, other: &Self) -> bool {
        self.file.as_raw_fd() == other.file.as_raw_fd()
    }
}

impl Eq for Namespace {}

/// The namespace of the process, to return to.
static OWN: OnceLock<Option<File>> = OnceLock::new();

fn enter(namespace: Fd) -> io::Result<()> {
    // SAFETY: changes the namespace of the calling thread alone; no memory is involved.
    let result = unsafe { libc::setns(namespace, libc::CLONE_NEWNET) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Namespace {
    /// Opens the namespace of this name. Must be called before the root directory changes.
    ///
    /// # Errors
    /// There is none of this name, or the process may not use it.
    pub fn open(name: &str) -> io::Result<Self> {
        OWN.get_or_init(|| File::open("/proc/self/ns/net").ok());
        if name.contains('/') || name.starts_with('.') {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::open(format!("{NAMED}/{name}"))?;
        Ok(Self { file, name: name.into() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Calls `make` with the calling thread in this namespace, so that sockets opened there belong
    /// to it.
    ///
    /// # Errors
    /// The process may not enter it; otherwise the error of `make`.
    pub(crate) fn within<T>(&self, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let own = OWN.get().and_then(Option::as_ref).ok_or(io::ErrorKind::PermissionDenied)?;
        enter(self.file.as_raw_fd())?;
        let made = make();
        // A thread that cannot return would open all later sockets in the wrong namespace.
        enter(own.as_raw_fd()).expect("the namespace of the process can be entered by its threads");
        made
    }
}
