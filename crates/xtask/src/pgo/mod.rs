//! `cargo xtask pgo`: a release build that knows which of its branches are taken.

mod flags;

use std::path::{Path, PathBuf};
use std::process::Command;

use flags::{BuildStage, Flags};

use crate::bench::training;
use crate::failure::{self, Outcome};
use crate::steps::{self, Steps};
use crate::{args, workspace};

pub(crate) const HELP: &str = "\
usage: cargo xtask pgo [-d SECONDS] [--aws-lc]

Builds weir twice: once so that it counts which ways it takes under the workloads of `bench compare`,
then as a release whose code is laid out by these counts; so are its libraries in C if the C compiler is
GCC. The program is the same, it only needs less CPU; docs/performance.md tells how much less. It is
written to target/pgo/release/weir (below CARGO_TARGET_DIR where that is set).

  -d         seconds of each workload (3)
  --aws-lc   on AWS-LC instead of OpenSSL, as target/pgo/release/weir-aws-lc

Needs two processors, `rustup component add llvm-tools`, and, from Debian: nginx-light wrk
nghttp2-client openssl. Takes a quarter of an hour on two processors.
";

/// The default duration of each workload.
const DEFAULT_SECONDS: u32 = 3;

/// Runs the subcommand.
pub(crate) fn run(words: &[String]) -> Outcome {
    let parsed = args::parse(words, &[args::value("-d"), args::switch("--aws-lc")])?;
    if let Some(word) = parsed.rest.first() {
        return Err(failure::usage(format!("pgo takes no argument, not `{word}`")));
    }
    let seconds = parsed.number("-d", DEFAULT_SECONDS)?;
    let library = if parsed.has("--aws-lc") { Library::AwsLc } else { Library::OpenSsl };
    println!("{}", train(&workspace::root()?, library, seconds)?.display());
    Ok(())
}

/// The trained program, trained now if it is older than the plain one.
pub(crate) fn trained(root: &Path, plain: &Path) -> Outcome<PathBuf> {
    let place = Build::place(root, Library::OpenSsl);
    let made = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified()).ok();
    match made(&place) {
        Some(at) if Some(at) >= made(plain) => Ok(place),
        _ => train(root, Library::OpenSsl, DEFAULT_SECONDS),
    }
}

/// Which TLS library the program is built on.
#[derive(Clone, Copy)]
enum Library {
    OpenSsl,
    AwsLc,
}

impl Library {
    /// The arguments for cargo.
    fn features(self) -> &'static [&'static str] {
        match self {
            Self::OpenSsl => &[],
            Self::AwsLc => &["--features", "aws-lc"],
        }
    }

    /// The name of the program.
    fn program(self) -> &'static str {
        match self {
            Self::OpenSsl => "weir",
            Self::AwsLc => "weir-aws-lc",
        }
    }
}

fn train(root: &Path, library: Library, seconds: u32) -> Outcome<PathBuf> {
    training::require()?;
    let build = Build::new(root, library)?;
    let flags = &build.flags;
    let mut steps = Steps::new(4);
    steps.step("build that counts", || build.cargo(BuildStage::Counts))?;
    steps.step("workloads", || training::train(&build.binary(), &flags.runs, seconds))?;
    steps.step("counts", || build.merge())?;
    steps.step("release build", || build.cargo(BuildStage::Release))?;
    steps.finish();
    build.publish()
}

/// The directories of the build and its options.
struct Build<'a> {
    root: &'a Path,
    library: Library,
    /// The directory that everything is built in.
    directory: PathBuf,
    /// The machine's own target, named so that flags are not for build scripts.
    host: String,
    flags: Flags,
    profdata: PathBuf,
}

impl<'a> Build<'a> {
    fn new(root: &'a Path, library: Library) -> Outcome<Self> {
        let about = ask(root, &["-vV"])?;
        let host = host(&about).ok_or_else(|| failure::machine("rustc tells no host"))?.to_owned();
        let tools = PathBuf::from(ask(root, &["--print", "sysroot"])?.trim())
            .join(format!("lib/rustlib/{host}/bin"));
        let profdata = tools.join("llvm-profdata");
        if !profdata.is_file() {
            return Err(failure::machine(
                "missing llvm-profdata; with rustup: rustup component add llvm-tools",
            ));
        }
        let directory = workspace::target(root).join("pgo");
        let flags = Flags::new(&directory, &host)?;
        Ok(Self { root, library, directory, host, flags, profdata })
    }

    /// Builds everything again, because cargo does not see changed flags of the compilers.
    fn cargo(&self, stage: BuildStage) -> Outcome {
        let built = self.directory.join(&self.host);
        if built.exists() {
            std::fs::remove_dir_all(&built).map_err(|error| flags::failed(&built, &error))?;
        }
        let mut command = workspace::cargo(
            self.root,
            &["build", "--release", "--locked", "--package", "weir", "--target", &self.host],
        );
        command.args(self.library.features());
        command.arg("--target-dir").arg(&self.directory);
        self.flags.tell(stage, &mut command)?;
        steps::run("cargo build", &mut command)
    }

    fn binary(&self) -> PathBuf {
        self.directory.join(&self.host).join("release").join("weir")
    }

    /// Merges the counts of the workloads.
    fn merge(&self) -> Outcome {
        let Flags { runs, merged, .. } = &self.flags;
        let mut command = Command::new(&self.profdata);
        steps::run("llvm-profdata", command.arg("merge").arg("-o").arg(merged).arg(runs))
    }

    /// Where the program is looked for.
    fn place(root: &Path, library: Library) -> PathBuf {
        workspace::target(root).join("pgo").join("release").join(library.program())
    }

    /// Copies the program there.
    fn publish(&self) -> Outcome<PathBuf> {
        let place = Self::place(self.root, self.library);
        let failed = |error| flags::failed(&place, &error);
        std::fs::create_dir_all(self.directory.join("release")).map_err(failed)?;
        std::fs::copy(self.binary(), &place).map_err(failed)?;
        Ok(place)
    }
}

/// The output of rustc.
fn ask(root: &Path, arguments: &[&str]) -> Outcome<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(program)
        .current_dir(root)
        .args(arguments)
        .output()
        .map_err(|error| failure::machine(format!("cannot run rustc: {error}")))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The default target of a toolchain, from its `--version` text.
fn host(about: &str) -> Option<&str> {
    about.lines().find_map(|line| line.strip_prefix("host: "))
}

#[cfg(test)]
mod tests {
    //! Tests of reading the compiler's output.
    use super::*;

    #[test]
    fn reads_the_host() {
        assert_eq!(host("rustc 1.95.0\nhost: x86_64-x\nrelease: 1.95.0\n"), Some("x86_64-x"));
        assert_eq!(host("rustc 1.95.0\n"), None);
    }
}
