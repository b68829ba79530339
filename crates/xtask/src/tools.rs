//! Programs that are looked up in the search path.

use std::path::PathBuf;

use crate::failure::{self, Outcome};

/// A program that some subcommand starts, and the Debian package that holds it.
#[derive(Clone, Copy)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

pub(crate) const HAPROXY: Tool = Tool { program: "haproxy", package: "haproxy" };
pub(crate) const NGINX: Tool = Tool { program: "nginx", package: "nginx-light" };
pub(crate) const WRK: Tool = Tool { program: "wrk", package: "wrk" };
pub(crate) const H2LOAD: Tool = Tool { program: "h2load", package: "nghttp2-client" };
pub(crate) const OPENSSL: Tool = Tool { program: "openssl", package: "openssl" };
pub(crate) const TASKSET: Tool = Tool { program: "taskset", package: "util-linux" };
pub(crate) const VARNISHTEST: Tool = Tool { program: "varnishtest", package: "varnish" };
pub(crate) const SLOWHTTPTEST: Tool = Tool { program: "slowhttptest", package: "slowhttptest" };
pub(crate) const TESTSSL: Tool = Tool { program: "testssl", package: "testssl.sh" };
pub(crate) const SOCAT: Tool = Tool { program: "socat", package: "socat" };

/// Where a program is: the search path, then the directories of system daemons, which are not
/// in the search path of ordinary users.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")])
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// A program given by path, or by its name in the search path, as an absolute path.
pub(crate) fn resolve(name: &str) -> Outcome<PathBuf> {
    let path = if name.contains('/') { Some(PathBuf::from(name)) } else { find(name) };
    path.and_then(|path| path.canonicalize().ok())
        .ok_or_else(|| failure::machine(format!("no program {name}")))
}

/// Fails with one line that says how to install the missing tools.
pub(crate) fn require(tools: &[Tool]) -> Outcome {
    let missing: Vec<Tool> =
        tools.iter().copied().filter(|tool| find(tool.program).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let programs: Vec<&str> = missing.iter().map(|tool| tool.program).collect();
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    Err(failure::machine(format!(
        "missing {}; on Debian: sudo apt-get install {}",
        programs.join(", "),
        packages.join(" ")
    )))
}

#[cfg(test)]
mod tests {
    //! Installed tools are found; missing ones are named with their package.
    use super::*;

    #[test]
    fn finds_the_shell() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }

    #[test]
    fn names_program_and_package() {
        let tool = Tool { program: "no-such-program-anywhere", package: "its-package" };
        let text = require(&[Tool { program: "sh", package: "dash" }, tool]).unwrap_err();
        let text = text.to_string();
        assert!(text.contains("missing no-such-program-anywhere;"), "{text}");
        assert!(text.ends_with("apt-get install its-package"), "{text}");
    }
}
