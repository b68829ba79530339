//! Arguments in parentheses: the second tokenizer and the typed arguments.
//!
//! Manual section 2.2: the text between parentheses gets a pass of its own with quotes and
//! backslashes of its own; `\#`, `\$` and `\xNN` mean nothing there, and other unknown sequences
//! stay as they are.

use crate::context::{ParseContext, PublicKeys};
use crate::facts::Facts;
use crate::pattern::View;
use crate::regex::Regex;
use crate::script::ScriptFunction;
use crate::tables::TableRef;
use crate::vars::VarName;
use htx::{FieldRef, Head, HeaderId};
use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use table::Table;

pub(crate) mod digest;
mod error;
pub(crate) mod json_path;
pub(crate) mod protobuf;
mod references;
mod variable;

pub use digest::{Algorithm, DigestError};
pub use error::ArgError;
pub use json_path::Step;
pub use protobuf::{FieldPath, FieldPathError};
pub use variable::{IntOrVar, SetIf, SetVar, SetVarError};

/// Brings arguments into their final form at load.
pub type PrepareFn = fn(&mut Args, &ParseContext<'_>) -> Result<(), ArgError>;

/// One argument, checked and in its final form.
#[derive(Debug)]
pub enum Arg {
    /// Left out, or empty where a number or a name was possible.
    Omitted,
    /// A text.
    Text(Box<str>),
    /// A number.
    Int(i64),
    /// Bytes.
    Bytes(Box<[u8]>),
    /// An IPv4 address or mask.
    V4(Ipv4Addr),
    /// An IPv6 address or mask.
    V6(Ipv6Addr),
    /// A server as `[backend/]server`.
    Server(Option<Box<str>>, Box<str>),
    /// A compiled expression.
    Regex(Regex),
    /// A number or a variable holding one.
    Number(IntOrVar),
    /// A variable to read.
    Var(VarName),
    /// A variable to write.
    SetVar(SetVar),
    /// A loaded map.
    Map(Arc<View>),
    /// A header's name.
    Header(HeaderName),
    /// A cryptographic digest.
    Digest(&'static Algorithm),
    /// A key that tokens are verified by.
    TokenKey(TokenKey),
    /// A field of a protocol buffers message.
    Field(FieldPath),
    /// A path into a JSON text.
    Path(Vec<Step>),
    /// A stick table.
    Table(Arc<TableRef>),
    /// A function of a script.
    Script(Arc<dyn ScriptFunction>),
}

/// A key of `jwt_verify`.
#[derive(Debug)]
pub struct TokenKey {
    /// Absent: the text is in a variable.
    pub(crate) text: Option<Box<[u8]>>,
    pub(crate) files: PublicKeys,
}

/// A header's name, prepared for look-ups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderName {
    id: HeaderId,
    lower: Box<str>,
}

impl HeaderName {
    /// The name in any case.
    pub fn new(name: &str) -> HeaderName {
        let lower = name.to_ascii_lowercase();
        HeaderName { id: HeaderId::of(lower.as_bytes()), lower: lower.into() }
    }

    /// The name in lower case.
    pub fn as_str(&self) -> &str {
        &self.lower
    }

    /// The fields of this name in `head`, in order.
    pub fn fields<'h>(&'h self, head: &'h Head) -> impl DoubleEndedIterator<Item = FieldRef<'h>> {
        let by_name = self.id == HeaderId::Other;
        let found = head.by_id(self.id);
        found.filter(move |field| !by_name || field.name == self.lower.as_bytes())
    }
}

/// The arguments of one keyword. An argument that was left out is `None`.
#[derive(Debug, Default)]
pub struct Args(pub Vec<Arg>);

impl Args {
    /// Whether these are surely the same as `others`; arguments of rare types never are.
    pub(crate) fn are_like(&self, others: &Args) -> bool {
        let alike = |(one, other): (&Arg, &Arg)| match (one, other) {
            (Arg::Omitted, Arg::Omitted) => true,
            (Arg::Text(one), Arg::Text(other)) => one == other,
            (Arg::Int(one), Arg::Int(other)) => one == other,
            (Arg::Bytes(one), Arg::Bytes(other)) => one == other,
            (Arg::Header(one), Arg::Header(other)) => one == other,
            _ => false,
        };
        self.0.len() == others.0.len() && self.0.iter().zip(&others.0).all(alike)
    }

    /// The argument at `index`.
    pub fn get(&self, index: usize) -> &Arg {
        self.0.get(index).unwrap_or(&Arg::Omitted)
    }

    /// The text at `index`, empty when left out.
    pub fn text(&self, index: usize) -> &str {
        match self.get(index) {
            Arg::Text(text) => text,
            _ => "",
        }
    }

    /// The content of the text at `index`, which need not be UTF-8; empty when left out.
    pub fn bytes(&self, index: usize) -> &[u8] {
        match self.get(index) {
            Arg::Text(text) => text.as_bytes(),
            Arg::Bytes(bytes) => bytes,
            _ => b"",
        }
    }

    /// The text at `index`, nothing when left out or empty.
    pub fn some_text(&self, index: usize) -> Option<&str> {
        Some(self.text(index)).filter(|text| !text.is_empty())
    }

    /// The number at `index`.
    pub fn int(&self, index: usize) -> Option<i64> {
        match self.get(index) {
            Arg::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The variable at `index`.
    pub fn var(&self, index: usize) -> Option<&VarName> {
        match self.get(index) {
            Arg::Var(name) => Some(name),
            _ => None,
        }
    }

    /// The header name at `index`.
    pub fn header(&self, index: usize) -> Option<&HeaderName> {
        match self.get(index) {
            Arg::Header(name) => Some(name),
            _ => None,
        }
    }

    /// Replaces the text at `index` by the header name it is; a text left out stays so.
    pub fn make_header(&mut self, index: usize) {
        if let Some(text) = self.some_text(index) {
            self.0[index] = Arg::Header(HeaderName::new(text));
        }
    }

    /// The stick table that the argument at `index` names.
    pub(crate) fn table<'e>(&self, index: usize, facts: &'e dyn Facts) -> Option<&'e Table> {
        match self.get(index) {
            Arg::Table(table) => facts.table(table.number()?),
            _ => None,
        }
    }

    /// Replaces the text at `index` by the variable it names; a text left out stays so,
    /// unless it is the first.
    ///
    /// # Errors
    ///
    /// The text is no name of a variable.
    pub fn make_var(&mut self, index: usize) -> Result<(), ArgError> {
        if index == 0 || self.some_text(index).is_some() {
            self.0[index] = Arg::Var(VarName::parse(self.text(index))?);
        }
        Ok(())
    }
}

/// The split but unchecked arguments of one keyword.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RawArgs {
    /// Each argument with its quotes and backslashes resolved.
    pub words: Vec<String>,
    /// Byte offset of each argument in the text.
    pub offsets: Vec<usize>,
    /// Byte offset just after the closing parenthesis, or of the end of the keyword when there are
    /// no arguments.
    pub end: usize,
}

/// Splits the arguments that begin at `start`, where an opening parenthesis is optional.
///
/// # Errors
///
/// The closing parenthesis is missing.
pub fn split(text: &str, start: usize) -> Result<RawArgs, ArgError> {
    let bytes = text.as_bytes();
    let mut raw = RawArgs { end: start, ..RawArgs::default() };
    if bytes.get(start) != Some(&b'(') {
        return Ok(raw);
    }
    let mut at = start + 1;
    loop {
        raw.offsets.push(at);
        let (word, end) = one(bytes, at);
        raw.words.push(word);
        match bytes.get(end) {
            Some(b',') => at = end + 1,
            Some(_) => {
                raw.end = end + 1;
                break;
            }
            None => return Err(ArgError::Unclosed),
        }
    }
    Ok(raw)
}

/// One argument from `at` up to an unquoted comma, closing parenthesis, or the end of the text.
fn one(bytes: &[u8], mut at: usize) -> (String, usize) {
    let mut word = Vec::new();
    let mut quote = None;
    while let Some(&byte) = bytes.get(at) {
        match (byte, quote) {
            (b',' | b')', None) => break,
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (b'\\', None | Some(b'"')) => {
                at += escape(bytes.get(at + 1).copied(), quote.is_some(), &mut word);
            }
            _ => word.push(byte),
        }
        at += 1;
    }
    // Only whole characters of valid UTF-8 are copied or replaced by ASCII, so the result is valid
    // too.
    (String::from_utf8_lossy(&word).into_owned(), at)
}

/// Resolves a backslash; returns how many bytes after it were consumed.
fn escape(next: Option<u8>, quoted: bool, word: &mut Vec<u8>) -> usize {
    let resolved = match next {
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(byte @ (b'\\' | b'"' | b'\'')) => byte,
        Some(b' ') if !quoted => b' ',
        _ => {
            word.push(b'\\');
            return 0;
        }
    };
    word.push(resolved);
    1
}

/// The argument types that keyword tables name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ArgKind {
    Text,
    Int,
    Name,
    Server,
    V4,
    V6,
    Mask4,
    Mask6,
    Regex,
}

fn kind(name: &str) -> ArgKind {
    match name {
        "string" => ArgKind::Text,
        "integer" => ArgKind::Int,
        "server" => ArgKind::Server,
        "IPv4 address" => ArgKind::V4,
        "IPv6 address" => ArgKind::V6,
        "IPv4 mask" => ArgKind::Mask4,
        "IPv6 mask" => ArgKind::Mask6,
        "regex" => ArgKind::Regex,
        // Proxies, tables and user lists go by their names.
        _ => ArgKind::Name,
    }
}

/// Checks `raw` against `spec`, written as keyword listings print it: `string,integer[,string]`.
/// The message comes without its subject (the fetch or the converter).
pub fn check(raw: &RawArgs, text: &str, spec: &str) -> Result<Args, (usize, String)> {
    let required_part = spec.split('[').next().unwrap_or("");
    let required = required_part.split(',').filter(|part| !part.is_empty()).count();
    let types = spec.split([',', '[', ']']).filter(|part| !part.is_empty());
    let types: Vec<&str> = types.collect();
    // Without parentheses, the text alone that is wanted is an empty one.
    if raw.words.is_empty() && types.first() == Some(&"string") && required == 1 {
        return Ok(Args(vec![Arg::Text("".into())]));
    }
    // `()` is one empty argument, or no argument if the keyword takes none.
    if types.is_empty() && raw.words == [""] {
        return Ok(Args::default());
    }
    // The section itself and its table need not be named.
    let given = raw.words.len();
    let own = types
        .get(given..required)
        .is_some_and(|rest| matches!(rest, ["table" | "backend" | "frontend"]));
    if given < required && !own {
        let missing = types[raw.words.len()];
        let message = format!(
            "missing arguments (got {}/{required}), type '{missing}' expected",
            raw.words.len()
        );
        return Err((raw.end, message));
    }
    let mut args = Vec::with_capacity(types.len());
    for (i, (word, name)) in raw.words.iter().zip(&types).enumerate() {
        args.push(convert(word, kind(name), i < required).ok_or_else(|| {
            let message =
                format!("failed to parse '{word}' as type '{name}' at position {}", i + 1);
            (raw.offsets[i], message)
        })?);
    }
    if raw.words.len() > types.len() {
        let extra = raw.offsets[types.len()];
        // The comma belongs to the excess, save where no argument was expected at all.
        let from = if types.is_empty() { extra } else { extra - 1 };
        return Err((extra, format!("expected ')' before '{}'", &text[from..])));
    }
    Ok(Args(args))
}

fn convert(word: &str, kind: ArgKind, required: bool) -> Option<Arg> {
    if word.is_empty() && kind != ArgKind::Text {
        return (!required || kind == ArgKind::Name).then_some(Arg::Omitted);
    }
    Some(match kind {
        ArgKind::Text | ArgKind::Name | ArgKind::Regex => match crate::word::to_bytes(word) {
            Cow::Borrowed(_) => Arg::Text(word.into()),
            // A content that is no text; as a name it is refused, because it has none.
            Cow::Owned(bytes) => Arg::Bytes(bytes.into()),
        },
        ArgKind::Int => Arg::Int(crate::cast::integer(word)?),
        ArgKind::V4 => Arg::V4(word.parse().ok()?),
        ArgKind::V6 => Arg::V6(word.parse().ok()?),
        ArgKind::Mask4 => Arg::V4(mask4(word)?),
        ArgKind::Mask6 => Arg::V6(mask6(word)?),
        ArgKind::Server => match word.split_once('/') {
            Some((backend, server)) => Arg::Server(Some(backend.into()), server.into()),
            None => Arg::Server(None, word.into()),
        },
    })
}

fn mask4(word: &str) -> Option<Ipv4Addr> {
    if let Ok(bits) = word.parse::<u32>() {
        return (bits <= 32).then(|| Ipv4Addr::from(u32::MAX.checked_shl(32 - bits).unwrap_or(0)));
    }
    word.parse().ok()
}

fn mask6(word: &str) -> Option<Ipv6Addr> {
    if let Ok(bits) = word.parse::<u32>() {
        let mask = u128::MAX.checked_shl(128u32.checked_sub(bits)?).unwrap_or(0);
        return Some(Ipv6Addr::from(mask));
    }
    word.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text, 0).expect("closed").words
    }

    #[test]
    fn quotes_and_backslashes_protect() {
        assert_eq!(words("(a,b)"), ["a", "b"]);
        assert_eq!(words("()"), [""]);
        assert_eq!(words("(,x)"), ["", "x"]);
        assert_eq!(words(r#"(",",req.score1,"(site1)")"#), [",", "req.score1", "(site1)"]);
        assert_eq!(
            words(r#"("(foo|bar)([0-9]+)?","\2\1",i)"#),
            ["(foo|bar)([0-9]+)?", r"\2\1", "i"]
        );
        assert_eq!(words(r"(a\,b\ c)"), [r"a\", "b c"]);
        assert_eq!(words(r"('a\n',\n)"), [r"a\n", "\n"]);
        assert_eq!(words(r"(\d+\#)"), [r"\d+\#"]);
        assert_eq!(split("(a", 0), Err(ArgError::Unclosed));
    }

    #[test]
    fn types_are_checked() {
        let check = |text: &str, spec| {
            check(&split(text, 0).expect("closed"), text, spec).map_err(|(_, message)| message)
        };
        assert_eq!(check("(3)", "integer").expect("valid").int(0), Some(3));
        assert!(
            check("(a)", "integer")
                .unwrap_err()
                .starts_with("failed to parse 'a' as type 'integer'")
        );
        assert_eq!(check("(a,b)", "string").unwrap_err(), "expected ')' before ',b)'");
        assert_eq!(check("(x)", "").unwrap_err(), "expected ')' before 'x)'");
        assert!(
            check("(a)", "regex,string[,string]").unwrap_err().contains("got 1/2), type 'string'")
        );
        assert!(
            matches!(check("(24)", "IPv4 mask").expect("valid").get(0), Arg::V4(m) if *m == Ipv4Addr::new(255, 255, 255, 0))
        );
        assert!(
            matches!(check("(0)", "IPv6 mask").expect("valid").get(0), Arg::V6(m) if m.is_unspecified())
        );
        assert!(check("(129)", "IPv6 mask").is_err());
    }
}
