//! No compile-time features in the sources: Weir is a program, configured when it runs. Only one
//! crate depends on which TLS library is linked.

use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const RULE: Rule = Rule { name: "features", summary: "no cfg(feature)", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.crate_of_source().is_some()) {
        for (index, line) in file.lines.iter().enumerate() {
            let asks = line.code.contains("cfg(aws_lc)") || line.code.contains("cfg(not(aws_lc))");
            if asks && !file.path.starts_with("crates/ffi/") {
                let message = "only `ffi` knows which TLS library is linked: give it a function";
                findings.push(finding(&file.path, index + 1, message));
            }
            let conditional = line.code.contains("cfg(") || line.code.contains("cfg_attr(");
            if conditional && line.code.contains("feature = ") {
                let message = "`cfg(feature)`: decide at run time, from the configuration";
                findings.push(finding(&file.path, index + 1, message));
            }
        }
    }
    findings
}
