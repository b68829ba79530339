//! Compiler flags with which a program counts the branches that it takes, and is then laid out by
//! that.
//!
//! Libraries in C (TLS, memory, regular expressions) are half of the program's own time. If the C
//! compiler is GCC, it counts in files of its own; other compilers would need the LLVM version of
//! rustc.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{self, Outcome};

/// Which of the two builds.
#[derive(Clone, Copy)]
pub(super) enum BuildStage {
    Counts,
    Release,
}

/// The place of the profiles, and the tools that count.
pub(super) struct Flags {
    /// The file with flags of rustc, one in each line: its path is constant, so that cargo builds
    /// in the same directories both times. The counts of C code are found by their build directory.
    file: PathBuf,
    /// The counts of Rust code of each run.
    pub(super) runs: PathBuf,
    /// The merged counts of Rust code.
    pub(super) merged: PathBuf,
    /// The counts of C code.
    c: PathBuf,
    /// Whether C code is counted.
    c_counts: bool,
    host: String,
}

impl Flags {
    /// With nothing counted yet, in this directory.
    pub(super) fn new(directory: &Path, host: &str) -> Outcome<Self> {
        let counts = directory.join("counts");
        let flags = Self {
            file: directory.join("flags"),
            runs: counts.join("rust"),
            merged: directory.join("weir.profdata"),
            c: counts.join("c"),
            c_counts: is_gcc(),
            host: host.to_owned(),
        };
        if counts.exists() {
            std::fs::remove_dir_all(&counts).map_err(|error| failed(&counts, &error))?;
        }
        for new in [&flags.runs, &flags.c] {
            std::fs::create_dir_all(new).map_err(|error| failed(new, &error))?;
        }
        if !flags.c_counts {
            println!("the C compiler is not GCC: libraries in C are built as ever");
        }
        Ok(flags)
    }

    /// Tells a build.
    pub(super) fn tell(&self, stage: BuildStage, command: &mut Command) -> Outcome {
        std::fs::write(&self.file, self.of_rust(stage))
            .map_err(|error| failed(&self.file, &error))?;
        let mut argument = OsString::from("@");
        argument.push(&self.file);
        command.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", argument);
        if self.c_counts {
            let target = self.host.replace('-', "_");
            for name in ["CFLAGS", "CXXFLAGS"] {
                command.env(format!("{name}_{target}"), self.of_c(stage));
            }
        }
        Ok(())
    }

    fn of_rust(&self, stage: BuildStage) -> String {
        match stage {
            BuildStage::Counts => {
                let counter = if self.c_counts { "-Clink-arg=-lgcov\n" } else { "" };
                format!("-Cprofile-generate={}\n{counter}", self.runs.display())
            }
            BuildStage::Release => format!("-Cprofile-use={}\n", self.merged.display()),
        }
    }

    /// Code that no workload reaches is built as ever (`partial-training`), and none depends on
    /// values that were seen (`no-profile-values`): what works on secrets takes the same time for
    /// all of them. The files without matching counts are the probes of `configure`.
    fn of_c(&self, stage: BuildStage) -> String {
        let counts = self.c.display();
        match stage {
            BuildStage::Counts => {
                format!(
                    "-fprofile-generate={counts} -fprofile-update=prefer-atomic -fno-profile-values"
                )
            }
            BuildStage::Release => format!(
                "-fprofile-use={counts} -fprofile-partial-training -fno-profile-values \
                 -Wno-missing-profile -Wno-coverage-mismatch"
            ),
        }
    }
}

pub(super) fn failed(path: &Path, error: &std::io::Error) -> failure::Failure {
    failure::machine(format!("{}: {error}", path.display()))
}

/// Whether libraries are built with GCC.
fn is_gcc() -> bool {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let told = Command::new(compiler).arg("--version").output();
    told.is_ok_and(|told| names_gcc(&told.stdout))
}

/// Whether GCC says this of itself. Clang goes by its own name under any other.
fn names_gcc(about: &[u8]) -> bool {
    String::from_utf8_lossy(about).contains("Free Software Foundation")
}

#[cfg(test)]
mod tests {
    //! The flags for compilers, and their output.
    use super::*;

    #[test]
    fn compilers_are_distinguished() {
        assert!(names_gcc(
            b"cc (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation"
        ));
        assert!(!names_gcc(b"Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n"));
    }

    #[test]
    fn recorded_profiles_are_used() {
        let flags = Flags {
            file: "f".into(),
            runs: "/t/rust".into(),
            merged: "/t/m".into(),
            c: "/t/c".into(),
            c_counts: true,
            host: "x-y".to_owned(),
        };
        assert_eq!(
            flags.of_rust(BuildStage::Counts),
            "-Cprofile-generate=/t/rust\n-Clink-arg=-lgcov\n"
        );
        assert_eq!(flags.of_rust(BuildStage::Release), "-Cprofile-use=/t/m\n");
        assert!(flags.of_c(BuildStage::Counts).contains("-fprofile-generate=/t/c "));
        assert!(flags.of_c(BuildStage::Release).contains("-fprofile-use=/t/c "));
        let without = Flags { c_counts: false, ..flags };
        assert_eq!(without.of_rust(BuildStage::Counts), "-Cprofile-generate=/t/rust\n");
    }
}
