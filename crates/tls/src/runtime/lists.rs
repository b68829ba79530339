//! The commands `show|add|del ssl crt-list`.

use super::{Bound, Runtime};
use crate::certificate_table::CertificateTable;
use crate::crt_list::{self, CrtListEntry};
use crate::crt_list::{CrtListError, CrtListFault};
use crate::options::{Options, Verify};
use crate::setup_error::SetupError;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// A certificate of a list.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its file.
    pub certificate: String,
    /// Its line.
    pub listed: Arc<CrtListEntry>,
}

/// A list, or a directory.
#[derive(Debug, Default)]
pub(super) struct List {
    entries: Vec<Entry>,
    directory: bool,
    /// The number of the last new line.
    last: u32,
}

/// Why a list is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListRefusal {
    /// No list has this name.
    NoList,
    /// The text has more than one line.
    Lines,
    /// The line cannot be parsed.
    Line(CrtListError),
    /// A file that the line names is not loaded.
    NotLoaded {
        /// The keyword in front of it.
        keyword: &'static str,
        /// The file.
        file: String,
    },
    /// A bind line that takes the list cannot serve the certificate under the options of the line.
    Impossible(SetupError),
    /// A certificate of a directory has to be named with the directory.
    Elsewhere(String),
    /// There is no certificate of this name.
    NoCertificate(String),
    /// The certificate of this name is empty.
    Empty(String),
    /// The directory has the certificate already.
    Exists,
    /// The list has no such entry.
    NotThere,
    /// The list has the entry, but in these lines.
    WrongLine(Vec<u32>),
    /// The name occurs in these lines.
    Ambiguous(Vec<u32>),
    /// The entry is the default certificate of the bind lines in these places.
    Default(Vec<String>),
}

impl Runtime {
    /// The names of all lists.
    pub fn lists(&self) -> Vec<String> {
        self.lists.lock().keys().cloned().collect()
    }

    /// The name and the contents of a list.
    pub fn list(&self, name: &str) -> Option<(String, Vec<Entry>)> {
        let name = plain(name);
        Some((name.to_owned(), self.lists.lock().get(name)?.entries.clone()))
    }

    /// Adds a line; tells the certificate, and in how many places it is served now.
    ///
    /// # Errors
    /// Nothing has been changed.
    pub fn add_to_list(&self, name: &str, line: &str) -> Result<(String, usize), ListRefusal> {
        let name = plain(name);
        let mut lists = self.lists.lock();
        let list = lists.get_mut(name).ok_or(ListRefusal::NoList)?;
        if line.trim_end().contains('\n') {
            return Err(ListRefusal::Lines);
        }
        let listed = crt_list::parse_entry(line)
            .and_then(|it| if it.misplaced { Err(CrtListFault::Misplaced) } else { Ok(it) })
            .map_err(|fault| {
                ListRefusal::Line(CrtListError { list: "CLI".to_owned(), line: 1, fault })
            })?;
        let listed = self.place(name, list, listed)?;
        let certificate = match self.store.certificate(&listed.path) {
            Some(certificate) => certificate,
            None if self.store.has(&listed.path) => return Err(ListRefusal::Empty(listed.path)),
            None => return Err(ListRefusal::NoCertificate(listed.path)),
        };
        if list.directory && list.entries.iter().any(|it| it.certificate == certificate.name) {
            return Err(ListRefusal::Exists);
        }
        let listed = Arc::new(listed);
        let users = self.acceptors().filter(|acceptor| acceptor.takes(name));
        let mut made = Vec::new();
        for acceptor in users {
            let ground = acceptor.ground(&self.store);
            let table = acceptor.table();
            let terms = table.terms(&acceptor.settings().options, &listed, ground);
            let terms = terms.map_err(ListRefusal::Impossible)?;
            CertificateTable::admit(&terms, &certificate).map_err(ListRefusal::Impossible)?;
            made.push((acceptor, terms));
        }
        let places = made.len();
        for (acceptor, terms) in made {
            acceptor.table_mut().add(terms, certificate.clone(), listed.clone());
        }
        list.last = list.last.saturating_add(1);
        list.entries.push(Entry { certificate: certificate.name.clone(), listed });
        Ok((certificate.name.clone(), places))
    }

    /// A new line of a list, with whole names in it.
    fn place(
        &self,
        name: &str,
        list: &List,
        mut listed: CrtListEntry,
    ) -> Result<CrtListEntry, ListRefusal> {
        let bases = &self.bases;
        if list.directory {
            let within = listed.path.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
            if !within {
                return Err(ListRefusal::Elsewhere(listed.path));
            }
        } else {
            crate::within(&bases.certificates, &mut listed.path);
        }
        let options = &mut listed.options;
        let files = [
            ("ca-file", &mut options.ca_file),
            ("ca-verify-file", &mut options.ca_verify_file),
            ("crl-file", &mut options.crl_file),
        ];
        for (keyword, file) in files {
            let Some(file) = file else { continue };
            crate::within(&bases.authorities, file);
            if self.store.authorities(file).is_none() {
                return Err(ListRefusal::NotLoaded { keyword, file: file.clone() });
            }
        }
        listed.list = (name.to_owned(), list.last.saturating_add(1));
        Ok(listed)
    }

    /// Takes a certificate out of a list: the one in this line, or the only one; tells the name
    /// that the list is known by.
    ///
    /// # Errors
    /// Nothing has been changed.
    pub fn delete_from_list(
        &self,
        name: &str,
        certificate: &str,
        line: Option<u32>,
    ) -> Result<String, ListRefusal> {
        let name = plain(name);
        let mut lists = self.lists.lock();
        let list = lists.get_mut(name).ok_or(ListRefusal::NoList)?;
        if !self.store.has(certificate) {
            return Err(ListRefusal::NoCertificate(certificate.to_owned()));
        }
        let fits = |entry: &Entry| {
            entry.certificate == certificate && line.is_none_or(|line| entry.listed.list.1 == line)
        };
        let found: Vec<u32> =
            list.entries.iter().filter(|it| fits(it)).map(|it| it.listed.list.1).collect();
        let line = match found[..] {
            [] => {
                let entries = list.entries.iter().filter(|it| it.certificate == certificate);
                let lines: Vec<_> = entries.map(|it| it.listed.list.1).collect();
                let missing = lines.is_empty();
                return Err(if missing {
                    ListRefusal::NotThere
                } else {
                    ListRefusal::WrongLine(lines)
                });
            }
            [line] => line,
            _ => return Err(ListRefusal::Ambiguous(found)),
        };
        let falls_back = |bound: &&Bound| {
            !bound.acceptor.settings().strict_sni
                && bound.acceptor.table().falls_back_on(name, line, certificate)
        };
        let needed: Vec<String> =
            self.binds.iter().filter(falls_back).map(|bound| bound.place.clone()).collect();
        if !needed.is_empty() {
            return Err(ListRefusal::Default(needed));
        }
        for acceptor in self.acceptors() {
            acceptor.table_mut().remove(name, line, certificate);
        }
        list.entries.retain(|entry| !fits(entry));
        Ok(name.to_owned())
    }
}

/// The name of a list without slashes at its end.
fn plain(name: &str) -> &str {
    name.trim_end_matches('/')
}

/// The lists of bind lines, with their contents.
pub(super) fn collect(binds: &[Bound]) -> BTreeMap<String, List> {
    let mut lists: BTreeMap<String, List> = BTreeMap::new();
    for bound in binds {
        for (name, lines) in &bound.acceptor.settings().lists {
            lists.entry(plain(name).to_owned()).or_default().last = *lines;
        }
        let mut fresh: BTreeMap<String, List> = BTreeMap::new();
        let table = bound.acceptor.table();
        for (listed, certificate) in table.listed() {
            let (name, line) = &listed.list;
            let list = fresh.entry(plain(name).to_owned()).or_default();
            list.directory |= *line == 0;
            let certificate = certificate.name().to_owned();
            list.entries.push(Entry { certificate, listed: listed.clone() });
        }
        for (name, list) in fresh {
            let known = lists.entry(name).or_default();
            if known.entries.is_empty() {
                (known.entries, known.directory) = (list.entries, list.directory);
            }
        }
    }
    lists
}

impl Entry {
    /// Its line as in a list; `numbered`: with its number.
    pub fn written(&self, numbered: bool) -> String {
        let mut line = self.certificate.clone();
        if numbered {
            // Writing to a string cannot fail.
            let _ = write!(line, ":{}", self.listed.list.1);
        }
        let options = written(&self.listed.options);
        if !options.is_empty() {
            let _ = write!(line, " [{options}]");
        }
        for filter in &self.listed.filters {
            let _ = write!(line, " {filter}");
        }
        line
    }
}

/// Options in the order that HAProxy shows them in.
fn written(options: &Options) -> String {
    let verify = options.verify.map(|verify| match verify {
        Verify::None => "none",
        Verify::Optional => "optional",
        Verify::Required => "required",
    });
    let version = |version: Option<crate::Version>| version.map(|it| it.name().to_owned());
    let mut words = Vec::new();
    let mut word = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("{name} {value}")));
    };
    word("alpn", options.alpn.as_deref().map(|wire| protocols(wire) + " "));
    word("npn", options.npn.as_deref().map(|wire| protocols(wire) + " "));
    word("verify", verify.map(str::to_owned));
    words.extend(options.no_ca_names.then(|| "no-ca-names".to_owned()));
    words.extend(options.early.then(|| "allow-0rtt".to_owned()));
    let mut word = |name: &str, value: &Option<String>| {
        words.extend(value.as_ref().map(|value| format!("{name} {value}")));
    };
    word("ca-file", &options.ca_file);
    word("ca-verify-file", &options.ca_verify_file);
    word("crl-file", &options.crl_file);
    word("ciphers", &options.ciphers);
    word("ciphersuites", &options.ciphersuites);
    word("curves", &options.curves);
    word("ecdhe", &options.ecdhe);
    word("ssl-min-ver", &version(options.versions.min));
    word("ssl-max-ver", &version(options.versions.max));
    words.join(" ")
}

/// Protocol names joined by commas, from wire format.
fn protocols(mut wire: &[u8]) -> String {
    let mut names = Vec::new();
    while let Some((length, rest)) = wire.split_first() {
        let Some((name, rest)) = rest.split_at_checked(usize::from(*length)) else { break };
        names.push(String::from_utf8_lossy(name).into_owned());
        wire = rest;
    }
    names.join(",")
}
