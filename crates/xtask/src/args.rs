//! Command-line words of the subcommands: flags with and without a value, then the rest.

use crate::failure::{self, Outcome};

/// One flag that a subcommand understands.
pub(crate) struct Flag {
    /// As typed, with its dashes.
    pub(crate) name: &'static str,
    /// Whether the next word (or the text after `=`) is its value.
    pub(crate) takes_value: bool,
}

/// A flag without a value.
pub(crate) const fn switch(name: &'static str) -> Flag {
    Flag { name, takes_value: false }
}

/// A flag followed by its value.
pub(crate) const fn value(name: &'static str) -> Flag {
    Flag { name, takes_value: true }
}

/// The words of one command line, sorted.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    given: Vec<(&'static str, String)>,
    /// The words that are neither flags nor their values.
    pub(crate) rest: Vec<String>,
}

impl Parsed {
    /// Whether a flag was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(flag, _)| *flag == name)
    }

    /// The last value given for a flag.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.given.iter().rev().find(|(flag, _)| *flag == name).map(|(_, value)| value.as_str())
    }

    /// The last value given for a flag, as a positive number, or `default`.
    pub(crate) fn number(&self, name: &str, default: u32) -> Outcome<u32> {
        let Some(text) = self.value(name) else { return Ok(default) };
        match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(failure::usage(format!("{name} wants a positive number, not `{text}`"))),
        }
    }
}

/// Sorts the words of a command line by the flags that a subcommand understands.
pub(crate) fn parse(words: &[String], flags: &[Flag]) -> Outcome<Parsed> {
    let mut parsed = Parsed::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "-" {
            parsed.rest.push(word.clone());
            continue;
        }
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let Some(flag) = flags.iter().find(|flag| flag.name == name) else {
            return Err(failure::usage(format!("unknown flag `{word}`")));
        };
        let value = match (flag.takes_value, attached) {
            (false, None) => String::new(),
            (false, Some(_)) => {
                return Err(failure::usage(format!("{name} takes no value")));
            }
            (true, Some(value)) => value,
            (true, None) => words
                .next()
                .cloned()
                .ok_or_else(|| failure::usage(format!("{name} wants a value")))?,
        };
        parsed.given.push((flag.name, value));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    //! Flags before, after and between other words.
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    const FLAGS: &[Flag] = &[value("-d"), switch("--list"), value("--only")];

    #[test]
    fn sorts_words() {
        let parsed = parse(&words("a -d 5 --list b --only=x=y"), FLAGS).unwrap();
        assert_eq!(parsed.rest, ["a", "b"]);
        assert_eq!(parsed.number("-d", 9).unwrap(), 5);
        assert!(parsed.has("--list"));
        assert_eq!(parsed.value("--only"), Some("x=y"));
        assert_eq!(parsed.value("-x"), None);
    }

    #[test]
    fn the_last_value_counts() {
        assert_eq!(parse(&words("-d 5 -d 7"), FLAGS).unwrap().number("-d", 1).unwrap(), 7);
        assert_eq!(parse(&[], FLAGS).unwrap().number("-d", 3).unwrap(), 3);
    }

    #[test]
    fn unknown_flags_are_refused() {
        for line in ["-z", "-d", "--list=1", "--lists"] {
            assert!(parse(&words(line), FLAGS).is_err(), "{line}");
        }
        assert!(parse(&words("-d 0"), FLAGS).unwrap().number("-d", 1).is_err());
        assert!(parse(&words("-d x"), FLAGS).unwrap().number("-d", 1).is_err());
    }
}
