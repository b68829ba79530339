//! Keywords of HAProxy versions after 2.7, and their equivalents in 2.7.
use crate::area;

/// `class name` per line, sorted: names that HAProxy 3.5 has and 2.7 has not.
pub(crate) const NAMES: &str = include_str!("../data/keywords-3.5.txt");

/// `class/name since instead` per line.
const NOTES: &str = include_str!("../data/later.txt");

/// The words by which a message about such a keyword is recognised.
pub(crate) const PHRASE: &str = "is a keyword of later versions";

/// Whether a later version of HAProxy has this name in this class.
pub(crate) fn contains(class: &str, name: &str) -> bool {
    NAMES.lines().any(|line| line.split_once(' ') == Some((class, name)))
}

/// The message for such a name; `shown` is how the keyword is called in full.
pub(crate) fn message(class: &str, name: &str, shown: &str) -> String {
    let (since, instead) = note(class, name).unwrap_or(("-", ""));
    let versions = match since {
        "-" => "HAProxy 3.5 has it".to_owned(),
        since => format!("HAProxy {since} and later have it"),
    };
    let instead = if instead.is_empty() { "" } else { &format!("; instead: {instead}") };
    format!("'{shown}' {PHRASE}: {versions}, Weir not yet{instead}")
}

/// Words before a quoted name in messages of the language about unknown names, and the class of
/// that name.
const UNKNOWN: [(&str, &str); 3] = [
    ("unknown fetch method '", "fetch"),
    ("unknown converter '", "converter"),
    ("but got '", "action"),
];

/// A message of the language, which says of an unknown name that a later version has it.
pub(crate) fn explained(message: String) -> String {
    let found = UNKNOWN.iter().find_map(|(before, class)| {
        let (_, rest) = message.split_once(before)?;
        let name = rest.split(['\'', '(']).next()?;
        contains(class, name).then(|| self::message(class, name, name))
    });
    match found {
        Some(later) => format!("{} : {later}", message.trim_end_matches('.')),
        None => message,
    }
}

/// The first version that has a name, and what to write instead.
fn note(class: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let lines = NOTES.lines().filter(|line| !line.starts_with('#'));
    let mut rows = lines.filter_map(|line| line.split_once(' '));
    let (_, rest) = rows.find(|(pattern, _)| area::fits(pattern, class, name))?;
    rest.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_version_and_a_replacement_where_they_are_known() {
        let store = message("section", "crt-store", "crt-store");
        assert_eq!(
            store,
            "'crt-store' is a keyword of later versions: HAProxy 3.0 and later have it, Weir not yet; instead: \
             'crt' or 'crt-list' on 'bind' lines with the paths of the files"
        );
        let unknown = message("proxy", "filter-sequence", "filter-sequence");
        assert!(unknown.ends_with("HAProxy 3.5 has it, Weir not yet"), "{unknown}");
    }

    #[test]
    fn unknown_names_of_expressions_and_actions_are_explained() {
        for (message, name) in [
            ("unknown fetch method 'acl' in ACL expression 'acl(a,b)'", "acl"),
            (
                "failed to parse sample expression <src,ip.ver> : unknown converter 'ip.ver'",
                "ip.ver",
            ),
        ] {
            let text = explained(message.to_owned());
            let expected =
                format!("{message} : '{name}' is a keyword of later versions: HAProxy 3.5 has it");
            assert!(text.starts_with(&expected), "{text}");
        }
        let other = "unknown fetch method 'srcx'; did you mean 'src' maybe ?";
        assert_eq!(explained(other.to_owned()), other);
    }

    #[test]
    fn every_note_is_about_a_name_of_a_later_version() {
        for line in NOTES.lines().filter(|line| !line.starts_with('#')) {
            let (pattern, rest) = line.split_once(' ').expect("three columns");
            let names = NAMES.lines().filter_map(|line| line.split_once(' '));
            let mut fitting = names.filter(|(class, name)| area::fits(pattern, class, name));
            assert!(fitting.next().is_some(), "{pattern}");
            let (since, _) = rest.split_once(' ').expect("three columns");
            assert!(since == "-" || since.starts_with(['2', '3']), "{line}");
        }
    }
}
