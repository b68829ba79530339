//! No foreign async runtime or event loop in the product. Tests may use any crate.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule =
    Rule { name: "runtimes", summary: "no async runtime library in the product", check };

const RUNTIMES: &[&str] = &[
    "async-executor",
    "async-global-executor",
    "async-io",
    "async-std",
    "embassy-executor",
    "futures-executor",
    "glommio",
    "mio",
    "monoio",
    "polling",
    "pollster",
    "smol",
    "tokio",
    "tokio-uring",
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in tree.packages.iter().filter(|package| package.shipped) {
        if RUNTIMES.contains(&package.name.as_str()) {
            let message = format!(
                "`{} {}` is linked into the product: futures run on `sched` and `reactor`",
                package.name, package.version
            );
            findings.push(finding("Cargo.lock", 0, message));
        }
    }
    findings
}
