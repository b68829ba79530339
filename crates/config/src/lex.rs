//! One line of text into words with spans (section 2.2 and 2.3 of the manual).
use crate::env::Environment;
use std::borrow::Cow;
use std::ops::Range;

mod expand;
#[cfg(test)]
mod tests;

/// Words that a line may have; HAProxy's own limit.
pub(crate) const MAX_WORDS: usize = 64;
/// Bytes that a line may have, before and after expansion.
pub const MAX_LINE: usize = 1 << 20;

/// Variables and the place of the line, for expansion.
pub(crate) struct Surroundings<'a> {
    pub(crate) env: &'a Environment,
    pub(crate) file: &'a str,
    pub(crate) line: u32,
    pub(crate) section: &'a str,
}

/// One word, with the source position of each byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Byte range in the source line, quotes included.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Source offset of each byte of `text`, when they are not simply `start` onwards.
    origin: Option<Box<[u32]>>,
}

impl<'a> Word<'a> {
    /// A word that was not cut from a line.
    pub(crate) fn plain(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), start: 0, end: 0, origin: None }
    }
}

impl Word<'_> {
    /// The same word without its line.
    pub(crate) fn into_owned(self) -> Word<'static> {
        Word {
            text: Cow::Owned(self.text.into_owned()),
            start: self.start,
            end: self.end,
            origin: self.origin,
        }
    }

    /// The source range for `text[offset..]`: the whole word for offset 0, otherwise from that byte
    /// to its end.
    pub(crate) fn span_from(&self, offset: usize) -> (usize, usize) {
        let at = match &self.origin {
            _ if offset == 0 => self.start,
            None => self.start + offset,
            Some(map) => map.get(offset).map_or(self.end, |at| *at as usize),
        };
        (at.min(self.end), self.end)
    }
}

/// Why a line cannot be cut into words. `at` is a byte offset in the line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LexError {
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl LexError {
    /// An error whose message names the position, counted from 1 as HAProxy does.
    fn at(at: usize, what: &str) -> Self {
        Self { at, message: format!("{what} at position {}", at + 1) }
    }
}

/// Cuts one line, without its line feed, into words. A trailing carriage return and comments are
/// dropped.
pub(crate) fn split<'a>(
    line: &'a str,
    around: &Surroundings<'_>,
) -> Result<Vec<Word<'a>>, LexError> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if let Some(at) = line.bytes().position(|b| b == 0) {
        return Err(LexError::at(at, "Stray NUL character"));
    }
    if line.len() > MAX_LINE {
        return Err(LexError { at: 0, message: format!("line too long, limit: {MAX_LINE}") });
    }
    let mut lexer = Lexer { line, around, pos: 0, words: Vec::new(), word: None, produced: 0 };
    lexer.run()?;
    Ok(lexer.words)
}

/// A word, and its bytes in the line.
pub type Spanned = (String, Range<usize>);

/// The words of a single line with their offsets, or the offset and reason of a lexical error; the
/// first step for every line of a file.
pub fn words(line: &str, env: &Environment) -> Result<Vec<Spanned>, (usize, String)> {
    let around = Surroundings { env, file: "", line: 1, section: "" };
    let owned = |word: Word<'_>| (word.text.into_owned(), word.start..word.end);
    match split(line, &around) {
        Ok(words) => Ok(words.into_iter().map(owned).collect()),
        Err(error) => Err((error.at, error.message)),
    }
}

/// A word under construction: a slice of the line as long as nothing was removed or replaced.
enum Building {
    Slice { start: usize },
    Bytes { start: usize, bytes: Vec<u8>, origin: Vec<u32> },
}

struct Lexer<'a, 's> {
    line: &'a str,
    around: &'s Surroundings<'s>,
    pos: usize,
    words: Vec<Word<'a>>,
    word: Option<Building>,
    /// Bytes produced by expansion so far, for the bound.
    produced: usize,
}

impl<'a> Lexer<'a, '_> {
    fn run(&mut self) -> Result<(), LexError> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' => {
                    self.finish(self.pos)?;
                    self.pos += 1;
                }
                b'#' => break,
                b'\'' => self.strong()?,
                b'"' => self.weak()?,
                b'\\' => self.escape()?,
                _ => self.keep(),
            }
        }
        self.finish(self.pos)
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.line.as_bytes().get(self.pos + ahead).copied()
    }

    /// The current byte belongs to the word as it is.
    fn keep(&mut self) {
        let (at, byte) = (self.pos, self.line.as_bytes()[self.pos]);
        match &mut self.word {
            None => self.word = Some(Building::Slice { start: at }),
            Some(Building::Slice { .. }) => {}
            Some(Building::Bytes { bytes, origin, .. }) => {
                bytes.push(byte);
                origin.push(at as u32);
            }
        }
        self.pos += 1;
    }

    /// Turns the word into owned bytes, because what follows is not a plain copy of the line.
    fn own(&mut self) {
        let at = self.pos;
        let bytes = match self.word.take() {
            None => Building::Bytes { start: at, bytes: Vec::new(), origin: Vec::new() },
            Some(Building::Slice { start }) => Building::Bytes {
                start,
                bytes: self.line.as_bytes()[start..at].to_vec(),
                origin: (start as u32..at as u32).collect(),
            },
            Some(owned) => owned,
        };
        self.word = Some(bytes);
    }

    /// Appends one byte from offset `at` of the line. The word is owned already.
    fn produce(&mut self, byte: u8, at: usize) {
        self.produced += 1;
        if let Some(Building::Bytes { bytes, origin, .. }) = &mut self.word {
            bytes.push(byte);
            origin.push(at as u32);
        }
    }

    /// Single quotes: nothing is interpreted inside.
    fn strong(&mut self) -> Result<(), LexError> {
        self.own();
        let open = self.pos;
        self.pos += 1;
        loop {
            match self.peek(0) {
                None => return Err(LexError::at(open, "unmatched quote")),
                Some(b'\'') => break,
                Some(_) => self.keep(),
            }
        }
        self.pos += 1;
        Ok(())
    }

    /// Double quotes: escapes and variables are interpreted inside.
    fn weak(&mut self) -> Result<(), LexError> {
        self.own();
        let open = self.pos;
        self.pos += 1;
        loop {
            match self.peek(0) {
                None => return Err(LexError::at(open, "unmatched quote")),
                Some(b'"') => break,
                Some(b'\\') => self.escape()?,
                Some(b'$') => self.variable()?,
                Some(_) => self.keep(),
            }
        }
        self.pos += 1;
        Ok(())
    }

    /// A backslash: known sequences are replaced, all others stay as written.
    fn escape(&mut self) -> Result<(), LexError> {
        let at = self.pos;
        let replaced = match self.peek(1) {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(byte @ (b' ' | b'\t' | b'#' | b'\\' | b'"' | b'\'' | b'$')) => byte,
            Some(b'x') => {
                let digits = self.line.get(at + 2..at + 4).filter(|d| !d.starts_with('+'));
                let byte = digits
                    .and_then(|d| u8::from_str_radix(d, 16).ok())
                    .ok_or_else(|| LexError::at(at, "truncated or invalid hexadecimal sequence"))?;
                self.own();
                self.produce(byte, at);
                self.pos += 4;
                return Ok(());
            }
            _ => {
                self.keep();
                if self.peek(0).is_some() {
                    self.keep();
                }
                return Ok(());
            }
        };
        self.own();
        self.produce(replaced, at);
        self.pos += 2;
        Ok(())
    }

    /// A word as written in the line, unless it has characters that words reserve for bytes beyond
    /// UTF-8.
    fn slice(&self, start: usize, end: usize) -> Word<'a> {
        let text = &self.line[start..end];
        if !text.chars().any(|c| sample::word::byte_of(c).is_some()) {
            return Word { text: Cow::Borrowed(text), start, end, origin: None };
        }
        let (text, origin) =
            text_of(text.as_bytes().to_vec(), (start as u32..end as u32).collect());
        Word { text: Cow::Owned(text), start, end, origin: Some(origin.into_boxed_slice()) }
    }

    /// Ends the current word, if any, at source offset `end`.
    fn finish(&mut self, end: usize) -> Result<(), LexError> {
        let Some(building) = self.word.take() else { return Ok(()) };
        let word = match building {
            Building::Slice { start } => self.slice(start, end),
            Building::Bytes { start, bytes, origin } => {
                let (text, origin) = text_of(bytes, origin);
                let origin = Some(origin.into_boxed_slice());
                Word { text: Cow::Owned(text), start, end, origin }
            }
        };
        if self.words.len() == MAX_WORDS {
            let message = format!(
                "too many words, truncating after word {MAX_WORDS}, position {}: <{}>",
                word.start + 1,
                word.text
            );
            return Err(LexError { at: word.start, message });
        }
        self.words.push(word);
        Ok(())
    }
}

/// The text that encodes `bytes` (see `sample::word`), and the source offset of each of its bytes.
fn text_of(bytes: Vec<u8>, origin: Vec<u32>) -> (String, Vec<u32>) {
    let len = bytes.len();
    let text = sample::word::from_bytes(bytes);
    if text.len() == len {
        return (text, origin);
    }
    let mut spread = Vec::with_capacity(text.len());
    let mut at = 0;
    for c in text.chars() {
        // An escaped byte takes more room in the text than it has in the word.
        let content = sample::word::to_bytes(c.encode_utf8(&mut [0; 4])).len();
        let from = origin.get(at).copied().unwrap_or(0);
        spread.extend(std::iter::repeat_n(from, c.len_utf8()));
        at += content;
    }
    (text, spread)
}
