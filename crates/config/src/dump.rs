//! The configuration as it was understood, one line per statement (`-dC`).

use crate::known;
use crate::line::Args;
use crate::model::{FACILITIES, LEVELS};
use sample::hash::xxh32;
use sample::word;
use std::fmt::Write as _;

/// The text as it grows.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The key that names are hashed with.
    pub(crate) key: Option<u32>,
    pub(crate) text: String,
}

/// Lines that hold secrets: their first words, and how many words may be shown.
const SECRETS: &[(&[&str], usize)] = &[
    (&["user"], 2),
    (&["stats", "auth"], 2),
    (&["dynamic-cookie-key"], 1),
    (&["cluster-secret"], 1),
    (&["setenv"], 2),
    (&["presetenv"], 2),
    (&["description"], 1),
    (&["email-alert"], 2),
    (&["log-tag"], 1),
];

impl Listing {
    /// A line that opens a section.
    pub(crate) fn section(&mut self, args: Args<'_>) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.words(args);
    }

    /// Any other line.
    pub(crate) fn statement(&mut self, args: Args<'_>) {
        self.text.push('\t');
        self.words(args);
    }

    fn words(&mut self, args: Args<'_>) {
        let words = args.all_texts(0);
        let begins = |secret: &&(&[&str], usize)| words.starts_with(secret.0);
        let secret = SECRETS.iter().find(begins).filter(|_| self.key.is_some());
        let most = secret.map_or(words.len(), |secret| secret.1);
        for (at, word) in words.iter().take(most).enumerate() {
            if at > 0 {
                self.text.push(' ');
            }
            match self.key {
                None => quote(&mut self.text, word),
                Some(key) => quote(&mut self.text, &anonymous(word, key)),
            }
        }
        if most < words.len() {
            self.text.push_str(" [...]");
        }
        self.text.push('\n');
    }
}

/// Writes a word so that it is read as itself.
pub(crate) fn quote(out: &mut String, text: &str) {
    let coded = |c: char| c.is_control() || word::byte_of(c).is_some();
    let plain = |c: char| !coded(c) && !matches!(c, ' ' | '"' | '\'' | '\\' | '#');
    let quotable = |c: char| !coded(c) && c != '\'';
    if !text.is_empty() && text.chars().all(plain) {
        out.push_str(text);
    } else if text.chars().all(quotable) {
        // Writing to a string cannot fail.
        let _ = write!(out, "'{text}'");
    } else {
        for c in text.chars() {
            match c {
                c if plain(c) => out.push(c),
                c if coded(c) => {
                    for byte in word::to_bytes(c.encode_utf8(&mut [0; 4])).iter() {
                        let _ = write!(out, "\\x{byte:02x}");
                    }
                }
                c => out.extend(['\\', c]),
            }
        }
    }
}

/// A word whose parts are hashed, except parts that identify nobody.
fn anonymous(word: &str, key: u32) -> String {
    let mut out = String::new();
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | '+');
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| inner(c) != inner(first)).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        rest = behind;
        if !inner(first) || is_innocent(part) {
            out.push_str(part);
        } else {
            let _ = write!(out, "{:06x}", xxh32(part.as_bytes(), key) & 0xff_ffff);
        }
    }
    out
}

/// Whether a part of a word belongs to the language, or is a number, perhaps with a unit.
fn is_innocent(part: &str) -> bool {
    let unit = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = unit.len() < part.len()
        && matches!(unit, "" | "us" | "ms" | "s" | "m" | "h" | "d" | "k" | "g" | "K" | "M" | "G");
    let language = || {
        sample::fetch::all().any(|fetch| fetch.name == part)
            || sample::conv::all().any(|converter| converter.name == part)
            || sample::acl::DERIVED.iter().any(|derived| derived.0 == part)
            || rules::action::KEYWORDS.iter().any(|action| action.name == part)
    };
    number || part.starts_with('-') || known::any(part) || is_glue(part) || language()
}

fn is_glue(part: &str) -> bool {
    [GLUE, &FACILITIES, &LEVELS].iter().any(|words| words.contains(&part))
}

/// Words of the language that are in none of its tables.
const GLUE: &[&str] = &[
    "if", "unless", "or", "no", "default", "on", "off", "auto", "from", "socket", "global", "len",
    "size", "expire", "store", "type", "table", "code", "prefix", "location", "name", "ver",
    "send", "http", "tcp", "ip", "ipv6", "integer", "string", "binary", "found", "bool", "int",
    "bin", "str", "beg", "sub", "reg", "dir", "dom", "end", "stdout", "stderr", "raw", "HEAD",
    "GET", "POST", "PUT", "OPTIONS", "DELETE", "HTTP",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::listing;
    use crate::source::Source;
    use crate::tests::setup;
    use proptest::prelude::*;

    fn shown(text: &str, key: Option<u32>) -> String {
        listing(&[Source::new("a.cfg", text)], setup(), key)
    }

    #[test]
    fn what_counts_is_listed() {
        let text = "# a\nglobal # b\n maxconn   5\n.if streq(a,b)\n maxconn 6\n.endif\n\
                    defaults x\n mode \"http\"\n log-format \"%ci $X\"\\ #\n\
                    listen l # c\n bind 127.0.0.1:$PORT\n no option httplog\n description \"\" 'it'\\''s'\n";
        let expected = "global\n\tmaxconn 5\n\ndefaults x\n\tmode http\n\tlog-format '%ci p q '\n\n\
                        listen l\n\tbind 127.0.0.1:$PORT\n\tno option httplog\n\tdescription '' it\\'s\n";
        assert_eq!(shown(text, None), expected);
        assert_eq!(shown(expected, None), expected);
    }

    #[test]
    fn a_key_hides_names_and_secrets() {
        let text = "userlist people\n user bob password secret\nfrontend shop\n mode http\n \
                    timeout client 30s\n bind 192.0.2.7:80\n stats auth bob:secret\n \
                    acl inner hdr(x-tenant) -m beg acme.example\n use_backend zone if inner { path /zone }\n\
                    backend zone\n server bob 192.0.2.7:8080 check inter 5s weight 7\n";
        let hidden = shown(text, Some(7));
        for word in
            ["people", "bob", "secret", "shop", "192.0.2", "acme", "inner", "zone", "tenant"]
        {
            assert!(!hidden.contains(word), "{word} is in\n{hidden}");
        }
        for word in ["user", "\tmode http\n", "client 30s", "-m beg", "check inter 5s weight 7"] {
            assert!(hidden.contains(word), "{word} is not in\n{hidden}");
        }
        let name = |line: &str| {
            let line = hidden.lines().find(|other| other.contains(line)).unwrap();
            line.trim().split(' ').nth(1).unwrap().to_owned()
        };
        assert_eq!(name("use_backend"), name("backend "), "one name has one hash");
        assert_ne!(shown(text, Some(8)), hidden);
    }

    proptest! {
        #[test]
        fn listed_words_are_read_as_they_were(words in prop::collection::vec(".{0,12}", 1..8)) {
            let mut line = String::new();
            for word in &words {
                quote(&mut line, word);
                line.push(' ');
            }
            let read = crate::lex::words(&line, &Default::default());
            let read: Vec<String> =
                read.map_err(|e| TestCaseError::fail(e.1))?.into_iter().map(|w| w.0.to_string()).collect();
            prop_assert_eq!(read, words);
        }
    }
}
