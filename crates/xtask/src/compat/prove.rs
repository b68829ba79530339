//! The proof that every linked test notices when its name is ignored, and the search for tests that
//! do.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::binaries::Binaries;
use super::evidence::{self, Source};
use super::links::{Link, Links};
use crate::failure::{self, Outcome};

/// Tests at a time; most of them wait for a process.
const AT_ONCE: usize = 6;

/// Most tests of whole processes that are tried for one name; others are quick.
const TRIES: usize = 8;

/// Ignores no name at all.
const NOTHING: &str = "none/none";

/// The directories of tests, those with the broadest tests first.
const PLACES: [&str; 9] = [
    "crates/acceptance/tests/",
    "crates/proxy/",
    "crates/transaction/",
    "crates/rules/",
    "crates/sample/",
    "crates/admin/",
    "crates/table/",
    "crates/config/",
    "crates/weir/src/",
];

/// Runs each linked test of some classes or names (or of all) with its name ignored, and lists
/// those that pass.
pub(super) fn prove(root: &Path, links: &Links, selected: &[String]) -> Outcome {
    let binaries = Binaries::build(root)?;
    let wanted = |link: &&Link| is_selected(selected, &link.class, &link.name);
    let links: Vec<&Link> = links.links.iter().filter(wanted).collect();
    let blind = Mutex::new(Vec::new());
    each(&links, |link| {
        let Link { class, name, file, function } = link;
        let why = match binaries.passes(file, function, &format!("{class}/{name}")) {
            Some(false) => return,
            Some(true) => "still passes",
            None => "cannot be run",
        };
        let line = format!("{class}\t{name}\t{file}::{function} {why}");
        eprintln!("{line}");
        blind.lock().unwrap_or_else(|error| error.into_inner()).push(line);
    });
    let blind = blind.into_inner().unwrap_or_else(|error| error.into_inner());
    println!(
        "{} of {} tests notice that their name is ignored",
        links.len() - blind.len(),
        links.len()
    );
    match blind.is_empty() {
        true => Ok(()),
        false => Err(failure::check(format!("{} tests do not", blind.len()))),
    }
}

/// Looks for a test of every name without one (of some classes or names, or of all), and links the
/// tests that it finds.
pub(super) fn propose(root: &Path, links: &mut Links, selected: &[String]) -> Outcome {
    let binaries = Binaries::build(root)?;
    let tests = tests(root)?;
    let wanted = |(class, name): &&(String, String)| is_selected(selected, class, name);
    let names: Vec<&(String, String)> = links.untested.iter().filter(wanted).collect();
    let found = Mutex::new(Vec::new());
    each(&names, |(class, name)| match first(&binaries, &tests, class, name) {
        Some(link) => found.lock().unwrap_or_else(|error| error.into_inner()).push(link),
        None => println!("{class}\t{name}\tno test notices"),
    });
    let found = found.into_inner().unwrap_or_else(|error| error.into_inner());
    println!("{} of {} names found a test", found.len(), names.len());
    links.links.extend(found);
    links.write(root)
}

/// Whether a name was selected on the command line, by its class or as `CLASS/NAME`.
fn is_selected(selected: &[String], class: &str, name: &str) -> bool {
    let is_meant =
        |wanted: &String| wanted == class || wanted.rsplit_once('/') == Some((class, name));
    selected.is_empty() || selected.iter().any(is_meant)
}

/// Does some work for each item, several at a time.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

/// A test: rank of its directory, file, name, text.
struct ProcessTest {
    place: usize,
    file: String,
    function: String,
    said: String,
}

/// All tests of the places.
fn tests(root: &Path) -> Outcome<Vec<ProcessTest>> {
    let mut tests = Vec::new();
    for (place, directory) in PLACES.iter().enumerate() {
        let mut files = Vec::new();
        collect(&root.join(directory), &mut files)
            .map_err(|error| failure::machine(format!("{directory}: {error}")))?;
        files.sort();
        for path in files {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let Some(file) = path.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
            let source = Source::parse(&text, &path);
            tests.extend(source.tests().map(|function| ProcessTest {
                place,
                file: file.to_owned(),
                function: function.to_owned(),
                said: source.said_by(function),
            }));
        }
    }
    Ok(tests)
}

fn collect(directory: &Path, files: &mut Vec<std::path::PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The first test that mentions the name and fails without it.
fn first(binaries: &Binaries, tests: &[ProcessTest], class: &str, name: &str) -> Option<Link> {
    let ignored = format!("{class}/{name}");
    (0..PLACES.len()).find_map(|place| {
        let here = tests
            .iter()
            .filter(|test| test.place == place && evidence::is_about(&test.said, class, name));
        let passes = |test: &ProcessTest, ignored: &str| {
            binaries.passes(&test.file, &test.function, ignored)
        };
        let notices = |test: &&ProcessTest| {
            passes(test, &ignored) == Some(false) && passes(test, NOTHING) == Some(true)
        };
        here.take(if place == 0 { TRIES } else { usize::MAX }).find(notices).map(|test| Link {
            class: class.to_owned(),
            name: name.to_owned(),
            file: test.file.clone(),
            function: test.function.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    //! Tests of the selection of names.
    use super::*;

    #[test]
    fn names_are_selected_by_class_or_one_by_one() {
        let selected = ["option".to_owned(), "action:http/set-var".to_owned()];
        assert!(is_selected(&[], "fetch", "src"));
        assert!(is_selected(&selected, "option", "tcpka"));
        assert!(is_selected(&selected, "action:http", "set-var"));
        assert!(!is_selected(&selected, "action:http", "set-src"));
        assert!(!is_selected(&selected, "fetch", "src"));
    }
}
