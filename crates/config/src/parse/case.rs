//! `h1-case-adjust` and its file (section 3.1): header names for peers that tell upper from lower case.
use crate::context::Cx;
use crate::line::{Args, Parsed};
use crate::model::{At, Global, HeaderCase};
use std::fmt;

/// HAProxy's words, as they are.
const DIFFER: &str = "<from> and <to> must not differ execpt the case";

/// `h1-case-adjust <from> <to>`
pub(super) fn entry(global: &mut Global, args: Args<'_>) -> Parsed {
    let expected = "'h1-case-adjust' expects <from> and <to> as argument.";
    let (from, to) = (args.need(1, expected)?, args.need(2, expected)?);
    args.no_more_than(2)?;
    add(&mut global.header_case, from, to).map_err(|told| args.fault(1, told))
}

/// `h1-case-adjust-file <hdrs-file>`; the last one counts, and is read in the end.
pub(super) fn file(global: &mut Global, args: Args<'_>) -> Parsed {
    let value = args.need(1, "'h1-case-adjust-file' expects <file> as argument.")?.to_owned();
    args.no_more_than(1)?;
    global.header_case.file = Some(At { value, place: args.place().clone() });
    Ok(())
}

/// Why the spelling of a header name is refused.
#[derive(Debug)]
pub(crate) enum CaseError {
    /// The spelling is that of another name.
    Differ,
    /// The name has a spelling already.
    Duplicate(String),
    /// The spelling is missing.
    Missing,
    /// A file that cannot be read, or a line of it; the message names both.
    File(String),
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differ => f.write_str(DIFFER),
            Self::Duplicate(name) => write!(f, "duplicate entry '{name}'"),
            Self::Missing => f.write_str("expect <to>"),
            Self::File(message) => f.write_str(message),
        }
    }
}

/// Adds one pair.
fn add(to: &mut HeaderCase, name: &str, written: &str) -> Result<(), CaseError> {
    if !name.eq_ignore_ascii_case(written) {
        return Err(CaseError::Differ);
    }
    let name = name.to_ascii_lowercase();
    if to.names.contains_key(name.as_bytes()) {
        return Err(CaseError::Duplicate(name));
    }
    to.names.insert(name.into_bytes(), written.as_bytes().to_vec());
    Ok(())
}

/// Reads the file, if one is named.
///
/// # Errors
/// The mistake in it.
pub(crate) fn read(case: &mut HeaderCase, cx: &Cx<'_>) -> Result<(), CaseError> {
    let Some(At { value: name, place }) = case.file.clone() else { return Ok(()) };
    let context = format!("h1-headers-case-adjust-file '{name}' :");
    let unread = |error| CaseError::File(format!("{context} failed to open file: {error}."));
    let bytes = cx.read(&name, &place.file).map_err(unread)?;
    let text = String::from_utf8_lossy(&bytes);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_matches([' ', '\t']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (from, to) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let to = to.trim_start_matches([' ', '\t']);
        let added = match to.is_empty() {
            true => Err(CaseError::Missing),
            false => add(case, from, to),
        };
        added.map_err(|error| {
            CaseError::File(format!("{context} {error} at line {}.", number + 1))
        })?;
    }
    Ok(())
}
