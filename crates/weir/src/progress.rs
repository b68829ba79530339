//! The progress of a long start on a terminal: the current file and its position.

use config::{Disk, Files};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Bytes of a file from which on it is named while it is read.
const LARGE: usize = 8 << 20;
/// Nanoseconds of silence before the first line about a configuration, and between two.
const SPAN: u64 = 300_000_000;

/// The real files; progress is shown on standard error, if it is a terminal.
pub(crate) struct Watched {
    terminal: bool,
    /// Time of the last output, or of the start.
    last: AtomicU64,
    shown: AtomicBool,
}

impl Watched {
    pub(crate) fn new() -> Watched {
        let terminal = io::stderr().is_terminal();
        Watched {
            terminal,
            last: AtomicU64::new(sys::clock::monotonic()),
            shown: AtomicBool::new(false),
        }
    }

    /// Shows `text` in place of the previous text.
    fn show(&self, text: &str) {
        self.last.store(sys::clock::monotonic(), Relaxed);
        self.shown.store(true, Relaxed);
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    }
}

/// Clears the line.
impl Drop for Watched {
    fn drop(&mut self) {
        if self.shown.load(Relaxed) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// A file's name for a terminal, and the text to show.
fn line(name: &str, rest: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let tail: String = name.chars().rev().take(40).collect();
    let name: String = tail.chars().rev().collect();
    format!("{name}: {rest}")
}

impl Files for Watched {
    fn has_namespace(&self, name: &str) -> bool {
        Disk.has_namespace(name)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = Disk.read(path)?;
        if self.terminal && bytes.len() >= LARGE {
            self.show(&line(&path.to_string_lossy(), &format!("{} MB", bytes.len() / 1_000_000)));
        }
        Ok(bytes)
    }

    fn list(&self, path: &Path) -> io::Result<Option<Vec<PathBuf>>> {
        Disk.list(path)
    }

    fn progress(&self, name: &str, done: usize, total: usize) {
        let due = self.last.load(Relaxed).saturating_add(SPAN) <= sys::clock::monotonic();
        if self.terminal && due {
            self.show(&line(name, &format!("{} %", done as u64 * 100 / total.max(1) as u64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_draw_and_are_not_long() {
        assert_eq!(line("a\x1b[2Jb", "5 %"), "a?[2Jb: 5 %");
        let long = format!("{}/end.cfg", "x".repeat(100));
        assert_eq!(line(&long, "1 %").len(), 40 + 5);
    }

    #[test]
    fn no_progress_is_shown_without_a_terminal() {
        let watched =
            Watched { terminal: false, last: AtomicU64::new(0), shown: AtomicBool::new(false) };
        watched.progress("a.cfg", 1, 2);
        assert!(!watched.shown.load(Relaxed));
        let watched =
            Watched { terminal: true, last: AtomicU64::new(0), shown: AtomicBool::new(false) };
        watched.progress("a.cfg", 1, 2);
        assert!(watched.shown.load(Relaxed), "the start lies long back");
    }
}
