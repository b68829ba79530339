//! The variables of one scope: a list, with an index by name once there are many.

use super::{VarName, VarState};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Variables that are found by a scan, which is faster than an index for the few that most
/// configurations have. An agent or a script may set any number.
const SCANNED: usize = 32;

/// A variable that has been set at some time.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: VarName,
    pub(super) value: Option<Value<'static>>,
}

/// Variables are never removed one by one; an entry without a value remembers that the variable
/// existed.
#[derive(Debug, Default)]
pub(super) struct Entries {
    list: Vec<Variable>,
    /// Places in the list, once it is longer than [`SCANNED`].
    index: Option<HashMap<Arc<str>, usize>>,
}

impl Entries {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Variable> {
        self.list.iter()
    }

    pub(super) fn find(&self, name: &VarName) -> Option<&Variable> {
        self.list.get(self.position(name)?)
    }

    fn position(&self, name: &VarName) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(&name.name).copied(),
            None => self
                .list
                .iter()
                .position(|it| it.name.hash == name.hash && it.name.name == name.name),
        }
    }

    pub(super) fn store(&mut self, name: &VarName, value: Option<Value<'static>>) {
        if let Some(found) = self.position(name) {
            self.list[found].value = value;
            return;
        }
        self.list.push(Variable { name: name.clone(), value });
        let last = self.list.len() - 1;
        match &mut self.index {
            Some(index) => drop(index.insert(name.name.clone(), last)),
            None if last < SCANNED => {}
            None => {
                let places = self.list.iter().enumerate();
                let places = places.map(|(place, it)| (it.name.name.clone(), place));
                self.index = Some(places.collect());
            }
        }
    }

    pub(super) fn state(&self, name: &VarName) -> VarState {
        match self.find(name) {
            None => VarState::Absent,
            Some(Variable { value: None, .. }) => VarState::Unset,
            Some(_) => VarState::Set,
        }
    }

    /// Forgets all of them, and keeps the memory of the list.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.index = None;
    }
}

#[cfg(test)]
mod tests {
    //! Few variables and many.
    use super::*;

    #[test]
    fn any_number_of_variables_is_found() {
        let name = |number: usize| VarName::parse(&format!("txn.v{number}")).expect("a name");
        let mut entries = Entries::default();
        for count in [1, SCANNED, SCANNED + 1, 2_000] {
            for number in 0..count {
                entries.store(&name(number), Some(Value::Int(number as i64)));
            }
            entries.store(&name(0), None);
            assert_eq!(entries.iter().count(), count);
            assert_eq!(entries.index.is_some(), count > SCANNED);
            for number in 1..count {
                let found = entries.find(&name(number)).and_then(|it| it.value.clone());
                assert_eq!(found, Some(Value::Int(number as i64)));
            }
            assert_eq!(entries.state(&name(0)), VarState::Unset);
            assert_eq!(entries.state(&name(count)), VarState::Absent);
        }
        entries.clear();
        assert_eq!(entries.state(&name(1)), VarState::Absent);
    }
}
