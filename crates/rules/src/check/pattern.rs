//! The patterns of expectations.

use super::protocol::Protocol;
use super::send::{from_hex, written};
use htx::Head;
use sample::regex::Regex;
use sample::{Facts, LogFormat};
use std::fmt;

/// The match of an `expect` step.
#[derive(Debug)]
pub enum Pattern {
    /// `string`
    Text(Box<[u8]>),
    /// `rstring`
    Regex(Regex),
    /// `binary`
    Binary(Box<[u8]>),
    /// `rbinary`
    BinaryRegex(Regex),
    /// `string-lf`
    Format(LogFormat),
    /// `binary-lf`
    HexFormat(LogFormat),
    /// `status`: inclusive ranges.
    Status(Vec<(u16, u16)>),
    /// `rstatus`
    StatusRegex(Regex),
    /// `hdr`, `fhdr`
    Header(HeaderPattern),
    /// A protocol that no text describes well.
    Protocol(Protocol),
}

/// `hdr`, `fhdr`.
#[derive(Debug)]
pub struct HeaderPattern {
    /// `fhdr`: commas do not separate values.
    pub(super) full: bool,
    pub(super) name: TextPattern,
    pub(super) value: Option<TextPattern>,
}

/// How the text of a header is compared.
#[derive(Debug)]
pub(super) enum TextPattern {
    Exact(LogFormat),
    Begin(LogFormat),
    End(LogFormat),
    Within(LogFormat),
    Regex(Regex),
}

/// Why what a format gave can be looked for nowhere.
#[derive(Debug)]
pub(super) enum Unusable {
    /// No hexadecimal text.
    NotHex,
    /// The pattern is empty and would match everything.
    Empty,
}

impl Unusable {
    /// The name of the pattern in messages.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Self::NotHex => "Failed to parse hexastring resulting of eval of a log-format string",
            Self::Empty => "log-format string evaluated to an empty string",
        }
    }
}

impl Pattern {
    /// Whether `bytes` hold it.
    pub(super) fn is_in(&self, bytes: &[u8], facts: &dyn Facts) -> Result<bool, Unusable> {
        let holds = |text: &[u8]| memchr::memmem::find(bytes, text).is_some();
        Ok(match self {
            Self::Text(text) | Self::Binary(text) => holds(text),
            Self::Regex(regex) => regex.is_match(bytes),
            Self::BinaryRegex(regex) => regex.is_match(&hex(bytes)),
            Self::Format(format) => holds(&something(format, facts)?),
            Self::HexFormat(format) => {
                holds(&from_hex(&something(format, facts)?).ok_or(Unusable::NotHex)?)
            }
            Self::Status(_) | Self::StatusRegex(_) | Self::Header(_) | Self::Protocol(_) => false,
        })
    }

    /// Whether the pattern is about the head of a response, and the head matches it.
    pub(super) fn is_in_head(
        &self,
        head: &Head,
        facts: &dyn Facts,
    ) -> Result<Option<bool>, Unusable> {
        Ok(match self {
            Self::Status(ranges) => {
                let status = head.status();
                Some(ranges.iter().any(|(low, high)| (*low..=*high).contains(&status)))
            }
            Self::StatusRegex(regex) => Some(regex.is_match(head.status().to_string().as_bytes())),
            Self::Header(pattern) => Some(pattern.is_in(head, facts)?),
            _ => None,
        })
    }

    /// How many bytes a search for it needs at least, if that is known.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Self::Text(text) | Self::Binary(text) => Some(text.len()),
            _ => None,
        }
    }
}

impl HeaderPattern {
    fn is_in(&self, head: &Head, facts: &dyn Facts) -> Result<bool, Unusable> {
        let mut name = self.name.wanted(facts)?;
        name.make_ascii_lowercase();
        let value = self.value.as_ref().map(|it| Ok((it, it.wanted(facts)?))).transpose()?;
        let named = head.fields().filter(|field| self.name.matches(field.name, &name));
        Ok(named.map(|field| field.value).any(|found| {
            let Some((pattern, wanted)) = &value else { return true };
            match self.full {
                true => pattern.matches(found, wanted),
                false => sample_values(found).into_iter().any(|it| pattern.matches(it, wanted)),
            }
        }))
    }
}

/// The values of a comma-separated list; commas in quotes separate nothing.
fn sample_values(list: &[u8]) -> Vec<&[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    let mut separates = |byte: &u8| {
        let separates = *byte == b',' && !quoted;
        match (*byte, escaped) {
            (_, true) => escaped = false,
            (b'\\', false) => escaped = quoted,
            (b'"', false) => quoted = !quoted,
            _ => {}
        }
        separates
    };
    list.split(|byte| separates(byte)).map(<[u8]>::trim_ascii).collect()
}

impl TextPattern {
    /// The text to compare with.
    fn wanted(&self, facts: &dyn Facts) -> Result<Vec<u8>, Unusable> {
        match self {
            Self::Regex(_) => Ok(Vec::new()),
            Self::Exact(format)
            | Self::Begin(format)
            | Self::End(format)
            | Self::Within(format) => match format.as_literal() {
                Some(text) => Ok(text.to_vec()),
                None => something(format, facts),
            },
        }
    }

    fn matches(&self, text: &[u8], wanted: &[u8]) -> bool {
        match self {
            Self::Exact(_) => text == wanted,
            Self::Begin(_) => text.starts_with(wanted),
            Self::End(_) => text.ends_with(wanted),
            Self::Within(_) => memchr::memmem::find(text, wanted).is_some(),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

/// The current result of a format, unless it is empty.
fn something(format: &LogFormat, facts: &dyn Facts) -> Result<Vec<u8>, Unusable> {
    let text = written(format, facts);
    if text.is_empty() { Err(Unusable::Empty) } else { Ok(text) }
}

/// Bytes as upper-case hexadecimal digits.
fn hex(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits).collect()
}

/// As messages about timeouts call it.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "string '{}'", String::from_utf8_lossy(text)),
            Self::Binary(bytes) => {
                write!(f, "binary '{}'", String::from_utf8_lossy(&hex(bytes)).to_lowercase())
            }
            Self::Regex(_) => f.write_str("regex"),
            Self::BinaryRegex(_) => f.write_str("binary regex"),
            Self::Format(_) => f.write_str("log-format string"),
            Self::HexFormat(_) => f.write_str("log-format binary"),
            Self::Status(_) => f.write_str("HTTP status codes"),
            Self::StatusRegex(_) => f.write_str("HTTP status regex"),
            Self::Header(_) => f.write_str("HTTP header pattern"),
            Self::Protocol(_) => f.write_str("custom function"),
        }
    }
}
