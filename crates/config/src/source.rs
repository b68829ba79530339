//! The files of a configuration: names given with `-f`, directories, and their text.
use crate::diag::{Diagnostic, Severity};
use crate::traps;
use std::borrow::Cow;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One configuration file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name as it was given, used in messages and for `default-path`.
    pub name: Arc<str>,
    /// Its text. Bytes that are not UTF-8 are replaced by U+FFFD, which only comments may contain.
    pub text: String,
    /// True when bytes were replaced.
    pub(crate) lossy: bool,
    /// The description of a file that is no plain configuration, as one with a byte-order mark.
    pub(crate) trap: Option<Cow<'static, str>>,
}

/// The size limit of one configuration file.
pub const MAX_FILE: usize = 256 << 20;

impl Source {
    /// A source from text.
    pub fn new(name: &str, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), lossy: false, trap: None }
    }

    /// A source from the bytes of a file.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Self {
        let (trap, bytes) = traps::of_file(bytes);
        let (text, lossy) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        };
        Self { name: name.into(), text, lossy, trap }
    }
}

/// How configuration reaches the file system; tests bring their own. Threads read together.
pub trait Files: Sync {
    /// The whole content of a file. Returns the errors of the system.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// The entries of a directory, or `None` when `path` is not one.
    fn list(&self, path: &Path) -> io::Result<Option<Vec<PathBuf>>>;
    /// Whether there is a network namespace of this name.
    fn has_namespace(&self, _name: &str) -> bool {
        true
    }
    /// Told now and then how many bytes of a configuration file have been understood, of how many.
    fn progress(&self, _name: &str, _done: usize, _total: usize) {}
}

/// Bytes that any file may have, for patterns and maps too.
pub const MAX_READ: u64 = 4 << 30;

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// Where `ip netns` keeps the names of network namespaces.
const NAMESPACES: &str = "/var/run/netns";

impl Files for Disk {
    fn has_namespace(&self, name: &str) -> bool {
        !name.contains('/') && !name.starts_with('.') && Path::new(NAMESPACES).join(name).exists()
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = std::fs::File::open(path)?;
        // Devices have no size and no end.
        let size = file.metadata()?.len().min(MAX_READ);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size as usize + 1)?;
        if file.take(MAX_READ + 1).read_to_end(&mut bytes)? as u64 > MAX_READ {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<PathBuf>>> {
        if !std::fs::metadata(path)?.is_dir() {
            return Ok(None);
        }
        let entries = std::fs::read_dir(path)?;
        Ok(Some(entries.map(|e| e.map(|e| e.path())).collect::<io::Result<_>>()?))
    }
}

/// Reads the files and directories given with `-f`, in order. In a directory, only `*.cfg` counts,
/// in lexical order, and hidden files do not. Each path that cannot be read gives one alert.
pub fn collect(paths: &[PathBuf], files: &dyn Files) -> Result<Vec<Source>, Vec<Diagnostic>> {
    let mut sources = Vec::new();
    let mut errors = Vec::new();
    for path in paths {
        match expand(path, files) {
            Ok(found) => {
                found.iter().for_each(|file| read(file, files, &mut sources, &mut errors));
            }
            Err(error) => errors.push(cannot_open("file/directory", path, &error)),
        }
    }
    if errors.is_empty() { Ok(sources) } else { Err(errors) }
}

fn read(path: &Path, files: &dyn Files, sources: &mut Vec<Source>, errors: &mut Vec<Diagnostic>) {
    match files.read(path) {
        Ok(bytes) if bytes.len() > MAX_FILE => {
            let message = format!("Configuration file {} is too large", path.display());
            errors.push(Diagnostic::general(Severity::Alert, message));
        }
        Ok(bytes) => sources.push(Source::from_bytes(&path.to_string_lossy(), bytes)),
        Err(error) => errors.push(cannot_open("file", path, &error)),
    }
}

fn expand(path: &Path, files: &dyn Files) -> io::Result<Vec<PathBuf>> {
    let Some(mut entries) = files.list(path)? else { return Ok(vec![path.to_owned()]) };
    entries.retain(|entry| {
        let hidden = entry.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        let named = !hidden && entry.extension().is_some_and(|e| e == "cfg");
        // A directory below is not a file, whatever its name.
        named && !matches!(files.list(entry), Ok(Some(_)))
    });
    entries.sort();
    Ok(entries)
}

fn cannot_open(what: &str, path: &Path, error: &io::Error) -> Diagnostic {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or(&text);
    let message = format!("Cannot open configuration {what} {} : {reason}", path.display());
    Diagnostic::general(Severity::Alert, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    struct Memory(BTreeMap<PathBuf, Option<Vec<u8>>>);

    impl Files for Memory {
        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            let missing = || io::Error::from_raw_os_error(2);
            self.0.get(path).cloned().flatten().ok_or_else(missing)
        }
        fn list(&self, path: &Path) -> io::Result<Option<Vec<PathBuf>>> {
            match self.0.get(path) {
                None => Err(io::Error::from_raw_os_error(2)),
                Some(Some(_)) => Ok(None),
                Some(None) => Ok(Some(
                    self.0.keys().rev().filter(|k| k.parent() == Some(path)).cloned().collect(),
                )),
            }
        }
    }

    fn memory() -> Memory {
        let file = |text: &str| Some(text.as_bytes().to_vec());
        let entries = [
            ("one.conf", file("1")),
            ("d", None),
            ("d/b.cfg", file("b")),
            ("d/a.cfg", file("a")),
            ("d/.hidden.cfg", file("h")),
            ("d/readme", file("r")),
            ("latin.cfg", Some(b"# caf\xe9\n".to_vec())),
        ];
        Memory(entries.into_iter().map(|(n, c)| (PathBuf::from(n), c)).collect())
    }

    #[test]
    fn directories_give_their_cfg_files_in_order() {
        let found = collect(&["one.conf".into(), "d".into(), "latin.cfg".into()], &memory());
        let found = found.unwrap();
        let names: Vec<&str> = found.iter().map(|s| &*s.name).collect();
        assert_eq!(names, ["one.conf", "d/a.cfg", "d/b.cfg", "latin.cfg"]);
        assert!(found[3].lossy && !found[0].lossy);
    }

    #[test]
    fn each_missing_path_is_one_line() {
        let errors = collect(&["x".into(), "one.conf".into(), "y".into()], &memory()).unwrap_err();
        let lines: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
        assert_eq!(
            lines,
            [
                "Cannot open configuration file/directory x : No such file or directory",
                "Cannot open configuration file/directory y : No such file or directory"
            ]
        );
    }
}
