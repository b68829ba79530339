//! The list of tolerated exceptions to the rules. The list may only shrink.

/// Where the list lives.
pub(crate) const PATH: &str = "crates/xtask/tidy.list";

/// The parsed list.
#[derive(Default)]
pub(crate) struct Exceptions {
    entries: Vec<Entry>,
    /// Lines that could not be read, numbered from 1.
    pub(crate) unreadable: Vec<usize>,
}

/// One tolerated exception.
pub(crate) struct Entry {
    /// Line in the list, counted from 1.
    pub(crate) line: usize,
    /// `file`, `function`, `crate`, `cycle`, `prose` or `names`.
    pub(crate) kind: &'static str,
    /// A path, `path::function`, or the name of a crate.
    pub(crate) name: String,
    /// Lines of the file or function, versions of the crate, rooms of the circle, comment lines,
    /// types.
    pub(crate) size: usize,
}

const KINDS: &[&str] = &["file", "function", "crate", "cycle", "prose", "names"];

impl Exceptions {
    /// Reads lines of `KIND NAME SIZE # why`; empty lines and comments are left out.
    pub(crate) fn parse(text: &str) -> Self {
        let mut exceptions = Self::default();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> =
                line.split('#').next().unwrap_or("").split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            match entry(index + 1, &words) {
                Some(entry) => exceptions.entries.push(entry),
                None => exceptions.unreadable.push(index + 1),
            }
        }
        exceptions
    }

    /// The tolerated size of something, if it is listed.
    pub(crate) fn size(&self, kind: &str, name: &str) -> Option<usize> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.kind == kind && entry.name == name).map(|entry| entry.size)
    }

    /// The entries of one kind.
    pub(crate) fn of(&self, kind: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }
}

fn entry(line: usize, words: &[&str]) -> Option<Entry> {
    let [kind, name, size] = words else { return None };
    let kind = KINDS.iter().copied().find(|known| known == kind)?;
    Some(Entry { line, kind, name: (*name).to_owned(), size: size.parse().ok()? })
}
