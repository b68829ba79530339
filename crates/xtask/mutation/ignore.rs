//! Takes the word that a mutation test wants ignored out of a line of the configuration.

use crate::keyword::Keyword;
use crate::lex::Word;
use crate::parse::{bind, server};
use crate::section::{Lines, Section};
use std::borrow::Cow;
use std::net::IpAddr;
use stdx::mutation::ignored_keyword;

/// The change of a line that has the name.
enum How {
    /// The line is removed if the name follows the given words directly.
    Line,
    /// The line is removed if the name follows the given words anywhere.
    LineOf,
    /// The name is removed with as many words behind it as the function returns.
    Word(fn(&str) -> usize),
    /// The value is replaced by the first of these, or by the second if it is the first.
    Other([&'static str; 2]),
    /// The name is removed from a word that is a list with it.
    Part,
}

/// The first words of lines that have names of a class, and the change of those lines.
type Row = (&'static str, &'static [&'static str], How);

use How::{Line, LineOf, Other, Part, Word as Gone};

/// How classes of lines in sections of their own begin.
const OWN: &str = "cfg-section:";

/// The class of the only keyword of proxies inside a line.
const USESRC: &str = "cfg-proxy usesrc";

const LISTENS: &[&str] = &["bind", "stats socket"];
const SERVERS: &[&str] = &["server", "default-server"];

/// The classes whose names are words of lines, except those that other crates look up.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("balance", &["balance"], Line),
    ("bind-option", LISTENS, Gone(|name| bind::find(name).map_or(0, Keyword::takes))),
    ("capture-verb", &["capture"], Line),
    ("cfg-global", &[""], Line),
    ("cfg-proxy", &[""], Line),
    (USESRC, &["source"], Gone(|_| 1)),
    (OWN, &[""], Line),
    ("compression-algo", &["compression algo"], Gone(|_| 0)),
    ("compression-verb", &["compression"], Line),
    ("cookie-arg", &["cookie"], Gone(|name| usize::from(matches!(name, "domain" | "attr")))),
    ("email-alert-verb", &["email-alert"], Line),
    ("errorfile-code", &["errorfile", "errorfiles", "errorloc", "errorloc302", "errorloc303", "http-error"], LineOf),
    ("filter", &["filter"], Line),
    ("hash-type-function", &["hash-type"], Gone(|_| 0)),
    ("hash-type-method", &["hash-type"], Line),
    ("hash-type-modifier", &["hash-type"], Gone(|_| 0)),
    ("http-check", &["http-check"], Line),
    ("http-reuse", &["http-reuse"], Line),
    ("log-arg", &["log"], Gone(|_| 1)),
    ("log-builtin-format", &["option", ""], Line),
    ("log-facility", &["log"], Other(["local7", "local6"])),
    ("log-level", &["log"], Other(["debug", "emerg"])),
    ("log-transport-format", &["log"], Other(["rfc3164", "raw"])),
    ("load-server-state-mode", &["load-server-state-from-file"], Other(["none", "local"])),
    ("mux-proto", &["bind", "server", "default-server"], Part),
    ("option", &["option"], Line),
    ("option-value:http-restrict-req-hdr-names", &["option http-restrict-req-hdr-names"], Line),
    ("proxy-mode", &["mode"], Line),
    ("retry-on", &["retry-on"], Gone(|_| 0)),
    ("server-init-addr", SERVERS, Part),
    ("server-observe", SERVERS, Other(["layer4", "layer7"])),
    ("server-on-error", SERVERS, Other(["mark-down", "fail-check"])),
    ("server-on-marked-down", SERVERS, Part),
    ("server-on-marked-up", SERVERS, Part),
    ("server-option", SERVERS, Gone(|name| server::find(name).map_or(0, Keyword::takes))),
    ("server-proxy-v2-option", SERVERS, Part),
    ("server-resolve-opts", SERVERS, Part),
    ("server-ws", SERVERS, Other(["h1", "h2"])),
    ("ssl-default-bind-option", &["ssl-default-bind-options"], Gone(|name| usize::from(name.starts_with("ssl-m")))),
    ("stats-verb", &["stats"], Line),
    ("stick-table-arg", &["stick-table"], Gone(|name| usize::from(name != "nopurge"))),
    ("stick-table-data", &["stick-table"], Part),
    ("stick-table-key-type", &["stick-table type"], Other(["integer", "ip"])),
    ("stick-verb", &["stick"], Line),
    ("tcp-check", &["tcp-check"], Line),
    ("timeout", &["timeout"], Line),
];

/// The words of a line without what is to be ignored.
pub(super) fn without(words: Vec<Word<'_>>, section: Option<Section>) -> Vec<Word<'_>> {
    match ignored_keyword() {
        // The table has a hyphen in `option httplog clf`.
        Some((class, "httplog-clf")) => without_name(words, class, "httplog clf"),
        Some(("cfg-proxy", "usesrc")) => without_name(words, USESRC, "usesrc"),
        Some((class, name)) if fits(class, section) => without_name(words, class, name),
        _ => words,
    }
}

/// Whether lines of a section can have names of a class.
fn fits(class: &str, section: Option<Section>) -> bool {
    match section.map(|section| section.kind.lines) {
        Some(Lines::Global(_)) => {
            !matches!(class, "cfg-proxy" | "option" | "timeout") && !is_own(class)
        }
        Some(Lines::Proxy(_)) => class != "cfg-global" && !is_own(class),
        Some(Lines::Own(_)) => is_own(class) || matches!(class, "errorfile-code" | "server-option"),
        Some(Lines::Unread) | None => false,
    }
}

/// Whether a class is of a section of its own.
fn is_own(class: &str) -> bool {
    class.starts_with(OWN)
}

fn without_name<'a>(mut words: Vec<Word<'a>>, class: &str, name: &str) -> Vec<Word<'a>> {
    let Some((_, lines, how)) =
        ROWS.iter().find(|row| row.0 == if is_own(class) { OWN } else { class })
    else {
        return words;
    };
    let negated = words.first().is_some_and(|word| matches!(&*word.text, "no" | "default"));
    let texts = || words.iter().skip(usize::from(negated)).map(|word| &*word.text);
    let begins = |line: &&&str| line.split_terminator(' ').eq(texts().take(count(line)));
    let Some(line) = lines.iter().find(begins) else { return words };
    let first = usize::from(negated) + count(line);
    if name.starts_with('<') && name != "<ip>" {
        // A placeholder: the whole line is the text that it replaces.
        words.clear();
        return words;
    }
    let place = words.iter().skip(first).position(|word| is(&word.text, name));
    match (how, place) {
        (Line, _) => {
            let mut parts = name.split(' ').zip(words.iter().skip(first));
            let same = parts.all(|(part, word)| is(&word.text, part));
            if same && words.len() >= first + name.split(' ').count() {
                words.clear();
            }
        }
        (LineOf, Some(_)) => words.clear(),
        (Gone(takes), Some(at)) => {
            let end = (first + at + 1 + takes(name)).min(words.len());
            words.drain(first + at..end);
            if words.len() == first {
                words.clear();
            }
        }
        (Other([one, two]), Some(at)) => {
            words[first + at].text = Cow::Borrowed(if name == *one { two } else { one });
        }
        (Part, _) => shorten(&mut words, first, name),
        _ => {}
    }
    words
}

fn count(line: &str) -> usize {
    line.split_terminator(' ').count()
}

/// Whether a word is the name, perhaps with arguments in parentheses.
fn is(word: &str, name: &str) -> bool {
    word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

/// Removes the name from the lists that begin at a word; a list with no other name is removed with
/// its keyword.
fn shorten(words: &mut Vec<Word<'_>>, first: usize, name: &str) {
    let is_name = |item: &str| is(item, name) || name == "<ip>" && item.parse::<IpAddr>().is_ok();
    for at in (first..words.len()).rev() {
        let word = &mut words[at];
        if word.text.split(',').any(is_name) {
            let items: Vec<&str> = word.text.split(',').filter(|item| !is_name(item)).collect();
            if items.is_empty() {
                words.drain(at - 1..=at);
                return;
            }
            word.text = Cow::Owned(items.join(","));
        }
    }
}

#[cfg(test)]
mod tests {
    //! Each way of ignoring.
    use super::*;
    use crate::env::Environment;
    use crate::lex::{Surroundings, split};

    #[test]
    fn names_are_taken_out() {
        for (line, class, name, expected) in [
            ("no option httplog", "option", "httplog", ""),
            ("option httplog", "option", "tcplog", "option httplog"),
            ("stats uri /x", "cfg-proxy", "stats uri", ""),
            ("stats uri /x", "cfg-proxy", "stats enable", "stats uri /x"),
            ("balance random(2)", "balance", "random", ""),
            ("server s :1 weight 5 check", "server-option", "weight", "server s :1 check"),
            ("bind :80 name x", "bind-option", "name", "bind :80"),
            ("stats socket /s level admin", "bind-option", "level", "stats socket /s"),
            ("log 1.1.1.1 local0 info", "log-facility", "local0", "log 1.1.1.1 local7 info"),
            ("log 1.1.1.1 local7", "log-facility", "local7", "log 1.1.1.1 local6"),
            ("errorfile 503 /f", "errorfile-code", "503", ""),
            ("cookie c insert domain x", "cookie-arg", "domain", "cookie c insert"),
            ("retry-on none", "retry-on", "none", ""),
            ("retry-on 503 404", "retry-on", "404", "retry-on 503"),
            (
                "server s x init-addr libc,1.2.3.4",
                "server-init-addr",
                "<ip>",
                "server s x init-addr libc",
            ),
            ("server s x init-addr libc", "server-init-addr", "libc", "server s x"),
            ("server s :1 proto h2 check", "mux-proto", "h2", "server s :1 check"),
            ("server s :1 observe none", "server-observe", "none", "server s :1 observe layer4"),
            (
                "server s :1 on-marked-up shutdown-backup-sessions",
                "server-on-marked-up",
                "shutdown-backup-sessions",
                "server s :1",
            ),
            ("source 1.1.1.1 usesrc client", USESRC, "usesrc", "source 1.1.1.1"),
            ("error-log-format x", "log-builtin-format", "error-log-format", ""),
            ("stick-table store gpc0,gpt(2)", "stick-table-data", "gpt", "stick-table store gpc0"),
        ] {
            let env = Environment::default();
            let around = Surroundings { env: &env, file: "a", line: 1, section: "" };
            let words = split(line, &around).unwrap();
            let words = without_name(words, class, name);
            let texts: Vec<&str> = words.iter().map(|word| &*word.text).collect();
            assert_eq!(texts.join(" "), expected, "{line} without {class} {name}");
        }
    }
}
