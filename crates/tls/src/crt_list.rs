//! Certificate lists (manual section 5.1, `crt-list`): one certificate per line, with options and
//! SNI filters.

use crate::options::{OptionError, OptionKeyword, Options};
use std::fmt;

/// A name that a certificate is for, as written: `name`, `*.name`, `!name`.
pub type Filter = String;

/// A certificate of a bind line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrtListEntry {
    /// Its file, a directory, or the beginning of a bundle.
    pub path: String,
    /// The options of its sessions.
    pub options: Options,
    /// The names that the certificate serves; without any, the names in the certificate.
    pub filters: Vec<Filter>,
    /// Names precede its options and are ignored.
    pub misplaced: bool,
    /// The list with the certificate, and its line there, from 1; an empty name for the bind line
    /// itself.
    pub list: (String, u32),
}

/// The message about filters in front of the options, which are ignored.
pub const MISPLACED: &str = "malformated line, filters can't be between filename and options!";

/// Why a line of a certificate list is refused. Messages are HAProxy's where it has any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrtListFault {
    /// The last line has no line feed; the position of its end.
    Torn(usize),
    /// The line names no file.
    NoPath,
    /// Filters stand in front of the options.
    Misplaced,
    /// A bracket is closed that was not opened.
    NotOpened,
    /// The bracket is not closed.
    NotClosed,
    /// A second bracket is opened.
    OpenedTwice,
    /// A second bracket is closed.
    ClosedTwice,
    /// No option has this name.
    UnknownKeyword(String),
    /// The value of an option is refused.
    Option(OptionError),
}

impl fmt::Display for CrtListFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn(at) => write!(
                f,
                "Missing LF on last line, file might have been truncated at position {at}."
            ),
            Self::NoPath => f.write_str("missing certificate path"),
            Self::Misplaced => f.write_str(MISPLACED),
            Self::NotOpened => f.write_str("missing '['"),
            Self::NotClosed => f.write_str("file name must be followed by ']'"),
            Self::OpenedTwice => f.write_str("too many '['"),
            Self::ClosedTwice => f.write_str("too many ']'"),
            Self::UnknownKeyword(name) => write!(f, "unknown ssl keyword {name}"),
            Self::Option(error) => error.fmt(f),
        }
    }
}

/// A line of a certificate list that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrtListError {
    /// The list.
    pub list: String,
    /// The line in it, from 1.
    pub line: usize,
    /// Why.
    pub fault: CrtListFault,
}

impl fmt::Display for CrtListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, line, fault } = self;
        write!(f, "parsing [{list}:{line}]: {fault}")
    }
}

impl std::error::Error for CrtListError {}

/// Parses the text of the list `name`.
///
/// # Errors
///
/// The mistake, with its line.
pub fn parse(name: &str, text: &str) -> Result<Vec<CrtListEntry>, CrtListError> {
    let error = |line, fault| CrtListError { list: name.to_owned(), line, fault };
    if let Some(torn) = text.split('\n').next_back().filter(|last| !last.is_empty()) {
        return Err(error(text.lines().count(), CrtListFault::Torn(torn.len() + 1)));
    }
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(mut listed) = parse_line(line).map_err(|fault| error(number, fault))? {
            listed.list = (name.to_owned(), number as u32);
            found.push(listed);
        }
    }
    Ok(found)
}

/// Reads one line; `None` if it is empty or a comment.
pub(crate) fn parse_line(line: &str) -> Result<Option<CrtListEntry>, CrtListFault> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    parse_entry(line).map(Some)
}

/// Parses a line: `PATH [OPTIONS] NAMES`. As in HAProxy, options behind names apply, but those
/// names are ignored.
pub(crate) fn parse_entry(line: &str) -> Result<CrtListEntry, CrtListFault> {
    let line = uncommented(line.trim());
    let (before, options, after) = brackets(line)?;
    let mut words = before.split_whitespace();
    let path = words.next().ok_or(CrtListFault::NoPath)?.to_owned();
    let misplaced = options.is_some() && words.clone().next().is_some();
    let mut listed = CrtListEntry { path, misplaced, ..CrtListEntry::default() };
    parse_options(&mut listed.options, options.unwrap_or_default())?;
    let names = if options.is_some() { after.split_whitespace() } else { words };
    listed.filters = names.map(str::to_owned).collect();
    Ok(listed)
}

/// A line without the comment at its end: a word that begins with `#`.
fn uncommented(line: &str) -> &str {
    let is_comment = |(at, _): &(usize, &str)| line[..*at].ends_with(char::is_whitespace);
    line.match_indices('#').find(is_comment).map_or(line, |(at, _)| &line[..at])
}

/// The parts of a line before, between and after the brackets. Unbalanced brackets are errors,
/// because options would become names.
fn brackets(line: &str) -> Result<(&str, Option<&str>, &str), CrtListFault> {
    let Some((before, rest)) = line.split_once('[') else {
        return if line.contains(']') {
            Err(CrtListFault::NotOpened)
        } else {
            Ok((line, None, ""))
        };
    };
    if before.contains(']') {
        return Err(CrtListFault::NotOpened);
    }
    let (inner, after) = rest.split_once(']').ok_or(CrtListFault::NotClosed)?;
    if inner.contains('[') || after.contains('[') {
        return Err(CrtListFault::OpenedTwice);
    }
    if after.contains(']') {
        return Err(CrtListFault::ClosedTwice);
    }
    Ok((before, Some(inner), after))
}

fn parse_options(options: &mut Options, text: &str) -> Result<(), CrtListFault> {
    let mut words = text.split_whitespace();
    while let Some(name) = words.next() {
        let option = OptionKeyword::find_listed(name)
            .ok_or_else(|| CrtListFault::UnknownKeyword(name.to_owned()))?;
        let value = if option.has_value { words.next().unwrap_or("") } else { "" };
        option.read(options, value).map_err(CrtListFault::Option)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Verify;

    #[test]
    fn lines_have_options_and_names() {
        let text = "# a list\n\na.pem\nb.pem [verify optional] *.b !c.b\nc.pem[no-ca-names] # x\n";
        let list = parse("l", text).unwrap();
        let paths: Vec<_> = list.iter().map(|listed| listed.path.as_str()).collect();
        assert_eq!(paths, ["a.pem", "b.pem", "c.pem"]);
        assert_eq!(list[1].options.verify, Some(Verify::Optional));
        assert_eq!(list[1].filters, ["*.b", "!c.b"]);
        assert!(list[2].options.no_ca_names && list[2].filters.is_empty());
        assert_eq!(list[2].list, ("l".to_owned(), 5));
    }

    #[test]
    fn mistakes_name_their_line() {
        let told = parse("l", "a.pem\nb.pem [foo bar] x\n").unwrap_err().to_string();
        assert_eq!(told, "parsing [l:2]: unknown ssl keyword foo");
        assert!(parse("l", "a.pem [verify none\n").is_err());
        assert!(parse("l", "a.pem [no-tlsv13]\n").is_err());
    }

    /// Options behind a misplaced bracket (such as `verify`) must not be read as names.
    #[test]
    fn brackets_are_one_pair() {
        for (line, expected) in [
            ("a.pem verify required]", "missing '['"),
            ("a.pem x.com] [alpn h2]", "missing '['"),
            ("a.pem [alpn h2] [verify none]", "too many '['"),
            ("a.pem [[alpn h2]", "too many '['"),
            ("a.pem [alpn h2]]", "too many ']'"),
        ] {
            let told = parse("l", &format!("{line}\n")).unwrap_err().to_string();
            assert_eq!(told, format!("parsing [l:1]: {expected}"), "{line}");
        }
        assert!(parse("l", "a.pem # [x\n").unwrap()[0].filters.is_empty());
    }

    #[test]
    fn options_hold_after_names_too() {
        let list = parse("l", "a.pem a.com [verify required] b.com\n").unwrap();
        assert_eq!(list[0].options.verify, Some(Verify::Required));
        assert_eq!(list[0].filters, ["b.com"]);
        assert!(list[0].misplaced && !parse("l", "a.pem [alpn h2] b\n").unwrap()[0].misplaced);
    }

    #[test]
    fn a_list_ends_with_its_last_line() {
        let told = parse("l", "a.pem\nb.pem [verify required] b").unwrap_err().to_string();
        let expected = "parsing [l:2]: Missing LF on last line, file might have been truncated at position 26.";
        assert_eq!(told, expected);
        assert!(parse("l", "").unwrap().is_empty());
    }

    #[test]
    fn options_change_their_fields_of_a_line() {
        for words in
            ["alpn h2", "ca-file a.pem", "ca-verify-file a.pem", "crl-file c.pem", "no-ca-names"]
        {
            let list = parse("l", &format!("a.pem [{words}]\nb.pem\n")).unwrap();
            assert_ne!(list[0].options, list[1].options, "{words}");
        }
    }
}
