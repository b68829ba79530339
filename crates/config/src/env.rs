//! The environment that a configuration sees and edits.
use std::collections::BTreeMap;

/// Variables by name; `setenv` and its family change this copy at their line (section 3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The value of a variable, if it is set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Sets a variable, whether or not it existed.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Sets a variable only if it does not exist.
    pub fn preset(&mut self, name: &str, value: &str) {
        self.variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }

    /// Removes a variable.
    pub fn unset(&mut self, name: &str) {
        self.variables.remove(name);
    }

    /// Removes all variables but those named.
    pub fn keep_only(&mut self, names: &[&str]) {
        self.variables.retain(|name, _| names.contains(&name.as_str()));
    }

    /// Names and values in order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self { variables: pairs.into_iter().map(|(n, v)| (n.into(), v.into())).collect() }
    }
}
