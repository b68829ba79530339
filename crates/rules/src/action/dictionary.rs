//! Actions that change maps and ACLs in memory: `set-map`, `del-map`, `add-acl`, `del-acl`.

use super::header::{format, with_value};
use super::{Action, Input, Outcome};
use crate::context::{Context, facts};

use sample::pattern::LateDictionary;
use sample::{LogFormat, ParseError};
use std::sync::Arc;

/// The change for the key.
#[derive(Debug)]
enum Change {
    Add,
    Remove,
    Assign(LogFormat),
}

/// A compiled change.
#[derive(Debug)]
pub struct DictionaryEdit {
    dictionary: Arc<LateDictionary>,
    key: LogFormat,
    change: Change,
}

impl DictionaryEdit {
    pub(super) fn run<'r>(&'r self, cx: &mut dyn Context) -> Outcome<'r> {
        let Some(dictionary) = self.dictionary.get() else { return Outcome::Next };
        with_value(&self.key, cx, |key, cx| {
            // A pattern that a view in use cannot hold is refused silently; the manual defines no
            // error.
            let _ = match &self.change {
                Change::Add => dictionary.ensure(key),
                Change::Remove => dictionary.remove(key),
                Change::Assign(format) => {
                    let mut value = Vec::new();
                    format.write(facts(cx), &mut value);
                    dictionary.assign(key, &value)
                }
            };
            Outcome::Next
        })
    }
}

fn parse(
    input: &mut Input<'_, '_, '_>,
    map: bool,
    change: impl FnOnce(&mut Input<'_, '_, '_>) -> Result<Change, ParseError>,
) -> Result<Action, ParseError> {
    let name = input.parens.first().map(String::as_str).unwrap_or_default().trim();
    if name.is_empty() {
        return Err(ParseError::new(0, "expects a file name in parentheses"));
    }
    let place = format!("file '{}' line {}", input.cx.file, input.cx.line);
    let dictionary = input.cx.shared.patterns.later(name, map, &place);
    let key = format(input, "expects <key fmt> as argument")?;
    let change = change(input)?;
    Ok(Action::Dictionary(DictionaryEdit { dictionary, key, change }))
}

pub(super) fn add_acl(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    parse(input, false, |_| Ok(Change::Add))
}

pub(super) fn del_acl(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    parse(input, false, |_| Ok(Change::Remove))
}

pub(super) fn set_map(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    parse(input, true, |input| format(input, "expects <value fmt>").map(Change::Assign))
}

pub(super) fn del_map(input: &mut Input<'_, '_, '_>) -> Result<Action, ParseError> {
    parse(input, true, |_| Ok(Change::Remove))
}
