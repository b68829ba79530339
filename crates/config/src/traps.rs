//! Traps of text files: what an editor or another program left in a configuration, named as what it is.
use crate::diag::{Diagnostics, Severity};
use std::borrow::Cow;

/// Beginnings of files that are no text, with their names.
const FORMATS: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"\xfd7zXZ", "compressed with xz"),
    (b"BZh", "compressed with bzip2"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "text in UTF-16: convert it with 'iconv -f UTF-16 -t UTF-8'"),
    (b"\xfe\xff", "text in UTF-16: convert it with 'iconv -f UTF-16 -t UTF-8'"),
];

/// The bytes of a byte-order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// The trap of a whole file, and the text that can be read all the same.
pub(crate) fn of_file(bytes: Vec<u8>) -> (Option<Cow<'static, str>>, Vec<u8>) {
    if let Some((_, format)) = FORMATS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (
            Some(format!("the file is not a configuration, it is {format}.").into()),
            Vec::new(),
        );
    }
    if bytes.starts_with(MARK) {
        let text = "the file begins with a byte-order mark (EF BB BF), which HAProxy refuses as well: save it as \
                    UTF-8 without one, or remove it with 'sed -i \"1s/^\\xef\\xbb\\xbf//\"'.";
        return (Some(text.into()), bytes[MARK.len()..].to_vec());
    }
    let count = |wanted: u8| bytes.iter().filter(|byte| **byte == wanted).take(2).count();
    if count(b'\r') > 1 && count(b'\n') == 0 {
        let text = "the lines of the file end with a carriage return alone: convert them with \"tr '\\r' '\\n'\".";
        return (Some(text.into()), Vec::new());
    }
    (None, bytes)
}

/// Characters that resemble others, with their name and the replacement.
const LOOKALIKES: &[(char, &str, &str)] = &[
    ('\u{a0}', "no-break space", "a space"),
    ('\u{200b}', "zero-width space", "nothing"),
    ('\u{202f}', "narrow no-break space", "a space"),
    ('\u{feff}', "byte-order mark", "nothing"),
    ('\u{2018}', "typographic quotation mark", "'"),
    ('\u{2019}', "typographic quotation mark", "'"),
    ('\u{201c}', "typographic quotation mark", "\""),
    ('\u{201d}', "typographic quotation mark", "\""),
    ('\u{201e}', "typographic quotation mark", "\""),
    ('\u{2010}', "typographic hyphen", "-"),
    ('\u{2011}', "typographic hyphen", "-"),
    ('\u{2013}', "dash", "-"),
    ('\u{2014}', "dash", "-"),
];

/// Prefixes of lines that other programs write, with their meanings.
const REMAINS: &[(&str, &str)] = &[
    ("<<<<<<<", "the mark of an unresolved merge conflict"),
    ("=======", "the mark of an unresolved merge conflict"),
    (">>>>>>>", "the mark of an unresolved merge conflict"),
    ("{%", "a statement of a template that was not rendered"),
    ("<?", "a statement of a template that was not rendered"),
    ("- ", "an item of YAML, and not a line of a configuration"),
    ("---", "the beginning of a YAML document"),
    ("//", "a comment in another language: comments begin with #"),
    ("/*", "a comment in another language: comments begin with #"),
    ("; ", "a comment in another language: comments begin with #"),
];

/// The probable reason why a line was not understood: the column in bytes, from 0, its length, and
/// the text.
pub(crate) fn of_line(line: &str) -> Option<(usize, usize, String)> {
    let text = line.trim_end_matches(['\r', '\n']);
    let (indent, trimmed) = (text.len() - text.trim_start().len(), text.trim_start());
    if let Some((mark, what)) = REMAINS.iter().find(|(mark, _)| trimmed.starts_with(mark)) {
        return Some((indent, mark.trim_end().len(), format!("this is {what}.")));
    }
    if let Some(at) = text.find("{{") {
        return Some((at, 2, "this is a variable of a template that was not rendered.".to_owned()));
    }
    if let Some((at, found)) = text.char_indices().find(|(_, it)| lookalike(*it).is_some()) {
        let (_, name, instead) = lookalike(found)?;
        let code = found as u32;
        let text =
            format!("the line has a {name} (U+{code:04X}) here: write {instead} in its place.");
        return Some((at, found.len_utf8(), text));
    }
    if text.ends_with('\\') && !text.ends_with("\\\\") {
        let text = "a backslash does not continue a line: all words of a keyword are on one line.";
        return Some((line.rfind('\\')?, 1, text.to_owned()));
    }
    let brace = trimmed.ends_with(" {") || trimmed == "}" || trimmed.ends_with(';');
    brace.then(|| {
        let text = "sections have no braces and lines no semicolon: this is the language of another program.";
        (indent + trimmed.len() - 1, 1, text.to_owned())
    })
}

/// Adds to messages about a file whose name has a variable that it was not expanded. Addresses
/// are another matter: their variables are expanded without quotes, too.
pub(crate) fn explain_variables(diagnostics: &mut Diagnostics) {
    for diagnostic in diagnostics.iter_mut().filter(|it| it.severity == Severity::Alert) {
        if diagnostic.message.contains("file '$") {
            let end = diagnostic.message.trim_end_matches('.').len();
            diagnostic.message.truncate(end);
            diagnostic.message.push_str(" (variables are expanded between double quotes alone).");
        }
    }
}

fn lookalike(letter: char) -> Option<&'static (char, &'static str, &'static str)> {
    LOOKALIKES.iter().find(|(other, ..)| *other == letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_configuration_are_named_and_not_read() {
        for (bytes, word) in [
            (&b"\x1f\x8b\x08global\n"[..], "gzip"),
            (b"\xff\xfeg\0\n\0", "UTF-16"),
            (b"\x7fELF\x02", "program"),
            (b"global\r  maxconn 1\r", "carriage return"),
        ] {
            let (trap, text) = of_file(bytes.to_vec());
            assert!(trap.is_some_and(|trap| trap.contains(word)) && text.is_empty(), "{word}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_named_and_the_rest_is_read() {
        let (trap, text) = of_file(b"\xef\xbb\xbfglobal\n".to_vec());
        assert!(trap.is_some_and(|trap| trap.contains("byte-order mark")));
        assert_eq!(text, b"global\n");
        for usual in [&b"global\r\n"[..], b"", b"global", b"\r"] {
            assert_eq!(of_file(usual.to_vec()), (None, usual.to_vec()));
        }
    }

    #[test]
    fn lines_that_another_program_left_are_named() {
        for (line, at, word) in [
            ("  maxconn\u{a0}100", 9, "no-break space (U+00A0) here: write a space"),
            ("log “x”", 4, "quotation mark"),
            ("\u{3c}<<<<<< HEAD", 0, "merge conflict"),
            ("  maxconn {{ n }}", 10, "template"),
            ("  log a \\", 8, "does not continue"),
            ("http {", 5, "braces"),
            ("  listen 80;", 11, "semicolon"),
        ] {
            let (column, _, text) = of_line(line).unwrap_or_else(|| panic!("{line}"));
            assert!(column == at && text.contains(word), "{line}: {column} {text}");
        }
        for line in ["maxconn 100", "http-request deny if { path /a }", "log-format \\\\", ""] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }
}
