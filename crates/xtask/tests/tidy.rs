//! Runs the real `xtask tidy` on this repository, as it is and with planted violations.
#![allow(clippy::unwrap_used, reason = "a test's helper may fail its test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn tidy(root: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("tidy").arg("--root").arg(root).output().unwrap()
}

/// A copy of the repository that vanishes with the test.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&directory);
        copy(&root(), &directory);
        Self(directory)
    }

    fn append(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, old + text).unwrap();
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name == "target" || name == ".git" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn the_house_is_tidy() {
    let output = tidy(&root());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn planted_violations_fail() {
    let copy = Copy::new("planted");
    let plants = [
        ("walls", "crates/htx/Cargo.toml", "\n[dependencies.balance]\nworkspace = true\n"),
        ("unsafe", "crates/wire/src/lib.rs", "\nfn planted() { unsafe { f() } }\n"),
        ("bans", "crates/htx/src/lib.rs", "\nfn planted() { f().unwrap(); }\n"),
        ("headers", "crates/mux/src/planted.rs", "fn f() {}\n"),
        ("features", "crates/rules/src/lib.rs", "\n#[cfg(feature = \"x\")]\nfn f() {}\n"),
        ("names", "crates/sched/src/lib.rs", "\nuse std::time::Instant;\n"),
        ("function-length", "crates/buf/src/lib.rs", &planted_function()),
        ("places", "README.md", concat!("\nsee /ho", "me/user\n")),
    ];
    plants.iter().for_each(|(_, path, text)| copy.append(path, text));
    // All in one run: each takes long on a busy machine.
    let output = tidy(&copy.0);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success());
    for (rule, path, _) in &plants {
        let names = |line: &str| line.starts_with(path) && line.contains(&format!(": {rule}: "));
        assert!(printed.lines().any(names), "{rule} is not named in:\n{printed}");
    }
}

fn planted_function() -> String {
    format!("\nfn planted() {{\n{}}}\n", "    step();\n".repeat(80))
}
