//! The runtime socket: lines of an operator. Never runs a command.

use admin::{Line, LineParser};

/// Takes lines: words and payloads are no longer than what was typed, and an empty line ends every
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
        // A byte that is no text becomes a character of three.
        let words: usize = command.words.iter().map(String::len).sum();
        let payload = command.payload.map_or(0, |text| text.len());
        assert!(words <= 3 * typed && payload <= 3 * typed + 1);
    }
    assert!((1..=typed + 1).contains(&count));
}
