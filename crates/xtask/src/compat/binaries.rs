//! The test binaries of the workspace, and single tests in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use crate::clock;
use crate::failure::{self, Outcome};
use crate::{mutation, workspace};

/// The time limit of one test; a test that hangs counts as one that notices.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often a running test is looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// The binaries by the source file that they begin with.
pub(super) struct Binaries {
    root: PathBuf,
    built: BTreeMap<String, PathBuf>,
    /// The tests that each has listed.
    listed: Mutex<BTreeMap<PathBuf, Vec<String>>>,
}

impl Binaries {
    /// Builds them from the mutated copy of the tree, with its own target directory.
    pub(super) fn build(root: &Path) -> Outcome<Self> {
        let root = &mutation::tree(root)?;
        let words = ["test", "--workspace", "--no-run", "--message-format=json"];
        let output = workspace::cargo(root, &words)
            .env("CARGO_TARGET_DIR", root.join("target"))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| failure::machine(format!("cannot run cargo: {error}")))?;
        if !output.status.success() {
            return Err(failure::check("the tests do not build"));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let tests = text.lines().filter(|line| line.contains("\"test\":true},\"features\""));
        let built = tests.filter_map(|line| {
            let source = value(line, "\"src_path\":\"")?;
            let source = Path::new(source).strip_prefix(root).ok()?;
            let program = value(line, "\"executable\":\"")?;
            Some((source.to_str()?.to_owned(), PathBuf::from(program)))
        });
        let built = built.collect();
        Ok(Self { root: root.to_owned(), built, listed: Mutex::default() })
    }

    /// The binary that holds the tests of a file, and their path in it up to the file.
    fn of(&self, file: &str) -> Option<(&Path, String)> {
        let mut parts = file.strip_suffix(".rs")?.splitn(4, '/');
        let (crates, name, kind) = (parts.next()?, parts.next()?, parts.next()?);
        let rest = parts.next()?;
        let (target, inner) = rest.split_once('/').unwrap_or((rest, ""));
        let candidates = match kind {
            "src" => vec![("src/lib.rs".to_owned(), rest), ("src/main.rs".to_owned(), rest)],
            _ => vec![
                (format!("tests/{target}.rs"), inner),
                (format!("tests/{target}/main.rs"), inner),
            ],
        };
        candidates.into_iter().find_map(|(source, inner)| {
            let program = self.built.get(&format!("{crates}/{name}/{source}"))?;
            let modules = inner.split('/').filter(|part| !matches!(*part, "" | "lib" | "main"));
            let modules: Vec<&str> = modules.filter(|part| *part != "mod").collect();
            Some((program.as_path(), modules.join("::")))
        })
    }

    /// The full path of a test in its binary.
    fn path(&self, program: &Path, modules: &str, function: &str) -> Option<String> {
        let mut listed = self.listed.lock().unwrap_or_else(|error| error.into_inner());
        let names = listed.entry(program.to_owned()).or_insert_with(|| list(program));
        let fits = |name: &&String| {
            let rest = name.strip_prefix(modules);
            rest.is_some_and(|rest| format!("::{rest}").ends_with(&format!("::{function}")))
        };
        names.iter().filter(fits).min_by_key(|name| name.len()).cloned()
    }

    /// Whether a test passes with a name ignored; nothing if there is no such test.
    pub(super) fn passes(&self, file: &str, function: &str, ignored: &str) -> Option<bool> {
        let (program, modules) = self.of(file)?;
        let path = self.path(program, &modules, function)?;
        let package = file.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
        let mut test = Command::new(program)
            .args([path.as_str(), "--exact", "--include-ignored"])
            .current_dir(self.root.join(package))
            .env("WEIR_IGNORE", ignored)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let start = clock::now();
        while start.elapsed() < PATIENCE {
            match test.try_wait() {
                Ok(Some(status)) => return Some(status.success()),
                Ok(None) => std::thread::park_timeout(PAUSE),
                Err(_) => return None,
            }
        }
        // The process is our own child.
        let _ = test.kill();
        let _ = test.wait();
        Some(false)
    }
}

/// The text behind `key` up to the next quote.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(key)?;
    rest.split('"').next()
}

/// The tests of a binary.
fn list(program: &Path) -> Vec<String> {
    let output = Command::new(program).arg("--list").output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    //! Files and their binaries.
    use super::*;

    #[test]
    fn files_belong_to_binaries() {
        let built =
            ["crates/a/src/lib.rs", "crates/w/src/main.rs", "crates/w/tests/process/main.rs"];
        let built = built.map(|path| (path.to_owned(), PathBuf::from(path))).into();
        let binaries = Binaries { root: PathBuf::new(), built, listed: Mutex::default() };
        for (file, program, modules) in [
            ("crates/a/src/lib.rs", "crates/a/src/lib.rs", ""),
            ("crates/a/src/b/tests.rs", "crates/a/src/lib.rs", "b::tests"),
            ("crates/a/src/b/mod.rs", "crates/a/src/lib.rs", "b"),
            ("crates/w/src/cli.rs", "crates/w/src/main.rs", "cli"),
            ("crates/w/tests/process/rules.rs", "crates/w/tests/process/main.rs", "rules"),
        ] {
            assert_eq!(binaries.of(file), Some((Path::new(program), modules.to_owned())), "{file}");
        }
        assert_eq!(binaries.of("crates/x/src/lib.rs"), None);
    }
}
