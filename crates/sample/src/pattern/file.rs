//! The dictionaries of a configuration: one per file and per ACL line, shared by all lines that name them.

use super::dictionary::{Dictionary, NO_ID};
use super::error::{DictionaryError, PatternError};
use super::rows::Rows;
use super::view::View;
use super::{Match, Use};
use crate::value::Type;
use std::cell::RefCell;
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

type Reader<'r> = &'r dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// The dictionaries of a running configuration, by the order of their ids.
#[derive(Debug, Default)]
pub struct Dictionaries(Vec<Arc<Dictionary>>);

impl Dictionaries {
    /// Every dictionary, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Dictionary>> {
        self.0.iter()
    }

    /// The dictionary that `#id` or a file's name means.
    pub fn find(&self, name: &str) -> Option<&Arc<Dictionary>> {
        match name.strip_prefix('#') {
            Some(id) => {
                let id = id.parse().ok()?;
                self.0.iter().find(|found| found.id() == id)
            }
            None => self.0.iter().find(|found| found.file() == Some(name)),
        }
    }
}

/// A dictionary that an action names, before it is known whether a rule loads it.
#[derive(Debug)]
pub struct LateDictionary {
    file: Box<str>,
    two_columns: bool,
    place: String,
    found: OnceLock<Arc<Dictionary>>,
}

impl LateDictionary {
    /// The file's name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The dictionary, once [`PatternFiles::finish`] was called.
    pub fn get(&self) -> Option<&Arc<Dictionary>> {
        self.found.get()
    }
}

/// The pattern files loaded so far.
#[derive(Debug, Default)]
pub struct PatternFiles {
    all: RefCell<Vec<Arc<Dictionary>>>,
    late: RefCell<Vec<Arc<LateDictionary>>>,
}

impl PatternFiles {
    /// The dictionary of the file `name`, read when it is the first time; `place` is where it is
    /// used, as `file 'f' line n`.
    fn open(
        &self,
        name: &str,
        two_columns: bool,
        place: &str,
        read: Reader<'_>,
    ) -> Result<Arc<Dictionary>, DictionaryError> {
        let found = self.all.borrow().iter().find(|d| d.file() == Some(name)).cloned();
        if let Some(found) = found {
            if found.has_values() != two_columns {
                return Err(DictionaryError::Columns { name: name.to_owned(), two: two_columns });
            }
            found.add_user(place.to_owned());
            return Ok(found);
        }
        let unreadable = |_| DictionaryError::Unreadable(name.to_owned());
        let bytes = read(Path::new(name)).map_err(unreadable)?;
        let mut all = Rows::default();
        all.reserve(memchr::memchr_iter(b'\n', &bytes).count() + 1, bytes.len());
        for (_, row) in rows(&bytes) {
            let (key, value) = if two_columns { columns(row) } else { (row, &b""[..]) };
            if !all.load(key, value) {
                return Err(DictionaryError::TooMany(name.to_owned()));
            }
        }
        let dictionary = Dictionary::new(Some(name), two_columns, all);
        dictionary.add_user(place.to_owned());
        self.all.borrow_mut().push(dictionary.clone());
        Ok(dictionary)
    }

    fn view_of(
        &self,
        dictionary: &Dictionary,
        to: Use,
        name: &str,
        read: Reader<'_>,
    ) -> Result<Arc<View>, DictionaryError> {
        dictionary.view(to).map_err(|(row, error)| {
            // Only errors need line numbers, so they are counted then.
            let bytes = read(Path::new(name)).unwrap_or_default();
            let line = rows(&bytes).nth(row as usize).map_or(0, |(line, _)| line);
            DictionaryError::Row { error, line, name: name.to_owned() }
        })
    }

    /// The patterns of the file `name`, one per line; with `keyed`, only the first column counts
    /// (`-M`).
    pub fn set(
        &self,
        name: &str,
        (method, ignore_case): (Match, bool),
        keyed: bool,
        place: &str,
        read: Reader<'_>,
    ) -> Result<Arc<View>, DictionaryError> {
        let dictionary = self.open(name, keyed, place, read)?;
        self.view_of(&dictionary, Use { method, ignore_case, values: None }, name, read)
    }

    /// The map in the file `name`: a key, blanks and a value per line.
    pub fn map(
        &self,
        name: &str,
        method: Match,
        to: Type,
        place: &str,
        read: Reader<'_>,
    ) -> Result<Arc<View>, DictionaryError> {
        let dictionary = self.open(name, true, place, read)?;
        let to = Use { method, ignore_case: false, values: Some(to) };
        self.view_of(&dictionary, to, name, read)
    }

    /// The patterns of an ACL line, perhaps none; an error names the pattern. `place` describes the
    /// line.
    pub fn inline<'p>(
        &self,
        (method, ignore_case): (Match, bool),
        patterns: impl Iterator<Item = &'p [u8]>,
        place: String,
        id: Option<u32>,
    ) -> Result<Arc<View>, (usize, PatternError)> {
        let mut rows = Rows::default();
        for (number, pattern) in patterns.enumerate() {
            if !rows.load(pattern, b"") {
                return Err((number, PatternError::TooMany));
            }
        }
        let dictionary = Dictionary::new(None, false, rows);
        dictionary.set_id(id.unwrap_or(NO_ID));
        dictionary.add_user(place);
        let view = dictionary.view(Use { method, ignore_case, values: None });
        let view = view.map_err(|(row, error)| (row as usize, error))?;
        self.all.borrow_mut().push(dictionary);
        Ok(view)
    }

    /// Whether a line gave its patterns the id already.
    pub fn has_id(&self, id: u32) -> bool {
        self.all.borrow().iter().any(|found| found.id() == id)
    }

    /// The file that an action will change while the program runs: `set-map`, `del-map`
    /// (`two_columns`), `add-acl`, `del-acl`.
    pub fn later(&self, name: &str, two_columns: bool, place: &str) -> Arc<LateDictionary> {
        let late = Arc::new(LateDictionary {
            file: name.into(),
            two_columns,
            place: place.to_owned(),
            found: OnceLock::new(),
        });
        self.late.borrow_mut().push(late.clone());
        late
    }

    /// Assigns ids and ends loading. A file that an action names and no line loads begins empty.
    pub fn finish(&self) -> Dictionaries {
        for late in self.late.take() {
            let mut all = self.all.borrow_mut();
            let found = all.iter().find(|d| d.file() == Some(&late.file)).cloned();
            let found = found.unwrap_or_else(|| {
                let empty = Dictionary::new(Some(&late.file), late.two_columns, Rows::default());
                empty.add_user(late.place.clone());
                all.push(empty.clone());
                empty
            });
            // The slot has one writer.
            let _ = late.found.set(found);
        }
        let mut all = self.all.take();
        let taken: HashSet<u32> = all.iter().map(|d| d.id()).collect();
        let mut free = (0..NO_ID).filter(|id| !taken.contains(id));
        for dictionary in all.iter().filter(|d| d.id() == NO_ID) {
            dictionary.set_id(free.next().unwrap_or(NO_ID));
        }
        all.sort_by_key(|dictionary| dictionary.id());
        Dictionaries(all)
    }
}

/// The lines that hold something, with their numbers: comments begin with `#` in the first column.
fn rows(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes.split(|byte| *byte == b'\n').zip(1..).filter_map(|(line, number)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let row = trim_start(line);
        (!line.starts_with(b"#") && !row.is_empty()).then_some((number, row))
    })
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_start(text: &[u8]) -> &[u8] {
    &text[text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len())..]
}

/// Key and value of a row.
fn columns(row: &[u8]) -> (&[u8], &[u8]) {
    let end = row.iter().position(is_blank).unwrap_or(row.len());
    let value = trim_start(&row[end..]);
    let len = value.iter().rposition(|byte| !is_blank(byte)).map_or(0, |at| at + 1);
    (&row[..end], &value[..len])
}
