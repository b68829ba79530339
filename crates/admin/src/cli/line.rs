//! The parser of an operator's input: lines, commands, words, payloads.
//!
//! A line ends with a newline, `;` separates commands on it, blanks separate words, and a backslash
//! takes the next character as it is. ` <<` at the end of a line announces a payload: the lines up
//! to an empty one belong to the last command of the line, as many as fit in [`LONGEST`] bytes.

use crate::channel::LONGEST;

/// One command as typed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Command {
    /// Its words.
    pub words: Vec<String>,
    /// The payload, if one was announced.
    pub payload: Option<String>,
}

/// The meaning of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// Commands, ready to run.
    Commands(Commands),
    /// More lines belong to it.
    Unfinished,
    /// The payload is longer than [`LONGEST`]; the received part is dropped.
    TooLong,
}

/// Collects lines into commands.
#[derive(Debug, Default)]
pub struct Parser {
    /// Commands that wait for the end of the payload.
    waiting: String,
    payload: Option<String>,
}

impl Parser {
    /// Takes one line, without its newline.
    pub fn line(&mut self, bytes: &[u8]) -> Line {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        if let Some(payload) = &mut self.payload {
            if payload.len() + text.len() >= LONGEST {
                *self = Self::default();
                return Line::TooLong;
            }
            if !text.is_empty() {
                payload.push_str(text);
                payload.push('\n');
                return Line::Unfinished;
            }
            let mut commands = Commands::of(&std::mem::take(&mut self.waiting));
            commands.payload = self.payload.take();
            return Line::Commands(commands);
        }
        match announces_payload(text) {
            Some(before) => {
                self.waiting = before.to_owned();
                self.payload = Some(String::new());
                Line::Unfinished
            }
            None => Line::Commands(Commands::of(text)),
        }
    }
}

/// The text before a `<<` that is the last word.
fn announces_payload(text: &str) -> Option<&str> {
    let before = text.trim_end_matches([' ', '\t']).strip_suffix("<<")?;
    before.ends_with([' ', '\t']).then_some(before)
}

/// The commands of a line, each made when its turn comes: a line can hold half a million. An empty
/// line is one command without words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Commands {
    text: String,
    /// Where the next one begins; `None` after the last one.
    next: Option<usize>,
    /// The payload of the last command.
    payload: Option<String>,
}

impl Commands {
    fn of(text: &str) -> Self {
        Self { text: text.to_owned(), next: Some(0), payload: None }
    }
}

impl Iterator for Commands {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        let begin = self.next.take()?;
        let mut command = Command::default();
        let mut word: Option<String> = None;
        let mut letters = self.text[begin..].char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                ' ' | '\t' => command.words.extend(word.take()),
                ';' => {
                    let behind = begin + at + 1;
                    self.next = Some(behind);
                    break;
                }
                '\\' => word.get_or_insert_default().extend(letters.next().map(|it| it.1)),
                other => word.get_or_insert_default().push(other),
            }
        }
        command.words.extend(word);
        // An empty rest behind the last semicolon is no command.
        self.next = self.next.filter(|at| !self.text[*at..].trim_matches([' ', '\t']).is_empty());
        if self.next.is_none() {
            command.payload = self.payload.take();
        }
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: Line) -> Vec<Vec<String>> {
        match line {
            Line::Commands(commands) => commands.map(|it| it.words).collect(),
            other => panic!("a line without payload is complete: {other:?}"),
        }
    }

    #[test]
    fn words_commands_and_escapes() {
        let split = |text: &str| words(Parser::default().line(text.as_bytes()));
        assert_eq!(split("show  info\t typed "), [["show", "info", "typed"]]);
        assert_eq!(split("a b;c"), [vec!["a", "b"], vec!["c"]]);
        assert_eq!(split("a;"), [["a"]]);
        assert_eq!(split("a; \t"), [["a"]]);
        assert_eq!(split("a;;"), [vec!["a"], vec![]]);
        assert_eq!(split(";"), [Vec::<String>::new()]);
        assert_eq!(split(r"a\ b \; \\ x\yz"), [["a b", ";", "\\", "xyz"]]);
        assert_eq!(split("\\"), [[""]]);
        assert_eq!(split(""), [Vec::<String>::new()]);
        assert_eq!(split("a <<b"), [["a", "<<b"]]);
        assert_eq!(split("a\r"), [["a"]]);
    }

    #[test]
    fn payloads_end_with_an_empty_line() {
        let mut parser = Parser::default();
        assert_eq!(parser.line(b"first;add map m <<"), Line::Unfinished);
        assert_eq!(parser.line(b"a 1;2"), Line::Unfinished);
        assert_eq!(parser.line(b"b"), Line::Unfinished);
        let Line::Commands(commands) = parser.line(b"") else { panic!("the payload is complete") };
        let commands: Vec<Command> = commands.collect();
        assert_eq!(commands[0].payload, None);
        assert_eq!(commands[1].words, ["add", "map", "m"]);
        assert_eq!(commands[1].payload.as_deref(), Some("a 1;2\nb\n"));
        assert_eq!(words(parser.line(b"next")), [["next"]]);
    }

    #[test]
    fn a_payload_has_a_limit() {
        let (mut parser, row) = (Parser::default(), [b'x'; 1_023]);
        assert_eq!(parser.line(b"add map m <<"), Line::Unfinished);
        for _ in 0..LONGEST / 1_024 {
            assert_eq!(parser.line(&row), Line::Unfinished);
        }
        assert_eq!(parser.line(b"y"), Line::TooLong);
        assert_eq!(words(parser.line(b"next")), [["next"]], "it is forgotten");
    }

    proptest! {
        #[test]
        fn any_lines_are_understood(
            lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
        ) {
            let mut parser = Parser::default();
            for line in lines {
                if let Line::Commands(commands) = parser.line(&line) {
                    prop_assert!(commands.count() > 0);
                }
            }
        }
    }
}
