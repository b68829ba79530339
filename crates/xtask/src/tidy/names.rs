//! Words that the code of a crate must not contain, because its wall hides what they name.

use super::scan;
use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule = Rule {
    name: "names",
    summary: "no clock or descriptor in sched, no I/O in the pure crates",
    check,
};

/// Crates, the words they must not contain, and what to use instead.
const HIDDEN: &[(&[&str], &[&str], &str)] = &[
    (
        &["sched"],
        &["Instant", "SystemTime"],
        "the scheduler reads no clock: take the present tick as an argument",
    ),
    (
        &["sched"],
        &["RawFd", "OwnedFd", "BorrowedFd", "AsFd", "AsRawFd", "rustix", "libc"],
        "the scheduler knows no descriptor: let the reactor map readiness to wake reasons",
    ),
    (
        &["htx", "wire", "mux", "sample", "rules", "balance", "compression"],
        &["Instant", "SystemTime"],
        "this crate reads no clock: take the time as an argument",
    ),
    (
        &["htx", "wire", "mux", "sample", "rules", "balance", "compression", "config"],
        &["TcpStream", "TcpListener", "UdpSocket", "UnixStream", "UnixListener", "UnixDatagram"],
        "this crate does no I/O: take bytes, return bytes",
    ),
    (
        &["reactor", "proxy", "admin"],
        &["TcpStream", "TcpListener", "UdpSocket", "UnixStream", "UnixListener", "UnixDatagram"],
        "sockets go through the seam `Kernel` so that `sim` can replace them",
    ),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let Some(owner) = file.crate_of_source() else { continue };
        for (crates, words, instead) in HIDDEN {
            if file.test || !crates.contains(&owner) {
                continue;
            }
            for token in scan::tokens(&file.lines) {
                let test = file.lines.get(token.line - 1).is_some_and(|line| line.test);
                if !test && words.contains(&token.text.as_str()) {
                    let message = format!("`{}` in `{owner}`: {instead}", token.text);
                    findings.push(finding(&file.path, token.line, message));
                }
            }
        }
    }
    findings
}
