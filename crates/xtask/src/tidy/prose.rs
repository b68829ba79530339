//! Few comments of each crate begin with "Who", "What", "Nobody" or "Never".
//!
//! A comment has a noun as its subject. A crate with more than 2 % of such lines has an entry
//! `prose NAME LINES` in the list of exceptions.

use super::ratchet::Ratchet;
use super::tree::{File, Tree};
use super::{Finding, Rule};

pub(super) const RULE: Rule = Rule {
    name: "prose",
    summary: "at most 2 % of a crate's comment lines begin with Who, What, Nobody or Never",
    check,
};

pub(super) const RATCHET: Ratchet = Ratchet { kind: "prose", count, free };

/// First words of comments that have no noun as their subject.
const WORDS: &[&str] = &["Who", "Whose", "Whoever", "What", "Whatever", "Nobody", "Never"];

/// Comment lines of which one may begin with such a word.
const LINES_PER_RIDDLE: usize = 50;

fn check(tree: &Tree) -> Vec<Finding> {
    RATCHET.check(tree, |_, count, tolerated| {
        format!(
            "{count} comment lines begin with {}; {tolerated} are tolerated: name the subject (client, server, task, listener, buffer) and say what it does",
            WORDS.join(", ")
        )
    })
}

fn count(tree: &Tree, name: &str) -> usize {
    comments(tree, name).filter(|text| is_riddle(text)).count()
}

fn free(tree: &Tree, name: &str) -> usize {
    comments(tree, name).count() / LINES_PER_RIDDLE
}

/// The comment lines of a crate, tests included, without their markers.
fn comments<'a>(tree: &'a Tree, name: &str) -> impl Iterator<Item = &'a str> {
    let directory = format!("crates/{name}/");
    let files = tree.rust().filter(move |file| file.path.starts_with(&directory));
    files.flat_map(comment_lines)
}

/// The lines of a file that are nothing but a comment.
fn comment_lines(file: &File) -> impl Iterator<Item = &str> {
    file.text.lines().filter_map(|line| {
        let text = line.trim_start().strip_prefix("//")?;
        Some(text.trim_start_matches(['/', '!']).trim())
    })
}

fn is_riddle(text: &str) -> bool {
    let word = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    WORDS.contains(&word)
}
