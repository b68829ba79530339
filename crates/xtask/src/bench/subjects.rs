//! The binaries that a benchmark compares, and their order.

use std::path::PathBuf;

use super::files::Files;
use super::process::{self, Process};
use crate::args::{self, Flag, Parsed};
use crate::failure::{self, Outcome};
use crate::{pgo, tools, workspace};

/// The flag that leaves out the default binaries.
pub(super) const ALONE: Flag = args::switch("--alone");

/// The flag that adds a relay of bytes, which no proxy can be cheaper than.
pub(super) const FLOOR: Flag = args::switch("--floor");

/// The flag that adds the program as it is released: built with knowledge of its branches.
pub(super) const TRAINED: Flag = args::switch("--trained");

/// One binary under test.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) binary: PathBuf,
    /// The lines in `global` that only its configuration has.
    pub(super) line: Option<String>,
}

impl Subject {
    pub(super) fn new(name: &str, binary: PathBuf) -> Self {
        Self { name: name.to_owned(), binary, line: None }
    }

    /// `NAME=BINARY` or `NAME=BINARY:LINE`; without a BINARY it is the weir of this workspace.
    fn parse(word: &str) -> Outcome<Self> {
        let (name, rest) = named(word)?;
        let (binary, line) = split(rest);
        let mut subject = match binary {
            "" => weir()?,
            binary => Self::new("", tools::resolve(binary)?),
        };
        (subject.name, subject.line) = (name.to_owned(), line.map(str::to_owned));
        Ok(subject)
    }

    /// A configuration as this subject gets it.
    pub(super) fn configured(&self, text: String) -> String {
        match &self.line {
            Some(line) => text.replacen("global\n", &format!("global\n    {line}\n"), 1),
            None => text,
        }
    }

    /// Starts it on processor 0 with a configuration that listens on `port`.
    pub(super) fn start(&self, files: &Files, port: u16, text: String) -> Outcome<Process> {
        let configuration = files.write(&format!("{}.cfg", self.name), text)?;
        let mut command = process::pinned(0, &self.binary);
        command.arg("-f").arg(configuration).arg("-db");
        let proxy = Process::start(&command, None)?;
        match process::wait_for_port(port) {
            true => Ok(proxy),
            false => Err(failure::check("did not start")),
        }
    }
}

/// haproxy, weir, the relay if asked for, then what the command line adds; a name given there
/// replaces a default.
pub(super) fn subjects(parsed: &Parsed) -> Outcome<Vec<Subject>> {
    for word in &parsed.rest {
        if split(named(word)?.1).1.is_some() {
            return Err(failure::usage(format!("`{word}`: only `compare` takes a line")));
        }
    }
    variants(parsed)
}

/// As [`subjects`], and subjects may differ by a line of their configurations.
pub(super) fn variants(parsed: &Parsed) -> Outcome<Vec<Subject>> {
    let mut given = Vec::new();
    for word in &parsed.rest {
        given.push(Subject::parse(word)?);
    }
    let mut subjects = Vec::new();
    if !parsed.has(ALONE.name) {
        subjects.push(taken(&mut given, "haproxy").map_or_else(haproxy, Ok)?);
        subjects.push(taken(&mut given, "weir").map_or_else(weir, Ok)?);
    }
    if parsed.has(TRAINED.name) {
        subjects.push(trained()?);
    }
    if parsed.has(FLOOR.name) {
        subjects.push(relay()?);
    }
    subjects.extend(given);
    if subjects.is_empty() {
        return Err(failure::usage("--alone wants at least one NAME=BINARY"));
    }
    Ok(subjects)
}

/// Measures in rounds in which the subjects take turns; returns the results by subject.
pub(super) fn in_turns<T>(
    rounds: u32,
    subjects: &[Subject],
    mut measure: impl FnMut(&Subject) -> Outcome<T>,
) -> Outcome<Vec<Vec<T>>> {
    let mut all: Vec<Vec<T>> = subjects.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (subject, measured) in subjects.iter().zip(&mut all) {
            measured.push(measure(subject)?);
        }
    }
    Ok(all)
}

/// The attacks whose names contain the text after `-a` of the command line; all attacks without it.
pub(super) fn chosen<'a, T>(
    parsed: &Parsed,
    all: &'a [T],
    name: impl Fn(&T) -> &str,
) -> Outcome<Vec<&'a T>> {
    let wanted = parsed.value("-a").unwrap_or_default();
    let found: Vec<_> = all.iter().filter(|it| name(it).contains(wanted)).collect();
    match found.is_empty() {
        true => Err(failure::usage(format!("-a: no attack is called `{wanted}`"))),
        false => Ok(found),
    }
}

fn named(word: &str) -> Outcome<(&str, &str)> {
    let parts = word.split_once('=').filter(|(name, _)| !name.is_empty());
    parts.ok_or_else(|| failure::usage(format!("`{word}` is not NAME=BINARY or NAME=BINARY:LINE")))
}

/// The binary and the line, if there is one.
fn split(rest: &str) -> (&str, Option<&str>) {
    match rest.split_once(':') {
        Some((binary, line)) => (binary, Some(line.trim())),
        None => (rest, None),
    }
}

fn taken(given: &mut Vec<Subject>, name: &str) -> Option<Subject> {
    let index = given.iter().position(|subject| subject.name == name)?;
    Some(given.remove(index))
}

fn haproxy() -> Outcome<Subject> {
    tools::require(&[tools::HAPROXY])?;
    Ok(Subject::new("haproxy", tools::resolve("haproxy")?))
}

fn weir() -> Outcome<Subject> {
    let binary = workspace::release_binary(&workspace::root()?)?;
    Ok(Subject::new("weir", binary))
}

fn trained() -> Outcome<Subject> {
    let root = workspace::root()?;
    let plain = workspace::release_binary(&root)?;
    Ok(Subject::new("trained", pgo::trained(&root, &plain)?))
}

fn relay() -> Outcome<Subject> {
    let root = workspace::root()?;
    let binary = workspace::release_example(&root, "bench", "relay")?;
    Ok(Subject::new("relay", binary))
}

#[cfg(test)]
mod tests {
    //! The subjects of a command line.
    use super::*;

    #[test]
    fn a_variant_has_a_line_of_its_own() {
        let subject = Subject::parse("nohist=/bin/sh:tune.histograms off").unwrap();
        assert_eq!(subject.name, "nohist");
        assert_eq!(subject.binary, tools::resolve("/bin/sh").unwrap());
        let text = subject.configured("global\n    nbthread 1\ndefaults\n".to_owned());
        assert_eq!(text, "global\n    tune.histograms off\n    nbthread 1\ndefaults\n");
        let plain = Subject::parse("other=/bin/sh").unwrap();
        assert_eq!(plain.configured("global\n".to_owned()), "global\n");
        assert!(Subject::parse("/bin/sh").is_err() && Subject::parse("=/bin/sh").is_err());
    }

    #[test]
    fn an_attack_is_known() {
        let chosen = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
            let parsed = args::parse(&words, &[args::value("-a")]).unwrap();
            chosen(&parsed, &["headers", "body"], |it| it).map(|them| them.len()).ok()
        };
        assert_eq!([chosen(&[]), chosen(&["-a", "head"])], [Some(2), Some(1)]);
        assert_eq!(chosen(&["-a", "none"]), None);
    }

    #[test]
    fn only_compare_takes_lines() {
        let words = ["--alone", "nohist=/bin/sh:tune.histograms off"].map(str::to_owned);
        let parsed = args::parse(&words, &[ALONE, FLOOR, TRAINED]).unwrap();
        assert!(subjects(&parsed).is_err());
        assert_eq!(variants(&parsed).unwrap().len(), 1);
    }
}
