//! Configurations and metrics in documents and in contributed files: the program accepts and exports them.

use crate::support::{Directory, Identity, Setup, run};
use std::path::{Path, PathBuf};

/// A path of the repository.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The indented blocks of a page, without their indentation.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in page.lines() {
        let block = blocks.last_mut().expect("the first block");
        match line.strip_prefix("    ") {
            Some(text) => block.push_str(&format!("{text}\n")),
            None if line.is_empty() && !block.is_empty() => block.push('\n'),
            None => blocks.push(String::new()),
        }
    }
    blocks.into_iter().filter(|block| !block.is_empty()).collect()
}

/// Whether a block begins with a section.
fn is_configuration(block: &str) -> bool {
    ["global", "defaults", "frontend", "backend", "listen"]
        .contains(&block.split_whitespace().next().unwrap_or(""))
}

/// Checks a configuration in a directory that has the files that tutorials make.
fn check(text: &str) {
    let directory = Directory::new();
    directory.write("site.pem", &Identity::new("www.example.test", None).pem());
    directory.write("live.map", "live blue\n");
    directory.write("weir.cfg", text);
    let place = directory.as_path().display().to_string();
    let output = run(&["-C", &place, "-c", "-q", "-f", "weir.cfg"]);
    let said =
        String::from_utf8_lossy(&run(&["-C", &place, "-c", "-f", "weir.cfg"]).stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}\n{text}");
}

#[test]
fn configurations_of_the_tutorials_are_valid() {
    let mut count = 0;
    for entry in std::fs::read_dir(path("docs/tutorials")).expect("tutorials") {
        let page = std::fs::read_to_string(entry.expect("a page").path()).expect("a text");
        for block in blocks(&page).iter().filter(|block| is_configuration(block)) {
            // Commands may follow behind an empty line.
            let parts = block.split("\n\n").take_while(|part| is_configuration(part));
            check(&format!("{}\n", parts.collect::<Vec<_>>().join("\n\n")));
            count += 1;
        }
    }
    assert!(count >= 6, "{count} configurations");
}

#[test]
fn contributed_configurations_are_valid() {
    check(&read("contrib/container/weir.cfg"));
    // The user exists where the package is installed.
    let own = read("contrib/debian/weir.cfg").replace("user weir", "user root");
    check(&own.replace("group weir", "group root"));
    let manifest = read("contrib/kubernetes/weir.yaml");
    let (_, rest) = manifest.split_once("weir.cfg: |\n").expect("a configuration");
    let (text, _) = rest.split_once("\n---").expect("further objects");
    check(&format!("{text}\n"));
}

#[test]
fn alerts_ask_for_metrics_that_exist() {
    let front = "    http-request use-service prometheus-exporter if { path /metrics }";
    let weir = Setup::http(front, "    server s 127.0.0.1:1 check").start();
    weir.web().get("/");
    let exported = weir.web().get("/metrics").text();
    let page = read("docs/tutorials/alerts.md");
    let of_name = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
    let words = page
        .split(of_name)
        .filter(|word| word.starts_with("haproxy_") || word.starts_with("weir_"));
    let names: Vec<&str> = words.filter(|word| word.len() > 15).collect();
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        assert!(exported.contains(&format!("\n{name}")), "{name} is not exported");
    }
}
