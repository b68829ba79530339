//! The output of a binary for `-dM -vv`, read as the suite's script reads it.

use std::path::Path;
use std::process::Command;

use crate::failure::{self, Outcome};

/// Arguments that every instance under test gets.
pub(crate) const ARGUMENTS: &str = "-dM";

/// The facts that decide which tests may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) version: String,
    pub(crate) target: String,
    /// Words such as `+OPENSSL` and `-LUA`.
    pub(crate) features: Vec<String>,
    pub(crate) services: Vec<String>,
}

/// Asks a binary.
pub(crate) fn facts(program: &Path) -> Outcome<Facts> {
    let output = Command::new(program)
        .args([ARGUMENTS, "-vv"])
        .output()
        .map_err(|error| failure::machine(format!("{}: {error}", program.display())))?;
    read(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        failure::check(format!("{} -vv lacks a line the suite reads", program.display()))
    })
}

fn read(text: &str) -> Option<Facts> {
    let find = |wanted: fn(&str) -> bool| text.lines().find(|line| wanted(line));
    let version =
        find(|line| line.contains("HAProxy version") || line.contains("HA-Proxy version"))?;
    let target =
        find(|line| line.split_once("TARGET").is_some_and(|(_, rest)| rest.contains('=')))?;
    let features = find(|line| line.starts_with("Feature"))?;
    let services = find(|line| line.starts_with("Available services"))?;
    Some(Facts {
        version: after_last_separator(version).split(' ').nth(2)?.to_owned(),
        target: after_last_separator(target).to_owned(),
        features: words(after_last_separator(features)),
        services: words(after_last_separator(services)),
    })
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The text after the last ` : ` or ` = ` of a line.
fn after_last_separator(line: &str) -> &str {
    let ends = [" : ", " = "].iter().filter_map(|mark| line.rfind(mark).map(|at| at + mark.len()));
    ends.max().map_or(line, |at| &line[at..])
}

#[cfg(test)]
mod tests {
    //! The four lines, and texts that lack one.
    use super::*;

    const TEXT: &str = "HAProxy version 2.7-dev7-x 2026/11/21 - https://example.org/\nOptions :\n  \
        TARGET  = linux-glibc\n  CPU = generic\nFeature list : +EPOLL -LUA\n\
        Available services : none\n";

    #[test]
    fn reads_the_four_lines() {
        let facts = read(TEXT).unwrap();
        assert_eq!(facts.version, "2.7-dev7-x");
        assert_eq!(facts.target, "linux-glibc");
        assert_eq!(facts.features, ["+EPOLL", "-LUA"]);
        assert_eq!(facts.services, ["none"]);
    }

    #[test]
    fn wants_all_four() {
        for missing in ["HAProxy version", "TARGET", "Feature", "Available services"] {
            assert_eq!(read(&TEXT.replace(missing, "x")), None, "{missing}");
        }
    }
}
