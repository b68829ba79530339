//! `docs/compat.md`: counts by class, and every name that does not work with its reason.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::links::Links;
use super::probe::Verdict;
use super::table::Name;

const HEAD: &str = "\
# Compatibility with HAProxy 2.7

Every name of HAProxy 2.7 (`docs/compat/keywords-2.7.tsv`), and what Weir makes of it. Written by
`cargo xtask compat`, which asks the program itself: one line of configuration per name, and the
running process for commands, fields and flags. `cargo xtask test` holds that it is up to date.

A name that does not work is refused with file, line and column and the words \"not implemented yet\",
or as HAProxy 2.7 refuses it. No name is accepted and ignored: the column \"tested\" counts the names that
work and are linked (`docs/compat/tests.tsv`) to a test that would fail if they were.

";

/// The page.
pub(crate) fn render(names: &[Name], verdicts: &[Verdict], links: &Links) -> String {
    let mut page = HEAD.to_owned();
    let mut classes: Vec<&str> = Vec::new();
    for name in names {
        if !classes.contains(&name.class.as_str()) {
            classes.push(&name.class);
        }
    }
    counts(&mut page, &classes, names, verdicts, links);
    page.push_str("\n## Names that do not work yet\n");
    for class in &classes {
        missing(&mut page, class, names, verdicts);
    }
    page
}

fn of<'a>(
    class: &'a str,
    names: &'a [Name],
    verdicts: &'a [Verdict],
) -> impl Iterator<Item = (&'a Name, &'a Verdict)> {
    names.iter().zip(verdicts).filter(move |(name, _)| name.class == class)
}

fn counts(
    page: &mut String,
    classes: &[&str],
    names: &[Name],
    verdicts: &[Verdict],
    links: &Links,
) {
    page.push_str("| class | works | tested | not yet | refused as HAProxy does | total |\n");
    page.push_str("|---|---:|---:|---:|---:|---:|\n");
    let mut sums = [0; 5];
    for class in classes {
        let mut row = [0; 5];
        for (name, verdict) in of(class, names, verdicts) {
            let column = match verdict {
                Verdict::Works => 0,
                Verdict::Waits(_) | Verdict::Unknown(_) | Verdict::Untold => 2,
                Verdict::Retired(_) => 3,
            };
            row[column] += 1;
            row[1] += usize::from(links.of(class, &name.name).is_some());
            row[4] += 1;
        }
        row.iter().zip(&mut sums).for_each(|(count, sum)| *sum += count);
        let cells: Vec<String> = row.iter().map(usize::to_string).collect();
        let _ = writeln!(page, "| `{class}` | {} |", cells.join(" | "));
    }
    let cells: Vec<String> = sums.iter().map(|sum| format!("**{sum}**")).collect();
    let _ = writeln!(page, "| **all** | {} |", cells.join(" | "));
}

fn missing(page: &mut String, class: &str, names: &[Name], verdicts: &[Verdict]) {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, verdict) in of(class, names, verdicts) {
        let reason = match verdict {
            Verdict::Works => continue,
            Verdict::Waits(area) if area.is_empty() => "not built yet".to_owned(),
            Verdict::Waits(area) => area.clone(),
            Verdict::Retired(_) => "refused as HAProxy does".to_owned(),
            Verdict::Unknown(text) => format!("UNKNOWN to the program: {text}"),
            Verdict::Untold => "nothing asks for it".to_owned(),
        };
        reasons.entry(reason).or_default().push(&name.name);
    }
    if reasons.is_empty() {
        return;
    }
    let _ = writeln!(page, "\n### {class}\n");
    for (reason, names) in reasons {
        let shown: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "- {reason}: {}", shown.join(" "));
    }
}
