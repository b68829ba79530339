//! Properties of expressions, conditions, log formats and regular expressions: parsed, then
//! evaluated.

use crate::world::World;
use sample::regex::Regex;
use sample::{AclTable, Condition, Expr, LogFormat, LogStyle, NoFacts, ParseError, Parser, Shared};
use std::io;
use std::path::Path;

/// Longest text that is parsed: lines are bounded, and longer ones test nothing new.
const LONGEST: usize = 8 << 10;
/// Most bytes that an expression may produce from [`World`] and one text: hexadecimal doubles them,
/// JSON escapes take six for one, and chains repeat that a few times at most.
const MOST: usize = 64 << 20;

fn files(path: &Path) -> io::Result<Vec<u8>> {
    match path.to_str() {
        Some("list") => Ok(b"one\n# two\n/p\n".to_vec()),
        Some("map") => Ok(b"one 1\nPOST two\n".to_vec()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

fn with_parser<T>(run: impl FnOnce(&mut Parser<'_>) -> T) -> T {
    let env = |name: &str| (name == "X").then(|| "value".to_owned());
    let shared = Shared::new(&files, &env);
    let (acls, captures) = (AclTable::default(), sample::Captures::default());
    let mut parser = Parser::new(&shared, &acls, &captures);
    parser.proxy = "p";
    run(&mut parser)
}

fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(&data[..data.len().min(LONGEST)]).into_owned()
}

/// Asserts that an error is in one of the words, or directly after the last one.
fn placed(words: &[&str], error: &ParseError) {
    assert!(!error.message.is_empty());
    assert!(error.word <= words.len(), "word {} of {words:?}: {error}", error.word);
    if let Some(word) = words.get(error.word) {
        assert!(error.offset <= word.len(), "offset {} of <{word}>: {error}", error.offset);
    }
}

/// The words of a line.
fn words(text: &str) -> Vec<&str> {
    text.split([' ', '\n']).take(64).collect()
}

/// Parses an expression and evaluates it, without and with a message.
pub fn expression(data: &[u8]) {
    let text = text(data);
    let words = words(&text);
    with_parser(|cx| {
        let mut at = 0;
        match Expr::parse(&words, &mut at, cx) {
            Ok(expr) => {
                assert!((1..=words.len()).contains(&at));
                let _ = expr.eval(&NoFacts);
                let world = World::new(data);
                let made = expr.eval_str(&world).map_or(0, |text| text.len());
                assert!(made <= MOST, "{made} bytes");
                let _ = expr.any(&world, &mut |_| false);
            }
            Err(error) => placed(&words, &error),
        }
    });
}

/// Parses ACLs, one per line up to an empty one, then a condition, and evaluates it.
pub fn condition(data: &[u8]) {
    let text = text(data);
    with_parser(|cx| {
        let mut lines = text.lines();
        for line in lines.by_ref().take(32).take_while(|line| !line.is_empty()) {
            let words = words(line);
            if let Err(error) = cx.acls.define(&words, cx) {
                placed(&words, &error);
            }
        }
        let last = lines.next().unwrap_or("");
        let words = words(last);
        match Condition::parse_clause(&words, cx) {
            Ok(condition) => {
                let world = World::new(data);
                condition.map(|condition| (condition.eval(&NoFacts), condition.eval(&world)));
            }
            Err(error) => placed(&words, &error),
        }
    });
}

/// Parses a log format in both styles and writes it.
pub fn log_format(data: &[u8]) {
    let text = text(data);
    with_parser(|cx| {
        for style in [LogStyle::Log, LogStyle::Header] {
            match LogFormat::parse(&text, style, cx) {
                Ok(format) => {
                    let mut out = Vec::new();
                    format.write(&NoFacts, &mut out);
                    format.write(&World::new(b"body"), &mut out);
                    assert!(out.len() <= MOST);
                }
                Err(error) => placed(&[&text], &error),
            }
        }
    });
}

/// Compiles the first line as a regular expression and matches the rest, in every mode.
pub fn regex(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (pattern, subject) = (&data[..end.min(512)], data.get(end + 1..).unwrap_or_default());
    let subject = &subject[..subject.len().min(256)];
    match Regex::from_bytes(pattern, pattern.len() % 2 == 1) {
        Ok(regex) => {
            let matches = regex.is_match(subject);
            let mut out = Vec::new();
            let expanded = regex.expand(subject, b"<\\0\\1\\x41\\9>", &mut out);
            assert!(!expanded || matches, "an expansion without a match");
            for all in [false, true] {
                out.clear();
                regex.replace(subject, b"[\\0]", all, &mut out);
                assert!(out.len() <= 4 * subject.len() + 16);
            }
        }
        // Bytes that are not UTF-8 are compiled as `\x{NN}`.
        Err(error) => assert!(error.offset <= pattern.len() * 6, "{error}"),
    }
}
