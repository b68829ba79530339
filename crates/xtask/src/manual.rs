//! `cargo xtask manual`: the pages of `docs/manual`, which the program writes from its tables of keywords.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{self, Outcome};
use crate::{args, tools, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask manual [--check] [--program BINARY]

Writes docs/manual, one page for each kind of keyword, as the program describes its own tables (`weir --generate
manual`).

  --check           only say whether the pages are up to date
  --program BINARY  the program to ask (default: weir, built in debug mode)
";

/// The directory below the root.
const DIRECTORY: &str = "docs/manual";

pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, &[args::switch("--check"), args::value("--program")])?;
    if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("manual takes no argument, not `{word}`")));
    }
    let root = workspace::root()?;
    let program = match parsed.value("--program") {
        Some(name) => tools::resolve(name)?,
        None => workspace::debug_binary(&root)?,
    };
    let output = Command::new(&program).args(["--generate", "manual"]).output();
    let output =
        output.map_err(|error| failure::machine(format!("{}: {error}", program.display())))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pages = split(&text);
    if pages.is_empty() {
        return Err(failure::check(format!("{} writes no manual", program.display())));
    }
    let directory = root.join(DIRECTORY);
    if parsed.has("--check") { compare(&directory, &pages) } else { write(&directory, &pages) }
}

/// The names and texts of the pages in the output of the program.
fn split(text: &str) -> Vec<(&str, &str)> {
    let pages = text.split("<<< ").filter(|page| !page.is_empty());
    pages.filter_map(|page| page.split_once('\n')).collect()
}

fn compare(directory: &Path, pages: &[(&str, &str)]) -> Outcome {
    let stale = |page: &&(&str, &str)| {
        fs::read_to_string(directory.join(page.0)).ok().as_deref() != Some(page.1)
    };
    let mut wrong: Vec<String> = pages.iter().filter(stale).map(|page| page.0.to_owned()).collect();
    wrong.extend(others(directory, pages).iter().map(|path| path.display().to_string()));
    if wrong.is_empty() {
        return Ok(());
    }
    let wrong = wrong.join(", ");
    Err(failure::check(format!("{DIRECTORY} is out of date ({wrong}): run `cargo xtask manual`")))
}

/// Files in the directory that are no page any more.
fn others(directory: &Path, pages: &[(&str, &str)]) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| !pages.iter().any(|page| path.ends_with(page.0))).collect()
}

fn write(directory: &Path, pages: &[(&str, &str)]) -> Outcome {
    let machine = |error: std::io::Error| failure::machine(format!("{DIRECTORY}: {error}"));
    fs::create_dir_all(directory).map_err(machine)?;
    for (name, text) in pages {
        fs::write(directory.join(name), text).map_err(machine)?;
    }
    for path in others(directory, pages) {
        fs::remove_file(path).map_err(machine)?;
    }
    println!("wrote {} pages of {DIRECTORY}", pages.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_split_by_their_names_and_compared_with_files() {
        let pages = split("<<< a.md\n# A\n\ntext\n<<< b.md\n# B\n");
        assert_eq!(pages, [("a.md", "# A\n\ntext\n"), ("b.md", "# B\n")]);
        let directory = std::env::temp_dir().join(format!("weir-manual-{}", std::process::id()));
        assert!(compare(&directory, &pages).is_err(), "pages are missing");
        write(&directory, &pages).expect("pages");
        assert!(compare(&directory, &pages).is_ok());
        fs::write(directory.join("c.md"), "old").expect("a page");
        assert!(compare(&directory, &pages).is_err(), "a page that is no more");
        write(&directory, &pages).expect("pages");
        assert!(compare(&directory, &pages).is_ok());
        fs::write(directory.join("a.md"), "old").expect("a page");
        assert!(compare(&directory, &pages).is_err(), "a stale page");
        fs::remove_dir_all(&directory).expect("an own directory");
    }
}
