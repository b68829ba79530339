//! What an expectation looks for. Never decides whether to wait for more.

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

/// The format that a pattern holds gave no hexadecimal text.
#[derive(Debug)]
pub(super) struct NotHex;

impl Pattern {
    /// Whether `bytes` hold it.
    pub(super) fn is_in(&self, bytes: &[u8], facts: &dyn Facts) -> Result<bool, NotHex> {
        let holds = |text: &[u8]| memchr::memmem::find(bytes, text).is_some();
        Ok(match self {
            Self::Text(text) | Self::Binary(text) => holds(text),
            Self::Regex(regex) => regex.is_match(bytes),
            Self::BinaryRegex(regex) => regex.is_match(&hex(bytes)),
            Self::Format(format) => holds(&written(format, facts)),
            Self::HexFormat(format) => holds(&from_hex(&written(format, facts)).ok_or(NotHex)?),
            Self::Status(_) | Self::StatusRegex(_) | Self::Header(_) | Self::Protocol(_) => false,
        })
    }

    /// Whether it is about the head of a response, and the head has it.
    pub(super) fn is_in_head(&self, head: &Head, facts: &dyn Facts) -> Option<bool> {
        match self {
            Self::Status(ranges) => {
                let status = head.status();
                Some(ranges.iter().any(|(low, high)| (*low..=*high).contains(&status)))
            }
            Self::StatusRegex(regex) => Some(regex.is_match(head.status().to_string().as_bytes())),
            Self::Header(pattern) => Some(pattern.is_in(head, facts)),
            _ => None,
        }
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
    fn is_in(&self, head: &Head, facts: &dyn Facts) -> bool {
        head.fields().filter(|field| self.name.matches(field.name, true, facts)).any(|field| {
            let Some(pattern) = &self.value else { return true };
            match self.full {
                true => pattern.matches(field.value, false, facts),
                false => {
                    let values = sample_values(field.value);
                    values.into_iter().any(|value| pattern.matches(value, false, facts))
                }
            }
        })
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
    fn matches(&self, text: &[u8], any_case: bool, facts: &dyn Facts) -> bool {
        let wanted = |format: &LogFormat| {
            let mut wanted = written(format, facts);
            if any_case {
                wanted.make_ascii_lowercase();
            }
            wanted
        };
        match self {
            Self::Exact(format) => text == wanted(format),
            Self::Begin(format) => text.starts_with(&wanted(format)),
            Self::End(format) => text.ends_with(&wanted(format)),
            Self::Within(format) => memchr::memmem::find(text, &wanted(format)).is_some(),
            Self::Regex(regex) => regex.is_match(text),
        }
    }
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
