//! The tree that the house rules look at: text files, packages and the list of exceptions.

use std::collections::BTreeSet;
use std::path::Path;

use super::exceptions::Exceptions;
use super::scan::{self, Line};
use crate::failure::{self, Outcome};
use crate::workspace;

/// One text file.
pub(crate) struct File {
    /// Relative to the root, with `/` between parts.
    pub(crate) path: String,
    pub(crate) text: String,
    /// Taken apart; empty unless the file is Rust.
    pub(crate) lines: Vec<Line>,
    /// Whether the whole file is test code.
    pub(crate) test: bool,
}

impl File {
    /// Whether the file is Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }

    /// The name of the crate whose `src` directory holds the file.
    pub(crate) fn crate_of_source(&self) -> Option<&str> {
        let (name, rest) = self.path.strip_prefix("crates/")?.split_once('/')?;
        rest.starts_with("src/").then_some(name)
    }
}

/// One package of the dependency graph.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The `license` field, empty when the package has none.
    pub(crate) licence: String,
    /// Whether the product or its build needs it, not only a test.
    pub(crate) shipped: bool,
}

/// Everything that rules may look at.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
    pub(crate) packages: Vec<Package>,
    /// Why cargo could not resolve the packages, if it could not.
    pub(crate) unresolved: Option<String>,
    pub(crate) exceptions: Exceptions,
}

impl Tree {
    /// A tree from paths and texts.
    pub(crate) fn new(files: Vec<(String, String)>, packages: Vec<Package>) -> Self {
        let mut tree = Self { packages, ..Self::default() };
        for (path, text) in files {
            tree.put(&path, &text);
        }
        tree
    }

    /// Adds a file, in place of one with the same path.
    pub(crate) fn put(&mut self, path: &str, text: &str) {
        self.files.retain(|file| file.path != path);
        if path == super::exceptions::PATH {
            self.exceptions = Exceptions::parse(text);
        }
        let rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
        let lines = if rust { scan::lines(text) } else { Vec::new() };
        let file = File { path: path.to_owned(), text: text.to_owned(), lines, test: false };
        self.files.push(file);
        self.mark_test_files();
    }

    /// The file at a path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The names of the workspace's crates, sorted.
    pub(crate) fn crates(&self) -> BTreeSet<&str> {
        let manifests = self.files.iter().filter_map(|file| {
            let name = file.path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some(name)
        });
        manifests.collect()
    }

    /// A file is test code by its place, or because the module that declares it is under
    /// `#[cfg(test)]`.
    fn mark_test_files(&mut self) {
        let modules: Vec<String> = self.files.iter().flat_map(test_modules).collect();
        for file in &mut self.files {
            let by_declaration = modules.iter().any(|module| {
                let rest = file.path.strip_prefix(module.as_str());
                rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            });
            file.test = by_declaration || is_test_path(&file.path);
        }
    }
}

fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path.contains("/tests/")
        || path.contains("/benches/")
        || path.contains("/examples/")
}

/// The paths, without `.rs`, of modules that a file declares for tests only.
fn test_modules(file: &File) -> Vec<String> {
    let mut modules = Vec::new();
    for line in file.lines.iter().filter(|line| line.test) {
        let Some(name) = line.code.trim().strip_prefix("mod ") else { continue };
        let Some(name) = name.strip_suffix(';') else { continue };
        let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let (directory, last) = stem.rsplit_once('/').unwrap_or(("", stem));
        let parent = if matches!(last, "lib" | "main" | "mod") { directory } else { stem };
        modules.push(format!("{parent}/{name}"));
    }
    modules
}

/// Reads the tree below a directory: every text file outside `.git` and `target`, and the
/// packages as cargo resolves them.
pub(crate) fn load(root: &Path) -> Outcome<Tree> {
    let mut files = Vec::new();
    walk(root, root, &mut files)?;
    files.sort();
    match packages(root) {
        Ok(packages) => Ok(Tree::new(files, packages)),
        Err(failure) => {
            let mut tree = Tree::new(files, Vec::new());
            tree.unresolved = Some(failure.to_string());
            Ok(tree)
        }
    }
}

fn walk(root: &Path, directory: &Path, files: &mut Vec<(String, String)>) -> Outcome {
    let unreadable =
        |error| failure::machine(format!("cannot read {}: {error}", directory.display()));
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default();
        if name == ".git" || name == "target" || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, files)?;
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let relative = path.strip_prefix(root).expect("walked below the root");
            files.push((relative.to_string_lossy().into_owned(), text));
        }
    }
    Ok(())
}

fn packages(root: &Path) -> Outcome<Vec<Package>> {
    let shipped: BTreeSet<String> =
        cargo_tree(root, "normal,build")?.into_iter().map(|package| package.name).collect();
    let mut packages = cargo_tree(root, "all")?;
    for package in &mut packages {
        package.shipped = shipped.contains(&package.name);
    }
    Ok(packages)
}

fn cargo_tree(root: &Path, edges: &str) -> Outcome<Vec<Package>> {
    let arguments = [
        "tree",
        "--workspace",
        "--locked",
        "--all-features",
        "--target",
        "all",
        "--edges",
        edges,
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ];
    let output = workspace::cargo(root, &arguments)
        .output()
        .map_err(|error| failure::machine(format!("cannot run cargo tree: {error}")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(failure::machine(format!("cargo tree failed: {}", text.trim())));
    }
    // A package that was listed before comes again with a mark. Without the marks the output would
    // hold every path to each package, which grows with every floor of the workspace.
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: BTreeSet<&str> = text.lines().filter(|line| !line.ends_with("(*)")).collect();
    Ok(lines.into_iter().filter_map(package).collect())
}

/// Reads `name vVERSION (source)|licence`.
fn package(line: &str) -> Option<Package> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split_whitespace();
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    Some(Package { name, version, licence: licence.to_owned(), shipped: false })
}
