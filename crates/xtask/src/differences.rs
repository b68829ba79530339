//! Tests of `docs/differences.md`: the page has every difference from HAProxy that another tool or page lists.

use crate::{console, differ, health, workspace};

/// Heads of sections on differences.
const HEADS: [&str; 3] =
    ["## Differences from HAProxy", "## Beside HAProxy", "## Intended differences"];

fn read(path: &str) -> String {
    let root = workspace::root().expect("the root of the workspace");
    std::fs::read_to_string(root.join(path)).expect("a page")
}

/// Names in the second part of `docs/compat.md`, without those that HAProxy refuses too.
fn missing_names(page: &str) -> Vec<String> {
    let (_, missing) = page.split_once("## Names that do not work yet").expect("a second part");
    let refused = "refused as HAProxy does";
    let lines = missing.lines().filter(|line| line.starts_with("- ") && !line.contains(refused));
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn the_page_has_the_classes_of_differ_console_and_health() {
    let page = read("docs/differences.md");
    let names = differ::difference_names().chain(console::difference_names());
    for name in names.chain(health::difference_names()) {
        assert!(page.contains(&format!("\n| `{name}` | ")), "no row for {name}");
    }
}

#[test]
fn the_page_has_every_name_that_is_missing() {
    let page = read("docs/differences.md");
    let missing = missing_names(&read("docs/compat.md"));
    assert!(missing.len() > 10, "{missing:?}");
    for name in missing {
        assert!(
            page.contains(&format!("`{name}`")),
            "{name} is missing, and the page does not have it"
        );
    }
    assert!(page.contains("(lua.md#the-names-of-version-27)"));
}

#[test]
fn the_page_has_a_link_to_every_page_on_differences() {
    let page = read("docs/differences.md");
    let root = workspace::root().expect("the root of the workspace");
    for entry in std::fs::read_dir(root.join("docs")).expect("pages") {
        let name = entry.expect("a page").file_name().to_string_lossy().into_owned();
        if !name.ends_with(".md") || name == "differences.md" {
            continue;
        }
        let text = read(&format!("docs/{name}"));
        if text.lines().any(|line| HEADS.iter().any(|head| line.starts_with(head))) {
            assert!(page.contains(&format!("({name}")), "no link to {name}");
        }
    }
}
