//! The crates that the program consists of: a software bill of materials, and the texts of their licences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::{PackageBuild, at, text_of};
use crate::failure::{self, Outcome};
use crate::workspace;

/// One crate of the registry.
struct Component {
    name: String,
    version: String,
    /// An SPDX expression.
    licence: String,
    /// SHA-256 of its archive, from the lock file.
    checksum: String,
}

/// The crates of the registry that are compiled for the program or used to build it, by name.
fn all(build: &PackageBuild) -> Outcome<Vec<Component>> {
    let words = ["tree", "--locked", "-p", "weir", "-e", "normal,build", "--prefix", "none"];
    let text = text_of(workspace::cargo(&build.root, &words).args(["--format", "{p}|{l}"]))?;
    let lock = build.root.join("Cargo.lock");
    let checksums = checksums(&at(&lock, fs::read_to_string(&lock))?);
    Ok(parse(&text, &checksums))
}

/// Reads the lines of `cargo tree`; crates of the workspace have a path behind their version.
fn parse(text: &str, checksums: &BTreeMap<(String, String), String>) -> Vec<Component> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let line = line.trim_end_matches(" (*)");
        let Some((package, licence)) = line.split_once('|') else { continue };
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        if words.any(|word| word.starts_with("(/")) {
            continue;
        }
        let key = (name.to_owned(), version.trim_start_matches('v').to_owned());
        found.insert(key, licence.replace('/', " OR "));
    }
    let component = |((name, version), licence): ((String, String), String)| {
        let checksum = checksums.get(&(name.clone(), version.clone())).cloned().unwrap_or_default();
        Component { name, version, licence, checksum }
    };
    found.into_iter().map(component).collect()
}

/// The checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |package: &str, key: &str| {
        let line = package
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key} = \""))?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let packages = lock.split("[[package]]");
    let entry = |package: &str| {
        let name = value(package, "name")?;
        Some(((name, value(package, "version")?), value(package, "checksum")?))
    };
    packages.filter_map(entry).collect()
}

/// The bill of materials, as CycloneDX 1.5.
pub(super) fn bill_of_materials(build: &PackageBuild) -> Outcome<Vec<u8>> {
    let components = all(build)?;
    let rows: Vec<String> = components.iter().map(row).collect();
    let text = format!(
        "{{\"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,\n\
         \"metadata\": {{\"component\": {{\"type\": \"application\", \"name\": \"weir\", \"version\": \"{}\"}}}},\n\
         \"components\": [\n{}\n]}}\n",
        build.version,
        rows.join(",\n")
    );
    Ok(text.into_bytes())
}

/// A component as JSON; names, versions and licences of crates have no character to escape.
fn row(component: &Component) -> String {
    let Component { name, version, licence, checksum } = component;
    let hash = match checksum.is_empty() {
        true => String::new(),
        false => format!(", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": \"{checksum}\"}}]"),
    };
    format!(
        "  {{\"type\": \"library\", \"name\": \"{name}\", \"version\": \"{version}\", \
         \"purl\": \"pkg:cargo/{name}@{version}\", \"licenses\": [{{\"expression\": \"{licence}\"}}]{hash}}}"
    )
}

/// Names of files that hold a licence begin with one of these, in any case.
const LICENCE_FILES: [&str; 4] = ["licen", "copying", "copyright", "notice"];

/// All crates with their licences and licence texts.
pub(super) fn licences(build: &PackageBuild) -> Outcome<Vec<u8>> {
    let sources = sources()?;
    let mut text = String::from(
        "Libraries that are linked statically, and what builds them, with their licences.\n",
    );
    for component in all(build)? {
        let Component { name, version, licence, .. } = &component;
        // Writing to a string cannot fail.
        let _ = write!(text, "\n\n==== {name} {version}: {licence}\n");
        for file in licence_files(&sources, &format!("{name}-{version}")) {
            let content = at(&file, fs::read(&file))?;
            let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let _ = write!(text, "\n-- {file}\n\n{}\n", String::from_utf8_lossy(&content).trim());
        }
    }
    Ok(text.into_bytes())
}

/// Directories in which cargo keeps the sources of registries.
fn sources() -> Outcome<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let place = home.ok_or_else(|| failure::machine("neither CARGO_HOME nor HOME is set"))?;
    let place = place.join("registry/src");
    let entries = at(&place, fs::read_dir(&place))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// The files with a licence in the root of a crate, and of the library in C that it brings.
fn licence_files(sources: &[PathBuf], package: &str) -> Vec<PathBuf> {
    let Some(root) = sources.iter().map(|it| it.join(package)).find(|it| it.is_dir()) else {
        return Vec::new();
    };
    let mut files = in_directory(&root);
    let below = fs::read_dir(&root).into_iter().flatten().flatten().map(|entry| entry.path());
    let libraries = below.filter(|path| path.is_dir() && !path.ends_with("src"));
    files.extend(libraries.flat_map(|path| in_directory(&path)));
    files.sort();
    files
}

fn in_directory(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        path.is_file() && LICENCE_FILES.iter().any(|beginning| name.starts_with(beginning))
    };
    entries.filter(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry\"\n\
                        checksum = \"c0ffee\"\n\n[[package]]\nname = \"weir\"\nversion = \"0.1.0\"\n";

    #[test]
    fn components_are_the_crates_of_the_registry_each_once() {
        let tree = "weir v0.1.0 (/w/crates/weir)|MIT\na v1.0.0|MIT/Apache-2.0\nb v2.0.0 (proc-macro)|ISC\na v1.0.0|MIT/Apache-2.0 (*)\n";
        let found = parse(tree, &checksums(LOCK));
        assert_eq!(found.len(), 2);
        assert_eq!(
            row(&found[0]),
            "  {\"type\": \"library\", \"name\": \"a\", \"version\": \"1.0.0\", \"purl\": \"pkg:cargo/a@1.0.0\", \
             \"licenses\": [{\"expression\": \"MIT OR Apache-2.0\"}], \
             \"hashes\": [{\"alg\": \"SHA-256\", \"content\": \"c0ffee\"}]}"
        );
        assert!(row(&found[1]).ends_with("\"licenses\": [{\"expression\": \"ISC\"}]}"));
    }
}
