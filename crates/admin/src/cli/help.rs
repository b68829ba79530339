//! `help`, and what is said about commands that do not exist. Never runs a command.

use super::call::{Call, Reply, Severity, State};
use super::table::{COMMANDS, Entry};

/// Width of the column of commands.
const WIDTH: usize = 40;
/// Most commands that a misspelt one is likened to.
const SUGGESTIONS: usize = 5;
/// What every list ends with.
const BASICS: [&str; 3] = ["help", "prompt", "quit"];

/// `help [<command>]`.
pub(super) fn run(call: &mut Call<'_>) -> Reply {
    let mut text = "The following commands are valid at this level:\n".to_owned();
    let words = &call.words[1..];
    let there = everything(call.state);
    let found = if words.is_empty() { there } else { alike(words, there) };
    list(&found, &mut text);
    Reply::Message(Severity::Info, text)
}

/// The answer to a command that does not exist.
pub(super) fn unknown(call: &Call<'_>) -> Reply {
    let (words, there) = (call.words, everything(call.state));
    let found = if words.is_empty() { Vec::new() } else { alike(words, there) };
    let mut text = String::new();
    if found.is_empty() {
        text.push_str("Unknown command. Please enter one of the following commands only:\n");
        list(&everything(call.state), &mut text);
    } else {
        text.push_str("Unknown command, but maybe one of the following ones is a better match:\n");
        list(&found, &mut text);
    }
    Reply::Message(Severity::Info, text)
}

/// The commands that are there for this session, whether it may call them or not, but for the basic
/// ones.
fn everything(state: &State) -> Vec<&'static Entry> {
    let others = COMMANDS.iter().filter(|entry| !BASICS.contains(&entry.words));
    others.filter(|entry| entry.is_there(state)).collect()
}

/// Lists commands, then the basic ones; without the newline at the end.
fn list(entries: &[&Entry], text: &mut String) {
    let basics = COMMANDS.iter().filter(|entry| BASICS.contains(&entry.words));
    let lines = entries.iter().copied().chain(basics).map(|entry| {
        let name = format!("{} {}", entry.words, entry.args);
        format!("  {:WIDTH$}: {}", name.trim_end(), entry.doc)
    });
    text.push_str(&lines.collect::<Vec<_>>().join("\n"));
}

/// The commands that begin as `words` do, else those that are spelt most alike.
fn alike(words: &[String], there: Vec<&'static Entry>) -> Vec<&'static Entry> {
    let begins: Vec<_> = there.iter().copied().filter(|it| begins(it, words)).collect();
    if !begins.is_empty() {
        return begins;
    }
    let rated = there.into_iter().map(|entry| (distance(entry.words, words), entry));
    // A command that differs in more than half of its letters is no suggestion.
    let mut near: Vec<_> = rated.filter(|(far, entry)| *far * 2 <= entry.words.len()).collect();
    near.sort_by_key(|(far, _)| *far);
    near.truncate(SUGGESTIONS);
    near.into_iter().map(|(_, entry)| entry).collect()
}

/// Whether all words are those of the command, the last one perhaps unfinished.
fn begins(entry: &Entry, words: &[String]) -> bool {
    let Some((last, before)) = words.split_last() else { return true };
    let own: Vec<_> = entry.words.split(' ').collect();
    own.len() >= words.len()
        && before.iter().zip(&own).all(|(word, own)| word == own)
        && own[before.len()].starts_with(last.as_str())
}

/// Edit distance between a command and as many of the words typed.
fn distance(command: &str, words: &[String]) -> usize {
    let count = command.split(' ').count().min(words.len());
    let typed: Vec<char> = words[..count].join(" ").chars().take(64).collect();
    let mut row: Vec<usize> = (0..=typed.len()).collect();
    for (line, own) in command.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, letter) in typed.iter().enumerate() {
            let best = (diagonal + usize::from(own != *letter))
                .min(row[column] + 1)
                .min(row[column + 1] + 1);
            diagonal = std::mem::replace(&mut row[column + 1], best);
        }
    }
    row.last().copied().unwrap_or(command.len())
}
