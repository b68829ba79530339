//! Lines that declare a scope: `[name]` alone. As with HAProxy 2.6 these words have no meaning.
use crate::lex::LexError;
use crate::value::is_name_char;

/// Whether the line declares a scope, or the error in it. The raw line is parsed: quotes have no
/// meaning in it.
pub(super) fn declares(line: &str) -> Result<bool, LexError> {
    let start = line.len() - line.trim_start_matches([' ', '\t']).len();
    let Some(inner) = line[start..].strip_prefix('[') else { return Ok(false) };
    let odd = |at: usize, c: char, place: &str| {
        let message = format!("character '{c}' is not permitted {place}.");
        Err(LexError { at, message })
    };
    let len = inner.find(|c| !is_name_char(c)).unwrap_or(inner.len());
    let Some(end) = inner[len..].chars().next().filter(|_| len > 0 || !inner.starts_with(']'))
    else {
        return Err(LexError { at: start, message: "empty scope name is forbidden.".to_owned() });
    };
    if end != ']' {
        return odd(start + 1 + len, end, "in a scope name");
    }
    let rest = &inner[len + 1..];
    let behind = rest.trim_start_matches([' ', '\t', '\r']);
    match behind.chars().next() {
        None | Some('#') => Ok(true),
        Some(c) => odd(line.len() - behind.len(), c, "after scope declaration"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_a_name_in_brackets_alone() {
        for (line, verdict) in [
            ("[...]", Ok(true)),
            (" \t[foo]  ", Ok(true)),
            ("[foo] # x", Ok(true)),
            ("[foo]\r", Ok(true)),
            ("foo [foo]", Ok(false)),
            ("\"[foo]\"", Ok(false)),
            ("", Ok(false)),
            ("[foo] bar", Err((6, "character 'b' is not permitted after scope declaration."))),
            ("[a]]", Err((3, "character ']' is not permitted after scope declaration."))),
            ("[a b]", Err((2, "character ' ' is not permitted in a scope name."))),
            ("[#]", Err((1, "character '#' is not permitted in a scope name."))),
            (" []", Err((1, "empty scope name is forbidden."))),
            ("[foo", Err((0, "empty scope name is forbidden."))),
            ("[é", Err((1, "character 'é' is not permitted in a scope name."))),
        ] {
            let found = declares(line).map_err(|error| (error.at, error.message));
            assert_eq!(found, verdict.map_err(|(at, text)| (at, text.to_owned())), "{line}");
        }
    }
}
