//! Which crate may depend on which, and the functions that no crate may reach. Reads manifests
//! only.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{self, Dependency, DependencyKind};
use super::tree::Tree;
use super::{Finding, Rule, finding};

pub(super) const EDGES: Rule =
    Rule { name: "walls", summary: "crates depend only downwards", check: edges };

pub(super) const REACH: Rule = Rule {
    name: "reach",
    summary: "pure crates never reach the kernel, the data plane never the configuration",
    check: reach,
};

pub(super) const KERNEL: Rule =
    Rule { name: "kernel", summary: "only sys speaks to the kernel", check: kernel };

/// One crate and the workspace crates that it may name, bottom floor first.
/// A crate that is not listed fails: a new crate is a new wall and belongs here.
const FLOORS: &[(&str, &[&str])] = &[
    ("stdx", &[]),
    ("sys", &["stdx"]),
    ("crypto", &[]),
    ("ffi", &[]),
    ("buf", &["stdx"]),
    ("sched", &["stdx"]),
    ("reactor", &["sched", "stdx", "sys"]),
    ("htx", &["buf", "stdx"]),
    ("wire", &["buf", "htx", "stdx"]),
    ("mux", &["buf", "htx", "stdx", "wire"]),
    ("records", &["ffi", "stdx"]),
    ("tls", &["ffi", "records", "stdx"]),
    ("quic", &["mux", "stdx", "tls", "wire"]),
    ("table", &["stdx"]),
    ("sample", &["crypto", "ffi", "htx", "stdx", "table"]),
    ("rules", &["htx", "sample", "stdx", "table"]),
    ("script", &["htx", "rules", "sample", "stdx"]),
    ("balance", &["stdx"]),
    ("dns", &[]),
    ("peers", &["stdx", "table"]),
    ("spop", &["stdx"]),
    ("cache", &["htx", "stdx"]),
    ("compression", &["buf", "stdx"]),
    (
        "settings",
        &[
            "balance",
            "cache",
            "compression",
            "dns",
            "htx",
            "rules",
            "sample",
            "stdx",
            "table",
            "tls",
            "wire",
        ],
    ),
    (
        "transport",
        &[
            "buf", "htx", "mux", "reactor", "sample", "sched", "settings", "stdx", "table", "tls",
            "wire",
        ],
    ),
    (
        "engine",
        &[
            "balance",
            "buf",
            "cache",
            "compression",
            "dns",
            "htx",
            "mux",
            "peers",
            "reactor",
            "rules",
            "sample",
            "sched",
            "script",
            "settings",
            "spop",
            "stdx",
            "table",
            "tls",
            "transport",
            "wire",
        ],
    ),
    (
        "observability",
        &[
            "balance",
            "cache",
            "dns",
            "engine",
            "htx",
            "mux",
            "reactor",
            "rules",
            "sample",
            "sched",
            "script",
            "settings",
            "spop",
            "stdx",
            "table",
            "transport",
        ],
    ),
    (
        "health",
        &[
            "balance",
            "dns",
            "engine",
            "htx",
            "mux",
            "observability",
            "reactor",
            "rules",
            "sample",
            "settings",
            "stdx",
            "table",
            "tls",
            "transport",
            "wire",
        ],
    ),
    (
        "upstream",
        &[
            "balance",
            "buf",
            "engine",
            "health",
            "htx",
            "observability",
            "reactor",
            "sample",
            "settings",
            "stdx",
            "tls",
            "transport",
            "wire",
        ],
    ),
    (
        "transaction",
        &[
            "balance",
            "buf",
            "cache",
            "compression",
            "engine",
            "health",
            "htx",
            "mux",
            "observability",
            "reactor",
            "rules",
            "sample",
            "script",
            "settings",
            "stdx",
            "table",
            "transport",
            "upstream",
            "wire",
        ],
    ),
    (
        "proxy",
        &[
            "balance",
            "buf",
            "engine",
            "health",
            "mux",
            "observability",
            "peers",
            "quic",
            "reactor",
            "rules",
            "sample",
            "script",
            "settings",
            "spop",
            "stdx",
            "table",
            "tls",
            "transaction",
            "transport",
            "upstream",
            "wire",
        ],
    ),
    (
        "config",
        &[
            "balance",
            "cache",
            "compression",
            "dns",
            "htx",
            "rules",
            "sample",
            "settings",
            "stdx",
            "table",
            "tls",
        ],
    ),
    (
        "admin",
        &[
            "balance",
            "buf",
            "cache",
            "dns",
            "engine",
            "health",
            "htx",
            "observability",
            "peers",
            "proxy",
            "reactor",
            "rules",
            "sample",
            "sched",
            "script",
            "settings",
            "stdx",
            "table",
            "tls",
            "transport",
        ],
    ),
    (
        "weir",
        &[
            "admin",
            "balance",
            "buf",
            "compression",
            "config",
            "dns",
            "engine",
            "htx",
            "mux",
            "observability",
            "proxy",
            "reactor",
            "rules",
            "sample",
            "sched",
            "script",
            "settings",
            "stdx",
            "sys",
            "table",
            "tls",
            "transport",
            "wire",
        ],
    ),
    (
        "sim",
        &[
            "balance",
            "buf",
            "compression",
            "engine",
            "health",
            "htx",
            "mux",
            "proxy",
            "reactor",
            "rules",
            "sample",
            "sched",
            "settings",
            "stdx",
            "table",
            "tls",
            "transport",
            "wire",
        ],
    ),
    (
        "parser-properties",
        &[
            "admin",
            "cache",
            "compression",
            "config",
            "dns",
            "htx",
            "mux",
            "sample",
            "table",
            "tls",
            "wire",
            "peers",
            "records",
            "spop",
        ],
    ),
    ("acceptance", &["weir"]),
    (
        "testing",
        &[
            "balance",
            "engine",
            "htx",
            "mux",
            "proxy",
            "reactor",
            "rules",
            "sample",
            "settings",
            "transport",
        ],
    ),
    ("testkit", &["stdx", "tls"]),
    ("bench", &[]),
    ("xtask", &[]),
];

/// Crates without I/O and clock.
const PURE: &[&str] = &[
    "balance",
    "cache",
    "compression",
    "crypto",
    "dns",
    "htx",
    "mux",
    "peers",
    "quic",
    "records",
    "rules",
    "sample",
    "script",
    "spop",
    "table",
    "tls",
    "wire",
];

/// The other crates of the product: `stdx` to `sched`, which pure crates may use, and the data
/// plane.
const RUNNING: &[&str] = &[
    "stdx",
    "sys",
    "buf",
    "sched",
    "reactor",
    "settings",
    "transport",
    "engine",
    "observability",
    "health",
    "upstream",
    "transaction",
    "proxy",
];

/// Names of crates.
type Names = &'static [&'static str];

/// Groups of crates, the crates that they must not reach through any chain of dependencies, and
/// what to do instead.
const UNREACHABLE: &[(&[Names], Names, &str)] = &[
    (
        &[PURE, &["config"]],
        &["sys", "reactor", "proxy"],
        "it must run in a fuzzer and in sim: take what it needs as an argument",
    ),
    (
        &[PURE, RUNNING],
        &["config"],
        "the data plane has plain `Settings`: let the boot of `weir` fill them",
    ),
    (&[&["mux"]], &["rules", "transport"], "one forwarding loop serves every protocol version"),
];

/// Crates from outside that make system calls.
const KERNEL_CRATES: &[&str] = &["libc", "mio", "nix", "polling", "rustix", "socket2"];

/// Crates that no other crate may depend on, tests included.
const TOPS: &[&str] = &["weir", "acceptance", "parser-properties", "bench", "xtask"];

fn manifests(tree: &Tree) -> BTreeMap<&str, Vec<Dependency>> {
    let read = |name| {
        let file = tree.file(&manifest_path(name))?;
        Some((name, manifest::dependencies(&file.text)))
    };
    tree.crates().into_iter().filter_map(read).collect()
}

fn manifest_path(name: &str) -> String {
    format!("crates/{name}/Cargo.toml")
}

fn edges(tree: &Tree) -> Vec<Finding> {
    let manifests = manifests(tree);
    let mut findings = Vec::new();
    for (name, dependencies) in &manifests {
        let Some((_, allowed)) = FLOORS.iter().find(|(floor, _)| floor == name) else {
            let message = format!("crate `{name}` has no floor: add it to the table in walls.rs");
            findings.push(finding(&manifest_path(name), 0, message));
            continue;
        };
        for dependency in dependencies {
            let to = dependency.name.as_str();
            if !manifests.contains_key(to) && !FLOORS.iter().any(|(floor, _)| *floor == to) {
                continue;
            }
            let fine = match dependency.kind {
                DependencyKind::Product => allowed.contains(&to),
                DependencyKind::Development => !TOPS.contains(&to),
            };
            if !fine {
                let message = format!(
                    "`{name}` must not depend on `{to}`: move the code to a lower floor or pass it in"
                );
                findings.push(finding(&manifest_path(name), dependency.line, message));
            }
        }
    }
    findings
}

fn reach(tree: &Tree) -> Vec<Finding> {
    let manifests = manifests(tree);
    let mut findings = Vec::new();
    for (crates, forbidden, instead) in UNREACHABLE {
        for name in crates.iter().copied().flatten() {
            let Some(reached) = reached(name, &manifests) else { continue };
            for to in forbidden.iter().filter(|to| reached.contains(**to)) {
                let message = format!("`{name}` reaches `{to}`: {instead}");
                findings.push(finding(&manifest_path(name), 0, message));
            }
        }
    }
    findings
}

/// Every crate of the workspace that `name` links, directly or not.
fn reached<'a>(
    name: &str,
    manifests: &'a BTreeMap<&str, Vec<Dependency>>,
) -> Option<BTreeSet<&'a str>> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![manifests.get(name)?];
    while let Some(dependencies) = waiting.pop() {
        for dependency in dependencies {
            let to = dependency.name.as_str();
            if dependency.kind == DependencyKind::Development || !reached.insert(to) {
                continue;
            }
            waiting.extend(manifests.get(to));
        }
    }
    Some(reached)
}

fn kernel(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, dependencies) in manifests(tree) {
        if name == "sys" {
            continue;
        }
        for dependency in dependencies {
            if KERNEL_CRATES.contains(&dependency.name.as_str()) {
                let message = format!(
                    "`{name}` must not depend on `{}`: add the call to `sys`",
                    dependency.name
                );
                findings.push(finding(&manifest_path(name), dependency.line, message));
            }
        }
    }
    findings
}
