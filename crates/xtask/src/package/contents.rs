//! The files of a package, and where each comes from.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{PackageBuild, at, bytes_of, components};
use crate::failure::{self, Outcome};

/// The origin of a file's content.
enum ContentOrigin {
    /// The program itself.
    Program,
    /// A document that the program writes with `--generate`.
    Generated(&'static str),
    /// A file of the repository.
    Copied(&'static str),
    /// A document about the crates that the program consists of.
    Listed(fn(&PackageBuild) -> Outcome<Vec<u8>>),
}

use ContentOrigin::{Copied, Generated, Listed, Program};

/// One file of a package; a path that ends with `.gz` is compressed.
struct PackagedFile {
    /// Below the root of the file system.
    path: &'static str,
    mode: u32,
    origin: ContentOrigin,
}

const fn file(path: &'static str, origin: ContentOrigin) -> PackagedFile {
    PackagedFile { path, mode: 0o644, origin }
}

const fn executable(path: &'static str, origin: ContentOrigin) -> PackagedFile {
    PackagedFile { path, mode: 0o755, origin }
}

/// Every file.
const FILES: &[PackagedFile] = &[
    executable("usr/sbin/weir", Program),
    file("lib/systemd/system/weir.service", Copied("contrib/systemd/weir.service")),
    file("usr/lib/tmpfiles.d/weir.conf", Copied("contrib/debian/tmpfiles.conf")),
    file("usr/share/man/man8/weir.8.gz", Generated("weir.8")),
    file("usr/share/man/man5/weir.cfg.5.gz", Generated("weir.cfg.5")),
    file("usr/share/bash-completion/completions/weir", Generated("bash")),
    file("usr/share/zsh/vendor-completions/_weir", Generated("zsh")),
    file("usr/share/fish/vendor_completions.d/weir.fish", Generated("fish")),
    executable("usr/share/weir/take-over", Copied("contrib/debian/take-over")),
    file("etc/weir/weir.cfg", Copied("contrib/debian/weir.cfg")),
    file("etc/default/weir", Copied("contrib/debian/weir.default")),
    file("etc/logrotate.d/weir", Copied("contrib/debian/logrotate")),
    file("etc/rsyslog.d/49-weir.conf", Copied("contrib/debian/rsyslog.conf")),
    file("etc/apparmor.d/usr.sbin.weir", Copied("contrib/debian/apparmor")),
    file("usr/share/doc/weir/copyright", Copied("contrib/debian/copyright")),
    file("usr/share/doc/weir/LICENSE-MIT", Copied("LICENSE-MIT")),
    file("usr/share/doc/weir/LICENSE-APACHE", Copied("LICENSE-APACHE")),
    file("usr/share/doc/weir/sbom.cdx.json", Listed(components::bill_of_materials)),
    file("usr/share/doc/weir/third-party-licences.gz", Listed(components::licences)),
    file("usr/share/doc/weir/changelog.gz", Copied("CHANGELOG.md")),
    file("usr/share/doc/weir/README.md", Copied("README.md")),
    file("usr/share/doc/weir/differences.md", Copied("docs/differences.md")),
    file("usr/share/doc/weir/examples/quickstart.cfg", Copied("examples/quickstart.cfg")),
    file("usr/share/doc/weir/examples/grafana.json", Copied("contrib/grafana/weir.json")),
];

/// Files that an operator changes and an upgrade keeps, as paths of the installed system.
pub(super) fn configuration_files() -> impl Iterator<Item = String> {
    FILES.iter().filter(|file| file.path.starts_with("etc/")).map(|file| format!("/{}", file.path))
}

/// Writes every file below an empty directory. Returns the bytes of all of them.
pub(super) fn write(build: &PackageBuild, below: &Path) -> Outcome<u64> {
    let mut total = 0;
    for file in FILES {
        let path = below.join(file.path);
        let directory = path.parent().unwrap_or(below);
        at(directory, fs::create_dir_all(directory))?;
        let content = content(build, &file.origin)?;
        let content = if file.path.ends_with(".gz") { compressed(&content)? } else { content };
        total += content.len() as u64;
        at(&path, fs::write(&path, content))?;
        at(&path, fs::set_permissions(&path, Permissions::from_mode(file.mode)))?;
    }
    readable_directories(below)?;
    Ok(total)
}

/// Directories have the mode that the policy of Debian wants, whatever the mask of this process is.
fn readable_directories(below: &Path) -> Outcome {
    at(below, fs::set_permissions(below, Permissions::from_mode(0o755)))?;
    for entry in at(below, fs::read_dir(below))? {
        let path = at(below, entry)?.path();
        if path.is_dir() {
            readable_directories(&path)?;
        }
    }
    Ok(())
}

fn content(build: &PackageBuild, origin: &ContentOrigin) -> Outcome<Vec<u8>> {
    match origin {
        Program => stripped(build),
        Generated(name) => bytes_of(Command::new(&build.program).args(["--generate", name])),
        Listed(list) => list(build),
        Copied(path) => {
            let path = build.root.join(path);
            at(&path, fs::read(&path))
        }
    }
}

/// The program without symbols of the compiler; as it is where there is no `strip`.
fn stripped(build: &PackageBuild) -> Outcome<Vec<u8>> {
    let copy = build.output.join("weir.stripped");
    at(&copy, fs::copy(&build.program, &copy))?;
    if let Err(error) = Command::new("strip").arg(&copy).status() {
        eprintln!("package: the program is not stripped: strip: {error}");
    }
    let content = at(&copy, fs::read(&copy))?;
    at(&copy, fs::remove_file(&copy))?;
    Ok(content)
}

/// The same bytes for the same content: neither name nor date is kept.
fn compressed(content: &[u8]) -> Outcome<Vec<u8>> {
    let cannot = |error| failure::machine(format!("gzip: {error}"));
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "-n"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = gzip.spawn().map_err(cannot)?;
    let input = child.stdin.take();
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(move || input.map_or(Ok(()), |mut pipe| pipe.write_all(content)));
        let output = child.wait_with_output();
        writer.join().map(|written| written.and(output))
    });
    match written {
        Ok(output) => Ok(output.map_err(cannot)?.stdout),
        Err(_) => Err(failure::machine("gzip: its input could not be written")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_repository_exist_and_are_packaged_once() {
        let root = crate::workspace::root().expect("the root of the workspace");
        for file in FILES {
            assert_eq!(
                FILES.iter().filter(|other| other.path == file.path).count(),
                1,
                "{}",
                file.path
            );
            if let Copied(path) = file.origin {
                assert!(root.join(path).is_file(), "{path}");
            }
        }
        assert!(configuration_files().any(|path| path == "/etc/weir/weir.cfg"));
    }

    #[test]
    fn compression_is_reproducible() {
        let text = vec![b'x'; 200_000];
        let first = compressed(&text).expect("gzip");
        assert!(first.len() < 1_000 && first == compressed(&text).expect("gzip"));
    }
}
