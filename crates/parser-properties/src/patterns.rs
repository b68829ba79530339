//! Properties of pattern files: ACL files and maps.

use sample::pattern::{Match, PatternFiles};
use sample::{Type, Value};
use std::io;
use std::path::Path;

/// The first byte chooses how the rest of the input is used.
fn choose(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (*first, rest))
}

/// Asserts that the message has a line number inside the file, and that the line is not empty.
fn placed(message: &str, file: &[u8]) {
    let number = message.rsplit_once("at line ").and_then(|(_, rest)| rest.split(' ').next());
    let number: usize = number.and_then(|text| text.parse().ok()).expect(message);
    let line = number.checked_sub(1).and_then(|at| file.split(|byte| *byte == b'\n').nth(at));
    assert!(line.is_some_and(|line| !line.is_empty()), "{message}");
}

/// Loads an ACL file and looks up its own lines.
pub fn acl(data: &[u8]) {
    let (choice, file) = choose(data);
    let method = Match::TABLE[usize::from(choice & 31) % Match::TABLE.len()].1;
    let (ignore_case, keyed) = (choice & 32 != 0, choice & 64 != 0);
    let read = |_: &Path| -> io::Result<Vec<u8>> { Ok(file.to_vec()) };
    let files = PatternFiles::default();
    match files.set("list", (method, ignore_case), keyed, "file 'a' line 1", &read) {
        Ok(view) => {
            let lines = file.split(|byte| *byte == b'\n');
            assert!(view.len() <= lines.clone().count());
            for line in lines.take(64) {
                let found = Value::str(line).cast(method.input()).map(|value| view.matches(&value));
                let plain = !keyed && !line.is_empty() && !line.starts_with(b"#");
                let kept = line.trim_ascii() == line;
                if method == Match::Str && plain && kept {
                    assert_eq!(found, Some(true), "{:?}", String::from_utf8_lossy(line));
                }
            }
        }
        Err(error) => placed(&error.to_string(), file),
    }
}

/// Loads a map and looks up its own keys.
pub fn map(data: &[u8]) {
    let (choice, file) = choose(data);
    let method = Match::TABLE[usize::from(choice & 31) % Match::TABLE.len()].1;
    let to = [Type::Str, Type::Int, Type::Addr, Type::Str][usize::from(choice >> 5 & 3)];
    let read = |_: &Path| -> io::Result<Vec<u8>> { Ok(file.to_vec()) };
    let files = PatternFiles::default();
    match files.map("map", method, to, "file 'a' line 1", &read) {
        Ok(view) => {
            for line in file.split(|byte| *byte == b'\n').take(64) {
                let key = line.split(|byte| matches!(byte, b' ' | b'\t')).next().unwrap_or(line);
                let value = Value::str(key).cast(method.input());
                let found = value.and_then(|value| view.value(&value));
                let plain = !key.is_empty() && !key.starts_with(b"#") && !key.ends_with(b"\r");
                if method == Match::Str && plain {
                    assert!(found.is_some(), "{:?}", String::from_utf8_lossy(key));
                }
            }
        }
        Err(error) => placed(&error.to_string(), file),
    }
}
