//! Log formats: text with `%tags` and `%[expressions]` (manual section 8.2.6). One type serves log
//! lines, header values and payloads; the style decides about spaces and escaping.

mod builtin;
mod encode;
mod json;
mod tags;

pub use builtin::{CLF, DEFAULT_HTTP, DEFAULT_TCP, HTTP, HTTPS, JSON, TCP};
pub use encode::{Flags, encode_line_ends, percent_encode};
use json::{JsonKind, Member};
pub use tags::{TAGS, Tag, WriteFn};

use crate::context::ParseContext;
use crate::error::{ParseError, hint};
use crate::expr::Expr;
use crate::facts::Facts;
use crate::place::{Place, Places};

/// The use of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStyle {
    /// A log line: runs of spaces merge, missing texts show as `-`.
    Log,
    /// A unique id: runs of spaces merge, all else is as in a header.
    Id,
    /// A header value, a payload, a URI: spaces stay, missing texts show as nothing, control
    /// characters of expressions become `%XX`, but for tabs.
    Header,
}

#[derive(Debug)]
enum Piece {
    Text(Box<[u8]>),
    /// One space, unless the line ends with one already (log style only).
    Space,
    Tag(&'static Tag, Flags),
    Expr(Box<Expr>, Flags),
}

/// A compiled format.
#[derive(Debug)]
pub struct LogFormat {
    style: LogStyle,
    pieces: Vec<Piece>,
    /// The members of the object that is written, with `%{+json}o`.
    members: Option<Vec<Member>>,
}

impl LogFormat {
    /// Parses `text`. Expressions must be valid in the context's places; tags for HTTP need a proxy
    /// in HTTP mode.
    pub fn parse(
        text: &str,
        style: LogStyle,
        cx: &ParseContext<'_>,
    ) -> Result<LogFormat, ParseError> {
        let mut builder = Builder {
            text,
            style,
            cx,
            flags: Flags { dash: style == LogStyle::Log, ..Flags::default() },
            pieces: Vec::new(),
            literal: Vec::new(),
            members: None,
        };
        builder.run()?;
        Ok(LogFormat { style, pieces: builder.pieces, members: builder.members })
    }

    /// A format that writes `text` as it is.
    pub fn literal(text: &[u8]) -> LogFormat {
        let pieces = if text.is_empty() { Vec::new() } else { vec![Piece::Text(text.into())] };
        LogFormat { style: LogStyle::Header, pieces, members: None }
    }

    /// The text, when there is nothing to evaluate.
    pub fn as_literal(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            _ if self.members.is_some() => None,
            [] => Some(b""),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends what the format says about `facts` to `out`. Allocates only where an expression's
    /// converter does.
    pub fn write(&self, facts: &dyn Facts, out: &mut Vec<u8>) {
        if let Some(members) = &self.members {
            return json::write(members, facts, out);
        }
        // A line is treated as if a space preceded it, so that it does not begin with a space.
        let mut spaced = true;
        for piece in &self.pieces {
            let before = out.len();
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Space if spaced => {}
                Piece::Space => out.push(b' '),
                Piece::Tag(tag, flags) => (tag.write)(facts, *flags, out),
                Piece::Expr(expr, flags) => flags.expr(self.style, expr, facts, out),
            }
            // Captures of a proxy without any leave no trace; other empty texts keep their spaces.
            let traceless = matches!(piece, Piece::Tag(tag, _) if tag.name.starts_with('h'));
            if out.len() > before || !traceless {
                spaced = matches!(piece, Piece::Space);
            }
        }
    }
}

/// Name and type of an item.
type Named<'t> = (&'t str, JsonKind);

struct Builder<'p, 'c> {
    text: &'p str,
    style: LogStyle,
    cx: &'p ParseContext<'c>,
    /// Flags that `%{...}o` set for all that follows.
    flags: Flags,
    pieces: Vec<Piece>,
    literal: Vec<u8>,
    /// The named members, once `%{+json}o` has been read.
    members: Option<Vec<Member>>,
}

impl Builder<'_, '_> {
    fn run(&mut self) -> Result<(), ParseError> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'%' if bytes.get(at + 1) == Some(&b'%') => {
                    self.literal.push(b'%');
                    at += 2;
                }
                b'%' => at = self.variable(at)?,
                b' ' if self.style != LogStyle::Header => {
                    self.piece(Piece::Space, None);
                    at += 1;
                }
                byte => {
                    self.literal.push(byte);
                    at += 1;
                }
            }
        }
        if self.members.is_none() {
            self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            let literal = std::mem::take(&mut self.literal);
            // Only whole characters were left out, so what remains is text.
            let literal = match String::from_utf8(literal) {
                Ok(text) => crate::word::to_bytes(&text).into_owned(),
                Err(error) => error.into_bytes(),
            };
            self.pieces.push(Piece::Text(literal.into()));
        }
    }

    fn piece(&mut self, piece: Piece, name: Option<Named<'_>>) {
        if let Some(members) = &mut self.members {
            self.literal.clear();
            members.extend(name.map(|(name, kind)| Member::new(name, kind, piece)));
            return;
        }
        self.flush();
        if matches!((&piece, self.pieces.last()), (Piece::Space, Some(Piece::Space))) {
            return;
        }
        self.pieces.push(piece);
    }

    /// Parses the item that begins with `%` at `start`; returns its end.
    fn variable(&mut self, start: usize) -> Result<usize, ParseError> {
        let fail = |offset, message: String| Err(ParseError::at(0, offset, message));
        let mut at = start + 1;
        let mut name = None;
        if self.members.is_some() && self.text[at..].starts_with('(') {
            let Some(len) = self.text[at..].find(')') else {
                return fail(at, format!("missing ')' after '{}'", &self.text[at + 1..]));
            };
            let named = json::name(&self.text[at + 1..at + len]);
            name = Some(named.map_err(|message| ParseError::at(0, at + 1, message))?);
            at += len + 1;
        }
        let mut flags = self.flags;
        if self.text[at..].starts_with('{') {
            let Some(len) = self.text[at..].find('}') else {
                return fail(at, format!("missing '}}' after '{}'", &self.text[at + 1..]));
            };
            flags = flags.with(&self.text[at + 1..at + len], self.cx);
            at += len + 1;
        }
        let rest = &self.text[at..];
        let flagged = at > start + 1;
        match rest.chars().next() {
            Some('[') => return self.expression(at + 1, flags, name),
            Some(c) if c.is_ascii_alphabetic() => {}
            _ if flagged => {
                let near = &self.text[start..at];
                let what = "parse argument modifier without variable name near";
                return fail(start, format!("{what} '{near}'"));
            }
            None => return fail(start, "truncated line after '%'".to_owned()),
            Some(c) if c.is_ascii_digit() || c.is_whitespace() => {
                let text = self.text;
                return fail(
                    start,
                    format!(
                        "unexpected variable name near '{c}' at position {at} line : '{text}'. Maybe \
                         you want to write a single '%', use the syntax '%%'"
                    ),
                );
            }
            // At the start of a line it yields no text.
            Some(_) => return Ok(at),
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        self.tag(&rest[..end], at, flags, name)?;
        Ok(at + end)
    }

    fn tag(
        &mut self,
        name: &str,
        at: usize,
        flags: Flags,
        member: Option<Named<'_>>,
    ) -> Result<(), ParseError> {
        if name == "o" {
            return self.options(at, flags);
        }
        let Some(tag) = TAGS.iter().find(|tag| tag.name == name) else {
            let hint = hint(name, TAGS.iter().map(|tag| tag.name));
            let message = format!(
                "no such format variable '{name}'. If you wanted to emit the '%' character \
                 verbatim, you need to use '%%'{hint}"
            );
            return Err(ParseError::at(0, at, message));
        };
        if tag.http_only && !self.cx.http {
            let message = format!("format variable '{name}' is reserved for HTTP mode");
            return Err(ParseError::at(0, at, message));
        }
        self.cx.wants_record.set(true);
        self.piece(Piece::Tag(tag, flags), member);
        Ok(())
    }

    /// `%{...}o`: flags for all that follows.
    fn options(&mut self, at: usize, flags: Flags) -> Result<(), ParseError> {
        self.flags = Flags { json: false, ..flags };
        if !flags.json || self.members.is_some() {
            return Ok(());
        }
        if self.style != LogStyle::Log || !self.pieces.is_empty() || !self.literal.is_empty() {
            let message = "'+json' is for whole log lines: it must stand at their beginning";
            return Err(ParseError::at(0, at, message.to_owned()));
        }
        self.members = Some(Vec::new());
        Ok(())
    }

    fn expression(
        &mut self,
        start: usize,
        flags: Flags,
        name: Option<Named<'_>>,
    ) -> Result<usize, ParseError> {
        let rest = &self.text[start..];
        let Some(len) = closing(rest) else {
            return Err(ParseError::at(0, start, format!("missing ']' after '{rest}'")));
        };
        let text = &rest[..len];
        if text.ends_with(',') {
            let message =
                format!("failed to parse sample expression <{text}> : unknown converter ''");
            return Err(ParseError::at(0, start + len - 1, message));
        }
        let expr = Expr::parse_word(text, self.cx).map_err(|error| {
            let context = format!("failed to parse sample expression <{text}> : ");
            error.inside(0, start).context(context)
        })?;
        // Rules of checks read bytes in any mode of the proxy.
        let checks = self.cx.places == Places::of(Place::BeCheck);
        if self.cx.http && !checks && expr.wants_unparsed() {
            let message = format!("L6 sample fetch <{text}> ignored in HTTP log-format string.");
            self.cx.warn(message);
        }
        if !expr.valid_in(self.cx.places) {
            let needs = expr.needs();
            let message = format!(
                "sample fetch <{text}> may not be reliably used here because it needs '{needs}' \
                 which is not available here"
            );
            return Err(ParseError::at(0, start, message));
        }
        self.piece(Piece::Expr(Box::new(expr), flags), name);
        Ok(start + len + 1)
    }
}

/// Offset of the bracket that ends an expression: outside of quotes and parentheses.
fn closing(text: &str) -> Option<usize> {
    let (mut quote, mut inside, mut escaped) = (None, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            _ if escaped => escaped = false,
            (b'\\', None | Some(b'"')) => escaped = true,
            (b'"' | b'\'', None) if inside => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => {}
            // Parentheses do not nest: the first that closes ends the arguments.
            (b'(', None) => inside = true,
            (b')', None) => inside = false,
            (b']', None) if !inside => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests;
