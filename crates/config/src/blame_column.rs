//! Finds the column of a name in diagnostics that know only a file and a line, because the name was
//! looked up at the end.
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Source;
use std::collections::BTreeMap;

/// Gives each message that has a line but no column the word of the line that it quotes, or the
/// first one.
pub(crate) fn find(diagnostics: &mut Diagnostics, sources: &[Source]) {
    for source in sources {
        let mut blind: BTreeMap<usize, Vec<&mut Diagnostic>> = BTreeMap::new();
        for diagnostic in diagnostics.iter_mut().filter(|d| d.column == 0 && d.source.is_none()) {
            match &diagnostic.place {
                Some(place) if place.line > 0 && place.file == source.name => {
                    blind.entry(place.line as usize).or_default().push(diagnostic);
                }
                _ => {}
            }
        }
        let Some((last, _)) = blind.last_key_value() else { continue };
        for (number, line) in (1..=*last).zip(source.text.lines()) {
            for diagnostic in blind.remove(&number).into_iter().flatten() {
                let (start, len) = blamed(&diagnostic.message, line);
                diagnostic.column = start as u32 + 1;
                diagnostic.len = len as u32;
                diagnostic.source = Some(line.to_owned());
            }
        }
    }
}

/// Start and length of the word of `line` that `message` speaks of.
fn blamed(message: &str, line: &str) -> (usize, usize) {
    // A message names its proxy too, which is rarely what is wrong with the line.
    let proxies = ["roxy", "rontend", "ackend"];
    let quoted = || {
        let pieces: Vec<&str> = message.split('\'').collect();
        let names = pieces.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        names
            .map(|(before, name)| (proxies.iter().any(|p| before.trim_end().ends_with(p)), name))
            .collect::<Vec<_>>()
    };
    let names = quoted();
    let others = names.iter().filter(|(is_proxy, _)| !is_proxy);
    let mut ordered = others.chain(names.iter().filter(|(is_proxy, _)| *is_proxy));
    let found = ordered.find_map(|(_, name)| Some((whole(line, name)?, name.len())));
    found.unwrap_or_else(|| {
        let start = line.len() - line.trim_start().len();
        let word = line[start..].split_whitespace().next().unwrap_or("");
        (start, word.len().max(1))
    })
}

/// The position of `name` in `line` as a whole word.
fn whole(line: &str, name: &str) -> Option<usize> {
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let bytes = line.as_bytes();
    line.match_indices(name).map(|(at, _)| at).find(|at| {
        let (before, after) = (&bytes[..*at], &bytes[at + name.len()..]);
        let alone = !before.last().is_some_and(of_name) && !after.first().is_some_and(of_name);
        alone && !name.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quoted_word_is_blamed() {
        for (message, line, blamed_word) in [
            (
                "Proxy 'f': unable to find required default_backend: 'baz'.",
                "  default_backend baz",
                "baz",
            ),
            (
                "Proxy 'f': unable to find required use_backend: 'bb'.",
                "\tuse_backend bb if f",
                "bb",
            ),
            ("frontend 'f' has no 'bind' directive.", "frontend f", "f"),
            ("missing timeouts for backend 'é'.", "backend é # é", "é"),
            ("nothing quoted", "   stats enable", "stats"),
            ("unable to find table 't' in 'x'", "acl a src_conn_rate(t) gt 1", "t"),
            ("unable to find 'a'", "", ""),
            ("empty ''", "'' x", "''"),
        ] {
            let (start, len) = blamed(message, line);
            assert_eq!(line.get(start..start + len).unwrap_or(""), blamed_word, "{message}");
        }
    }
}
