//! Properties of the runtime socket's line parser.

use admin::{Line, LineParser};

/// Parses lines: words and payloads are no longer than the input, and an empty line ends every
/// payload.
pub fn line(data: &[u8]) {
    let mut parser = LineParser::default();
    for line in data.split(|byte| *byte == b'\n') {
        check(parser.line(line), data.len());
    }
    if parser.line(b"") == Line::Unfinished {
        panic!("an empty line ends a payload");
    }
}

fn check(line: Line, typed: usize) {
    let Line::Commands(commands) = line else { return };
    let mut count = 0;
    for command in commands {
        count += 1;
        // A byte that is not UTF-8 becomes a character of three bytes.
        let words: usize = command.words.iter().map(String::len).sum();
        let payload = command.payload.map_or(0, |text| text.len());
        assert!(words <= 3 * typed && payload <= 3 * typed + 1);
    }
    assert!((1..=typed + 1).contains(&count));
}
