//! The flags of log formats and the escaping they and the styles ask for.

use super::LogStyle;
use crate::context::ParseContext;
use crate::expr::Expr;
use crate::facts::Facts;
use std::io::Write;

/// The flags `Q`, `X` and `E`, and how missing texts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// `+Q`: quote texts.
    pub quote: bool,
    /// `+X`: numbers and addresses in hexadecimal.
    pub hex: bool,
    /// `+E`: a backslash before `"`, `\` and `]`.
    pub escape: bool,
    /// A missing text is `-`, as in log lines, and not nothing.
    pub dash: bool,
    /// `+json`: texts as they are; the caller encodes them as JSON.
    pub json: bool,
}

impl Flags {
    /// The flags of a member of a JSON object.
    pub(super) const JSON: Flags =
        Flags { quote: false, hex: false, escape: false, dash: false, json: true };

    /// These flags with `+Q,-X...` applied.
    pub(super) fn with(mut self, list: &str, cx: &ParseContext<'_>) -> Flags {
        let mut on = true;
        let words = list.split([',', ' ']);
        let (json, letters): (Vec<&str>, Vec<&str>) = words.partition(|word| *word == "+json");
        self.json |= !json.is_empty();
        for flag in letters.iter().flat_map(|word| word.chars()) {
            match flag {
                '+' => on = true,
                '-' => on = false,
                'Q' => self.quote = on,
                'X' => self.hex = on,
                'E' => self.escape = on,
                other => cx.warn(format!("format flag '{other}' has no effect: it is unknown")),
            }
        }
        self
    }

    /// Appends a text of the transaction: control characters, non-ASCII, `"` and `#` as `#XX`.
    pub fn text(self, text: Option<&[u8]>, out: &mut Vec<u8>) {
        match text {
            None | Some(b"") => self.missing(out),
            Some(text) => self.quoted(out, |out| self.hash_encoded(text, out)),
        }
    }

    /// Appends a name of the configuration: as it is, save for quotes and `+E`.
    pub fn plain(self, text: Option<&[u8]>, out: &mut Vec<u8>) {
        match text {
            None | Some(b"") => self.missing(out),
            Some(text) => self.quoted(out, |out| self.raw(text, out)),
        }
    }

    /// Writes the placeholder of a missing text.
    pub fn missing(self, out: &mut Vec<u8>) {
        if self.json {
            return;
        }
        match self {
            Flags { quote: true, .. } => out.extend_from_slice(b"\"\""),
            Flags { dash: true, .. } => out.push(b'-'),
            _ => {}
        }
    }

    pub(super) fn quoted(self, out: &mut Vec<u8>, inner: impl FnOnce(&mut Vec<u8>)) {
        if self.quote {
            out.push(b'"');
        }
        inner(out);
        if self.quote {
            out.push(b'"');
        }
    }

    fn raw(self, text: &[u8], out: &mut Vec<u8>) {
        if !self.escape {
            out.extend_from_slice(text);
            return;
        }
        for byte in text {
            if matches!(byte, b'"' | b'\\' | b']') {
                out.push(b'\\');
            }
            out.push(*byte);
        }
    }

    pub(super) fn hash_encoded(self, mut text: &[u8], out: &mut Vec<u8>) {
        let special = |byte: &u8| match byte {
            _ if self.json => false,
            b'"' | b'#' | 0..=0x1f | 0x7f..=0xff => true,
            byte => self.escape && matches!(byte, b'\\' | b']'),
        };
        while let Some(at) = text.iter().position(special) {
            out.extend_from_slice(&text[..at]);
            match text[at] {
                // Quotes stay encoded: the line could not be taken apart otherwise.
                byte @ (b'\\' | b']') if self.escape => out.extend([b'\\', byte]),
                byte => hex(b'#', byte, out),
            }
            text = &text[at + 1..];
        }
        out.extend_from_slice(text);
    }

    /// Appends an expression's text in the way of the style.
    pub(super) fn expr(self, style: LogStyle, expr: &Expr, facts: &dyn Facts, out: &mut Vec<u8>) {
        let Ok(value) = expr.eval(facts) else {
            if style == LogStyle::Log {
                self.missing(out);
            }
            return;
        };
        if style != LogStyle::Log {
            let start = out.len();
            if !self.escape {
                value.write_text(out);
            } else if let Some(text) = value.to_str() {
                self.raw(&text, out);
            }
            return percent_encode(start, out);
        }
        // Numbers and addresses hold nothing to escape.
        let Some(text) = value.to_str() else { return self.missing(out) };
        if text.is_empty() {
            return self.missing(out);
        }
        let start = out.len();
        self.quoted(out, |out| self.raw(&text, out));
        if !self.json {
            encode_controls(b'#', start, out);
        }
    }
}

fn hex(mark: u8, byte: u8, out: &mut Vec<u8>) {
    let _ = out.write_all(&[mark]);
    let _ = write!(out, "{byte:02X}");
}

/// Replaces the control characters behind `start` by `%XX`, but for tabs, which a header may hold;
/// rare, so what is clean stays untouched.
pub fn percent_encode(start: usize, out: &mut Vec<u8>) {
    encode_controls(b'%', start, out);
}

/// Replaces the bytes behind `start` that end a line or a text, which are CR, LF and NUL, by `%XX`.
pub fn encode_line_ends(start: usize, out: &mut Vec<u8>) {
    encode_where(b'%', start, out, |byte| matches!(byte, b'\r' | b'\n' | 0));
}

/// Replaces the control characters behind `start`, but for tabs, by `mark` and their number: those
/// in a log line could end it, or make a terminal show something else.
fn encode_controls(mark: u8, start: usize, out: &mut Vec<u8>) {
    encode_where(mark, start, out, |byte| (byte < 0x20 && byte != b'\t') || byte == 0x7f);
}

fn encode_where(mark: u8, start: usize, out: &mut Vec<u8>, unwanted: impl Fn(u8) -> bool) {
    let Some(first) = out[start..].iter().position(|byte| unwanted(*byte)) else { return };
    let tail = out.split_off(start + first);
    for byte in tail {
        if unwanted(byte) { hex(mark, byte, out) } else { out.push(byte) }
    }
}
