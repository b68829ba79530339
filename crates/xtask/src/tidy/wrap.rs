//! `cargo xtask tidy --wrap`: breaks comments that are wider than the house allows.

use super::columns::COLUMNS;
use super::scan;

/// The text with every overlong comment broken; the same text when there is none.
pub(super) fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut fenced = false;
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].clone();
        match comment(&line) {
            Some(comment) if comment.text.trim_start().starts_with("```") => fenced = !fenced,
            Some(comment) if !fenced && index > 0 => {
                if let Some((kept, rest)) = broken(&line, &comment) {
                    lines[index] = kept;
                    carry(&mut lines, index + 1, &comment, &rest);
                }
            }
            Some(_) => {}
            None => {
                fenced = false;
                if let Some((comment, code)) = trailing(&line) {
                    lines[index] = code;
                    lines.insert(index, comment);
                    continue;
                }
            }
        }
        index += 1;
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// A line that is nothing but a comment.
struct Comment<'a> {
    /// Indentation and marker.
    prefix: &'a str,
    /// The text after the marker.
    text: &'a str,
}

fn comment(line: &str) -> Option<Comment<'_>> {
    let start = line.len() - line.trim_start().len();
    let marker =
        ["//!", "///", "//"].into_iter().find(|marker| line[start..].starts_with(marker))?;
    let (prefix, text) = line.split_at(start + marker.len());
    Some(Comment { prefix, text })
}

/// The part of an overlong comment that fits, and the words that do not.
fn broken(line: &str, comment: &Comment<'_>) -> Option<(String, String)> {
    if line.chars().count() <= COLUMNS
        || line.contains("://")
        || comment.text.trim().starts_with('|')
    {
        return None;
    }
    let limit = line.char_indices().nth(COLUMNS + 1).map_or(line.len(), |(at, _)| at);
    let first_word = comment.prefix.len() + 1;
    let at = line.get(first_word..limit)?.rfind(' ')? + first_word;
    let rest = line[at..].trim().to_owned();
    let kept = line[..at].trim_end();
    (kept.len() > first_word).then(|| (kept.to_owned(), rest))
}

/// Puts words in front of the next line of the same paragraph, or on a line of their own.
fn carry(lines: &mut Vec<String>, index: usize, comment: &Comment<'_>, words: &str) {
    let indent = continuation(comment.text);
    if let Some(line) = lines.get(index) {
        let next = self::comment(line).filter(|next| next.prefix == comment.prefix);
        let text = next.map(|next| next.text.to_owned()).filter(|text| continues(text));
        if let Some(text) = text {
            lines[index] = format!("{}{indent}{words} {}", comment.prefix, text.trim_start());
            return;
        }
    }
    lines.insert(index, format!("{}{indent}{words}", comment.prefix));
}

/// Whether a comment continues with the paragraph of the line before it.
fn continues(text: &str) -> bool {
    let text = text.trim();
    let starts = ["* ", "- ", "#", "|", "```", "["];
    let numbered =
        text.split_once(". ").is_some_and(|(n, _)| n.chars().all(|c| c.is_ascii_digit()));
    !text.is_empty() && !numbered && !starts.iter().any(|start| text.starts_with(start))
}

/// The indentation of the lines that follow a line: two more columns inside a list.
fn continuation(text: &str) -> String {
    let start = text.len() - text.trim_start().len();
    let item = ["* ", "- "].iter().any(|mark| text.trim_start().starts_with(mark));
    " ".repeat(start.max(1) + if item { 2 } else { 0 })
}

/// Takes an overlong comment away from the end of its line of code.
fn trailing(line: &str) -> Option<(String, String)> {
    let parts = scan::lines(line).into_iter().next()?;
    if line.chars().count() <= COLUMNS || parts.comment.is_empty() || line.contains("://") {
        return None;
    }
    let (code, comment) = line.rsplit_once("//")?;
    let apart = comment == parts.comment && !code.trim().is_empty();
    let indent = &line[..line.len() - line.trim_start().len()];
    apart.then(|| (format!("{indent}//{comment}"), code.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    //! Prose moves on to the next line; what is not prose stays.
    use super::*;

    fn words(count: usize) -> String {
        vec!["four"; count].join(" ")
    }

    #[test]
    fn carries_words_into_the_paragraph() {
        let text = format!("//! Head.\n    /// {}\n    /// tail.\n    fn f() {{}}\n", words(20));
        let expected =
            format!("//! Head.\n    /// {}\n    /// four four tail.\n    fn f() {{}}\n", words(18));
        assert_eq!(wrapped(&text), expected);
        assert_eq!(wrapped(&expected), expected);
    }

    #[test]
    fn opens_a_line_before_another_item() {
        let text = format!("//! H.\n//! - {}\n//! - b\n//!\n", words(21));
        let expected = format!("//! H.\n//! - {}\n//!   four four\n//! - b\n//!\n", words(19));
        assert_eq!(wrapped(&text), expected);
    }

    #[test]
    fn moves_trailing_comments_above() {
        let text = format!("//! H.\n    let a = 1; // {}\n", words(18));
        assert_eq!(wrapped(&text), format!("//! H.\n    // {}\n    let a = 1;\n", words(18)));
    }

    #[test]
    fn leaves_the_rest_alone() {
        let long = words(30);
        for text in [
            format!("//! {long}\n"),
            format!("//! H.\n/// | {long} |\n"),
            format!("//! H.\n/// ```\n/// {long}\n/// ```\n"),
            format!("//! H.\nconst A: &str = \"// {long}\";\n"),
            format!("//! H.\n// https://example.org {long}\n"),
        ] {
            assert_eq!(wrapped(&text), text);
        }
    }
}
