//! `help`, and the answer to commands that do not exist.

use super::call::{Call, Reply, SessionState, Severity};
use super::script_command;
use super::table::{COMMANDS, CommandEntry};

/// Width of the column of commands.
const WIDTH: usize = 40;
/// Most commands that a misspelt one is likened to.
const SUGGESTIONS: usize = 5;
/// The commands at the end of every list.
const BASICS: [&str; 3] = ["help", "prompt", "quit"];

/// The help about a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doc {
    pub(crate) words: &'static str,
    pub(crate) args: &'static str,
    pub(crate) text: &'static str,
    /// Whether the text is the whole line.
    pub(crate) alone: bool,
}

/// `help [<command>]`.
pub(super) fn run(call: &mut Call<'_>) -> Reply {
    Reply::Message(Severity::Info, listing(&call.words[1..], everything(call)))
}

/// The commands that begin as `words` do, or are spelt like them.
pub(crate) fn listing(words: &[String], there: Vec<Doc>) -> String {
    let mut text = "The following commands are valid at this level:\n".to_owned();
    list(&if words.is_empty() { there } else { alike(words, there) }, &mut text);
    text
}

/// The answer to a command that does not exist.
pub(super) fn unknown(call: &Call<'_>) -> Reply {
    Reply::Message(Severity::Info, suggestion(call.words, everything(call)))
}

/// The answer to words that call no command.
pub(crate) fn suggestion(words: &[String], there: Vec<Doc>) -> String {
    let found = if words.is_empty() { Vec::new() } else { alike(words, there.clone()) };
    let mut text = String::new();
    if found.is_empty() {
        text.push_str("Unknown command. Please enter one of the following commands only:\n");
        list(&there, &mut text);
    } else {
        text.push_str("Unknown command, but maybe one of the following ones is a better match:\n");
        list(&found, &mut text);
    }
    text
}

/// The commands that exist in the session's mode, whether or not its level allows them, without the
/// basic ones.
fn everything(call: &Call<'_>) -> Vec<Doc> {
    let state: &SessionState = call.state;
    let others = COMMANDS.iter().filter(|entry| !BASICS.contains(&entry.words));
    // Commands that begin with an underscore are for programs.
    let shown = others.filter(|entry| entry.is_there(state) && !entry.words.starts_with('_'));
    let mut all: Vec<Doc> = shown.map(doc).collect();
    for command in script_command::all(call) {
        let (words, text) = (command.words, command.usage);
        let place = all.iter().position(|it| it.words > words).unwrap_or(all.len());
        all.insert(place, Doc { words, args: "", text, alone: true });
    }
    all
}

fn doc(entry: &CommandEntry) -> Doc {
    Doc { words: entry.words, args: entry.args, text: entry.doc, alone: false }
}

/// Lists commands, then the basic ones; without the newline at the end.
fn list(found: &[Doc], text: &mut String) {
    let basics = COMMANDS.iter().filter(|entry| BASICS.contains(&entry.words)).map(doc);
    let lines = found.iter().copied().chain(basics).map(|it| {
        if it.alone {
            return format!("  {}", it.text);
        }
        let name = format!("{} {}", it.words, it.args);
        format!("  {:WIDTH$}: {}", name.trim_end(), it.text)
    });
    text.push_str(&lines.collect::<Vec<_>>().join("\n"));
}

/// The commands that begin as `words` do, else those with the most similar spelling.
fn alike(words: &[String], there: Vec<Doc>) -> Vec<Doc> {
    let begins: Vec<_> = there.iter().copied().filter(|it| begins(it, words)).collect();
    if !begins.is_empty() {
        return begins;
    }
    let kin = kin(words, &there);
    let rated = there.into_iter().map(|entry| (distance(entry.words, words), entry));
    // A command that differs in more than half of its letters is no suggestion.
    let is_near = |(far, entry): &(usize, Doc)| match kin.is_empty() {
        true => far * 2 <= entry.words.len(),
        false => kin.contains(&entry.words),
    };
    let mut near: Vec<_> = rated.filter(is_near).collect();
    near.sort_by_key(|(far, _)| *far);
    near.truncate(SUGGESTIONS);
    near.into_iter().map(|(_, entry)| entry).collect()
}

/// The commands that have two words at least in common with these, but for the last one.
fn kin(words: &[String], there: &[Doc]) -> Vec<&'static str> {
    let Some((_, before @ [_, _, ..])) = words.split_last() else { return Vec::new() };
    there.iter().filter(|it| begins(it, before)).map(|it| it.words).collect()
}

/// Whether the words begin the command; the last word may be incomplete.
fn begins(entry: &Doc, words: &[String]) -> bool {
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
