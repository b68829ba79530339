//! A path into a JSON text, and the value that it leads to.
//!
//! No tree is built: the text is walked once.

use crate::value::{Bytes, Value};
use std::io::Write;

/// Objects and arrays inside of each other beyond this are not looked into.
const MAX_DEPTH: usize = 64;

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A member of an object.
    Member(Box<[u8]>),
    /// An element of an array, from 0.
    Element(usize),
}

/// `$.a\.b[3]` as steps: a backslash escapes the next character.
pub(crate) fn parse(text: &[u8]) -> Option<Vec<Step>> {
    let mut rest = text.strip_prefix(b"$")?;
    let mut steps = Vec::new();
    while let Some((first, tail)) = rest.split_first() {
        match first {
            b'[' => {
                let end = memchr::memchr(b']', tail)?;
                let index = std::str::from_utf8(&tail[..end]).ok()?.parse().ok()?;
                steps.push(Step::Element(index));
                rest = &tail[end + 1..];
            }
            b'.' => {
                let (mut name, mut at) = (Vec::new(), 0);
                while let Some(byte) = tail.get(at).filter(|byte| !matches!(byte, b'.' | b'[')) {
                    at += usize::from(*byte == b'\\' && at + 1 < tail.len());
                    name.push(tail[at]);
                    at += 1;
                }
                steps.push(Step::Member(name.into()));
                rest = &tail[at..];
            }
            _ => return None,
        }
    }
    Some(steps)
}

/// The value at the end of a path.
enum Token<'j> {
    /// A string without its quotes, still escaped.
    Text(&'j [u8]),
    Number(&'j [u8]),
    Bool(bool),
    /// An object, an array, or null.
    Other,
}

/// The rest of a JSON text.
struct Walk<'j> {
    text: &'j [u8],
    at: usize,
}

impl<'j> Walk<'j> {
    fn blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn string(&mut self) -> Option<&'j [u8]> {
        self.eat(b'"')?;
        let from = self.at;
        loop {
            match self.text.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.text.get(from..self.at - 1)
    }

    fn word(&mut self) -> Option<Token<'j>> {
        let from = self.at;
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        while self.text.get(self.at).is_some_and(part) {
            self.at += 1;
        }
        match &self.text[from..self.at] {
            b"true" => Some(Token::Bool(true)),
            b"false" => Some(Token::Bool(false)),
            b"null" => Some(Token::Other),
            number if number.first().is_some_and(|b| *b == b'-' || b.is_ascii_digit()) => {
                Some(Token::Number(number))
            }
            _ => None,
        }
    }

    /// The value at the end of `steps`; without further steps, the value here.
    fn find(&mut self, steps: &[Step], depth: usize) -> Option<Token<'j>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match (self.peek()?, steps.first()) {
            (b'{', Some(Step::Member(name))) => self.member(name, &steps[1..], depth),
            (b'[', Some(Step::Element(index))) => self.element(*index, &steps[1..], depth),
            (_, Some(_)) => None,
            (b'"', None) => self.string().map(Token::Text),
            (b'{' | b'[', None) => self.skip(depth).map(|()| Token::Other),
            (_, None) => self.word(),
        }
    }

    fn member(&mut self, name: &[u8], steps: &[Step], depth: usize) -> Option<Token<'j>> {
        self.eat(b'{')?;
        loop {
            let key = self.string()?;
            self.eat(b':')?;
            if key == name || (key.contains(&b'\\') && unescape(key).as_deref() == Some(name)) {
                return self.find(steps, depth + 1);
            }
            self.find(&[], depth + 1)?;
            self.eat(b',')?;
        }
    }

    fn element(&mut self, index: usize, steps: &[Step], depth: usize) -> Option<Token<'j>> {
        self.eat(b'[')?;
        for _ in 0..index {
            self.find(&[], depth + 1)?;
            self.eat(b',')?;
        }
        if self.peek()? == b']' { None } else { self.find(steps, depth + 1) }
    }

    /// Steps over an object or an array.
    fn skip(&mut self, depth: usize) -> Option<()> {
        let is_object = self.peek()? == b'{';
        let close = if is_object { b'}' } else { b']' };
        self.at += 1;
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        loop {
            if is_object {
                self.string()?;
                self.eat(b':')?;
            }
            self.find(&[], depth + 1)?;
            match self.peek()? {
                b',' => self.at += 1,
                byte if byte == close => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }
}

/// A string's content; characters up to `\u00ff` become one byte, as HAProxy has it, others UTF-8.
fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let escaped = *text.get(at)?;
        at += 1;
        out.push(match escaped {
            b'"' | b'\\' | b'/' => escaped,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let mut unit = unit(text, &mut at)?;
                if (0xd800..0xdc00).contains(&unit) && text[at..].starts_with(b"\\u") {
                    at += 2;
                    let low = self::unit(text, &mut at)?.checked_sub(0xdc00)?;
                    unit = 0x1_0000 + ((unit - 0xd800) << 10) + low;
                }
                match u8::try_from(unit) {
                    Ok(byte) => byte,
                    Err(_) => {
                        let c = char::from_u32(unit)?;
                        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                        continue;
                    }
                }
            }
            _ => return None,
        });
    }
    Some(out)
}

/// Four hexadecimal digits.
fn unit(text: &[u8], at: &mut usize) -> Option<u32> {
    let digits =
        text.get(*at..*at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    *at += 4;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The string, number or boolean that `steps` lead to in `text`; objects, arrays and empty strings
/// are no samples.
pub(crate) fn find(steps: &[Step], as_int: bool, text: &[u8]) -> Option<Value<'static>> {
    match (Walk { text, at: 0 }).find(steps, 0)? {
        Token::Text(text) => {
            // An empty string is no sample.
            let text = unescape(text).filter(|text| !text.is_empty())?;
            Some(Value::Str(Bytes::Owned(text)))
        }
        Token::Bool(truth) => Some(Value::Bool(truth)),
        Token::Other => None,
        Token::Number(number) => number_value(number, as_int),
    }
}

fn number_value(number: &[u8], as_int: bool) -> Option<Value<'static>> {
    let text = std::str::from_utf8(number).ok()?;
    if !as_int {
        return Some(Value::Str(Bytes::Owned(general(text.parse().ok()?))));
    }
    if let Ok(int) = text.parse() {
        return Some(Value::Int(int));
    }
    let number: f64 = text.parse().ok()?;
    (number.abs() < i64::MAX as f64).then_some(Value::Int(number as i64))
}

/// A number as `%g` of printf(3) writes it: six digits, an exponent when that is shorter.
fn general(number: f64) -> Vec<u8> {
    const DIGITS: i32 = 6;
    let scientific = format!("{number:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let mut out = Vec::new();
    let _ = if (-4..DIGITS).contains(&power) {
        let decimals = (DIGITS - 1 - power).max(0) as usize;
        write!(out, "{}", trimmed(&format!("{number:.decimals$}")))
    } else {
        let sign = if power < 0 { '-' } else { '+' };
        write!(out, "{}e{sign}{:02}", trimmed(mantissa), power.abs())
    };
    out
}
