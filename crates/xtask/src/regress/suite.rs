//! The files of the suite and the tags that they carry.

use std::path::{Path, PathBuf};

use crate::failure::{self, Outcome};

/// A checkout of the suite.
pub(crate) struct Suite {
    /// The directory that holds `reg-tests`; tests run here and are named relative to it.
    pub(crate) root: PathBuf,
}

/// One test file.
pub(crate) struct SuiteTest {
    /// Relative to the suite's root.
    pub(crate) path: String,
    pub(crate) tags: Vec<Tag>,
}

/// One line `#NAME=value` of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Suite {
    /// Finds the suite at a checkout or at its directory `reg-tests`.
    pub(crate) fn open(path: &Path) -> Outcome<Self> {
        let path = path
            .canonicalize()
            .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
        if path.join("reg-tests").is_dir() {
            return Ok(Self { root: path });
        }
        match (path.file_name(), path.parent()) {
            (Some(name), Some(parent)) if name == "reg-tests" => Ok(Self { root: parent.into() }),
            _ => Err(failure::machine(format!("no directory reg-tests in {}", path.display()))),
        }
    }

    /// Every test, in order of path.
    pub(crate) fn tests(&self) -> Outcome<Vec<SuiteTest>> {
        let mut paths = Vec::new();
        collect(&self.root.join("reg-tests"), &mut paths)?;
        paths.sort();
        paths.iter().map(|path| self.test(path)).collect()
    }

    fn test(&self, path: &Path) -> Outcome<SuiteTest> {
        let bytes = std::fs::read(path)
            .map_err(|error| failure::machine(format!("{}: {error}", path.display())))?;
        let relative = path.strip_prefix(&self.root).expect("collected below the root");
        let tags = tags(&String::from_utf8_lossy(&bytes));
        Ok(SuiteTest { path: relative.to_string_lossy().into_owned(), tags })
    }
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) -> Outcome {
    let unreadable =
        |error| failure::machine(format!("cannot read {}: {error}", directory.display()));
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "vtc") {
            paths.push(path);
        }
    }
    Ok(())
}

/// The tags of a test: lines that begin with `#`, capital letters, digits or `_`, then `=`.
fn tags(text: &str) -> Vec<Tag> {
    let tag = |line: &str| {
        let (name, value) = line.strip_prefix('#')?.split_once('=')?;
        let capitals = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let named = !name.is_empty() && name.chars().all(capitals);
        named.then(|| Tag { name: name.to_owned(), value: value.to_owned() })
    };
    text.lines().filter_map(tag).collect()
}

#[cfg(test)]
mod tests {
    //! The syntax of a tag.
    use super::*;

    #[test]
    fn reads_tags() {
        let found =
            tags("varnishtest \"x\"\n#REQUIRE_VERSION=2.4\n# NOT=1\n#no=1\n#A_1=b=c\n##B=1\n#=\n");
        let pairs: Vec<(&str, &str)> =
            found.iter().map(|tag| (tag.name.as_str(), tag.value.as_str())).collect();
        assert_eq!(pairs, [("REQUIRE_VERSION", "2.4"), ("A_1", "b=c")]);
    }
}
