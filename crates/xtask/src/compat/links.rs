//! `docs/compat/tests.tsv`: which test would fail if a name were ignored; and the list of names
//! that have none yet, which may only shrink.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::evidence::{Source, is_about};
use super::probe::Verdict;
use super::table::Name;
use crate::failure::{self, Outcome};

/// The links below the root: class, name, `file::function`, sorted.
pub(super) const PATH: &str = "docs/compat/tests.tsv";

/// The names without a test below the root: class and name, sorted.
pub(super) const UNTESTED: &str = "docs/compat/untested.txt";

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Link {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) file: String,
    pub(super) function: String,
}

/// Both lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    pub(super) links: Vec<Link>,
    pub(super) untested: Vec<(String, String)>,
    /// Lines that could not be read.
    wrong: Vec<String>,
}

const TESTS_HEAD: &str = "class\tname\ttest\n";

const UNTESTED_HEAD: &str = "\
# Names that work but have no linked test yet: class, tab, name; sorted. A new name gets its test in
# `tests.tsv` beside this file instead: these lines may only become fewer.
";

impl Links {
    /// Reads both files below `root`.
    pub(super) fn read(root: &Path) -> Outcome<Self> {
        let read = |path: &str| {
            std::fs::read_to_string(root.join(path))
                .map_err(|error| failure::machine(format!("{path}: {error}")))
        };
        Ok(Self::parse(&read(PATH)?, &read(UNTESTED)?))
    }

    fn parse(tests: &str, untested: &str) -> Self {
        let mut all = Self::default();
        for line in tests.lines().skip(1) {
            match link(line) {
                Some(link) => all.links.push(link),
                None => all.wrong.push(format!("{PATH}: not class, name, file::function: {line}")),
            }
        }
        for line in untested.lines().filter(|line| !line.starts_with('#')) {
            match line.split_once('\t') {
                Some((class, name)) => all.untested.push((class.to_owned(), name.to_owned())),
                None => all.wrong.push(format!("{UNTESTED}: not class, name: {line}")),
            }
        }
        all
    }

    /// Writes both files below `root`, sorted; names that have a link are no longer untested.
    pub(super) fn write(&mut self, root: &Path) -> Outcome {
        self.links.sort();
        let linked: BTreeSet<_> = self.links.iter().map(|l| (&*l.class, &*l.name)).collect();
        self.untested.retain(|(class, name)| !linked.contains(&(class, name)));
        let mut text = TESTS_HEAD.to_owned();
        for Link { class, name, file, function } in &self.links {
            text.push_str(&format!("{class}\t{name}\t{file}::{function}\n"));
        }
        let names = self.untested.iter().map(|(class, name)| format!("{class}\t{name}\n"));
        let untested = UNTESTED_HEAD.to_owned() + &names.collect::<String>();
        let write = |path: &str, text: String| {
            std::fs::write(root.join(path), text)
                .map_err(|error| failure::machine(format!("{path}: {error}")))
        };
        write(UNTESTED, untested)?;
        write(PATH, text)
    }

    /// The link of a name.
    pub(super) fn of(&self, class: &str, name: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.class == class && link.name == name)
    }

    /// All faults, one line each.
    pub(super) fn faults(&self, root: &Path, names: &[Name], verdicts: &[Verdict]) -> Vec<String> {
        let works: BTreeSet<(&str, &str)> = names
            .iter()
            .zip(verdicts)
            .filter(|(_, verdict)| **verdict == Verdict::Works)
            .map(|(name, _)| (name.class.as_str(), name.name.as_str()))
            .collect();
        let mut faults = self.wrong.clone();
        faults.extend(unsorted(PATH, &self.links, |l| (&*l.class, &*l.name)));
        faults.extend(unsorted(UNTESTED, &self.untested, |(class, name)| (class, name)));
        let mut sources = Sources { root, read: BTreeMap::new() };
        faults.extend(self.links.iter().filter_map(|link| link.fault(&works, &mut sources)));
        for (class, name) in &self.untested {
            if self.of(class, name).is_some() {
                faults.push(format!("{class} {name}: has a test, take it out of {UNTESTED}"));
            } else if !works.contains(&(class, name)) {
                faults.push(format!("{class} {name}: does not work, take it out of {UNTESTED}"));
            }
        }
        for (class, name) in works {
            let known = self.untested.iter().any(|(c, n)| c == class && n == name);
            if !known && self.of(class, name).is_none() {
                faults.push(format!("{class} {name}: works, but {PATH} names no test for it"));
            }
        }
        faults
    }
}

/// Files, each read once.
struct Sources<'r> {
    root: &'r Path,
    read: BTreeMap<String, Option<Source>>,
}

impl Sources<'_> {
    fn get(&mut self, file: &str) -> Option<&Source> {
        let root = self.root;
        let read = |file: &str| {
            let path = root.join(file);
            let text = std::fs::read_to_string(&path).ok()?;
            Some(Source::parse(&text, &path))
        };
        self.read.entry(file.to_owned()).or_insert_with(|| read(file)).as_ref()
    }
}

impl Link {
    /// The fault of the link.
    fn fault(&self, works: &BTreeSet<(&str, &str)>, sources: &mut Sources<'_>) -> Option<String> {
        let Self { class, name, file, function } = self;
        let at = format!("{class} {name}");
        if !works.contains(&(class, name)) {
            return Some(format!("{at}: does not work, take it out of {PATH}"));
        }
        let Some(source) = sources.get(file) else {
            return Some(format!("{at}: there is no file {file}"));
        };
        if !source.is_test(function) {
            return Some(format!("{at}: {file} has no test `{function}`"));
        }
        // Placeholders such as `<target>` are written as the text that they replace.
        let placeholder = name.starts_with('<') || name.contains('|');
        (!placeholder && !is_about(&source.said_by(function), class, name))
            .then(|| format!("{at}: `{function}` in {file} does not mention it"))
    }
}

fn link(line: &str) -> Option<Link> {
    let mut fields = line.split('\t').map(str::to_owned);
    let (class, name, test) = (fields.next()?, fields.next()?, fields.next()?);
    let (file, function) = test.rsplit_once("::")?;
    let (file, function) = (file.to_owned(), function.to_owned());
    fields.next().is_none().then_some(Link { class, name, file, function })
}

/// A line out of order, or there twice.
fn unsorted<'l, T>(
    path: &str,
    lines: &'l [T],
    key: impl Fn(&'l T) -> (&'l str, &'l str),
) -> Option<String> {
    let keys: Vec<_> = lines.iter().map(key).collect();
    let wrong = keys.windows(2).find(|pair| pair[0] >= pair[1])?;
    Some(format!("{path}: sort the lines, each name once, near {} {}", wrong[1].0, wrong[1].1))
}

#[cfg(test)]
mod tests {
    //! Each rule broken once, over this very file.
    use super::*;

    const HERE: &str = "src/compat/links.rs";

    fn faults(tests: &str, untested: &str) -> Vec<String> {
        let name = |class: &str, name: &str| Name {
            class: class.into(),
            name: name.into(),
            arguments: String::new(),
        };
        let names = [name("option", "tcpka"), name("option", "xyzzy"), name("option", "waits")];
        let verdicts = [Verdict::Works, Verdict::Works, Verdict::Waits("x".into())];
        let tests = tests.replace("HERE", HERE);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        Links::parse(&tests, untested).faults(root, &names, &verdicts)
    }

    #[test]
    fn valid_links_pass() {
        let tests = "class\tname\ttest\noption\ttcpka\tHERE::valid_links_pass\n";
        assert_eq!(faults(tests, "# names\noption\txyzzy\n"), [""; 0]);
    }

    #[test]
    fn invalid_links_are_reported() {
        let good = "option\ttcpka\tHERE::invalid_links_are_reported\n";
        for (tests, untested, fault) in [
            ("", "option\ttcpka\n", "option xyzzy: works, but"),
            (good, "option\ttcpka\noption\txyzzy\n", "option tcpka: has a test"),
            (good, "option\twaits\noption\txyzzy\n", "option waits: does not work"),
            (good, "option\txyzzy\noption\txyzzy\n", "untested.txt: sort the lines"),
            ("option\ttcpka\tnone.rs::x\n", "option\txyzzy\n", "there is no file none.rs"),
            ("option\ttcpka\tHERE::faults\n", "option\txyzzy\n", "has no test `faults`"),
            (
                "option\ttcpka\tHERE::silent\n",
                "option\txyzzy\n",
                "`silent` in src/compat/links.rs does not mention it",
            ),
            ("option\twaits\tHERE::x\n", "option\ttcpka\noption\txyzzy\n", "does not work, take"),
            ("option\ttcpka\n", "option\ttcpka\noption\txyzzy\n", "not class, name, file"),
            (good, "option xyzzy\n", "not class, name: option xyzzy"),
        ] {
            let told = faults(&format!("class\tname\ttest\n{tests}"), untested);
            assert!(told.iter().any(|line| line.contains(fault)), "{fault}: {told:#?}");
        }
    }

    #[test]
    fn silent() {}
}
