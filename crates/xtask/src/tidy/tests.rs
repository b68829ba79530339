//! Plants one violation of every rule in a clean tree and sees exactly that rule find it.

use super::tree::{Package, Tree};
use super::{RULES, ratchet, violations};

const STRICTNESS: &str = "| class | section | Weir | tests |\n|---|---|---|---|\n\
    | LF | RFC 9112 2.2 | taken | `crates/mux/src/tests.rs::a_lf_is_taken` |\n";

/// A small tree in which every rule holds.
fn clean() -> Tree {
    let files = [
        ("README.md", "run `cargo xtask test`"),
        ("ARCHITECTURE.md", "the map of crates/"),
        ("CONTRIBUTING.md", "run `cargo xtask tidy`"),
        ("CHANGELOG.md", "## [Unreleased]"),
        ("LICENSE-APACHE", "Apache License"),
        ("LICENSE-MIT", "Permission is hereby granted"),
        ("Cargo.lock", "[[package]]\nname = \"memchr\"\n"),
        ("crates/xtask/tidy.list", "# nothing\n"),
        ("crates/sched/Cargo.toml", "[dependencies]\n"),
        ("crates/sched/src/lib.rs", "//! Tasks.\n"),
        ("crates/sys/Cargo.toml", "[dependencies]\nrustix = \"1\"\n"),
        ("crates/sys/src/lib.rs", "//! Calls.\nfn f() { unsafe { g() } }\n"),
        ("crates/wire/Cargo.toml", "[dependencies]\nhtx = { path = \"../htx\" }\n"),
        ("crates/wire/src/lib.rs", "//! Codecs.\n#![forbid(unsafe_code)]\n"),
        ("crates/htx/Cargo.toml", "[dependencies]\n"),
        (
            "crates/htx/src/lib.rs",
            "//! Messages.\n#![forbid(unsafe_code)]\nconst X: &str = \".unwrap()\";\n",
        ),
        ("crates/mux/Cargo.toml", "[dependencies]\n"),
        ("crates/mux/src/lib.rs", "//! Machines.\n#![forbid(unsafe_code)]\n"),
        ("docs/http1-strictness.md", STRICTNESS),
        ("crates/mux/src/tests.rs", "//! Tests.\n#[test]\nfn a_lf_is_taken() {}\n"),
        ("crates/mux/src/h1/conn.rs", "//! One machine.\nuse super::recv;\nuse wire::h2;\n"),
    ];
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    Tree::new(files.collect(), vec![package("memchr", "MIT", true), package("tokio", "MIT", false)])
}

fn package(name: &str, licence: &str, shipped: bool) -> Package {
    Package {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        licence: licence.to_owned(),
        shipped,
    }
}

/// A rule, and a change that breaks it.
type Plant = (&'static str, fn(&mut Tree));

const WIRE: &str = "//! Codecs.\n#![forbid(unsafe_code)]\n";

fn in_wire(tree: &mut Tree, code: &str) {
    tree.put("crates/wire/src/lib.rs", &format!("{WIRE}{code}\n"));
}

fn long_function(lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
}

/// As many files of so many lines.
fn in_folder(tree: &mut Tree, folder: &str, files: usize, lines: usize) {
    let text = format!("//! One.\n{}", "const X: u8 = 0;\n".repeat(lines - 1));
    (0..files).for_each(|number| tree.put(&format!("{folder}/f{number}.rs"), &text));
}

/// A code map with one row, and a file that rows may name.
fn code_map(tree: &mut Tree, row: &str) {
    let map = format!("the map of crates/\n\n### Where it happens\n\n{row}\n");
    tree.put("ARCHITECTURE.md", &map);
    tree.put("crates/proxy/src/run/start.rs", "//! Start.\nfn start() {}\n");
}

/// At least one violation of every rule.
const PLANTS: &[Plant] = &[
    ("walls", |tree| tree.put("crates/htx/Cargo.toml", "[dependencies]\nwire.workspace = true\n")),
    ("walls", |tree| tree.put("crates/new/Cargo.toml", "[dependencies]\n")),
    ("walls", |tree| {
        tree.put("crates/htx/Cargo.toml", "[dev-dependencies]\nweir = \"0\"\n[dependencies]\n")
    }),
    ("reach", |tree| tree.put("crates/htx/Cargo.toml", "[dependencies]\nsys = \"0\"\n")),
    ("kernel", |tree| tree.put("crates/sched/Cargo.toml", "[dependencies]\nlibc = \"0\"\n")),
    ("names", |tree| tree.put("crates/sched/src/lib.rs", "//! Tasks.\nuse std::time::Instant;\n")),
    ("names", |tree| tree.put("crates/sched/src/lib.rs", "//! Tasks.\nfn f(fd: RawFd) {}\n")),
    ("names", |tree| in_wire(tree, "use std::net::TcpStream;")),
    ("siblings", |tree| tree.put("crates/mux/src/h1/conn.rs", "//! One.\nuse crate::h2::Conn;\n")),
    ("siblings", |tree| tree.put("crates/mux/src/tcp.rs", "//! One.\nuse super::h1;\n")),
    ("rooms", |tree| {
        tree.put("crates/htx/src/a.rs", "//! One.\nuse crate::b::{self, c::D};\n");
        tree.put("crates/htx/src/b.rs", "//! Two.\nfn f() { super::a::f() }\n");
    }),
    ("rooms", |tree| {
        tree.put("crates/htx/src/lib.rs", "//! Both.\n#![forbid(unsafe_code)]\npub use b::B;\n");
        tree.put("crates/htx/src/a.rs", "//! One.\nuse crate::B;\n");
        tree.put("crates/htx/src/b.rs", "//! Two.\nuse crate::a as other;\n");
    }),
    ("rooms", |tree| tree.put("crates/xtask/tidy.list", "cycle htx 2\n")),
    ("crate-size", |tree| in_folder(tree, "crates/engine/src/state", 13, 924)),
    ("crate-size", |tree| in_folder(tree, "crates/mux/src/h2", 21, 1)),
    ("type-names", |tree| {
        tree.put("crates/htx/src/a.rs", "//! One.\npub(crate) struct Place;\n");
        tree.put("crates/htx/src/b.rs", "//! Two.\nenum Place {}\n");
    }),
    ("type-names", |tree| {
        tree.put("crates/xtask/tidy.list", "names htx 2\n");
        tree.put("crates/htx/src/a.rs", "//! One.\nstruct Place<T>(T);\nmod b { struct Place; }\n");
    }),
    ("type-names", |tree| tree.put("crates/xtask/tidy.list", "names gone 1\n")),
    ("prose", |tree| in_wire(tree, "/// Who waits is told.\nfn f() {}")),
    ("prose", |tree| tree.put("crates/htx/tests/a.rs", "//! Never judges.\n")),
    ("prose", |tree| tree.put("crates/xtask/tidy.list", "prose htx 1\n")),
    ("code-map", |tree| code_map(tree, "| a step | `proxy/run/gone.rs`: `start` |")),
    ("code-map", |tree| code_map(tree, "| a step | `proxy/run/start.rs`: `stop` |")),
    ("code-map", |tree| code_map(tree, "| a step | `proxy/walk/` |")),
    ("unsafe", |tree| in_wire(tree, "fn f() { unsafe { g() } }")),
    ("unsafe", |tree| tree.put("crates/wire/src/lib.rs", "//! Codecs.\n")),
    ("runtimes", |tree| tree.packages.push(package("tokio", "MIT", true))),
    ("features", |tree| in_wire(tree, "#[cfg(feature = \"fast\")]\nfn f() {}")),
    ("features", |tree| in_wire(tree, "#[cfg(not(aws_lc))]\nfn f() {}")),
    ("headers", |tree| tree.put("crates/wire/src/h1.rs", "fn f() {}\n")),
    ("headers", |tree| tree.put("crates/wire/tests/h1.rs", "\n//! Late.\n")),
    ("headers", |tree| tree.put("crates/wire/src/h1.rs", "//! heads\n\nfn f() {}\n")),
    ("file-length", |tree| in_wire(tree, &"fn f() {}\n".repeat(1000))),
    ("file-length", |tree| {
        tree.put("crates/xtask/tidy.list", "file crates/wire/src/lib.rs 1200\n")
    }),
    ("file-length", |tree| tree.put("crates/xtask/tidy.list", "file only-a-name\n")),
    ("function-length", |tree| in_wire(tree, &long_function(71))),
    ("function-length", |tree| {
        tree.put("crates/xtask/tidy.list", "function crates/wire/src/lib.rs::long 80\n");
        in_wire(tree, &long_function(81));
    }),
    ("function-length", |tree| {
        tree.put("crates/xtask/tidy.list", "function crates/wire/src/lib.rs::long 80\n");
        in_wire(tree, &long_function(79));
    }),
    ("columns", |tree| in_wire(tree, &format!("// {}", "word ".repeat(20)))),
    ("bans", |tree| in_wire(tree, "fn f() { g().unwrap(); }")),
    ("bans", |tree| in_wire(tree, "fn f() { todo!() }")),
    ("bans", |tree| in_wire(tree, "fn f() { unimplemented!() }")),
    ("bans", |tree| in_wire(tree, "fn f() { dbg!(1); }")),
    ("bans", |tree| in_wire(tree, "fn f() { std::thread::sleep(d); }")),
    ("bans", |tree| in_wire(tree, "fn f() { println!(); }")),
    ("bans", |tree| in_wire(tree, "fn f() { eprintln!(); }")),
    ("bans", |tree| in_wire(tree, "fn f() { std::process::exit(1); }")),
    ("bans", |tree| in_wire(tree, &format!("// {}: later", "TODO"))),
    ("places", |tree| tree.put("docs/a.md", &format!("see {}me/user/x", "/ho"))),
    ("places", |tree| tree.put("docs/a.md", &format!("see {}ared/x", "../sh"))),
    ("places", |tree| tree.put("docs/a.md", &format!("{}<<< HEAD", "<<<<"))),
    ("places", |tree| tree.put(".cargo/config.toml", &format!("{}ce.crates-io]", "[sour"))),
    ("places", |tree| tree.put("Cargo.lock", "source = \"registry+https://example.org/index\"\n")),
    ("licences", |tree| tree.packages.push(package("libhap", "GPL-2.0-only", true))),
    ("licences", |tree| tree.packages.push(package("unnamed", "", false))),
    ("versions", |tree| tree.put("Cargo.lock", "name = \"a\"\nname = \"a\"\n")),
    ("versions", |tree| tree.put("crates/xtask/tidy.list", "crate memchr 2\n")),
    ("documents", |tree| tree.files.retain(|file| file.path != "CHANGELOG.md")),
    ("documents", |tree| tree.put("README.md", "nothing")),
    ("strictness", |tree| tree.put("docs/http1-strictness.md", "nothing")),
    ("strictness", |tree| {
        tree.put("docs/http1-strictness.md", &STRICTNESS.replace("taken`", "x`"))
    }),
    ("strictness", |tree| tree.put("docs/http1-strictness.md", &STRICTNESS.replace("RFC", ""))),
    ("fields", |tree| {
        tree.put(
            "crates/config/src/model/x.rs",
            "//! One.\n/// It.\npub struct X {\n    /// It.\n    pub unread: bool,\n}\n",
        )
    }),
    ("hooks", |tree| {
        let path = "crates/xtask/mutation/hooks.diff";
        tree.put(
            path,
            "+++ b/crates/wire/src/lib.rs\n@@ -1,1 +1,2 @@\n fn gone() {\n+    hook();\n",
        );
    }),
];

#[test]
fn a_clean_tree_passes() {
    assert_eq!(violations(&clean()), Vec::<String>::new());
}

#[test]
fn every_rule_has_a_plant() {
    for rule in RULES {
        assert!(PLANTS.iter().any(|(name, _)| *name == rule.name), "{} is not planted", rule.name);
    }
}

#[test]
fn every_plant_is_found_by_its_rule() {
    for (number, (rule, plant)) in PLANTS.iter().enumerate() {
        let mut tree = clean();
        plant(&mut tree);
        let found = violations(&tree);
        let named = format!(": {rule}: ");
        assert!(
            found.iter().any(|line| line.contains(&named)),
            "plant {number} ({rule}): {found:?}"
        );
        let walls = ["walls", "reach", "kernel"];
        let others: Vec<&String> = found.iter().filter(|line| !line.contains(&named)).collect();
        assert!(others.is_empty() || walls.contains(rule), "plant {number} ({rule}): {others:?}");
    }
}

#[test]
fn reach_follows_chains() {
    let mut tree = clean();
    tree.put("crates/htx/Cargo.toml", "[dependencies]\nsched = \"0\"\n");
    tree.put("crates/sched/Cargo.toml", "[dependencies]\nsys = \"0\"\n");
    let found = violations(&tree);
    assert!(found.iter().any(|line| line.contains("`wire` reaches `sys`")), "{found:?}");
}

#[test]
fn tests_may_do_more() {
    let mut tree = clean();
    tree.put(
        "crates/wire/src/lib.rs",
        &format!(
            "{WIRE}#[cfg(test)]\nmod tests {{\n    fn f() {{ g().unwrap(); println!(); }}\n}}\n"
        ),
    );
    tree.put("crates/wire/src/h1/tests.rs", "//! Tests.\nfn f() { g().unwrap(); }\n");
    tree.put("crates/wire/src/h1.rs", "//! One.\n#[cfg(test)]\nmod harness;\n");
    tree.put("crates/wire/src/h1/harness.rs", "//! Help.\nfn f() { g().unwrap(); }\n");
    tree.put("crates/wire/tests/all.rs", &format!("//! All.\n{}", long_function(200)));
    assert_eq!(violations(&tree), Vec::<String>::new());
}

#[test]
fn imports_within_a_room_may_run_in_a_circle() {
    let mut tree = clean();
    tree.put("crates/htx/src/a.rs", "//! One.\nmod b;\nuse b::B;\n");
    tree.put("crates/htx/src/a/b.rs", "//! Two.\nuse super::A;\nuse crate::c;\n");
    tree.put("crates/htx/src/c.rs", "//! Three.\n#[cfg(test)]\nuse crate::a::A;\n");
    assert_eq!(violations(&tree), Vec::<String>::new());
}

#[test]
fn a_crate_of_the_data_plane_has_its_limits() {
    let mut tree = clean();
    in_folder(&mut tree, "crates/engine/src/state", 15, 800);
    in_folder(&mut tree, "crates/mux/src/h2", 20, 1);
    in_folder(&mut tree, "crates/mux/src/h3", 20, 1);
    in_folder(&mut tree, "crates/mux/src/h2/tests", 21, 900);
    in_folder(&mut tree, "crates/config/src", 21, 900);
    assert_eq!(violations(&tree), Vec::<String>::new());
}

#[test]
fn names_of_tests_and_of_traits_may_repeat() {
    let mut tree = clean();
    tree.put("crates/htx/src/a.rs", "//! One.\nstruct A;\nimpl I for A {\n    type B = u8;\n}\n");
    tree.put("crates/htx/src/b.rs", "//! Two.\n#[cfg(test)]\nmod tests {\n    struct A;\n}\n");
    tree.put(
        "crates/htx/src/c.rs",
        "//! Three.\nimpl I for C {\n    type B = u8;\n}\ntype B = u8;\n",
    );
    tree.put("crates/htx/src/tests.rs", "//! Four.\nstruct A;\n");
    assert_eq!(violations(&tree), Vec::<String>::new());
}

#[test]
fn one_comment_line_of_fifty_may_begin_anyhow() {
    let mut tree = clean();
    in_wire(&mut tree, &format!("{}// What it is.", "// A line.\n".repeat(48)));
    assert_eq!(violations(&tree), Vec::<String>::new());
    in_wire(&mut tree, &format!("{}// What it is.\n// Nobody", "// A line.\n".repeat(48)));
    assert_eq!(violations(&tree).len(), 1);
}

#[test]
fn the_ratchet_lowers_and_removes_entries() {
    let mut tree = clean();
    tree.put("crates/htx/src/a.rs", "//! What it is.\nstruct A;\n");
    tree.put("crates/htx/src/b.rs", "//! Two.\nstruct A;\n");
    let list = "# head\nnames htx 12 # why\nprose htx 1\nprose wire 3\nfile a.rs 1200\n";
    tree.put("crates/xtask/tidy.list", list);
    let lowered = ratchet::lowered_list(&tree, list);
    assert_eq!(lowered, "# head\nnames htx 1 # why\nprose htx 1\nfile a.rs 1200\n");
}

#[test]
fn listed_exceptions_are_tolerated() {
    let mut tree = clean();
    in_wire(&mut tree, &long_function(80));
    tree.put("Cargo.lock", "name = \"a\"\nname = \"a\"\n");
    let list = "function crates/wire/src/lib.rs::long 80 # a table\ncrate a 2 # until b moves\n";
    tree.put("crates/xtask/tidy.list", list);
    assert_eq!(violations(&tree), Vec::<String>::new());
}
