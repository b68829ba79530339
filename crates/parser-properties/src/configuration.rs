//! Properties of the configuration's lexer and of whole configuration files.

use config::{Environment, Family, Features, Files, Format, Resolver, Setup, Source, Style};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Most words of a line. The lexer bounds expansion far below this.
const MOST_WORDS: usize = 64;

fn environment() -> Environment {
    [("X", "p q  r"), ("E", ""), ("PORT", "8080")].into_iter().collect()
}

/// Splits each line into words: spans are inside the line and ascending, and errors are inside it.
pub fn lexer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for line in text.split('\n') {
        match config::words(line, &environment()) {
            Ok(words) => {
                assert!(words.len() <= MOST_WORDS, "{} words", words.len());
                let mut end = 0;
                for (text, span) in words {
                    // The expansion of a variable has the variable's position.
                    assert!(span.start <= span.end && span.end <= line.len(), "{span:?}");
                    assert!(span.end >= end, "{span:?} comes before {end}");
                    assert!(text.len() <= config::MAX_LINE * 2);
                    end = span.end;
                }
            }
            Err((at, message)) => {
                assert!(at <= line.len(), "{at} of {}: {message}", line.len());
                assert!(!message.is_empty());
            }
        }
    }
}

struct Nothing;

impl Files for Nothing {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str() {
            Some("list") => Ok(b"one\n# two\nthree\n".to_vec()),
            Some("map") => Ok(b"one 1\ntwo 2\n".to_vec()),
            Some("reply") => Ok(b"HTTP/1.1 503 Nope\r\n\r\nno\r\n".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn list(&self, _: &Path) -> io::Result<Option<Vec<PathBuf>>> {
        Ok(None)
    }
}

impl Resolver for Nothing {
    fn resolve(&self, _: &str, _: Family) -> Option<IpAddr> {
        None
    }
}

/// Loads a whole file: the result is a model or an alert, and every message about a line names it
/// and a column in it.
pub fn file(data: &[u8]) {
    let source = Source::from_bytes("a.cfg", data.to_vec());
    let lines = source.text.split('\n').count();
    let setup = Setup {
        env: environment(),
        features: Features { version: "2.7.0", words: &["EPOLL"], ..Features::default() },
        files: &Nothing,
        names: &Nothing,
        processors: 2,
        local_peer: Default::default(),
        trusts_servers: false,
        scripts: None,
    };
    let loaded = config::load(&[source], setup);
    assert_eq!(loaded.model.is_none(), loaded.diagnostics.failed());
    for said in loaded.diagnostics.iter() {
        assert!(!said.message.is_empty());
        let Some(place) = &said.place else { continue };
        assert!(place.line as usize <= lines, "line {} of {lines}", place.line);
        if let Some(source) = said.source.as_ref().filter(|_| said.column > 0) {
            let column = said.column as usize;
            assert!(column <= source.len() + 1, "column {column}: {} <{source}>", said.message);
        }
    }
    for style in [Style::Plain, Style::Pretty] {
        let _ = config::report(&loaded.diagnostics, 1, style, true);
    }
    for format in [Format::Json, Format::Sarif] {
        let _ = config::document(&loaded.diagnostics, format, "2.7.0", true);
    }
}
