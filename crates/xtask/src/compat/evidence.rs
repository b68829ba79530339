//! The text of a test function, and of the tables and helpers of its file that it names.
//! Good enough for code that rustfmt has laid out; never a full parser.

use std::path::Path;

/// A source file cut into its functions and constants.
pub(super) struct Source {
    items: Vec<Item>,
}

struct Item {
    name: String,
    text: String,
    test: bool,
}

impl Source {
    /// Cuts the text of the file at `path`; files that it includes as text are looked for beside
    /// it.
    pub(super) fn parse(text: &str, path: &Path) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let item = |at: usize| {
            let name = name_of(lines[at])?;
            let body = &lines[at..=end(&lines, at)];
            let said = body.iter().filter(|line| !line.trim_start().starts_with("//"));
            let mut text = said.copied().collect::<Vec<_>>().join("\n");
            text.push_str(&included(&text, path));
            Some(Item { name: name.to_owned(), text, test: is_test(&lines, at) })
        };
        Self { items: (0..lines.len()).filter_map(item).collect() }
    }

    /// Whether there is a function or constant of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.items.iter().any(|item| item.name == name)
    }

    /// Whether a function of this name is a test.
    pub(super) fn is_test(&self, name: &str) -> bool {
        self.items.iter().any(|item| item.name == name && item.test)
    }

    /// The names of all tests.
    pub(super) fn tests(&self) -> impl Iterator<Item = &str> {
        self.items.iter().filter(|item| item.test).map(|item| item.name.as_str())
    }

    /// The text of a function, and of the functions of this file that it calls, directly or not.
    pub(super) fn said_by(&self, name: &str) -> String {
        let mut taken = vec![false; self.items.len()];
        let mut said = String::new();
        let mut names = vec![name.to_owned()];
        while let Some(name) = names.pop() {
            for (item, taken) in self.items.iter().zip(&mut taken) {
                if item.name == name && !std::mem::replace(taken, true) {
                    said.push_str(&item.text);
                    said.push('\n');
                    let words = item.text.split(|c: char| !c.is_alphanumeric() && c != '_');
                    let own = words.filter(|word| self.has(word) && *word != name);
                    names.extend(own.map(str::to_owned));
                }
            }
        }
        said
    }
}

/// The function or constant that begins at a line.
fn name_of(line: &str) -> Option<&str> {
    let mut words = line.trim_start().split(' ').skip_while(|word| {
        word.starts_with("pub") || matches!(*word, "async" | "unsafe") || word.is_empty()
    });
    let rest = match words.next()? {
        "fn" | "static" => words.next()?,
        "const" => words.find(|word| *word != "fn")?,
        _ => return None,
    };
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (!name.is_empty() && name != "_").then_some(name)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The last line of the item that begins at `first`.
fn end(lines: &[&str], first: usize) -> usize {
    if lines[first].ends_with([';', '}']) {
        return first;
    }
    let depth = indent(lines[first]);
    let closes = |line: &&str| {
        line.trim().is_empty() && !lines[first].contains("fn ")
            || indent(line) == depth && line.trim_start().starts_with(['}', ']', ')']) && {
                line.ends_with([';', '}'])
            }
    };
    let rest = &lines[first + 1..];
    rest.iter().position(closes).map_or(lines.len() - 1, |at| first + 1 + at)
}

/// Whether the attributes above a line make it a test.
fn is_test(lines: &[&str], at: usize) -> bool {
    let above = lines[..at].iter().rev().map(|line| line.trim_start());
    let mut attributes = above.take_while(|line| line.starts_with(['#', '/']));
    attributes.any(|line| line == "#[test]")
}

/// The text of the files that a text includes.
fn included(text: &str, path: &Path) -> String {
    let parts = text.split("include_str!(\"").skip(1);
    let files = parts.filter_map(|part| part.split('"').next());
    let beside = |file: &str| path.parent().map(|directory| directory.join(file));
    files.filter_map(beside).filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

/// Whether a text is about a name. Scripts call the members of an object that they have, so that
/// the member of a class of scripts is enough.
pub(super) fn is_about(text: &str, class: &str, name: &str) -> bool {
    let is_member = || match name.split_once(['.', ':']) {
        Some((_, member)) => is_called(text, member),
        None => false,
    };
    mentions(text, name) || class == "lua-api" && is_member()
}

/// Whether a text has a member of an object as a word behind a dot or a colon.
fn is_called(text: &str, member: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(member).any(|(at, _)| {
        let next = text[at + member.len()..].chars().next();
        text[..at].ends_with(['.', ':']) && !next.is_some_and(inner)
    })
}

/// Whether a text holds a name as a word of its own, or as the beginning of a word that continues
/// with a number.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut behind = text[at + name.len()..].chars();
        let escape = text[..at].ends_with("\\n") || text[..at].ends_with("\\t");
        let starts = escape || !name.starts_with(inner) || !before.is_some_and(inner);
        let next = behind.next();
        let dot = next == Some('.') && !behind.next().is_some_and(char::is_alphanumeric);
        let numbered = name.ends_with("-sc") && next.is_some_and(|c| c.is_ascii_digit());
        starts && (dot || numbered || !name.ends_with(inner) || !next.is_some_and(inner))
    })
}

#[cfg(test)]
mod tests {
    //! Tests with items, the names in them, and words.
    use super::*;

    const FILE: &str = r#"//! x
const CASES: &[&str] = &[
    "option tcpka",
];
pub(crate) static ONE: &str = "uid";

/// Helps.
fn helper(text: &str) -> bool {
    // Never "gid".
    CASES.contains(&text)
}

mod tests {
    #[test]
    fn walks() {
        assert!(helper("x"));
    }

    #[test]
    #[ignore]
    fn alone() {}
    const fn none() -> u8 {
        0
    }
}
"#;

    #[test]
    fn a_test_includes_the_text_of_its_helpers() {
        let source = Source::parse(FILE, Path::new("a.rs"));
        assert_eq!(source.tests().collect::<Vec<_>>(), ["walks", "alone"]);
        assert!(source.has("none") && source.has("ONE") && !source.has("x"));
        assert!(source.is_test("walks") && !source.is_test("helper"));
        let said = source.said_by("walks");
        assert!(mentions(&said, "tcpka") && !mentions(&said, "uid") && !mentions(&said, "gid"));
        assert_eq!(source.said_by("alone"), "    fn alone() {}\n");
    }

    #[test]
    fn names_are_whole_words() {
        for (text, name) in [
            ("(\"src,hex\")", "src"),
            ("acl -m beg", "-m"),
            ("track-sc0 src", "track-sc"),
            ("%{+X}ci", "ci"),
            ("one\\nretries 3", "retries"),
            ("the option uid.", "uid"),
        ] {
            assert!(mentions(text, name), "{name} in {text}");
        }
        for (text, name) in [
            ("req.hdr(x)", "hdr"),
            ("src_port", "src"),
            ("srcx", "src"),
            ("uid-1", "uid"),
            ("track-scope", "track-sc"),
            ("tune.bufsize", "tune"),
        ] {
            assert!(!mentions(text, name), "{name} in {text}");
        }
    }
}
